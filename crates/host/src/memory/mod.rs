//! Memory on a node of choice, verified page by page.

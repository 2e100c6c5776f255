//! Pinned threads that run kernels together.

//! Pinning threads, and checking that they are where they should be.

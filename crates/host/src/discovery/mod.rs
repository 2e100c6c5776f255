//! What this computer is made of, as the kernel tells it.

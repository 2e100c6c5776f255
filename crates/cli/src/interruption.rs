//! Ending a long measurement early without losing what it has measured.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::failure::Failure;

/// Becomes true when somebody interrupts the run; a second interruption ends it at once.
///
/// # Errors
/// When the system has no such signals.
pub fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let already = interrupted.clone();
        // In this order: the first interruption finds it false, sets it and returns.
        signal_hook::flag::register_conditional_shutdown(signal, 130, already)
            .and_then(|_| signal_hook::flag::register(signal, interrupted.clone()))
            .map_err(Failure::run)?;
    }
    Ok(interrupted)
}

//! Frames: what the code of a kernel shares with whoever calls it.

use std::sync::atomic::AtomicBool;

/// Arguments and results of the code, whose only argument is the address of this.
#[repr(C)]
pub(super) struct Frame {
    pub(super) start: *mut u8,
    /// Elements in a pass, in steps.
    pub(super) elements: u64,
    pub(super) count: u64,
    pub(super) stop: *const AtomicBool,
    pub(super) seed: u64,
    pub(super) sources: [*const u8; 2],
    pub(super) started: u64,
    pub(super) ended: u64,
    pub(super) steps: u64,
    /// The last pointer or the sum.
    pub(super) value: u64,
}

/// Where the code finds the fields of its [`Frame`].
pub(super) mod field {
    use std::mem::offset_of;

    use super::Frame;

    pub(in super::super) const START: i32 = offset_of!(Frame, start) as i32;
    pub(in super::super) const ELEMENTS: i32 = offset_of!(Frame, elements) as i32;
    pub(in super::super) const COUNT: i32 = offset_of!(Frame, count) as i32;
    pub(in super::super) const STOP: i32 = offset_of!(Frame, stop) as i32;
    pub(in super::super) const SEED: i32 = offset_of!(Frame, seed) as i32;
    pub(in super::super) const SOURCES: i32 = offset_of!(Frame, sources) as i32;
    pub(in super::super) const STARTED: i32 = offset_of!(Frame, started) as i32;
    pub(in super::super) const ENDED: i32 = offset_of!(Frame, ended) as i32;
    pub(in super::super) const STEPS: i32 = offset_of!(Frame, steps) as i32;
    pub(in super::super) const VALUE: i32 = offset_of!(Frame, value) as i32;
}

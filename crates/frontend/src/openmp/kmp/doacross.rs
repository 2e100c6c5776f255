//! Loops of clang whose iterations wait for certain earlier ones. Iterations are told by the values of the loops' variables.

use super::Location;
use crate::openmp::doacross::{Dimension, Doacross};
use crate::openmp::team::member;

/// A thread comes to such loops.
///
/// # Safety
/// There are so many dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_doacross_init(
    _location: *const Location,
    _number: i32,
    depth: i32,
    dimensions: *const Dimension,
) {
    // SAFETY: the caller's promise.
    let dimensions = unsafe { std::slice::from_raw_parts(dimensions, usize::try_from(depth).unwrap_or(0)) };
    let counts: Vec<u64> = dimensions.iter().map(|dimension| dimension.count()).collect();
    let member = member();
    member.come(|share| Doacross::set_up(share, &counts));
    let construct = member.region.get().begun.wrapping_sub(1);
    member.crossing.borrow_mut().push((construct, dimensions.to_vec()));
}

/// Does `act` with the loops that the thread is in and the numbers of an iteration.
///
/// # Safety
/// There is a value for each dimension.
unsafe fn with(values: *const i64, act: impl FnOnce(&Doacross, &[u64])) {
    let member = member();
    let Some((construct, dimensions)) = member.crossing.borrow().last().cloned() else { return };
    let number = |(index, dimension): (usize, &Dimension)| {
        // SAFETY: the caller's promise.
        dimension.number(unsafe { *values.add(index) })
    };
    let at: Vec<u64> = dimensions.iter().enumerate().map(number).collect();
    if let Some(doacross) = Doacross::of(member.region.get().team.share(construct)) {
        act(doacross, &at);
    }
}

/// Waits for an iteration.
///
/// # Safety
/// There is a value for each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_doacross_wait(_location: *const Location, _number: i32, values: *const i64) {
    // SAFETY: the caller's promise.
    unsafe { with(values, |doacross, at| doacross.wait(at)) };
}

/// An iteration is done as far as others wait for it.
///
/// # Safety
/// There is a value for each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_doacross_post(_location: *const Location, _number: i32, values: *const i64) {
    // SAFETY: the caller's promise.
    unsafe { with(values, |doacross, at| doacross.post(at)) };
}

/// The thread has left the loops.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_doacross_fini(_location: *const Location, _number: i32) {
    let member = member();
    let left = member.crossing.borrow_mut().pop();
    if let Some((construct, _)) = left {
        member.leave_construct(construct);
    }
}

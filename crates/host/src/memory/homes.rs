//! Where another process's pages are.

use std::{io, ptr};

use units::NodeId;

/// The nodes of a process's pages, each by an address in it; none for one that is not there (move_pages(2) without nodes).
///
/// # Errors
/// The kernel's error: `ESRCH` when the process is gone, `EPERM` when it is not ours to look at.
pub fn homes_of(process: u32, pages: &[u64]) -> io::Result<Vec<Option<NodeId>>> {
    let addresses: Vec<*const libc::c_void> = pages.iter().map(|&at| ptr::without_provenance(at as usize)).collect();
    let mut status = vec![-1_i32; pages.len()];
    // SAFETY: the two arrays have as many entries as we say, the kernel only looks the addresses up in the other process, and
    // nothing is moved.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            process,
            pages.len(),
            addresses.as_ptr(),
            ptr::null::<i32>(),
            status.as_mut_ptr(),
            0,
        )
    };
    match result {
        0.. => Ok(status.into_iter().map(|node| u16::try_from(node).ok().map(NodeId)).collect()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_pages_are_somewhere_and_page_zero_is_nowhere() {
        let here = Box::new([1_u8; 64]);
        match homes_of(std::process::id(), &[here.as_ptr() as u64, 0]) {
            Ok(homes) => assert!(homes[0].is_some() && homes[1].is_none(), "{homes:?}"),
            // A container may forbid the call altogether.
            Err(error) => assert!(matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)), "{error}"),
        }
    }
}

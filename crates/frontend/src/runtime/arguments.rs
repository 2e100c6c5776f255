//! Arguments and variables of the program, in simulated memory: their places do not depend on where the host has put its first stack, and
//! how long they are moves nothing else.

use std::ffi::{CStr, c_char, c_int};

use super::state::UserThread;
use super::{address, tls};
use crate::request::{Request, VARIABLE};

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// How many arguments, and the lists of them and of the variables of the environment.
pub type Arguments = (c_int, *mut *mut c_char, *mut *mut c_char);

/// The first thread, and its arguments and variables in simulated memory: their places do not depend on where the host has put its
/// first stack.
pub fn first_thread(request: &Request, (count, values, variables): Arguments) -> Option<(*mut UserThread, Arguments)> {
    let user = UserThread::new(0, request.stack as usize, tls::host())?;
    // SAFETY: the C library hands over lists of strings that end with a null.
    unsafe {
        let mut room = Room::take(STRINGS)?;
        let values = copy_strings(values, false, &mut room)?;
        let copied = copy_strings(variables, true, &mut room)?;
        environ = copied;
        Some((user, (count, values, copied)))
    }
}

/// Bytes that arguments and variables have room for whatever they are, so that longer ones move nothing else.
const STRINGS: usize = 256 << 10;

/// A part of the arena, from which blocks are taken.
struct Room {
    next: usize,
    end: usize,
}

impl Room {
    fn take(bytes: usize) -> Option<Self> {
        let next = address::take(bytes, 4096)?;
        Some(Self { next, end: next + bytes })
    }

    /// A block of it; of the arena when it is full.
    fn block(&mut self, bytes: usize) -> Option<usize> {
        let bytes = bytes.next_multiple_of(16);
        if self.next + bytes > self.end {
            return address::take(bytes, 16);
        }
        self.next += bytes;
        Some(self.next - bytes)
    }
}

/// A copy of a list of strings; without the variable that names the request, if it is the environment.
///
/// # Safety
/// The list ends with a null.
unsafe fn copy_strings(list: *mut *mut c_char, environment: bool, room: &mut Room) -> Option<*mut *mut c_char> {
    let mut strings = Vec::new();
    // SAFETY: the caller's promise.
    unsafe {
        let mut at = list;
        while !(*at).is_null() {
            let string = CStr::from_ptr(*at);
            if !environment || !string.to_bytes().starts_with(VARIABLE.as_bytes()) {
                strings.push(string);
            }
            at = at.add(1);
        }
        let copied = room.block((strings.len() + 1) * size_of::<usize>())? as *mut *mut c_char;
        for (number, string) in strings.iter().enumerate() {
            let bytes = string.to_bytes_with_nul();
            let place = room.block(bytes.len())? as *mut u8;
            place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            *copied.add(number) = place.cast();
        }
        Some(copied)
    }
}

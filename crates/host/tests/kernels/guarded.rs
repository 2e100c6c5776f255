//! Memory with a forbidden page on either side, so that a kernel that leaves its span is caught in the act.

use std::ptr::{self, NonNull};

/// Pages of either kind; mapped pages may be larger on AArch64.
const PAGE: usize = 64 << 10;

/// Words between two forbidden pages, against one of them.
pub struct Guarded {
    map: *mut u8,
    mapped: usize,
    start: NonNull<u8>,
    words: usize,
}

/// Which of the forbidden pages the words touch.
#[derive(Clone, Copy, Debug)]
pub enum Against {
    Front,
    Back,
}

impl Guarded {
    /// `words` words, all zero. Against the back the start is aligned to words only if `words` asks for it.
    pub fn new(words: usize, against: Against) -> Self {
        let inner = (words * 8).next_multiple_of(PAGE);
        let mapped = inner + 2 * PAGE;
        // SAFETY: a new anonymous mapping, of which the middle is made accessible.
        let map = unsafe {
            let map = libc::mmap(
                ptr::null_mut(),
                mapped,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            );
            assert_ne!(map, libc::MAP_FAILED, "no memory for a test");
            let middle = map.cast::<u8>().add(PAGE);
            assert_eq!(libc::mprotect(middle.cast(), inner, libc::PROT_READ | libc::PROT_WRITE), 0);
            map.cast::<u8>()
        };
        let offset = match against {
            Against::Front => PAGE,
            Against::Back => PAGE + inner - words * 8,
        };
        let start = NonNull::new(map.wrapping_add(offset)).expect("a mapping is not at zero");
        Self { map, mapped, start, words }
    }

    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// A copy of all words.
    pub fn words(&self) -> Vec<u64> {
        // SAFETY: the middle of the mapping is readable and initialised to zero by the kernel; no routine runs now.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast::<u64>(), self.words) }.to_vec()
    }

    /// Sets all words.
    pub fn set(&mut self, words: &[u64]) {
        assert_eq!(words.len(), self.words);
        // SAFETY: as in `words`, and writable.
        unsafe { ptr::copy_nonoverlapping(words.as_ptr(), self.start.as_ptr().cast::<u64>(), words.len()) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { libc::munmap(self.map.cast(), self.mapped) };
    }
}

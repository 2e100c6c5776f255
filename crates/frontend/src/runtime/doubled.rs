//! Atomic loads and stores that clang announces twice: as what they are, and before that as any load or store.
//!
//! clang 14 announces every load and store of a function, those of its local arrays among them, where it is told to trace them for
//! coverage; only that an atomic one is called by the sanitizer's own name does it not consider. Before the program begins these
//! calls are taken out of its code.

use iced_x86::{Decoder, DecoderOptions, Instruction};

use super::branches::target;
use super::code::Code;
use super::{atomics, callbacks, counted};

/// Pairs of functions: one announces any load or store of so many bytes, the other an atomic one.
macro_rules! pairs {
    ($($traced:ident $atomic:ident)*) => {
        [$((callbacks::$traced as *const () as usize, atomics::$atomic as *const () as usize),)*]
    };
}

fn pairs() -> [(usize, usize); 10] {
    pairs! {
        __sanitizer_cov_load1 __tsan_atomic8_load
        __sanitizer_cov_load2 __tsan_atomic16_load
        __sanitizer_cov_load4 __tsan_atomic32_load
        __sanitizer_cov_load8 __tsan_atomic64_load
        __sanitizer_cov_load16 __tsan_atomic128_load
        __sanitizer_cov_store1 __tsan_atomic8_store
        __sanitizer_cov_store2 __tsan_atomic16_store
        __sanitizer_cov_store4 __tsan_atomic32_store
        __sanitizer_cov_store8 __tsan_atomic64_store
        __sanitizer_cov_store16 __tsan_atomic128_store
    }
}

/// Takes the first of two announcements out of the program's code. Returns whether none is left.
pub(super) fn remove() -> bool {
    let code = Code::of_executable();
    let called = |step: &Instruction| target(step).map(|target| code.called(target));
    let doubled = doubled(code.from(code.start), code.start, called, &pairs());
    // SAFETY: the program has not begun.
    doubled.is_empty() || unsafe { counted::leave_out(&code, &doubled) }
}

/// The calls in `code`, which begins at `start`, of the first function of a pair before one of the second: where they are, and their
/// bytes. `called` tells what an instruction calls.
fn doubled(
    code: &[u8],
    start: usize,
    called: impl Fn(&Instruction) -> Option<usize>,
    pairs: &[(usize, usize)],
) -> Vec<(usize, usize)> {
    let mut decoder = Decoder::with_ip(64, code, start as u64, DecoderOptions::NONE);
    let mut step = Instruction::default();
    let (mut found, mut before) = (Vec::new(), None);
    while decoder.can_decode() {
        decoder.decode_out(&mut step);
        let Some(called) = called(&step) else { continue };
        if let Some((_, place)) = before.take_if(|&mut (atomic, _)| atomic == called) {
            found.push(place);
        }
        let pair = pairs.iter().find(|&&(traced, _)| traced == called);
        before = pair.map(|&(_, atomic)| (atomic, (step.ip() as usize, step.len())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::branches::Target;

    #[test]
    fn only_what_the_next_call_announces_again_is_doubled() {
        let call = |distance: u8| [0xe8, distance, 0, 0, 0];
        let to = |step: &Instruction| match target(step) {
            Some(Target::Code(at)) => Some(at - step.next_ip() as usize),
            _ => None,
        };
        // mov rdi, rbx between calls.
        let code = [call(1).as_slice(), &[0x48, 0x89, 0xdf], &call(2), &call(1), &call(3), &call(2)].concat();
        assert_eq!(doubled(&code, 0x1000, to, &[(1, 2), (3, 4)]), [(0x1000, 5)]);
        assert_eq!(doubled(&code, 0x1000, to, &[(1, 3), (3, 2)]), [(0x100d, 5), (0x1012, 5)]);
    }
}

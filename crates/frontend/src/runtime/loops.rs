//! Loops of the program's own that look at a word until another thread changes it: the looks in between cost nothing of the host.
//!
//! A loop is at the same point twice in the very same state if nothing but loads of one word from one place lies in between, and at
//! both times the registers that calls preserve, and the whole stack, are equal: all else is dead at a call. What follows is then the
//! same again, as long as the word is the same, unless the loop calls what is not seen here, or looks at a clock; its code tells. The
//! simulator says whether its processor is in the same state, too ([`sim::Thread::look_on`]).

use std::hash::Hasher;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use rustc_hash::{FxHashMap, FxHasher};
use sim::Thread;
use units::VirtualAddr;

use super::branches::{Callee, Target, target};
use super::code::Code;
use super::state::{Frame, HOT, Hot, Single, UserThread};

/// Looks from one attempt to the next: a processor comes to steady state when its window has filled with the loop's own instructions.
const PATIENCE: u32 = 32;

/// Rounds of a loop that pass at once at most: then it looks for itself, and others learn that nothing has changed.
const ROUNDS: u64 = 10_000;

/// The most bytes of stack that are compared.
const MOST_STACK: usize = 64 << 10;

/// Instructions that put the program's registers where [`again`] finds them.
macro_rules! tell_registers {
    () => {
        "mov [rip + {hot} + {frame}], rsp
         mov [rip + {hot} + {frame} + 8], rbx
         mov [rip + {hot} + {frame} + 16], rbp
         mov [rip + {hot} + {frame} + 24], r12
         mov [rip + {hot} + {frame} + 32], r13
         mov [rip + {hot} + {frame} + 40], r14
         mov [rip + {hot} + {frame} + 48], r15
         mov byte ptr [rip + {hot} + {told}], 1"
    };
}

pub(super) use tell_registers;

/// Which places are looks of loops that do nothing else, as far as it has been asked.
static BARE: Single<Option<(Code, FxHashMap<usize, bool>)>> = Single::new(None);

/// The running thread is about to look at `at` again, where it has looked before from the code at `site`. A round of its loop would
/// make so many calls by its looks alone.
#[cold]
#[inline(never)]
pub fn again(hot: &mut Hot, thread: &mut Thread<'static>, at: VirtualAddr, site: usize, calls: u64) {
    thread.note_again();
    hot.looks += 1;
    if hot.recording || hot.looks < PATIENCE || !thread.may_skip_rounds() {
        return;
    }
    let user = hot.user;
    // SAFETY: threads are never freed, and this is the running one.
    let looks = unsafe { &mut (*user).looks };
    if hot.looks == PATIENCE {
        looks.before = None;
    }
    if !std::mem::take(&mut hot.told) {
        if calls == 0 {
            // The next look tells in which state the program makes it.
            (hot.inspects, hot.timed) = (true, std::ptr::null_mut());
        }
        return;
    }
    let state = state_of(&hot.frame, user, hot.budget.late).filter(|_| is_bare(site));
    let (Some(state), made) = (state, looks.calls) else {
        hot.looks = 0;
        return;
    };
    let before = looks.before.replace((state, made));
    let same = before.is_some_and(|before| before == (state, made.wrapping_sub(calls)));
    if same || before.is_none() {
        thread.look_on(at, same, ROUNDS);
    } else {
        hot.looks = 0;
    }
    // SAFETY: one thread of the host; others may have run meanwhile.
    let hot = unsafe { &mut *HOT.get() };
    if calls == 0 && hot.looks > 0 {
        (hot.inspects, hot.timed) = (true, std::ptr::null_mut());
    }
}

/// The call of the runtime's that the running thread makes is as if it were none.
pub fn discount_call() {
    // SAFETY: threads are never freed, and one runs.
    unsafe { (*(*HOT.get()).user).looks.calls -= 1 };
}

/// A hash of the program's registers and stack, and of the state of `late` results; none if the stack is too long.
fn state_of(frame: &Frame, user: *mut UserThread, late: u32) -> Option<u64> {
    // SAFETY: threads are never freed.
    let (start, bytes) = unsafe { (*user).stack };
    let length = (start + bytes).checked_sub(frame.rsp).filter(|&length| length <= MOST_STACK)?;
    let mut hasher = FxHasher::default();
    hasher.write_u32(late);
    for register in [frame.rsp, frame.rbx, frame.rbp, frame.r12, frame.r13, frame.r14, frame.r15] {
        hasher.write_usize(register);
    }
    // SAFETY: from the stack pointer to its end the stack is the program's.
    let stack = unsafe { std::slice::from_raw_parts(frame.rsp as *const u8, length) };
    hasher.write(stack);
    Some(hasher.finish())
}

/// Whether the look at `site` is in a loop that does nothing which is not seen.
fn is_bare(site: usize) -> bool {
    // SAFETY: one thread of the host.
    let (code, known) = unsafe { (*BARE.get()).get_or_insert_with(|| (Code::of_executable(), FxHashMap::default())) };
    *known.entry(site).or_insert_with(|| {
        loop_of(code.from(site), site)
            .is_some_and(|(first, end)| sees_all(&code.from(first)[..end - first], first, |to| code.callee(to)))
    })
}

/// Bytes of code that a loop has at most on either side of its look.
const REACH: usize = 512;

/// Where the loop begins and ends that comes back to before `site`, of which `code` is what follows.
fn loop_of(code: &[u8], site: usize) -> Option<(usize, usize)> {
    let mut decoder = Decoder::with_ip(64, &code[..code.len().min(REACH)], site as u64, DecoderOptions::NONE);
    let mut step = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut step);
        match step.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
                if step.op0_kind() == OpKind::NearBranch64 =>
            {
                let to = step.near_branch_target() as usize;
                if to < site && site - to <= REACH {
                    return Some((to, step.next_ip() as usize));
                }
            }
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => {}
            _ => return None,
        }
    }
    None
}

/// Whether nothing that `code` does, which begins at `first`, depends on anything but registers, the stack, and what instrumentation
/// announces.
fn sees_all(code: &[u8], first: usize, callee: impl Fn(Target) -> Callee) -> bool {
    let mut decoder = Decoder::with_ip(64, code, first as u64, DecoderOptions::NONE);
    let mut step = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut step);
        let hidden = matches!(
            step.mnemonic(),
            Mnemonic::Rdtsc
                | Mnemonic::Rdtscp
                | Mnemonic::Rdrand
                | Mnemonic::Rdseed
                | Mnemonic::Rdpid
                | Mnemonic::Cpuid
                | Mnemonic::Syscall
        );
        let fits = match step.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => !hidden,
            FlowControl::Call | FlowControl::IndirectCall => {
                target(&step).is_some_and(|target| callee(target) != Callee::Program)
            }
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the loops of these tests are.
    const AT: usize = 0x40_0000;

    #[test]
    fn a_loop_is_what_comes_back_to_its_look() {
        // call look; test eax, eax; je -9; ret
        let code = [0xe8, 0, 1, 0, 0, 0x85, 0xc0, 0x74, 0xf7, 0xc3];
        assert_eq!(loop_of(&code[5..], AT + 5), Some((AT, AT + 9)));
        // A return, or the end of what is looked at, comes before any jump back.
        assert_eq!(loop_of(&[0x85, 0xc0, 0xc3, 0x74, 0xf7], AT + 5), None);
        assert_eq!(loop_of(&[0x90; 600], AT + 5), None);
    }

    #[test]
    fn what_is_hidden_is_found() {
        let calls = |callee: Callee| move |_: Target| callee;
        let look = [0xe8, 0, 1, 0, 0, 0x85, 0xc0, 0x74, 0xf7];
        assert!(sees_all(&look, AT, calls(Callee::Callback)) && sees_all(&look, AT, calls(Callee::Reference)));
        assert!(!sees_all(&look, AT, calls(Callee::Program)), "it may do anything");
        // rdtsc; syscall; jmp rax
        for hidden in [&[0x0f, 0x31][..], &[0x0f, 0x05], &[0xff, 0xe0]] {
            assert!(!sees_all(hidden, AT, calls(Callee::Callback)));
        }
        // pause; dec ecx: registers are compared.
        assert!(sees_all(&[0xf3, 0x90, 0xff, 0xc9], AT, calls(Callee::Callback)));
    }

    #[test]
    fn states_differ_by_registers_and_stack() {
        let stack = vec![1_u64; 64];
        let mut user = Box::new(std::mem::MaybeUninit::<UserThread>::zeroed());
        let user = user.as_mut_ptr();
        // SAFETY: only this field is looked at.
        unsafe { (*user).stack = (stack.as_ptr() as usize, 512) };
        let frame = Frame { rsp: stack.as_ptr() as usize + 256, ..Frame::default() };
        let first = state_of(&frame, user, 0);
        assert!(first.is_some() && first == state_of(&frame, user, 0));
        assert_ne!(first, state_of(&frame, user, 1));
        assert_ne!(first, state_of(&Frame { rbx: 1, ..frame }, user, 0));
        let mut other = stack.clone();
        other[40] = 2;
        // SAFETY: as above.
        unsafe { (*user).stack = (other.as_ptr() as usize, 512) };
        assert_ne!(first, state_of(&Frame { rsp: other.as_ptr() as usize + 256, ..frame }, user, 0));
    }
}

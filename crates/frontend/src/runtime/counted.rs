//! References that are only counted cost no call each: the program is rewritten while it runs.
//!
//! When a block of code is entered for the first time, its calls before single references become instructions that do nothing,
//! and the call at its beginning leads to a few instructions made for it, which count all that it has at once. Calls that somebody
//! could reach past the block's beginning stay as they are, and count by themselves; so does all of a program whose code may not
//! be changed.

use std::mem::offset_of;

use super::blocks::{Block, Cost, enter_anew};
use super::branches::{Callee, Target};
use super::callbacks::take_turn_or_end;
use super::code::Code;
use super::state::{Budget, HOT, Single};

/// Where what blocks begin with is made.
struct Workshop {
    /// Room for the next one, and where there is no more.
    next: usize,
    end: usize,
    /// Where all rooms begin that it ever had.
    rooms: Vec<usize>,
    /// Whether the program's code may be changed, if that was asked.
    writable: Option<bool>,
}

static WORKSHOP: Single<Workshop> = Single::new(Workshop { next: 0, end: 0, rooms: Vec::new(), writable: None });

/// Bytes of memory that the workshop gets at a time.
const ROOM: usize = 1 << 20;

/// Bytes from one block's instructions to the next one's.
const SPACING: usize = 112;

/// Rewrites the block whose beginning has been called from before `at`, in the program's code. Returns how many references this
/// entry has to count, for which there are no calls any more.
pub(super) fn remove_calls(program: &Code, at: usize, block: &Block, cost: *const Cost) -> i32 {
    // SAFETY: one thread of the host.
    let workshop = unsafe { &mut *WORKSHOP.get() };
    if !workshop.may_write(program) {
        return 0;
    }
    // SAFETY: code before the return address of a call, all of it of one mapping.
    let before = unsafe { std::slice::from_raw_parts((at - 6) as *const u8, 6) };
    let Some(call) = beginning(before, at, |target| program.callee(target)) else { return 0 };
    let Some(made) = workshop.make(block, cost, at) else { return 0 };
    let distance = (made.wrapping_sub(at) as i32).to_le_bytes();
    // SAFETY: what is overwritten is a call, by one as long: nothing else begins in its midst.
    unsafe {
        if call == 6 {
            write(at - 6, &[ADDRESS_SIZE, CALL]);
        }
        write(at - 4, &distance);
    }
    for &(place, length, goes_on) in &block.calls {
        // SAFETY: as above; the code was decoded from a place where it was about to run.
        unsafe { write(place, nothing(length, goes_on)) };
    }
    block.references
}

/// Whether what is called at `at` was made for the beginning of a block.
pub(super) fn is_made(at: usize) -> bool {
    // SAFETY: one thread of the host.
    let workshop = unsafe { &*WORKSHOP.get() };
    workshop.rooms.iter().any(|room| (*room..room + ROOM).contains(&at))
}

/// Leaves out calls of the program's code, each told by where it is and its bytes, as if what they call did nothing. Returns whether
/// the code may be changed.
///
/// # Safety
/// They are calls, and the code is run by nobody.
pub(super) unsafe fn leave_out(program: &Code, calls: &[(usize, usize)]) -> bool {
    // SAFETY: one thread of the host.
    let may = unsafe { &mut *WORKSHOP.get() }.may_write(program);
    for &(place, length) in calls.iter().filter(|_| may) {
        // SAFETY: the caller's promise.
        unsafe { write(place, nothing(length, true)) };
    }
    may
}

/// Puts `bytes` at places of the program's code. Whether that may be changed.
///
/// # Safety
/// At each place there is an instruction of at least so many bytes, and nothing jumps behind its first byte.
pub(super) unsafe fn put(program: &Code, places: &[usize], bytes: &[u8]) -> bool {
    // SAFETY: one thread of the host.
    let may = unsafe { &mut *WORKSHOP.get() }.may_write(program);
    for &place in places.iter().filter(|_| may) {
        // SAFETY: the caller's promise.
        unsafe { write(place, bytes) };
    }
    may
}

/// A near call, and a prefix that means nothing before it: together as long as a call by the linkage table.
const CALL: u8 = 0xe8;
const ADDRESS_SIZE: u8 = 0x67;

/// The bytes of the call that ends before `at` and announces a block, of which `before` are the last six.
fn beginning(before: &[u8], at: usize, callee: impl Fn(Target) -> Callee) -> Option<usize> {
    let distance = i32::from_le_bytes(before[2..].try_into().ok()?);
    let place = at.wrapping_add_signed(distance as isize);
    let (target, length) = match before {
        [0xff, 0x15, ..] => (Target::Slot(place), 6),
        [_, CALL, ..] => (Target::Code(place), 5),
        _ => return None,
    };
    (callee(target) == Callee::Block).then_some(length)
}

/// Instructions of `length` bytes that do nothing, or return to the caller where the program does not go on behind them.
fn nothing(length: usize, goes_on: bool) -> &'static [u8] {
    match (length, goes_on) {
        (6, true) => &[0x66, 0x0f, 0x1f, 0x44, 0, 0],
        (5, true) => &[0x0f, 0x1f, 0x44, 0, 0],
        (_, false) => &[0xc3],
        // A call of another length is none of the compiler's: it stays.
        _ => &[],
    }
}

/// Overwrites code.
///
/// # Safety
/// There are so many bytes of code from `at` on, they may be written, and nobody is in their midst.
unsafe fn write(at: usize, bytes: &[u8]) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) }
}

impl Workshop {
    /// Whether the program's code may be changed, asked of the host once.
    fn may_write(&mut self, program: &Code) -> bool {
        *self.writable.get_or_insert_with(|| {
            // SAFETY: a plain question.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            let end = (program.start + program.bytes).next_multiple_of(page);
            let start = program.start & !(page - 1);
            let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            // SAFETY: the program's own code, which stays what it is and where it is.
            unsafe { libc::mprotect(start as *mut _, end - start, all) == 0 }
        })
    }

    /// Makes what is called at the beginning of a block, within reach of `at`: it counts what the block has, and gives others
    /// their turn when it is time. `None` if there is no memory in reach.
    fn make(&mut self, block: &Block, cost: *const Cost, at: usize) -> Option<usize> {
        if self.next + SPACING > self.end {
            let (protection, flags) = (
                libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT,
            );
            // SAFETY: nothing is replaced, and what is mapped is used by nobody else.
            let room = unsafe { libc::mmap(std::ptr::null_mut(), ROOM, protection, flags, -1, 0) };
            if room == libc::MAP_FAILED {
                return None;
            }
            (self.next, self.end) = (room as usize, room as usize + ROOM);
            self.rooms.push(room as usize);
        }
        let place = self.next;
        i32::try_from(place.wrapping_sub(at) as isize).ok()?;
        // SAFETY: one thread of the host.
        let budget = unsafe { &raw const (*HOT.get()).budget };
        let code = counting(block, cost as usize, budget as usize);
        // SAFETY: room of the workshop.
        unsafe { write(place, &code) };
        self.next += SPACING;
        Some(place)
    }
}

/// Instructions that count a block: instructions below, references above that are taken off, and the stalls of its `cost` if the same
/// is late as when it was last entered. Registers that a function may change are free.
fn counting(block: &Block, cost: usize, budget: usize) -> Vec<u8> {
    const LEFT: u8 = offset_of!(Budget, left) as u8;
    const STALLS: u8 = offset_of!(Budget, stalls) as u8;
    const LATE: u8 = offset_of!(Budget, late) as u8;
    const FROM: u8 = offset_of!(Cost, from) as u8;
    const TO: u8 = offset_of!(Cost, to) as u8;
    const OF_COST: u8 = offset_of!(Cost, stalls) as u8;
    let amount = (i64::from(-block.references) << 32) + block.instructions as i64;
    let mut code = Vec::with_capacity(SPACING);
    code.extend([0x48, 0xb8]); // mov rax, amount
    code.extend(amount.to_le_bytes());
    code.extend([0x48, 0xb9]); // mov rcx, budget
    code.extend(budget.to_le_bytes());
    code.extend([0x48, 0x01, 0x01]); // add [rcx], rax
    code.extend([0x48, 0xbf]); // mov rdi, cost
    code.extend(cost.to_le_bytes());
    code.extend([0x8b, 0x41, LATE]); // mov eax, [rcx + late]
    code.extend([0x3b, 0x47, FROM]); // cmp eax, [rdi + from]
    let same = [
        [0x8b, 0x47, TO],      // mov eax, [rdi + to]
        [0x89, 0x41, LATE],    // mov [rcx + late], eax
        [0x8b, 0x47, OF_COST], // mov eax, [rdi + stalls]
        [0x01, 0x41, STALLS],  // add [rcx + stalls], eax
        // Any of them may have become too many, or too few references be left: the upper bit tells.
        [0x8b, 0x41, STALLS], // mov eax, [rcx + stalls]
        [0x0b, 0x41, 0],      // or eax, [rcx]
        [0x0b, 0x41, LEFT],   // or eax, [rcx + left]
    ];
    let turn = (take_turn_or_end as *const () as usize).to_le_bytes();
    let anew = (enter_anew as *const () as usize).to_le_bytes();
    let returns = [0x78, 0x01, 0xc3]; // js over the return; ret
    let goes = |to: [u8; 8]| [&[0x48, 0xb8], &to[..], &[0xff, 0xe0]].concat(); // mov rax, to; jmp rax
    let rest = [&same.concat()[..], &returns, &goes(turn)].concat();
    code.extend([0x75, rest.len() as u8]); // jne over the rest
    code.extend(rest);
    code.extend(goes(anew));
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::state::Budget;

    /// Runs what is made for a block with `references`, of which it is known what it costs if nothing is late.
    fn entered(references: i32, budget: &mut Budget) -> Vec<u8> {
        let block = Block { instructions: 7, references, ..Block::default() };
        let cost = Cost::known(0, 5, 11);
        let code = counting(&block, &raw const cost as usize, std::ptr::from_mut(budget) as usize);
        assert!(code.len() <= SPACING);
        // SAFETY: new memory for code that calls nothing, as long as there is no turn to take, and changes what calls may change.
        unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let room = libc::mmap(std::ptr::null_mut(), SPACING, protection, flags, -1, 0);
            assert_ne!(room, libc::MAP_FAILED);
            write(room as usize, &code);
            let run = std::mem::transmute::<*mut libc::c_void, extern "C" fn()>(room);
            run();
            libc::munmap(room, SPACING);
        }
        code
    }

    #[test]
    fn a_block_counts_without_a_call() {
        let mut budget = Budget { pending: 10, left: 5, stalls: 1, late: 0 };
        let code = entered(3, &mut budget);
        assert_eq!((budget.pending, budget.left, budget.stalls, budget.late), (17, 2, 12, 5));
        budget.late = 0;
        let idle = entered(0, &mut budget);
        assert_eq!((budget.pending, budget.left, budget.stalls, budget.late), (24, 2, 23, 5));
        assert_eq!(code.len(), idle.len());
        let mut decoder = iced_x86::Decoder::new(64, &code, iced_x86::DecoderOptions::NONE);
        let steps: Vec<_> = decoder.iter().collect();
        let returns = steps.iter().position(|step| step.mnemonic() == iced_x86::Mnemonic::Ret).expect("it returns");
        let leads = |mnemonic| steps.iter().find(|step| step.mnemonic() == mnemonic).expect("a branch");
        assert_eq!(leads(iced_x86::Mnemonic::Js).near_branch_target(), steps[returns + 1].ip(), "to take turns");
        assert_eq!(leads(iced_x86::Mnemonic::Jne).near_branch_target(), steps[returns + 3].ip(), "to what is late");
    }

    #[test]
    fn only_calls_that_announce_blocks_are_led_elsewhere() {
        let to = |expected| move |target| if target == expected { Callee::Block } else { Callee::Program };
        let slot = [0xff, 0x15, 0x10, 0, 0, 0];
        assert_eq!(beginning(&slot, 0x1000, to(Target::Slot(0x1010))), Some(6));
        assert_eq!(beginning(&slot, 0x1000, to(Target::Slot(0x1018))), None);
        let near = [0x90, CALL, 0xf0, 0xff, 0xff, 0xff];
        assert_eq!(beginning(&near, 0x1000, to(Target::Code(0xff0))), Some(5));
        assert_eq!(beginning(&[0x90; 6], 0x1000, |_| Callee::Block), None);
    }

    #[test]
    fn what_does_nothing_is_as_long_as_what_was_there() {
        for length in [5, 6] {
            let code = nothing(length, true);
            let mut decoder = iced_x86::Decoder::new(64, code, iced_x86::DecoderOptions::NONE);
            let step = decoder.decode();
            assert_eq!((step.mnemonic(), step.len()), (iced_x86::Mnemonic::Nop, length));
        }
        assert_eq!(nothing(6, false), [0xc3]);
    }
}

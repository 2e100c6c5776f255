//! How many instructions a basic block has, and how long they wait for one another: read off the program's machine code, the first
//! time that the block runs.
//!
//! With `-fsanitize-coverage=trace-pc` the compiler puts a call at the beginning of every basic block. From there to the end of the
//! block the code is decoded once. What instrumentation has added is not counted (a call, and its argument, and moves that only keep a
//! value across calls: [`super::pipeline`]), nor are references, which are instructions by themselves. A comparison and the branch
//! behind it are one instruction: x86 processors fuse them when they decode (Intel since Core 2, AMD since Bulldozer: A. Fog, The
//! microarchitecture of Intel, AMD and VIA CPUs, "macro-op fusion"), and others have one instruction for both. What else compilers do
//! otherwise because of such calls is counted, such as a pointer for each array of a loop: the number is an estimate, a little too high.

use std::arch::naked_asm;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

use rustc_hash::FxHashMap;

use super::branches::{Callee, Target, target, targets};
use super::code::Code;
use super::pipeline::{NO_STATE, Origins, PIPELINE, Pipeline};
use super::state::{Budget, HOT, Hot, RUN, Single};
use super::{callbacks, counted};

/// Blocks of the program's code, and their costs as far as they are known.
struct Blocks {
    code: Code,
    /// By byte of code, what the block costs whose call returns there; null where nothing is known.
    costs: Vec<*mut Cost>,
    /// By byte of code, whether anything jumps there; looked for only where calls are removed.
    entered: Vec<bool>,
    /// Costs of blocks of shared libraries, by where their calls return.
    elsewhere: FxHashMap<usize, *mut Cost>,
    /// Costs of all blocks, in the order in which they were met.
    all: Vec<*mut Cost>,
}

static BLOCKS: Single<Blocks> = Single::new(Blocks {
    code: Code::NONE,
    costs: Vec::new(),
    entered: Vec::new(),
    elsewhere: FxHashMap::with_hasher(rustc_hash::FxBuildHasher),
    all: Vec::new(),
});

/// Cost of a block. It is never freed, since code that is made for the block refers to it.
#[repr(C)]
pub(super) struct Cost {
    /// State of late results ([`Pipeline`]) at the block's last entry, the state behind it, and the slots without issue.
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) stalls: u32,
    /// Its instructions, but for references and what belongs to callbacks.
    instructions: u32,
    /// Its number in the pipeline.
    number: u32,
    /// Where its values come from.
    origins: &'static Origins,
}

/// Those of a block of which nothing is known.
#[cfg(test)]
static NOWHERE: Origins = Origins { references: Vec::new(), words: Vec::new(), exits: Vec::new() };

impl Cost {
    /// The cost of a block that takes `stalls` slots when entered with state `from`, and leaves state `to`.
    #[cfg(test)]
    pub(super) const fn known(from: u32, to: u32, stalls: u32) -> Self {
        Self { from, to, stalls, instructions: 0, number: 0, origins: &NOWHERE }
    }

    fn charge(&mut self, budget: &mut Budget) {
        budget.pending += self.instructions;
        self.charge_stalls(budget);
    }

    #[inline(always)]
    fn charge_stalls(&mut self, budget: &mut Budget) {
        if self.from != budget.late {
            self.look_up(budget);
        }
        budget.stalls += self.stalls;
        budget.late = self.to;
    }

    /// Something else is late than when the block was last entered.
    #[cold]
    fn look_up(&mut self, budget: &mut Budget) {
        // SAFETY: one thread of the host.
        let Some(pipeline) = (unsafe { (*PIPELINE.get()).as_mut() }) else { return };
        if pipeline.is_full() {
            forget(pipeline, budget);
        }
        let passage = pipeline.pass(budget.late, self.number);
        (self.from, self.to, self.stalls) = (passage.from, passage.to, passage.stalls);
    }
}

/// Forgets all states that no thread is in.
fn forget(pipeline: &mut Pipeline, budget: &mut Budget) {
    // SAFETY: one thread of the host; threads and costs are never freed.
    let (blocks, run) = unsafe { (&*BLOCKS.get(), (*RUN.get()).as_ref()) };
    let threads = run.map(|run| run.threads.as_slice()).unwrap_or_default();
    // SAFETY: as above.
    pipeline.keep(threads.iter().map(|&thread| unsafe { &mut (*thread).late }).chain([&mut budget.late]));
    for &cost in &blocks.all {
        // SAFETY: as above; nobody keeps a reference to one.
        unsafe { (*cost).from = NO_STATE };
    }
}

/// Stalls of a block that is entered with another state of late results than last time are charged; its instructions are counted
/// by code that is made for it.
pub(super) extern "C-unwind" fn enter_anew(cost: *mut Cost) {
    // SAFETY: one thread of the host; costs are never freed.
    let budget = unsafe {
        let budget = &mut (*HOT.get()).budget;
        (*cost).charge_stalls(budget);
        budget
    };
    if budget.left < 0 || budget.pending >= MANY || budget.stalls >= MANY {
        callbacks::take_turn_or_end();
    }
}

/// Instructions of a block of which nothing can be read: about one in five instructions of integer programs is a branch.
const UNKNOWN: u32 = 4;

/// Instructions that the compiler adds for a callback: the call and its argument. The reference itself is counted elsewhere.
const ADDED: usize = 2;

/// The most instructions of a block that are counted.
const MOST: usize = 250;

/// Called at the beginning of every basic block, where the compiler counts them.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub extern "C" fn __sanitizer_cov_trace_pc() {
    naked_asm!("mov rdi, [rsp]", "lea rsi, [rsp + 8]", "mov rdx, rbp", "jmp {}", sym enter)
}

/// The block behind a call that returns to `at` begins, with these stack and frame pointers.
extern "C" fn enter(at: usize, stack: usize, frame: usize) {
    // SAFETY: one thread of the host; natively nothing is written.
    let (hot, blocks) = unsafe { (&mut *HOT.get(), &*BLOCKS.get()) };
    if hot.thread.is_null() {
        return;
    }
    match blocks.costs.get(at.wrapping_sub(blocks.code.start)) {
        // SAFETY: costs are never freed, and nobody keeps a reference to one.
        Some(&cost) if !cost.is_null() => unsafe {
            (*cost).charge(&mut hot.budget);
            follow(hot, cost, stack, frame);
        },
        _ => read(at, stack, frame),
    }
    if hot.budget.pending >= MANY || hot.budget.stalls >= MANY {
        callbacks::take_turn();
    }
}

/// Instructions or stalls without a reference after which others get their turn: the counts end at twice as many.
const MANY: u32 = 1 << 31;

/// Where references are timed, what their addresses are computed from is followed.
///
/// # Safety
/// `cost` is one of those met.
#[inline(always)]
unsafe fn follow(hot: &mut Hot, cost: *mut Cost, stack: usize, frame: usize) {
    // SAFETY: the thread that runs is not freed, and nobody keeps a reference to what it tracks.
    if let Some(tracked) = unsafe { hot.tracked.as_mut() } {
        // SAFETY: costs are never freed.
        tracked.enter(unsafe { (*cost).origins }, stack, frame);
    }
}

/// A block is met for the first time.
#[cold]
fn read(at: usize, stack: usize, frame: usize) {
    // SAFETY: one thread of the host.
    let (hot, blocks) = unsafe { (&mut *HOT.get(), &mut *BLOCKS.get()) };
    // Blocks are counted, so that references need not stand for the instructions around them.
    hot.instructions = 0;
    if blocks.costs.is_empty() {
        *blocks = Blocks::of_executable(hot.counting);
    }
    let Blocks { code, costs, entered, elsewhere, all } = blocks;
    if let Some(&cost) = elsewhere.get(&at) {
        // SAFETY: costs are never freed.
        return unsafe {
            (*cost).charge(&mut hot.budget);
            follow(hot, cost, stack, frame);
        };
    }
    let bytes = code.from(at);
    if bytes.is_empty() {
        hot.budget.pending += UNKNOWN;
        return;
    }
    let entered = |at: usize| entered.get(at.wrapping_sub(code.start)).is_none_or(|&entered| entered);
    if is_endless(bytes, at) {
        return super::threads::never_goes_on(at);
    }
    let mut block = decode(bytes, at, |target| code.callee(target), entered);
    let cost = meet(code, &bytes[..block.bytes], at, &mut block);
    all.push(cost);
    // SAFETY: costs are never freed.
    unsafe {
        (*cost).charge(&mut hot.budget);
        follow(hot, cost, stack, frame);
    }
    if at.wrapping_sub(code.start) >= costs.len() {
        elsewhere.insert(at, cost);
        return;
    }
    costs[at - code.start] = cost;
    if hot.counting {
        hot.budget.left -= counted::remove_calls(code, at, &block, cost);
    }
}

/// Cost of the block `bytes`, which begins at `at`. Its instructions that only keep values are taken off.
fn meet(code: &Code, bytes: &[u8], at: usize, block: &mut Block) -> *mut Cost {
    let slots = block.instructions as u32 + block.announced;
    // SAFETY: one thread of the host.
    let pipeline = unsafe { (*PIPELINE.get()).as_mut() };
    let (number, kept, origins) = pipeline
        .map(|pipeline| pipeline.add(bytes, at, slots, |target| code.callee(target), |at| code.from(at)))
        .unwrap_or_default();
    block.instructions = block.instructions.saturating_sub(kept as usize);
    let (instructions, origins) = (block.instructions as u32, Box::leak(Box::new(origins)));
    Box::into_raw(Box::new(Cost { from: NO_STATE, to: NO_STATE, stalls: 0, instructions, number, origins }))
}

impl Blocks {
    /// None is known yet; with `jumps`, where the code jumps to.
    fn of_executable(jumps: bool) -> Self {
        let code = Code::of_executable();
        let entered = if jumps { targets(code.from(code.start), code.start) } else { Vec::new() };
        let costs = vec![std::ptr::null_mut(); code.bytes];
        Self { costs, entered, code, elsewhere: FxHashMap::default(), all: Vec::new() }
    }
}

/// Whether a block that begins at `at`, behind the call that announces it, does nothing but begin again: no thread ever leaves it.
fn is_endless(code: &[u8], at: usize) -> bool {
    let mut decoder = Decoder::with_ip(64, code, at as u64, DecoderOptions::NONE);
    let step = decoder.decode();
    // Calls are five bytes long, or six by a table.
    step.flow_control() == FlowControl::UnconditionalBranch
        && step.op0_kind() == OpKind::NearBranch64
        && [5, 6].contains(&at.wrapping_sub(step.near_branch_target() as usize))
}

/// A block of code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Block {
    /// Its instructions, but for references and what belongs to callbacks.
    pub(super) instructions: usize,
    /// Its bytes, to the end of the last instruction that is its own.
    pub(super) bytes: usize,
    /// The references that its calls announce, each of which is an instruction, too.
    pub(super) announced: u32,
    /// Those of them that are announced alone, as far as nobody jumps between them; the others count by themselves.
    pub(super) references: i32,
    /// Those calls, and those that do nothing: where they are, their bytes, and whether the program goes on behind them.
    pub(super) calls: Vec<(usize, usize, bool)>,
}

/// Whether an instruction does nothing but set the flags that a branch behind it tests; with a word of memory and an immediate operand,
/// it is not fused with the branch.
fn compares(step: &Instruction) -> bool {
    matches!(step.mnemonic(), Mnemonic::Cmp | Mnemonic::Test)
        && !(step.op0_kind() == OpKind::Memory && step.op1_kind() != OpKind::Register)
}

/// The block that begins at `at`.
fn decode(code: &[u8], at: usize, callee: impl Fn(Target) -> Callee, entered: impl Fn(usize) -> bool) -> Block {
    let mut decoder = Decoder::with_ip(64, code, at as u64, DecoderOptions::NONE);
    let (mut block, mut count, mut added, mut alone) = (Block::default(), 0usize, 0usize, true);
    let mut is_comparison = false;
    let mut step = Instruction::default();
    while decoder.can_decode() && count < MOST {
        decoder.decode_out(&mut step);
        if step.is_invalid() {
            break;
        }
        let place = step.ip() as usize;
        alone &= !entered(place);
        count += usize::from(!(is_comparison && step.flow_control() == FlowControl::ConditionalBranch));
        is_comparison = compares(&step);
        let before = block.bytes;
        block.bytes = step.next_ip() as usize - at;
        if let Some(target) = target(&step) {
            let (called, goes_on) = (callee(target), step.flow_control() != FlowControl::IndirectBranch);
            match called {
                Callee::Block if goes_on => {
                    count -= 1;
                    block.bytes = before;
                    break;
                }
                // The reference that it announces is an instruction of the processor already.
                Callee::Reference | Callee::Nothing | Callee::Callback if goes_on => {
                    added += ADDED + 1;
                    block.announced += u32::from(called != Callee::Nothing);
                }
                _ => {}
            }
            if alone && (called == Callee::Nothing || (called == Callee::Reference && goes_on)) {
                block.calls.push((place, step.len(), goes_on));
                block.references += i32::from(called == Callee::Reference);
            }
        }
        match step.flow_control() {
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall | FlowControl::XbeginXabortXend => {}
            _ => break,
        }
    }
    block.instructions = count.saturating_sub(added);
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_that_do_nothing_are_endless() {
        // jmp -8 and jmp -7, which is where a call of six or five bytes before them begins; jmp -9; nop, jmp -8.
        for (code, endless) in [
            (&[0xeb, 0xf8][..], true),
            (&[0xeb, 0xf9], true),
            (&[0xeb, 0xf7], false),
            (&[0x90, 0xeb, 0xf8], false),
            (&[0x75, 0xf8], false),
            (&[], false),
        ] {
            assert_eq!(is_endless(code, 0x40_0000), endless, "{code:x?}");
        }
    }

    #[test]
    fn a_block_ends_at_its_branch_and_callbacks_do_not_count() {
        // add rax, rbx; lea rdi, [rsi+8]; call +0x100; mov rcx, [rsi+8]; dec rcx; jne -0x10; nop
        let code = [
            0x48, 0x01, 0xd8, 0x48, 0x8d, 0x7e, 0x08, 0xe8, 0x00, 0x01, 0x00, 0x00, 0x48, 0x8b, 0x4e, 0x08, 0x48, 0xff,
            0xc9, 0x75, 0xf0, 0x90,
        ];
        let target = 0x40_0000 + 12 + 0x100;
        let block = |code: &[u8], callee, jumped: Option<usize>| {
            let callee = |to| if to == Target::Code(target) { callee } else { Callee::Program };
            decode(code, 0x40_0000, callee, |at| Some(at) == jumped.map(|offset| 0x40_0000 + offset))
        };
        let count = |code: &[u8], callee| block(code, callee, None).instructions;
        assert_eq!(count(&code, Callee::Callback), 3, "an addition, a decrement, a branch");
        assert_eq!(count(&code, Callee::Program), 6);
        assert_eq!(count(&code, Callee::Block), 2, "what is before the next block");
        // cmp rcx, rdx; jne; test ecx, ecx; jne; cmp dword [rdx], 5; jne; cmp rcx, rdx; nop; jne: one, one, two, three.
        for (code, instructions) in [
            (&[0x48, 0x39, 0xd1, 0x75, 0xf0][..], 1),
            (&[0x85, 0xc9, 0x75, 0xf0], 1),
            (&[0x83, 0x3a, 0x05, 0x75, 0xf0], 2),
            (&[0x48, 0x39, 0xd1, 0x90, 0x75, 0xf0], 3),
        ] {
            assert_eq!(count(code, Callee::Program), instructions, "{code:x?}");
        }
        assert_eq!(count(&[0xc3], Callee::Program), 1);
        assert_eq!(count(&[], Callee::Program), 0);
        let calls = vec![(0x40_0007, 5, true)];
        let whole = Block { instructions: 3, bytes: 21, announced: 1, references: 0, calls: Vec::new() };
        let found = block(&code, Callee::Reference, None);
        assert_eq!(found, Block { references: 1, calls: calls.clone(), ..whole.clone() });
        assert_eq!(block(&code, Callee::Nothing, None), Block { announced: 0, calls, ..whole.clone() });
        assert_eq!(block(&code, Callee::Block, None).bytes, 7, "the call is the next one's");
        let kept = whole;
        for entered in [0, 3, 7] {
            assert_eq!(block(&code, Callee::Reference, Some(entered)), kept, "somebody jumps there");
        }
        assert_eq!(block(&code, Callee::Callback, None), kept, "it may be many references");
        let entered = targets(&code, 0x40_0000);
        assert_eq!(entered.iter().filter(|&&entered| entered).count(), 1);
        assert!(entered[5], "the jump back");
    }
}

//! The loops around the steps, the same for every architecture.

use super::Operation;

/// Steps between two looks at the stop flag and two loop branches at most, as the thesis unrolls (Prestor 2001, section
/// 4.2.2).
const UNROLL: u32 = 32;
/// Instructions in an unrolled loop at most: 4 KiB of code leaves the 32 KiB of a first-level instruction cache to
/// whoever shares them, and fits into the decoded-instruction caches of newer processors.
const LOOP_INSTRUCTIONS: u32 = 1024;
/// Additions of a pause that are written one by one; longer pauses are loops.
pub(super) const MOST_ADDED: u32 = 32;
/// Additions in such a loop: enough that its branch hides behind them.
pub(super) const ADDED_IN_LOOP: u32 = 8;
/// How often a ping-pong looks at the word before it looks at the stop flag.
pub(super) const SPINS: u32 = 4096;
/// STREAM's `q`, and the number that the read-modify-write kernel subtracts is [`super::MARK`].
pub(super) const STREAM_SCALAR: u64 = 3.0_f64.to_bits();

/// Code that an architecture must be able to write. Registers hold where the kernel is (`at`), the steps left in this
/// stretch (`here`), those held back for the stretch after it (`held`), and those left after this pass (`remaining`).
pub(super) trait Write {
    /// A place in the code.
    type Label: Copy;
    /// A place that is not yet known.
    fn label(&mut self) -> Self::Label;
    /// It is here.
    fn bind(&mut self, label: Self::Label);
    /// Fills up to where a loop is best begun.
    fn align(&mut self);
    /// Entry: registers from the frame, and the clock once everything before has completed.
    fn enter(&mut self);
    /// All steps are one pass: `here` is the count, nothing remains.
    fn whole(&mut self);
    /// Begins a pass at the first element: `here` is what remains, but at most the elements.
    fn pass(&mut self);
    /// Prefetches the first `ahead` elements of the pass, as many as there are, and moves as many steps from `here` to
    /// `held`.
    fn hold_back(&mut self, ahead: u32);
    /// Moves `held` to `here`.
    fn release(&mut self);
    /// To `label` if the stop flag is set.
    fn if_stopped(&mut self, label: Self::Label);
    /// To `label` if `here` is below `steps`.
    fn if_below(&mut self, steps: u32, label: Self::Label);
    /// Takes `steps` from `here`; to `label` if at least as many are left.
    fn took(&mut self, steps: u32, label: Self::Label);
    /// To `label` if steps remain for another pass.
    fn if_more(&mut self, label: Self::Label);
    /// Step number `index` of an unrolled group; a step that waits goes to `stopped` when the stop flag is set.
    fn step(&mut self, index: u32, prefetch: bool, stopped: Self::Label);
    /// Moves `at` past a group of `steps`, as far as the steps have not done so themselves.
    fn advance(&mut self, steps: u32);
    /// Exit: everything before completed, the clock, the steps taken and what was computed into the frame.
    fn leave(&mut self);
    /// How many steps can share a group for the architecture's sake.
    fn most_in_group(&self) -> u32;
}

/// How many steps share a loop branch and a look at the stop flag. A branch at each element would limit the sums of read-use, a cycle
/// each, on cores whose threads share the branches taken: two cycles an element beside a busy thread of another virtual machine.
fn group(operation: Operation) -> u32 {
    let fitting = |instructions: u32, most: u32| (LOOP_INSTRUCTIONS / instructions).clamp(1, most);
    match operation {
        Operation::Walk { work } | Operation::Modify { work } => fitting(work + 3, UNROLL),
        Operation::Traffic { reads, writes, pause } => fitting((reads + writes) * (2 + pause.min(MOST_ADDED)), 8),
        Operation::Chain { .. } => fitting(Operation::CHAIN, UNROLL),
        Operation::ReadModifyWrite | Operation::SignChange { .. } | Operation::PingPong { .. } => 1,
        Operation::Sum | Operation::SumPrefetched { .. } | Operation::SumNonTemporal { .. } => 16,
        _ => 8,
    }
}

/// Whether the loop looks at the stop flag; the loops of P3 diagrams do not.
fn looks_at_stop(operation: Operation) -> bool {
    !matches!(operation, Operation::ReadUse | Operation::ReadModifyWrite)
}

/// Writes the whole routine.
pub(super) fn write<W: Write>(w: &mut W, operation: Operation) {
    let group = group(operation).min(w.most_in_group()).max(1);
    let looks = looks_at_stop(operation);
    let done = w.label();
    w.enter();
    if one_pass(operation) {
        w.whole();
        stretch(w, group, looks, false, done);
    } else {
        let pass = w.label();
        w.bind(pass);
        w.pass();
        w.if_stopped(done);
        if let Operation::SumPrefetched { ahead } | Operation::SumNonTemporal { ahead } = operation {
            w.hold_back(ahead);
            stretch(w, group, looks, true, done);
            w.release();
        }
        stretch(w, group, looks, false, done);
        w.if_more(pass);
    }
    w.bind(done);
    w.leave();
}

/// Whether the kernel finds its way itself, so that all steps are one pass.
fn one_pass(operation: Operation) -> bool {
    operation.needs_list()
        || matches!(operation, Operation::PingPong { .. } | Operation::Chain { .. } | Operation::SignChange { .. })
}

/// Whether the steps themselves move on.
pub(super) fn finds_its_way(operation: Operation) -> bool {
    one_pass(operation) || matches!(operation, Operation::Traffic { .. })
}

/// Whether access number `access` of a round is a write: writes are spread evenly among the reads.
pub(super) fn is_write(access: u32, reads: u32, writes: u32) -> bool {
    let before = |access: u32| access * writes / (reads + writes);
    before(access + 1) > before(access)
}

/// Takes the steps in `here`: in groups as long as there are enough, then one by one.
fn stretch<W: Write>(w: &mut W, group: u32, looks: bool, prefetch: bool, done: W::Label) {
    let (singles, out) = (w.label(), w.label());
    if group > 1 {
        w.if_below(group, singles);
        repeat(w, group, looks, prefetch, done);
        w.bind(singles);
    }
    w.if_below(1, out);
    repeat(w, 1, looks && group == 1, prefetch, done);
    w.bind(out);
}

/// The loop over groups of `steps`, of which there is at least one.
fn repeat<W: Write>(w: &mut W, steps: u32, looks: bool, prefetch: bool, done: W::Label) {
    let top = w.label();
    w.align();
    w.bind(top);
    if looks {
        w.if_stopped(done);
    }
    for index in 0..steps {
        w.step(index, prefetch, done);
    }
    w.advance(steps);
    w.took(steps, top);
}

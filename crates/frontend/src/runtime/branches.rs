//! Calls and jumps of machine code: where they lead, and what kind of function it can be.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

/// Where a call leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// To code.
    Code(usize),
    /// To what stands in a slot of the linkage table.
    Slot(usize),
}

/// The kind of function that a call leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Callee {
    /// The beginning of the next block.
    Block,
    /// A function of instrumentation's that announces one reference.
    Reference,
    /// A function of instrumentation's that does nothing here.
    Nothing,
    /// Any other function of instrumentation's.
    Callback,
    /// The program's own, or the C library's.
    Program,
}

/// Where a call leads, or a jump by the linkage table, with which a function ends.
pub(super) fn target(step: &Instruction) -> Option<Target> {
    match step.flow_control() {
        FlowControl::Call if step.op0_kind() == OpKind::NearBranch64 => {
            Some(Target::Code(step.near_branch_target() as usize))
        }
        FlowControl::IndirectCall | FlowControl::IndirectBranch => {
            step.is_ip_rel_memory_operand().then(|| Target::Slot(step.ip_rel_memory_address() as usize))
        }
        _ => None,
    }
}

/// By byte of `code`, which begins at `start`, whether it jumps there itself.
pub(super) fn targets(code: &[u8], start: usize) -> Vec<bool> {
    let mut entered = vec![false; code.len()];
    let mut decoder = Decoder::with_ip(64, code, start as u64, DecoderOptions::NONE);
    let mut step = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut step);
        let jumps = matches!(step.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch);
        if jumps
            && step.op0_kind() == OpKind::NearBranch64
            && let Some(entered) = entered.get_mut((step.near_branch_target() as usize).wrapping_sub(start))
        {
            *entered = true;
        }
    }
    entered
}

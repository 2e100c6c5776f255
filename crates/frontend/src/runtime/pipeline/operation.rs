//! Which operation of the simulated processor an instruction of the host's stands for, and what that takes.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use machine::description::{L1Spec, LatencySpec, ProcessorSpec};

/// An operation of the simulated processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Integer,
    Multiply,
    MultiplyLong,
    Divide,
    DivideLong,
    FloatAdd,
    Convert,
    FloatMultiply,
    FloatMultiplyAdd,
    FloatDivideSingle,
    FloatDivideDouble,
    SqrtSingle,
    SqrtDouble,
}

/// A unit that begins one operation at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// Integer multiplications and divisions.
    Integer,
    /// Floating-point divisions and square roots.
    Float,
}

/// Latencies of operations, in the slots in which single instructions issue.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Slots of a cycle.
    width: u32,
    cycles: LatencySpec,
    load_cycles: u32,
    /// Instructions in flight at once.
    pub(super) window: u32,
}

impl Latencies {
    /// Those of a processor with its primary cache.
    pub fn new(processor: &ProcessorSpec, latency: &LatencySpec, primary: &L1Spec) -> Self {
        Self {
            width: processor.issue_width,
            cycles: latency.clone(),
            load_cycles: primary.hit_cycles,
            window: processor.instruction_window,
        }
    }

    /// From the operands of `operation` to its result.
    pub(super) fn of(&self, operation: Operation) -> u32 {
        let cycles = &self.cycles;
        self.width
            * match operation {
                Operation::Integer => cycles.integer_cycles,
                Operation::Multiply => cycles.multiply_cycles,
                Operation::MultiplyLong => cycles.multiply_long_cycles,
                Operation::Divide => cycles.divide_cycles,
                Operation::DivideLong => cycles.divide_long_cycles,
                Operation::FloatAdd => cycles.float_add_cycles,
                Operation::Convert => cycles.convert_cycles,
                Operation::FloatMultiply => cycles.float_multiply_cycles,
                Operation::FloatMultiplyAdd => cycles.float_multiply_add_cycles,
                Operation::FloatDivideSingle => cycles.float_divide_single_cycles,
                Operation::FloatDivideDouble => cycles.float_divide_double_cycles,
                Operation::SqrtSingle => cycles.float_sqrt_single_cycles,
                Operation::SqrtDouble => cycles.float_sqrt_double_cycles,
            }
    }

    /// The unit that `operation` goes to, and how long it is before that begins another.
    pub(super) fn unit(&self, operation: Operation) -> Option<(Unit, u32)> {
        use Operation::{
            Divide, DivideLong, FloatDivideDouble, FloatDivideSingle, Multiply, MultiplyLong, SqrtDouble, SqrtSingle,
        };
        let cycles = &self.cycles;
        let repeat = |repeat: u32, recovery: u32| match repeat {
            0 => self.of(operation) + self.width * recovery,
            repeat => self.width * repeat,
        };
        match operation {
            Multiply | MultiplyLong => Some((Unit::Integer, repeat(cycles.multiply_repeat_cycles, 0))),
            Divide | DivideLong => Some((Unit::Integer, repeat(cycles.divide_repeat_cycles, 0))),
            FloatDivideSingle | FloatDivideDouble | SqrtSingle | SqrtDouble => {
                Some((Unit::Float, repeat(cycles.float_divide_repeat_cycles, cycles.float_divide_recovery_cycles)))
            }
            _ => None,
        }
    }

    /// From the address of a load that hits, or from the value that a store before it leaves there, to its value.
    pub(super) fn load(&self, float: bool) -> u32 {
        self.width * (self.load_cycles + if float { self.cycles.float_load_extra_cycles } else { 0 })
    }
}

/// The operation that `step` stands for: an integer one unless it is known to be another. Instructions on vectors count as their
/// scalar likes, those of the x87 as integer ones.
pub(super) fn operation(step: &Instruction) -> Operation {
    let long = size(step) == 8;
    match step.mnemonic() {
        Mnemonic::Imul | Mnemonic::Mul | Mnemonic::Mulx if long => Operation::MultiplyLong,
        Mnemonic::Imul | Mnemonic::Mul | Mnemonic::Mulx => Operation::Multiply,
        Mnemonic::Pmuludq | Mnemonic::Pmuldq | Mnemonic::Pmulld | Mnemonic::Pmullw | Mnemonic::Pmaddwd => {
            Operation::Multiply
        }
        Mnemonic::Idiv | Mnemonic::Div if long => Operation::DivideLong,
        Mnemonic::Idiv | Mnemonic::Div => Operation::Divide,
        other => float(other).unwrap_or(Operation::Integer),
    }
}

/// The bytes of the first operand.
fn size(step: &Instruction) -> usize {
    match step.op0_kind() {
        OpKind::Register => step.op0_register().size(),
        OpKind::Memory => step.memory_size().size(),
        _ => 0,
    }
}

/// The floating-point operation of an instruction of that name, without and with three operands.
fn float(mnemonic: Mnemonic) -> Option<Operation> {
    // The names tell: an operation, and whether of single or double precision, of scalars or vectors.
    let name = format!("{mnemonic:?}").to_lowercase();
    let name = name.strip_prefix('v').unwrap_or(&name);
    let plain = ["ss", "ps", "sd", "pd"].into_iter().find_map(|ending| Some((name.strip_suffix(ending)?, ending)));
    if name.starts_with("cvt") || matches!(name, "movd" | "movq") {
        return Some(Operation::Convert);
    }
    let (stem, ending) = plain?;
    let double = ending.ends_with('d');
    match stem {
        "add" | "sub" | "addsub" | "hadd" | "hsub" | "min" | "max" | "cmp" | "comi" | "ucomi" | "round" | "and"
        | "andn" | "or" | "xor" => Some(Operation::FloatAdd),
        "mul" => Some(Operation::FloatMultiply),
        "div" => Some(if double { Operation::FloatDivideDouble } else { Operation::FloatDivideSingle }),
        "sqrt" => Some(if double { Operation::SqrtDouble } else { Operation::SqrtSingle }),
        _ if ["fmadd", "fmsub", "fnmadd", "fnmsub"].into_iter().any(|fused| stem.starts_with(fused)) => {
            Some(Operation::FloatMultiplyAdd)
        }
        _ => None,
    }
}

/// Whether `step` only moves a value, between registers of one kind or to or from memory: there are no such instructions where those
/// of three operands and other registers make them needless.
pub(super) fn moves(step: &Instruction) -> bool {
    let named = matches!(
        step.mnemonic(),
        Mnemonic::Mov
            | Mnemonic::Movd
            | Mnemonic::Movq
            | Mnemonic::Movss
            | Mnemonic::Movsd
            | Mnemonic::Movaps
            | Mnemonic::Movapd
            | Mnemonic::Movups
            | Mnemonic::Movupd
            | Mnemonic::Movdqa
            | Mnemonic::Movdqu
            | Mnemonic::Vmovd
            | Mnemonic::Vmovq
            | Mnemonic::Vmovss
            | Mnemonic::Vmovsd
            | Mnemonic::Vmovaps
            | Mnemonic::Vmovapd
            | Mnemonic::Vmovups
            | Mnemonic::Vmovupd
            | Mnemonic::Vmovdqa
            | Mnemonic::Vmovdqu
    );
    let vector = |operand| match step.op_kind(operand) {
        OpKind::Register => Some(step.op_register(operand).is_vector_register()),
        _ => None,
    };
    let crosses = vector(0).zip(vector(1)).is_some_and(|(to, from)| to != from);
    // Loads extend what they load.
    let extends = matches!(step.mnemonic(), Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd);
    (named || extends && step.op1_kind() == OpKind::Memory) && step.op_count() == 2 && !crosses
}

/// Whether the result depends on no register, although two are named: a register is cleared.
pub(super) fn clears(step: &Instruction) -> bool {
    let named = matches!(
        step.mnemonic(),
        Mnemonic::Xor
            | Mnemonic::Sub
            | Mnemonic::Pxor
            | Mnemonic::Xorps
            | Mnemonic::Xorpd
            | Mnemonic::Vpxor
            | Mnemonic::Vxorps
            | Mnemonic::Vxorpd
    );
    let last = step.op_count().saturating_sub(1);
    let registers = |one, other| {
        step.op_kind(one) == OpKind::Register
            && step.op_kind(other) == OpKind::Register
            && step.op_register(one) == step.op_register(other)
    };
    named && last > 0 && registers(last - 1, last)
}

/// Whether `step` makes a new value of its first operand, whose other bytes it only keeps.
pub(super) fn replaces(step: &Instruction) -> bool {
    use Operation::{Convert, SqrtDouble, SqrtSingle};
    matches!(operation(step), Convert | SqrtSingle | SqrtDouble)
        && step.op_count() == 2
        && step.op0_kind() == OpKind::Register
        && step.op0_register() != Register::None
}

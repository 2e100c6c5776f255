//! How results flow through a block of code: which of its instructions wait for which, for registers and for words of memory.
//!
//! Code of instrumentation is no part of it: calls of its functions change nothing here. Values that the compiler keeps on the
//! stack across them were in registers otherwise: words of the stack that no call announces are taken for registers, as are
//! copies between registers. Everything else that is loaded and stored is memory.

mod instruction;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpKind};

use super::super::branches::{Callee, Target, target};
use super::operation::Latencies;
use super::origin::{Found, Origin, Origins, Pointer, WORDS};
use super::place::{
    Address, BASES, FLAGS, FLOAT_UNIT, INTEGER_UNIT, Place, RAX, RBP, RDI, REGISTERS, RSP, Root, VECTORS, Word,
    address, changed_by_calls, register,
};

/// A result by its number: first what registers hold when the block begins, by [`super::place`].
pub(super) type Id = usize;

/// A result that is there at once: nobody waits for it.
pub(super) const READY: Id = REGISTERS;

/// One operation of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Step {
    /// Which instruction it belongs to, and the slot that this issues in if nothing is late, both from the block's beginning.
    pub(super) instruction: usize,
    pub(super) slot: u32,
    pub(super) inputs: Vec<Id>,
    pub(super) output: Id,
    /// Slots from the operands to the result.
    pub(super) latency: u32,
    /// The unit that it has to itself for so many slots, by the number of its place.
    pub(super) unit: Option<(Id, u32)>,
}

/// How results flow through a block.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) steps: Vec<Step>,
    /// How many results there are.
    pub(super) ids: usize,
    /// Instructions that only keep a value across calls of instrumentation: between these it would stay in its register.
    pub(super) kept: u32,
    /// Slots in which all else of the block issues if nothing is late.
    pub(super) slots: u32,
    /// Words that the block finds, and their results.
    pub(super) entries: Vec<(Word, Id)>,
    /// Places that the block changes, and the results they have when it ends.
    pub(super) exits: Vec<(Place, Id)>,
    /// Words that the block changes, as it finds them.
    pub(super) overwritten: Vec<Word>,
    /// By what words are told from, how far it has moved when the block ends; none if it is another.
    pub(super) moved: [Option<i64>; BASES],
}

/// A value: its result, and what it is as an address.
#[derive(Clone, Copy, Debug)]
struct Value {
    id: Id,
    at: Address,
}

/// State of a block as its instructions are read one by one.
struct Reader<'l> {
    latencies: &'l Latencies,
    registers: [Value; REGISTERS],
    /// Words that were loaded or stored, latest last, and whether they were stored.
    words: Vec<(Address, Value, bool)>,
    sums: Vec<(Root, Root, u32)>,
    /// Addresses that instrumentation has told of, each with how many bytes.
    announced: Vec<(Address, i64)>,
    steps: Vec<Step>,
    entries: Vec<(Word, Id)>,
    origins: Found,
    ids: usize,
    instructions: usize,
    /// Those among them that only keep a value across calls of instrumentation.
    kept: u32,
    /// Whether a function of the program's is called, or returned from: the stack pointer is another in the next block.
    leaves: bool,
}

/// How results flow through `code`, the block that begins at `at`, which issues in `slots` slots. What compilers put before the call
/// that begins the next block, such as moves between registers and the stack, is read there: `further` has the code from an address on.
pub(super) fn read<'c>(
    code: &[u8],
    at: usize,
    slots: u32,
    callee: impl Fn(Target) -> Callee,
    further: impl Fn(usize) -> &'c [u8],
    latencies: &Latencies,
) -> (Flow, Origins) {
    let mut reader = Reader::new(latencies);
    let mut decoder = Decoder::with_ip(64, code, at as u64, DecoderOptions::NONE);
    let mut info = InstructionInfoFactory::new();
    let mut step = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut step);
        if step.is_invalid() {
            break;
        }
        match step.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => {
                reader.call(target(&step).map_or(Callee::Program, &callee), step.next_ip() as usize);
            }
            FlowControl::Return | FlowControl::IndirectBranch => reader.leaves = true,
            _ => reader.instruction(&step, &mut info),
        }
    }
    let kept = reader.kept;
    if let Some(next) = next(&step) {
        for step in before_call(further(next), next, callee) {
            reader.instruction(&step, &mut info);
        }
    }
    reader.finish(slots.saturating_sub(kept), kept)
}

/// Where a program most probably goes on that has come to `step`, the last of its block: back, if it can.
fn next(step: &Instruction) -> Option<usize> {
    let (behind, target) = (step.next_ip() as usize, step.near_branch_target() as usize);
    match step.flow_control() {
        FlowControl::UnconditionalBranch if step.op0_kind() == OpKind::NearBranch64 => Some(target),
        FlowControl::ConditionalBranch => Some(target.min(behind)),
        _ => None,
    }
}

/// The most instructions before the call that begins a block.
const BEFORE_CALL: usize = 32;

/// The instructions of `code`, from `at` on, before the call that begins a block; none if something else comes first.
fn before_call(code: &[u8], at: usize, callee: impl Fn(Target) -> Callee) -> Vec<Instruction> {
    let mut found = Vec::new();
    for step in Decoder::with_ip(64, code, at as u64, DecoderOptions::NONE).into_iter().take(BEFORE_CALL) {
        match step.flow_control() {
            FlowControl::Next if !step.is_invalid() => found.push(step),
            FlowControl::Call | FlowControl::IndirectCall if target(&step).map(&callee) == Some(Callee::Block) => {
                return found;
            }
            _ => break,
        }
    }
    Vec::new()
}

impl<'l> Reader<'l> {
    fn new(latencies: &'l Latencies) -> Self {
        let at_entry = |number: usize| {
            let root = if number < usize::from(VECTORS) { Root::Entry(number as u8) } else { Root::Made(number) };
            Value { id: number, at: Address { root, offset: 0 } }
        };
        Self {
            latencies,
            registers: std::array::from_fn(at_entry),
            words: Vec::new(),
            sums: Vec::new(),
            announced: Vec::new(),
            steps: Vec::new(),
            entries: Vec::new(),
            origins: Found::new(),
            ids: READY + 1,
            instructions: 0,
            kept: 0,
            leaves: false,
        }
    }

    /// A function is called: instrumentation's changes nothing, but for the result of one that does the program's work; what the
    /// program's own returns is there.
    /// The call returns to `site`.
    fn call(&mut self, callee: Callee, site: usize) {
        let bytes = match callee {
            Callee::Nothing | Callee::Block => return,
            Callee::Reference => 8,
            Callee::Callback => 16,
            Callee::Program => {
                self.instructions += 1;
                self.leaves = true;
                let held = self.held();
                self.origins.call(held);
                changed_by_calls().for_each(|number| self.forget(number));
                return;
            }
        };
        let Value { id, at } = self.registers[RDI as usize];
        self.announced.push((at, bytes));
        let address = self.origins.of(id).join(self.held_at(at));
        self.origins.refer(site, address);
        if callee == Callee::Callback {
            self.forget(RAX);
        }
    }

    /// A register holds something that nobody waits for.
    fn forget(&mut self, number: u8) {
        let at = self.fresh();
        self.registers[number as usize] = Value { id: READY, at };
    }

    /// An address that is equal to no other.
    fn fresh(&mut self) -> Address {
        self.ids += 1;
        Address { root: Root::Made(self.ids - 1), offset: 0 }
    }

    /// An operation on what `inputs` are; returns its result.
    fn step(&mut self, inputs: Vec<Id>, latency: u32, unit: Option<(Id, u32)>) -> Value {
        let at = self.fresh();
        let output = self.ids - 1;
        self.origins.compute(output, &inputs);
        self.steps.push(Step { instruction: self.instructions, slot: 0, inputs, output, latency, unit });
        Value { id: output, at }
    }

    fn address(&mut self, step: &Instruction) -> Address {
        let Self { registers, sums, .. } = self;
        address(step, |number| registers[number as usize].at, sums)
    }

    /// Whether the memory operand of `step`, which is at `at`, is a word of the stack that the compiler keeps a value in.
    fn is_kept(&self, step: &Instruction, at: Address) -> bool {
        use iced_x86::Register::{EBP, ESP, None as Nothing, RBP, RSP};
        let of_stack = matches!(step.memory_base(), RSP | RBP | ESP | EBP) && step.memory_index() == Nothing;
        of_stack && !self.is_announced(at)
    }

    /// Whether `step`, a move, would not be there without calls of instrumentation, across which a register of its kind keeps nothing:
    /// to or from a word of the stack in a function without a frame pointer, as optimised ones are, or of a constant to a register of
    /// vectors, all of which calls may change.
    fn only_keeps(&self, step: &Instruction, at: Address) -> bool {
        let of_stack = step.memory_base() == iced_x86::Register::RSP && self.is_kept(step, at);
        let constant = step.is_ip_rel_memory_operand()
            && step.op0_kind() == OpKind::Register
            && step.op0_register().is_vector_register()
            && !self.is_announced(at);
        of_stack || constant
    }

    fn is_announced(&self, at: Address) -> bool {
        self.announced_as(at).is_some()
    }

    /// The latest reference that instrumentation has told of the address, by its number.
    fn announced_as(&self, at: Address) -> Option<usize> {
        let within = |&(from, bytes): &(Address, i64)| {
            from.root == at.root && (0..bytes).contains(&at.offset.wrapping_sub(from.offset))
        };
        self.announced.iter().rposition(within)
    }

    /// The value that this block has loaded or stored at `at`.
    fn known(&self, at: Address) -> Option<Value> {
        self.words.iter().rev().find(|(known, ..)| *known == at).map(|&(_, value, _)| value)
    }

    /// The value that was stored last at `at`: in this block, or before it.
    fn stored(&mut self, at: Address) -> Value {
        if let Some(value) = self.known(at) {
            return value;
        }
        let found = self.fresh();
        let Some(word) = Word::at_entry(at) else { return Value { id: READY, at: found } };
        let id = self.ids - 1;
        if let Some(word) = self.stack_word(at) {
            self.origins.set(id, Origin::of_place(word));
        }
        self.entries.push((word, id));
        let value = Value { id, at: found };
        self.words.push((at, value, false));
        value
    }

    /// Origin of the value of a word of the stack: a load of it waits for the stored value, as for its address.
    fn held_at(&mut self, at: Address) -> Origin {
        match self.known(at) {
            Some(value) => self.origins.of(value.id),
            None => self.stack_word(at).map_or(Origin::NOTHING, Origin::of_place),
        }
    }

    /// The place of a word of the stack among a block's.
    fn stack_word(&mut self, at: Address) -> Option<u8> {
        let from = match at.root {
            Root::Entry(RSP) => Pointer::Stack,
            Root::Entry(RBP) => Pointer::Frame,
            _ => return None,
        };
        self.origins.word(from, at.offset)
    }

    /// Origins of the values of registers and of stored words of the stack.
    fn held(&mut self) -> Vec<(u8, Origin)> {
        let mut held: Vec<_> =
            (0..WORDS).map(|number| (number, self.origins.of(self.registers[number as usize].id))).collect();
        let stored: Vec<_> =
            self.words.iter().filter(|(.., stored)| *stored).map(|&(at, value, _)| (at, value)).collect();
        for (at, value) in stored {
            if let Some(word) = self.stack_word(at) {
                held.push((word, self.origins.of(value.id)));
            }
        }
        held
    }

    fn store(&mut self, at: Address, value: Value) {
        self.words.retain(|(known, ..)| *known != at);
        self.words.push((at, value, true));
    }

    /// The value of the memory operand of `step`: of a word that the compiler keeps a value in as of a register.
    fn load(&mut self, step: &Instruction) -> Value {
        let at = self.address(step);
        let stored = self.stored(at);
        if self.is_kept(step, at) {
            return stored;
        }
        let mut inputs = self.bases(step);
        inputs.push(stored.id);
        let float = (0..step.op_count())
            .any(|operand| step.op_kind(operand) == OpKind::Register && step.op_register(operand).is_vector_register());
        let value = self.step(inputs, self.latencies.load(float), None);
        if let Some(number) = self.announced_as(at) {
            self.origins.set(value.id, Origin::of_reference(number));
        }
        value
    }

    /// The results that the address of the memory operand is made of.
    fn bases(&self, step: &Instruction) -> Vec<Id> {
        let named = [step.memory_base(), step.memory_index()].into_iter().filter_map(register);
        named.map(|number| self.registers[number as usize].id).collect()
    }

    /// The block has ended, which issues in `slots` slots beside `kept` instructions that only keep values.
    fn finish(mut self, slots: u32, kept: u32) -> (Flow, Origins) {
        let held = self.held();
        let all = self.instructions.max(1) as u64;
        for step in &mut self.steps {
            step.slot = (step.instruction as u64 * u64::from(slots) / all) as u32;
        }
        let general: [Address; VECTORS as usize] = std::array::from_fn(|number| self.registers[number].at);
        let mut moved = [Some(0); BASES];
        for (number, at) in general.into_iter().enumerate() {
            moved[number] = (at.root == Root::Entry(number as u8)).then_some(at.offset);
        }
        let stays = |word: &Word| word.base != RSP || !self.leaves;
        if self.leaves {
            moved[RSP as usize] = None;
        }
        let registers = (0..REGISTERS).filter(|&number| number != usize::from(FLAGS));
        let changed = registers.filter(|&number| self.registers[number].id != number);
        let mut exits: Vec<_> =
            changed.map(|number| (Place::Register(number as u8), self.registers[number].id)).collect();
        let units = [INTEGER_UNIT, FLOAT_UNIT].map(|unit| (Place::Register(unit), Id::from(unit)));
        let is_used = |unit: Id| self.steps.iter().any(|step| step.unit.is_some_and(|(of, _)| of == unit));
        exits.extend(units.into_iter().filter(|&(_, unit)| is_used(unit)));
        let stored = self.words.iter().filter(|(.., stored)| *stored);
        let words = stored.clone().filter_map(|&(at, value, _)| Some((Word::at_exit(at, &general)?, value.id)));
        exits.extend(words.filter(|(word, _)| stays(word)).map(|(word, id)| (Place::Word(word), id)));
        let overwritten = stored.filter_map(|&(at, ..)| Word::at_entry(at)).collect();
        let origins = self.origins.finish(held);
        (
            Flow { steps: self.steps, ids: self.ids, kept, slots, entries: self.entries, exits, overwritten, moved },
            origins,
        )
    }
}

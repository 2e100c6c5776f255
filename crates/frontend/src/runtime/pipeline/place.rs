//! Where values are that instructions wait for: registers, and memory as far as its addresses can be told apart.

use iced_x86::{Instruction, Register};

/// General registers come first, then those of vectors, then what is like a register.
pub(super) const VECTORS: u8 = 16;
pub(super) const FLAGS: u8 = 48;
/// Units that do one operation at a time are places that each operation waits for, and leaves when it is done.
pub(super) const INTEGER_UNIT: u8 = 49;
pub(super) const FLOAT_UNIT: u8 = 50;
/// How many there are.
pub const REGISTERS: usize = 51;

/// The numbers of registers with a part in calls.
pub(super) const RAX: u8 = 0;
pub(super) const RSP: u8 = 4;
pub(super) const RBP: u8 = 5;
pub(super) const RDI: u8 = 7;

/// Registers that a called function may change: the System V ABI, 3.2.1.
pub(super) fn changed_by_calls() -> impl Iterator<Item = u8> {
    [RAX, 1, 2, 6, RDI, 8, 9, 10, 11].into_iter().chain(VECTORS..=FLAGS)
}

/// A register by its number; none for one of a kind that is not followed (x87, masks, segments).
pub(super) fn register(register: Register) -> Option<u8> {
    let whole = register.full_register();
    match whole.number() as u8 {
        number if whole.is_gpr() => Some(number),
        number if whole.is_vector_register() => Some(VECTORS + number),
        _ => None,
    }
}

/// The base from which an address is an offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Root {
    /// The value of a register when the block began.
    Entry(u8),
    Absolute,
    /// A thread's own storage.
    Thread,
    /// A value that is made in the block.
    Made(usize),
    /// A sum of two registers' roots, by its place in a list.
    Sum(usize),
}

/// An address, or any value as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) root: Root,
    pub(super) offset: i64,
}

/// A word of memory that is told by an address which means the same in the next block: so far from what a register holds between
/// blocks, or from the beginning of all memory or of a thread's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Word {
    /// The number of a register, or one of the two numbers below.
    pub(super) base: u8,
    pub(super) offset: i64,
}

const ABSOLUTE: u8 = 16;
const THREAD: u8 = 17;
/// How many bases words have.
pub(super) const BASES: usize = 18;

impl Word {
    /// The word at an address as a block finds it.
    pub(super) fn at_entry(address: Address) -> Option<Self> {
        let base = match address.root {
            Root::Entry(register) => register,
            Root::Absolute => ABSOLUTE,
            Root::Thread => THREAD,
            Root::Made(_) | Root::Sum(_) => return None,
        };
        Some(Self { base, offset: address.offset })
    }

    /// The word at an address as a block leaves it, with what general registers hold then.
    pub(super) fn at_exit(address: Address, registers: &[Address; VECTORS as usize]) -> Option<Self> {
        match address.root {
            Root::Absolute | Root::Thread => return Self::at_entry(address),
            _ => {}
        }
        // The stack pointer first: it stays the same for longest.
        let all = [RSP].into_iter().chain(0..VECTORS);
        let base = { all }.find(|&register| registers[register as usize].root == address.root)?;
        Some(Self { base, offset: address.offset - registers[base as usize].offset })
    }
}

/// Where something is that is late between two blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Place {
    Register(u8),
    Word(Word),
}

/// The address of a memory operand, with what registers hold; sums of two are found in `sums`, or added.
pub(super) fn address(step: &Instruction, held: impl Fn(u8) -> Address, sums: &mut Vec<(Root, Root, u32)>) -> Address {
    let displacement = step.memory_displacement64() as i64;
    let of = |of: Register| register(of).map(&held);
    let (base, index) = match step.is_ip_rel_memory_operand() {
        true => (None, None),
        false => (of(step.memory_base()), of(step.memory_index())),
    };
    let scale = step.memory_index_scale();
    match (base, index) {
        (None, None) if matches!(step.memory_segment(), Register::FS | Register::GS) => {
            Address { root: Root::Thread, offset: displacement }
        }
        (None, None) => Address { root: Root::Absolute, offset: displacement },
        (Some(base), None) => Address { offset: base.offset.wrapping_add(displacement), ..base },
        (base, Some(index)) => {
            let base = base.unwrap_or(Address { root: Root::Absolute, offset: 0 });
            let mut roots = (base.root, index.root);
            if scale == 1 && roots.1 < roots.0 {
                roots = (roots.1, roots.0);
            }
            let sum = (roots.0, roots.1, scale);
            let place = sums.iter().position(|&known| known == sum).unwrap_or_else(|| {
                sums.push(sum);
                sums.len() - 1
            });
            let scaled = index.offset.wrapping_mul(i64::from(scale));
            let offset = base.offset.wrapping_add(scaled).wrapping_add(displacement);
            Address { root: Root::Sum(place), offset }
        }
    }
}

//! Which loads the addresses of a block's references are computed from.

use super::place::{RAX, REGISTERS};

/// No register, word or reference.
pub const NONE: u8 = u8::MAX;
/// Words of the stack come behind the registers.
pub const WORDS: u8 = REGISTERS as u8;
/// Words of a block that are told apart, and its references.
pub const MOST_WORDS: usize = 64;
pub const MOST_REFERENCES: usize = 64;
/// Places that an origin names at most.
const PLACES: usize = 4;

/// Sources that a value is computed from: places as the block found them, and the latest reference of the block itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Registers by their numbers, and words of the stack behind them.
    pub places: [u8; PLACES],
    pub reference: u8,
}

impl Origin {
    /// That of constants.
    pub const NOTHING: Self = Self { places: [NONE; PLACES], reference: NONE };

    /// Origin of the value of a place when the block began.
    pub fn of_place(place: u8) -> Self {
        Self { places: [place, NONE, NONE, NONE], ..Self::NOTHING }
    }

    /// Origin of a value that a reference of the block has loaded.
    pub fn of_reference(number: usize) -> Self {
        Self { reference: if number < MOST_REFERENCES { number as u8 } else { NONE }, ..Self::NOTHING }
    }

    /// Origin of a value computed from this and `other`. Of more places than it names, those of `other` are left out.
    pub fn join(mut self, other: Self) -> Self {
        let reference = match (self.reference, other.reference) {
            (NONE, one) | (one, NONE) => one,
            (one, other) => one.max(other),
        };
        for place in other.places.into_iter().filter(|&place| place != NONE) {
            if !self.places.contains(&place)
                && let Some(free) = self.places.iter_mut().find(|free| **free == NONE)
            {
                *free = place;
            }
        }
        Self { reference, ..self }
    }
}

/// The base of words of the stack: a register as a block finds it. Code that is not optimised uses a frame pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pointer {
    Stack,
    Frame,
}

/// A reference of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Referred {
    /// Where the call returns that announces it.
    pub site: usize,
    /// The origin of its address, and of the value stored last if it is to a word of the stack.
    pub address: Origin,
}

/// Where the values of a block come from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Origins {
    pub references: Vec<Referred>,
    /// Words of the stack, by their bytes from what a pointer holds when the block begins.
    pub words: Vec<(Pointer, i64)>,
    /// Places that hold something else when the block ends, or calls a function of the program's.
    pub exits: Vec<(u8, Origin)>,
}

/// The origins of a block's results as its instructions are read.
#[derive(Debug)]
pub(super) struct Found {
    /// By result.
    of: Vec<Origin>,
    references: Vec<Referred>,
    words: Vec<(Pointer, i64)>,
    /// Origins of the places' values when a function of the program's is called.
    at_call: Option<Vec<(u8, Origin)>>,
}

impl Found {
    /// Each register holds what it did when the block began.
    pub(super) fn new() -> Self {
        let of = (0..REGISTERS as u8).map(Origin::of_place).collect();
        Self { of, references: Vec::new(), words: Vec::new(), at_call: None }
    }

    /// The origin of a result.
    pub(super) fn of(&self, id: usize) -> Origin {
        self.of.get(id).copied().unwrap_or(Origin::NOTHING)
    }

    /// A result is computed from others.
    pub(super) fn compute(&mut self, id: usize, inputs: &[usize]) {
        let origin = inputs.iter().fold(Origin::NOTHING, |origin, &input| origin.join(self.of(input)));
        self.set(id, origin);
    }

    pub(super) fn set(&mut self, id: usize, origin: Origin) {
        if self.of.len() <= id {
            self.of.resize(id + 1, Origin::NOTHING);
        }
        self.of[id] = origin;
    }

    /// The call that returns to `site` announces a reference that waits for what `address` comes from.
    pub(super) fn refer(&mut self, site: usize, address: Origin) {
        self.references.push(Referred { site, address });
    }

    /// The word `offset` bytes from what a pointer holds when the block begins; none if there are too many.
    pub(super) fn word(&mut self, from: Pointer, offset: i64) -> Option<u8> {
        let word = (from, offset);
        let known = self.words.iter().position(|&known| known == word);
        let number = known.unwrap_or_else(|| {
            self.words.push(word);
            self.words.len() - 1
        });
        (number < MOST_WORDS).then(|| WORDS + number as u8)
    }

    /// A function of the program's is called, whose first block comes next, while places hold `held`; what it returns comes from
    /// nothing here.
    pub(super) fn call(&mut self, held: Vec<(u8, Origin)>) {
        self.at_call.get_or_insert(held.into_iter().filter(|&(place, _)| place != RAX).collect());
    }

    /// The block has ended, and places hold `held`.
    pub(super) fn finish(mut self, held: Vec<(u8, Origin)>) -> Origins {
        let mut exits = self.at_call.take().unwrap_or(held);
        exits.retain(|&(place, origin)| origin != Origin::of_place(place));
        self.references.truncate(MOST_REFERENCES);
        self.words.truncate(MOST_WORDS);
        Origins { references: self.references, words: self.words, exits }
    }
}

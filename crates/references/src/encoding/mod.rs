//! Events as bytes: only where a [predictor](predictor) errs.
//!
//! The bytes are a sequence of tokens. Each stands for a run of steps that were predicted, and one that was not:
//!
//! | bits of the first byte | what |
//! |---|---|
//! | 0 to 3 | steps that were predicted; 15: a number follows that is to be added |
//! | 4, 5 | the address of the step after them: 0 as expected, 1 by the other predictor, 2 a difference from the latest access at this place, 3 a difference from the thread's latest access |
//! | 6, 7 | its shape: 0 as expected, 1 the other one, 2 told in full |
//!
//! After it come the number, the shape and the difference, as far as there are any. If shape and address are 0, no step follows the
//! run. Numbers have seven bits a byte ([`number`]). A loop over arrays takes a few bytes, however long it runs; what is left of
//! a program whose addresses follow from its data is their differences.

mod number;
mod predictor;
mod shape;
mod step;

pub use number::{put as put_number, take as take_number};
pub use predictor::GRAIN;
pub use step::Step;

use predictor::{Guess, Predictor};
use shape::Shape;

use crate::event::{Access, Event};

/// The bits of a token that count predicted steps, all set if more are counted by a number.
const RUN: u8 = 15;
/// Where a token says how the address of its step is told, and the ways.
const ADDRESS: u32 = 4;
const EXPECTED: u8 = 0;
const SECOND: u8 = 1;
const FROM_LAST: u8 = 2;
const FROM_LATEST: u8 = 3;
/// Where it says how the shape is told, and the ways.
const SHAPE: u32 = 6;
const LIKELY: u8 = 0;
const OTHER: u8 = 1;
const TOLD: u8 = 2;

/// Turns events into bytes.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    predictor: Predictor,
    bytes: Vec<u8>,
    /// Steps that were predicted since the latest token.
    run: u64,
    /// Steps in `bytes` and `run`.
    steps: u32,
    /// Instructions and the site of an access that is to come: parts of its step.
    instructions: u32,
    site: Option<u64>,
}

impl Encoder {
    /// Appends an event. Returns whether it may refer to a grain ([`GRAIN`]) that was not referred to before.
    #[inline]
    pub fn encode(&mut self, event: Event) -> bool {
        match event {
            Event::Access(access) => {
                let site = self.site.take().unwrap_or(self.predictor.site());
                let instructions = std::mem::take(&mut self.instructions);
                self.step(Shape::access(access, instructions, site), access.address)
            }
            Event::Instructions(count) if count > 0 && self.instructions == 0 && self.site.is_none() => {
                self.instructions = count;
                false
            }
            Event::Site(site) if site != self.predictor.site() && self.site.is_none() => {
                self.site = Some(site);
                false
            }
            _ => self.encode_alone(event),
        }
    }

    /// Appends an access after so many instructions, which are no event if there are none, by the code at `site`, which is one if the
    /// access before was elsewhere. Returns what [`Self::encode`] does.
    #[inline]
    pub fn access(&mut self, instructions: u32, site: u64, access: Access) -> bool {
        if self.instructions > 0 || self.site.is_some() {
            self.settle();
        }
        self.step(Shape::access(access, instructions, site), access.address)
    }

    /// Appends an event that is a step of its own.
    #[cold]
    fn encode_alone(&mut self, event: Event) -> bool {
        self.settle();
        let (shape, address) = Shape::event(event, self.predictor.site());
        self.step(shape, address)
    }

    /// Instructions and a site are a step each if no access follows.
    fn settle(&mut self) {
        let instructions = Some(std::mem::take(&mut self.instructions)).filter(|&count| count > 0);
        let events = [instructions.map(Event::Instructions), self.site.take().map(Event::Site)];
        for event in events.into_iter().flatten() {
            let (shape, address) = Shape::event(event, self.predictor.site());
            self.step(shape, address);
        }
    }

    #[inline]
    fn step(&mut self, shape: Shape, address: u64) -> bool {
        self.steps += 1;
        let site = self.predictor.site();
        let guess = self.predictor.follow(shape);
        let (mut told, mut leaves) = (EXPECTED, false);
        if shape.has_address() {
            leaves = self.predictor.leaves_grain(address);
            if self.predictor.expected() != address {
                told = self.tell(address);
            }
        }
        if guess == Guess::Likely && told == EXPECTED {
            self.run += 1;
        } else {
            self.miss(guess, told, (shape, address), site);
        }
        if shape.has_address() {
            self.predictor.access(address);
        }
        leaves
    }

    /// The shorter way to tell an address that is not as expected.
    fn tell(&self, address: u64) -> u8 {
        if self.predictor.second() == address {
            return SECOND;
        }
        let from = |before: u64| number::zigzag(address.wrapping_sub(before));
        if from(self.predictor.last()) <= from(self.predictor.address()) { FROM_LAST } else { FROM_LATEST }
    }

    /// Appends a step that was not foretold, after one at `site`.
    #[inline(never)]
    fn miss(&mut self, guess: Guess, told: u8, (shape, address): (Shape, u64), site: u64) {
        let way = match guess {
            Guess::Likely => LIKELY,
            Guess::Other => OTHER,
            Guess::None => TOLD,
        };
        self.token(way << SHAPE | told << ADDRESS);
        if way == TOLD {
            shape.put(site, &mut self.bytes);
        }
        let before = match told {
            FROM_LAST => self.predictor.last(),
            FROM_LATEST => self.predictor.address(),
            _ => return,
        };
        number::put(number::zigzag(address.wrapping_sub(before)), &mut self.bytes);
    }

    /// Appends the first byte of a token with the run before its step.
    fn token(&mut self, ways: u8) {
        match std::mem::take(&mut self.run) {
            run if run < u64::from(RUN) => self.bytes.push(ways | run as u8),
            run => {
                self.bytes.push(ways | RUN);
                number::put(run - u64::from(RUN), &mut self.bytes);
            }
        }
    }

    /// How many bytes wait to be taken, not counting a run that has not ended.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// How many steps wait to be taken.
    #[inline]
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Has `write` take the number of steps so far and their bytes, but for what waits for an access. What follows builds on them.
    pub fn hand_over(&mut self, write: impl FnOnce(u32, &[u8])) {
        if self.run > 0 {
            self.token(LIKELY << SHAPE | EXPECTED << ADDRESS);
        }
        if self.steps > 0 {
            write(self.steps, &self.bytes);
        }
        self.bytes.clear();
        self.steps = 0;
    }

    /// The same at the end, with what waited for an access.
    pub fn finish(&mut self, write: impl FnOnce(u32, &[u8])) {
        self.settle();
        self.hand_over(write);
    }
}

/// Turns bytes into steps.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    predictor: Predictor,
    /// Steps that are as predicted, up to the next token's.
    run: u64,
    /// The ways in which the step after them is told, if there is one.
    after: u8,
}

impl Decoder {
    /// Takes the next step from `bytes`. `None` if they hold none.
    #[inline(always)]
    pub fn next(&mut self, bytes: &mut &[u8]) -> Option<Step> {
        if self.run == 0 {
            if self.after == 0 {
                self.token(bytes)?;
            }
            if self.run == 0 {
                let ways = std::mem::take(&mut self.after);
                return self.told(ways, bytes);
            }
        }
        self.run -= 1;
        Some(self.expected())
    }

    /// Whether all that was begun is done: so it is where bytes were handed over.
    pub fn is_between_tokens(&self) -> bool {
        self.run == 0 && self.after == 0
    }

    #[inline(never)]
    fn token(&mut self, bytes: &mut &[u8]) -> Option<()> {
        let first = number::take_byte(bytes)?;
        self.after = first & !RUN;
        self.run = u64::from(first & RUN);
        if first & RUN == RUN {
            self.run = self.run.checked_add(number::take(bytes)?)?;
        }
        (first != 0).then_some(())
    }

    /// The next step is as expected.
    #[inline]
    fn expected(&mut self) -> Step {
        let shape = self.predictor.follow_likely();
        let mut address = 0;
        if shape.has_address() {
            address = self.predictor.expected();
            self.predictor.access(address);
        }
        Step::new(shape, address)
    }

    /// The next step is told in these ways.
    #[inline(never)]
    fn told(&mut self, ways: u8, bytes: &mut &[u8]) -> Option<Step> {
        let shape = match ways >> SHAPE {
            LIKELY => self.predictor.likely(),
            OTHER => self.predictor.other(),
            TOLD => Shape::take(self.predictor.site(), bytes)?,
            _ => return None,
        };
        self.predictor.follow(shape);
        let mut address = 0;
        if shape.has_address() {
            let mut from = |before: u64| Some(before.wrapping_add(number::unzigzag(number::take(bytes)?)));
            address = match ways >> ADDRESS & 3 {
                EXPECTED => self.predictor.expected(),
                SECOND => self.predictor.second(),
                FROM_LAST => from(self.predictor.last())?,
                _ => from(self.predictor.address())?,
            };
            self.predictor.access(address);
        }
        Some(Step::new(shape, address))
    }
}

#[cfg(test)]
mod tests;

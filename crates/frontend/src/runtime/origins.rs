//! Which loads of a thread the addresses of its references are computed from, as it runs.
//!
//! The values that a block of code computes from its registers, from words of the stack and from its loads are read off its
//! machine code ([`super::pipeline`]). Here each place has the number of the load that its value was computed from last, so that
//! each reference tells the simulator how many loads ago that was.
//!
//! Limits: of several loads that an address is computed from, the latest counts; what a function returns, and what a block does behind
//! a call, comes from nothing; stores issue as if their addresses were there.

use super::pipeline::{MOST_REFERENCES, NONE, Origin, Origins, Pointer, REGISTERS, WORDS};

/// Words of stacks that are followed; others forget what shares their place.
const KEPT: usize = 64;

/// Places that one block changes at most.
const MOST_EXITS: usize = 128;

/// Loads that the simulator tells apart.
const MOST_BACK: u64 = 64;

/// The numbers of loads, by the places whose values were computed from them. The first load has number one; zero is none.
#[derive(Debug)]
pub struct Tracked {
    loads: u64,
    registers: [u64; REGISTERS],
    /// Addresses of words, and their loads.
    words: [(usize, u64); KEPT],
    /// The block that runs, and the stack and frame pointers with which it began.
    block: *const Origins,
    stack: usize,
    frame: usize,
    /// The references of it that have been made, and the loads that they are.
    made: usize,
    referred: [u64; MOST_REFERENCES],
}

impl Tracked {
    /// Nothing was loaded yet.
    pub const NEW: Self = Self {
        loads: 0,
        registers: [0; REGISTERS],
        words: [(0, 0); KEPT],
        block: std::ptr::null(),
        stack: 0,
        frame: 0,
        made: 0,
        referred: [0; MOST_REFERENCES],
    };

    /// The block of `next` begins, with these pointers: the one before has done what it does.
    pub fn enter(&mut self, next: &'static Origins, stack: usize, frame: usize) {
        // SAFETY: null or what was passed here, which lives for ever.
        if let Some(before) = unsafe { self.block.as_ref() } {
            let mut exits = [0; MOST_EXITS];
            for (exit, (_, origin)) in exits.iter_mut().zip(&before.exits) {
                *exit = self.latest(before, *origin);
            }
            for (&exit, &(place, _)) in exits.iter().zip(&before.exits) {
                self.set(before, place, exit);
            }
        }
        (self.block, self.stack, self.frame, self.made) = (next, stack, frame, 0);
        self.referred[..next.references.len()].fill(0);
    }

    /// How many loads ago the one was that the address of the reference at `site` is computed from; zero: too many, or none.
    #[inline]
    pub fn back(&mut self, site: usize) -> u8 {
        // SAFETY: as in `enter`.
        let Some(block) = (unsafe { self.block.as_ref() }) else { return 0 };
        let Some(skipped) = block.references[self.made..].iter().position(|referred| referred.site == site) else {
            return 0;
        };
        let number = self.made + skipped;
        self.made = number + 1;
        // It is a load, and has the next number.
        self.referred[number] = self.loads + 1;
        match self.latest(block, block.references[number].address) {
            0 => 0,
            load => u8::try_from(self.loads + 1 - load).ok().filter(|&back| u64::from(back) <= MOST_BACK).unwrap_or(0),
        }
    }

    /// A load has issued.
    #[inline]
    pub fn loaded(&mut self) {
        self.loads += 1;
    }

    /// The latest load of an origin in `block`.
    #[inline]
    fn latest(&self, block: &Origins, origin: Origin) -> u64 {
        let mut latest = if origin.reference == NONE { 0 } else { self.referred[usize::from(origin.reference)] };
        for place in origin.places {
            if place == NONE {
                break;
            }
            latest = latest.max(match place.checked_sub(WORDS) {
                None => self.registers[usize::from(place)],
                Some(word) => self.word(self.address(block, word)),
            });
        }
        latest
    }

    /// The address of a word of `block`.
    fn address(&self, block: &Origins, word: u8) -> usize {
        let (from, offset) = block.words[usize::from(word)];
        let from = match from {
            Pointer::Stack => self.stack,
            Pointer::Frame => self.frame,
        };
        from.wrapping_add_signed(offset as isize)
    }

    fn word(&self, address: usize) -> u64 {
        let (known, load) = self.words[address / 8 % KEPT];
        if known == address { load } else { 0 }
    }

    fn set(&mut self, block: &Origins, place: u8, load: u64) {
        match place.checked_sub(WORDS) {
            None => self.registers[usize::from(place)] = load,
            Some(word) => {
                let address = self.address(block, word);
                self.words[address / 8 % KEPT] = (address, load);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::pipeline::Referred;

    const NODE: u8 = 3;

    fn block(references: &[(usize, Origin)], exits: &[(u8, Origin)], words: &[(Pointer, i64)]) -> &'static Origins {
        let references = references.iter().map(|&(site, address)| Referred { site, address }).collect();
        Box::leak(Box::new(Origins { references, words: words.to_vec(), exits: exits.to_vec() }))
    }

    fn load(tracked: &mut Tracked, site: usize) -> u8 {
        let back = tracked.back(site);
        tracked.loaded();
        back
    }

    #[test]
    fn each_element_of_a_list_follows_the_one_before() {
        let next = block(&[(100, Origin::of_place(NODE))], &[(NODE, Origin::of_reference(0))], &[]);
        let mut tracked = Tracked::NEW;
        let mut walk = |others: usize| {
            tracked.enter(next, 4096, 0);
            let back = load(&mut tracked, 100);
            (0..others).for_each(|_| assert_eq!(load(&mut tracked, 999), 0, "an unknown place"));
            back
        };
        assert_eq!([walk(0), walk(0), walk(2), walk(62), walk(63), walk(64), walk(0)], [0, 1, 1, 3, 63, 64, 0]);
    }

    #[test]
    fn exits_are_those_of_the_time_before_any_of_them() {
        let first = block(&[(100, Origin::of_place(1))], &[(NODE, Origin::of_reference(0))], &[]);
        let swap = block(&[], &[(NODE, Origin::of_place(4)), (4, Origin::of_place(NODE))], &[]);
        let both = block(&[(101, Origin::of_place(NODE)), (102, Origin::of_place(4))], &[], &[]);
        let mut tracked = Tracked::NEW;
        [first, swap].into_iter().for_each(|block| {
            tracked.enter(block, 4096, 0);
            load(&mut tracked, 100);
        });
        tracked.enter(both, 4096, 0);
        assert_eq!([load(&mut tracked, 101), load(&mut tracked, 102)], [0, 3], "the first load is three back");
    }

    #[test]
    fn words_are_found_from_other_pointers() {
        let store = block(&[(100, Origin::NOTHING)], &[(WORDS, Origin::of_reference(0))], &[(Pointer::Stack, 8)]);
        let from_stack = block(&[(101, Origin::of_place(WORDS))], &[], &[(Pointer::Stack, 24)]);
        let from_frame = block(&[(102, Origin::of_place(WORDS))], &[], &[(Pointer::Frame, -16)]);
        let mut tracked = Tracked::NEW;
        tracked.enter(store, 4096, 0);
        load(&mut tracked, 100);
        tracked.enter(from_stack, 4080, 0);
        assert_eq!(load(&mut tracked, 101), 1);
        tracked.enter(from_frame, 4000, 4120);
        assert_eq!(load(&mut tracked, 102), 2);
        tracked.enter(from_stack, 4096, 0);
        assert_eq!(load(&mut tracked, 101), 0, "another word");
    }
}

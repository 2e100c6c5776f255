//! The input buffer of one subaction, which overflows into negative echoes, and its rule of forward progress.

use super::packet::Generation;

/// An input buffer with the A/B ageing of the standard's queue allocation protocol (IEEE 1596-1992, logical protocols).
///
/// A packet without space returns as busy, with the label of a generation, and is retransmitted with it. One generation
/// is served: its packets enter whenever there is space. All others are busied until none of it is left, and packets
/// that come for the first time join the other generation meanwhile. The served generation therefore only shrinks, and
/// every packet enters after a limited number of others, whatever their sizes. Retransmissions are counted here rather
/// than presumed from the labels that arrive, so a generation ends with its last packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Intake {
    /// Free symbols.
    free: u32,
    served: Generation,
    /// Busied packets not accepted yet: of the generation that is served, and of the other. The second is zero if the
    /// first is.
    busied: [u32; 2],
}

impl Intake {
    pub(super) const fn new(symbols: u32) -> Self {
        Self { free: symbols, served: Generation::A, busied: [0; 2] }
    }

    /// A packet comes. It is accepted, or busied with the generation of its retransmissions.
    #[inline]
    pub(super) fn admit(&mut self, symbols: u32, generation: Option<Generation>) -> Result<(), Generation> {
        let is_served = match generation {
            None => self.busied[0] == 0,
            Some(generation) => generation == self.served,
        };
        if is_served && symbols <= self.free {
            self.free -= symbols;
            if generation.is_some() {
                self.leave();
            }
            return Ok(());
        }
        Err(generation.unwrap_or_else(|| self.join()))
    }

    /// The generation of a packet that is busied for the first time.
    fn join(&mut self) -> Generation {
        let is_first = self.busied[0] == 0;
        self.busied[usize::from(!is_first)] += 1;
        if is_first { self.served } else { self.served.other() }
    }

    /// A packet of the served generation is accepted.
    fn leave(&mut self) {
        self.busied[0] -= 1;
        if self.busied[0] == 0 {
            self.busied.swap(0, 1);
            self.served = self.served.other();
        }
    }

    /// The node has taken a packet.
    #[inline]
    pub(super) fn release(&mut self, symbols: u32) {
        self.free += symbols;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_the_older_generation_enter_before_all_others() {
        let mut intake = Intake::new(10);
        assert_eq!(intake.admit(10, None), Ok(()));
        assert_eq!(intake.admit(8, None), Err(Generation::A), "no space");
        assert_eq!(intake.admit(2, None), Err(Generation::B), "behind it");
        intake.release(10);
        assert_eq!(intake.admit(2, None), Err(Generation::B), "behind it, though there is space");
        assert_eq!(intake.admit(2, Some(Generation::B)), Err(Generation::B), "likewise");
        assert_eq!(intake.admit(8, Some(Generation::A)), Ok(()));
        assert_eq!(intake.admit(2, None), Err(Generation::A), "the generations have changed places");
        assert_eq!(intake.admit(2, Some(Generation::B)), Ok(()));
        intake.release(8);
        assert_eq!(intake.admit(2, Some(Generation::A)), Err(Generation::A), "one of B is left");
        assert_eq!(intake.admit(2, Some(Generation::B)), Ok(()));
        assert_eq!(intake.admit(2, Some(Generation::A)), Ok(()));
        assert_eq!(intake.admit(4, None), Ok(()), "none waits");
    }
}

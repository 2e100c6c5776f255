//! The search for a rate with which machines come nearest to what was measured: golden sections of the rate's logarithm, of several
//! machines beside each other. Those that are farther off than others leave the search after a while.

/// Machines whose rates are searched for to the end: the best of those that have been tried until then.
const TO_THE_END: usize = 2;
/// The golden section, the share of a range that is left when it is narrowed: one of two places tried is tried in the next range, too.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// A search for a rate that lies within this factor of an estimate, on either side, by so many narrowings of the range. Machines that are
/// farther off than others are tried no more after so many of these.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    pub(super) within: f64,
    pub(super) narrowings: usize,
    pub(super) of_all: usize,
}

impl Search {
    /// The machine of `machines`, and its rate near an `estimate`, that come nearest to what was measured; `None` without machines.
    /// `squares_of` returns how far off machines with rates are, which are tried beside each other.
    ///
    /// # Errors
    /// Those of `squares_of`.
    pub(super) fn run<M, E>(
        self,
        machines: Vec<M>,
        estimate: f64,
        mut squares_of: impl FnMut(&[(&M, f64)]) -> Result<Vec<f64>, E>,
    ) -> Result<Option<(M, f64)>, E> {
        let mut try_at = |places: &[(&M, f64)]| -> Result<Vec<Tried>, E> {
            let rates: Vec<(&M, f64)> = places.iter().map(|&(machine, log)| (machine, log.exp())).collect();
            let squares = squares_of(&rates)?;
            Ok(places.iter().zip(squares).map(|(&(_, log), squares)| Tried { log, squares }).collect())
        };
        let ends = ((estimate / self.within).ln(), (estimate * self.within).ln());
        let places = [false, true].map(|upper| Range::place(ends, upper));
        let first: Vec<(&M, f64)> = machines.iter().flat_map(|machine| places.map(|log| (machine, log))).collect();
        let tried = try_at(&first)?;
        let ranges = tried.chunks_exact(2).map(|tried| Range { ends, tried: (tried[0], tried[1]) });
        let mut searched: Vec<(M, Range)> = machines.into_iter().zip(ranges).collect();
        for narrowing in 0..self.narrowings {
            if narrowing == self.of_all {
                searched.sort_by(|(_, a), (_, b)| a.best().squares.total_cmp(&b.best().squares));
                searched.truncate(TO_THE_END);
            }
            let next: Vec<(&M, f64)> = searched.iter().map(|(machine, range)| (machine, range.narrowed().1)).collect();
            let new = try_at(&next)?;
            searched.iter_mut().zip(new).for_each(|((_, range), new)| *range = range.with(new));
        }
        let best = searched.into_iter().map(|(machine, range)| (machine, range.best()));
        let best = best.min_by(|(_, a), (_, b)| a.squares.total_cmp(&b.squares));
        Ok(best.map(|(machine, tried)| (machine, tried.log.exp())))
    }
}

/// A rate, by its logarithm, and the squares by which a machine differs with it.
#[derive(Clone, Copy, Debug)]
struct Tried {
    log: f64,
    squares: f64,
}

/// A range of rates, by their logarithms, and what was tried in it, the lower one first.
#[derive(Clone, Copy, Debug)]
struct Range {
    ends: (f64, f64),
    tried: (Tried, Tried),
}

impl Range {
    /// The logarithm of the rate in the `upper` place of a range, or in the lower one.
    fn place((low, high): (f64, f64), upper: bool) -> f64 {
        if upper { low + GOLDEN * (high - low) } else { high - GOLDEN * (high - low) }
    }

    fn is_below(&self) -> bool {
        self.tried.0.squares <= self.tried.1.squares
    }

    /// The ends of the range that is left, and the logarithm of the rate to try in it.
    fn narrowed(&self) -> ((f64, f64), f64) {
        let ((low, high), (lower, upper)) = (self.ends, self.tried);
        let ends = if self.is_below() { (low, upper.log) } else { (lower.log, high) };
        (ends, Self::place(ends, !self.is_below()))
    }

    /// The range that is left, with what was tried in it.
    fn with(&self, new: Tried) -> Self {
        let tried = if self.is_below() { (new, self.tried.0) } else { (self.tried.1, new) };
        Self { ends: self.narrowed().0, tried }
    }

    fn best(&self) -> Tried {
        if self.is_below() { self.tried.0 } else { self.tried.1 }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// A machine whose squares are least, `least`, at `rate`, and rise with the square of the logarithm away from it.
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Parabola {
        rate: f64,
        least: f64,
    }

    /// The result of a search, and how many rates it tries at a time.
    fn found(search: Search, machines: &[Parabola], estimate: f64) -> (Option<(Parabola, f64)>, Vec<usize>) {
        let mut tried = Vec::new();
        let found = search.run(machines.to_vec(), estimate, |rates| {
            tried.push(rates.len());
            let squares = |&(machine, rate): &(&Parabola, f64)| machine.least + f64::ln(rate / machine.rate).powi(2);
            Ok::<_, Infallible>(rates.iter().map(squares).collect())
        });
        (found.unwrap(), tried)
    }

    const SEARCH: Search = Search { within: 8.0, narrowings: 7, of_all: 1 };

    #[test]
    fn the_nearest_machine_wins_and_those_far_off_leave() {
        let machines = [3.0, 1.0, 4.0, 0.5].map(|least| Parabola { rate: 300.0, least });
        let (best, tried) = found(SEARCH, &machines, 200.0);
        assert_eq!(best.map(|(machine, _)| machine), Some(machines[3]));
        assert_eq!(tried, [8, 4, 2, 2, 2, 2, 2, 2], "all are tried at two rates and at one more");
    }

    /// A machine that is farther off at the places tried first, and nearest at its best rate, wins if no machine leaves before that shows.
    #[test]
    fn machines_that_stay_longer_may_win_late() {
        let near = Parabola { rate: 130.0, least: 0.2 };
        let late = Parabola { rate: 700.0, least: 0.0 };
        let machines = [near, Parabola { least: 0.25, ..near }, late];
        let winner = |of_all| found(Search { of_all, ..SEARCH }, &machines, 100.0).0.map(|(machine, _)| machine);
        assert_eq!([0, 7].map(winner), [Some(near), Some(late)]);
    }

    #[test]
    fn rates_beyond_the_range_are_met_at_its_ends() {
        let rate = |rate| found(SEARCH, &[Parabola { rate, least: 0.0 }], 100.0).0.unwrap().1;
        assert!((100.0 / 8.0..100.0 / 7.0).contains(&rate(1.0)), "{}", rate(1.0));
        assert!((700.0..800.0).contains(&rate(1e6)), "{}", rate(1e6));
    }

    #[test]
    fn without_machines_there_is_nothing_and_an_error_ends_the_search() {
        assert_eq!(found(SEARCH, &[], 100.0).0, None);
        let mut tried = 0;
        let failed = SEARCH.run(vec![()], 1.0, |rates| {
            tried += 1;
            if tried == 3 { Err("third") } else { Ok(vec![0.0; rates.len()]) }
        });
        assert_eq!((failed, tried), (Err("third"), 3));
    }

    /// Seven narrowings leave the seventh power of the golden section of a range from 1 to 64, by logarithms: some 15 %.
    #[test]
    fn a_rate_within_the_range_is_found() {
        for rate in (13..790).map(f64::from) {
            let (_, at) = found(SEARCH, &[Parabola { rate, least: 0.3 }], 100.0).0.unwrap();
            assert!((at / rate).ln().abs() < 0.15, "{at} for {rate}");
        }
    }
}

//! Gains of ideal protocols by the dissertation's account of a real machine's misses: Equations 5.2 to 5.4 (FLASH dissertation,
//! 5.5.1 and 5.5.2).
//!
//! The account takes what it removes off the execution time one for one, as if no miss overlapped another or any work, and
//! as if the processor that pays most decided how long the program takes. So it says at most what an ideal protocol would
//! gain, if that; simulating the ideal machine says what it does gain.
//!
//! The terms are sums over misses, and misses of one processor that are outstanding together take their times at once. A sum can
//! so be more than the processor waited for all of its misses, even more than it ran; with less than that nobody can be spared.
//! Where it is more, what was waited takes its place, which Equation 5.1 has the terms add up to.

use record::{ProcessorStatistics, SimulationRow};

/// How long a program took on a number of processors, and what its misses waited for. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Account {
    /// Exec(P): until the last processor had finished.
    pub time_ns: f64,
    /// MaxCacheMiss(P): misses of the processor that had most.
    pub most_misses: u64,
    /// T_m(P): what every miss takes.
    pub minimum_ns: f64,
    /// T_w(P): what a miss waited for its own controller, on average over all.
    pub waiting_ns: f64,
    /// T_c(P): what coherence added to all misses of the processor to whose it added most, as far as that waited for them.
    pub coherence_ns: f64,
    /// T_p2p(P) + T_c(P), likewise of the processor for which both together come to most.
    pub remote_ns: f64,
}

impl Account {
    /// The account of a run; `None` if its machine keeps none, or nothing missed.
    pub fn of(row: &SimulationRow) -> Option<Self> {
        let processors = row.processors.as_ref()?;
        let each =
            |term: fn(&ProcessorStatistics) -> Option<f64>| processors.iter().map(term).collect::<Option<Vec<_>>>();
        let misses = |processor: &ProcessorStatistics| {
            Some(processor.local_misses? + processor.local_remote_action_misses? + processor.remote_misses?)
        };
        let misses: Vec<u64> = processors.iter().map(misses).collect::<Option<_>>()?;
        let all = misses.iter().sum::<u64>() as f64;
        let most = |values: Vec<f64>| values.into_iter().fold(0.0, f64::max);
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / all;
        (all > 0.0).then_some(())?;
        Some(Self {
            time_ns: row.time_ns,
            most_misses: misses.iter().copied().max()?,
            minimum_ns: mean(each(|processor| processor.unloaded_ns)?),
            waiting_ns: mean(each(|processor| processor.wait_ns)?),
            coherence_ns: most(each(|processor| Some(spared(processor, processor.coherence_ns?)))?),
            remote_ns: most(each(|processor| {
                Some(spared(processor, processor.communication_ns? + processor.coherence_ns?))
            })?),
        })
    }

    /// The time on P processors by an equation, in nanoseconds; `None` if misses overlapped so much that more was to be removed
    /// than there was, where the account makes no sense.
    pub fn time_ns(&self, equation: Equation) -> Option<f64> {
        let time = match equation {
            Equation::Base => self.time_ns,
            Equation::ZeroOverhead => self.time_ns - self.coherence_ns,
            Equation::AllLocal => self.time_ns - self.remote_ns,
            Equation::AllLocalStall => self.most_misses as f64 * (self.minimum_ns + self.waiting_ns),
        };
        (time > 0.0).then_some(time)
    }
}

/// Time that a processor would be spared if its misses took `less` nanoseconds less in all: no more than it waited for them,
/// those on words of locks among them.
fn spared(processor: &ProcessorStatistics, less: f64) -> f64 {
    let of_misses = |name: &str| name.starts_with("read.") || name.starts_with("write.") || name == "lock";
    let waited: f64 = processor.spent_ns.iter().filter(|(name, _)| of_misses(name)).map(|(_, ns)| ns).sum();
    less.min(waited)
}

/// Whose time is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Equation {
    /// Exec(P), the machine as it is: Equation 5.2.
    Base,
    /// Exec(P) - T_c(P), the zero-overhead protocol: Equation 5.3.
    ZeroOverhead,
    /// Exec(P) - T_p2p(P) - T_c(P), the all-local protocol as the text has it that goes with Equation 5.4.
    AllLocal,
    /// MaxCacheMiss(P) * (T_m(P) + T_w(P)), the all-local protocol by Equation 5.4 as printed. It is the stall time alone: the
    /// program's work is not in it.
    AllLocalStall,
}

/// The speedup of many processors, that of `few` being taken for as much as they are: the form of Equations 5.2 to 5.4, in which
/// there are 8 of them.
pub fn speedup(few: u16, on_few_ns: f64, on_many_ns: f64) -> f64 {
    f64::from(few) * on_few_ns / on_many_ns
}

#[cfg(test)]
mod tests {
    use units::CpuId;

    use super::*;

    fn processor(misses: [u64; 3], terms: [f64; 4]) -> ProcessorStatistics {
        ProcessorStatistics {
            cpu: CpuId(0),
            time_ns: 0.0,
            spent_ns: [("busy", 1e6), ("read.remote.clean", 1e5), ("write.local.owned", 1e5), ("lock", 1e5)]
                .map(|(name, ns)| (name.to_owned(), ns))
                .into(),
            misses: [].into(),
            references: 0,
            secondary_misses: 0,
            local_misses: Some(misses[0]),
            local_remote_action_misses: Some(misses[1]),
            remote_misses: Some(misses[2]),
            unloaded_ns: Some(terms[0]),
            wait_ns: Some(terms[1]),
            communication_ns: Some(terms[2]),
            coherence_ns: Some(terms[3]),
            mix: None,
        }
    }

    fn row(cpus: u32, time_ns: f64, processors: Vec<ProcessorStatistics>) -> SimulationRow {
        SimulationRow { cpus, time_ns, processors: Some(processors), ..SimulationRow::default() }
    }

    fn few() -> Account {
        let processors = vec![
            processor([5, 1, 4], [6000.0, 100.0, 3000.0, 1000.0]),
            processor([10, 0, 0], [6000.0, 300.0, 0.0, 2000.0]),
        ];
        Account::of(&row(2, 20_000.0, processors)).expect("an account")
    }

    fn many() -> Account {
        let processors = vec![processor([2, 0, 3], [3000.0, 1000.0, 2000.0, 2500.0])];
        Account::of(&row(8, 8000.0, processors)).expect("an account")
    }

    #[test]
    fn the_processor_that_pays_most_decides() {
        let few = few();
        assert_eq!((few.most_misses, few.minimum_ns, few.waiting_ns), (10, 600.0, 20.0));
        assert_eq!((few.coherence_ns, few.remote_ns), (2000.0, 4000.0), "of the second, of the first");
    }

    /// Coherence of 9000 ns and communication of 3000 ns overlap: the processor waited for 10 000 ns of them.
    #[test]
    fn nobody_is_spared_more_than_was_waited() {
        let mut overlapped = processor([5, 1, 4], [6000.0, 100.0, 3000.0, 9000.0]);
        let spent =
            [("busy", 1e6), ("read.local.clean", 5500.0), ("write.remote-third.owned", 4000.0), ("lock", 500.0)];
        overlapped.spent_ns = spent.map(|(name, ns)| (name.to_owned(), ns)).into();
        let account = Account::of(&row(1, 20_000.0, vec![overlapped])).expect("an account");
        assert_eq!((account.coherence_ns, account.remote_ns), (9000.0, 10_000.0));
    }

    #[test]
    fn equations() {
        let of = |equation: Equation| Some(speedup(2, few().time_ns(equation)?, many().time_ns(equation)?));
        assert_eq!(of(Equation::Base), Some(2.0 * 20_000.0 / 8000.0));
        assert_eq!(of(Equation::ZeroOverhead), Some(2.0 * 18_000.0 / 5500.0));
        assert_eq!(of(Equation::AllLocal), Some(2.0 * 16_000.0 / 3500.0));
        assert_eq!(of(Equation::AllLocalStall), Some(2.0 * (10.0 * 620.0) / (5.0 * 800.0)));
    }

    #[test]
    fn more_removed_than_there_was_makes_no_sense() {
        let overlapped = Account { coherence_ns: 9000.0, remote_ns: 9500.0, ..many() };
        assert_eq!(overlapped.time_ns(Equation::ZeroOverhead), None);
        assert_eq!(overlapped.time_ns(Equation::AllLocal), None);
    }

    #[test]
    fn no_account_no_figures() {
        assert_eq!(Account::of(&SimulationRow::default()), None);
        let unmeasured = ProcessorStatistics { coherence_ns: None, ..processor([1, 0, 0], [1.0; 4]) };
        assert_eq!(Account::of(&row(1, 1.0, vec![unmeasured])), None);
        assert_eq!(Account::of(&row(1, 1.0, vec![processor([0; 3], [0.0; 4])])), None, "nothing missed");
    }
}

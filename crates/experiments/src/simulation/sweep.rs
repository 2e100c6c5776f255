//! Many simulations at once: every program with every choice of parameters, processors, machine and policies.

use machine::{DescriptionError, Resolved};
use sim::{Options, Scheduling, Simulator};
use workloads::{BarrierKind, Data, LockKind, Settings};

use super::{Executable, Simulation, Synchronisation, policies};
use crate::error::ExperimentError;
use crate::variant;

/// The runs of a sweep. No values for processors stand for as many as a machine has.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// Machines, in all their variations ([`Variations::of`]).
    pub machines: Vec<Resolved>,
    /// Further changes in which runs vary.
    pub variations: Variations,
    /// Programs, by name.
    pub programs: Vec<String>,
    /// Parameters of the programs, each with its values.
    pub parameters: Vec<(String, Vec<u64>)>,
    /// Data that programs work on in place of their own.
    pub data: Vec<Data>,
    /// How many processors take part.
    pub cpus: Vec<u16>,
    /// Seeds of random choices of programs and hardware, each a run; without any, that of the options.
    pub seeds: Vec<u64>,
    /// Options of the simulator.
    pub options: Options,
}

/// Properties in which machines and runs vary, each with the values that were asked for; without any, they are as they are.
#[derive(Clone, Debug, Default)]
pub struct Variations {
    /// Changes of machines: a word with a value, as `placement`, or `TABLE.KEY`.
    changes: Vec<(String, Vec<String>)>,
    protocols: Vec<String>,
    schedulers: Vec<Option<Scheduling>>,
    barriers: Vec<Option<BarrierKind>>,
    locks: Vec<LockKind>,
}

impl Variations {
    /// Adds values to what `key` is to be: `protocol`, `scheduler`, `barrier`, `locks`, a word of [`variant`] that takes a value, as
    /// `placement` and `nps`, or a machine's `TABLE.KEY`.
    ///
    /// # Errors
    /// When nothing of that name can be varied, a value is there already, or there is no such scheduler, barrier or kind of locks.
    pub fn add(&mut self, key: &str, values: &[String]) -> Result<(), ExperimentError> {
        let before = self.changes.iter().find(|(known, _)| known == key).map_or(&[][..], |(_, values)| values);
        let is_again = |&(number, value): &(usize, &String)| values[..number].contains(value) || before.contains(value);
        if let Some((_, value)) = values.iter().enumerate().find(is_again) {
            return Err(ExperimentError::VaryTwice { key: key.to_owned(), value: value.clone() });
        }
        match key {
            "protocol" => self.protocols.extend_from_slice(values),
            "scheduler" => {
                for value in values {
                    self.schedulers.push(policies::scheduler(value)?);
                }
            }
            "barrier" => {
                for value in values {
                    self.barriers.push(policies::barrier(value)?);
                }
            }
            "locks" => {
                for value in values {
                    self.locks.push(policies::locks(value)?);
                }
            }
            key if variant::VALUED.contains(&key) || key.contains('.') => {
                match self.changes.iter_mut().find(|(known, _)| known == key) {
                    Some((_, known)) => known.extend_from_slice(values),
                    None => self.changes.push((key.to_owned(), values.to_vec())),
                }
            }
            _ => {
                let words = variant::VALUED.join(", ");
                let accepted =
                    format!("protocol, scheduler, barrier, locks, {words}, or TABLE.KEY as in a machine's file");
                return Err(ExperimentError::Vary { key: key.to_owned(), accepted });
            }
        }
        Ok(())
    }

    /// The names of the machine called `name` in all its variations but those of the protocol.
    pub fn names(&self, name: &str) -> Vec<String> {
        let changed = |names: Vec<String>, (key, values): &(String, Vec<String>)| {
            let with_each = |name: String| values.iter().map(move |value| variant::with(&name, key, value));
            names.into_iter().flat_map(with_each).collect()
        };
        self.changes.iter().fold(vec![name.to_owned()], changed)
    }

    /// How many variations of a machine there are.
    pub fn count(&self) -> usize {
        let each = self.changes.iter().map(|(_, values)| values.len()).chain([self.protocols.len().max(1)]);
        each.fold(1, usize::saturating_mul)
    }

    /// The machine called `name` in all its variations, the protocol varying fastest. Its name does not tell the protocol.
    ///
    /// # Errors
    /// When there is no such machine, or it cannot have such a protocol or parameter.
    pub fn of(&self, name: &str) -> Result<Vec<Resolved>, DescriptionError> {
        let mut machines = Vec::new();
        for name in self.names(name) {
            let own = variant::resolve(&name)?;
            for protocol in &self.protocols {
                let mut changed = variant::resolve(&variant::with_protocol(&name, protocol))?;
                changed.description.name.clone_from(&own.description.name);
                machines.push(changed);
            }
            if self.protocols.is_empty() {
                machines.push(own);
            }
        }
        Ok(machines)
    }
}

/// One value that stands for the default where none is given.
fn or_default<T: Copy + Default>(values: &[T]) -> Vec<T> {
    if values.is_empty() { vec![T::default()] } else { values.to_vec() }
}

impl Sweep {
    /// How many simulations there are.
    pub fn count(&self) -> usize {
        let Self { machines, variations, programs, parameters, cpus, seeds, .. } = self;
        let Variations { schedulers, barriers, locks, .. } = variations;
        let values = parameters.iter().map(|(_, values)| values.len());
        let others = [cpus.len(), seeds.len(), schedulers.len(), barriers.len(), locks.len()].map(|count| count.max(1));
        [machines.len(), programs.len()].into_iter().chain(values).chain(others).fold(1, usize::saturating_mul)
    }

    /// The simulations, checked: those that differ only in machine and protocol follow each other.
    ///
    /// # Errors
    /// When there is no such program, it cannot have such parameters, or a machine cannot be simulated or is too small for it.
    pub fn simulations(&self) -> Result<Vec<Simulation>, ExperimentError> {
        let cpus = match self.cpus.as_slice() {
            [] => vec![None],
            asked => asked.iter().copied().map(Some).collect(),
        };
        for machine in &self.machines {
            // Whether a machine can be simulated, the simulator alone knows.
            Simulator::new(&machine.description, self.options)?;
        }
        let mut simulations = Vec::new();
        for program in &self.programs {
            for settings in self.settings() {
                let workload = Executable::named(program, &settings)?;
                for &cpus in &cpus {
                    for machine in &self.machines {
                        for options in self.seeded() {
                            let simulation =
                                Simulation::new(machine.description.clone(), workload.clone(), cpus, options)?;
                            self.under_policies(&simulation, &mut simulations)?;
                        }
                    }
                }
            }
        }
        Ok(simulations)
    }

    /// The options, with each seed.
    fn seeded(&self) -> Vec<Options> {
        match self.seeds.as_slice() {
            [] => vec![self.options],
            seeds => seeds.iter().map(|&seed| Options { seed, ..self.options }).collect(),
        }
    }

    /// A simulation under every scheduler, with every barrier and all locks.
    fn under_policies(&self, plain: &Simulation, all: &mut Vec<Simulation>) -> Result<(), ExperimentError> {
        for scheduler in or_default(&self.variations.schedulers) {
            for barrier in or_default(&self.variations.barriers) {
                for locks in or_default(&self.variations.locks) {
                    let simulation = plain.clone().with_synchronisation(Synchronisation { barrier, locks })?;
                    all.push(match scheduler {
                        Some(scheduling) => simulation.with_scheduling(scheduling)?,
                        None => simulation,
                    });
                }
            }
        }
        Ok(())
    }

    /// Every combination of the parameters' values, the last parameter varying fastest.
    fn settings(&self) -> Vec<Settings> {
        let first = self.data.iter().fold(Settings::default(), |plain, &data| plain.with_data(data));
        self.parameters.iter().fold(vec![first], |combinations, (name, values)| {
            let with_each = |settings: Settings| {
                values.iter().map(move |&value| settings.clone().with(name, value)).collect::<Vec<_>>()
            };
            combinations.into_iter().flat_map(with_each).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep() -> Sweep {
        let machine = |name| Variations::default().of(name).expect("a machine");
        Sweep {
            machines: ["bitmap", "origin2000-r12k-300-8p"].into_iter().flat_map(machine).collect(),
            programs: vec!["migratory".into(), "uniform".into()],
            ..Sweep::default()
        }
    }

    #[test]
    fn runs_are_counted_before_they_are_made() {
        let mut sweep = Sweep { cpus: vec![1, 2], seeds: vec![1, 2, 3], ..sweep() };
        sweep.parameters.push(("rounds".into(), vec![1, 2]));
        sweep.programs.truncate(1);
        sweep.variations.add("barrier", &["llsc".into(), "ideal".into()]).expect("barriers");
        assert_eq!(sweep.count(), sweep.simulations().expect("they fit").len());
        let mut variations = Variations::default();
        variations.add("tlb.miss_ns", &["1".into(), "2".into(), "3".into()]).expect("a key");
        variations.add("protocol", &["hybrid".into(), "bit-vector".into()]).expect("protocols");
        assert_eq!(variations.count(), variations.of("flash-4p").expect("machines").len());
    }

    #[test]
    fn machines_vary_fastest_and_programs_slowest() {
        let parameters = vec![("lines".into(), vec![8, 16]), ("work".into(), vec![0])];
        let simulations = Sweep { cpus: vec![2, 4], parameters, ..sweep() }.simulations().expect("all can run");
        let lines = |simulation: &Simulation| simulation.workload().parameters()[0].1;
        let all: Vec<_> = simulations
            .iter()
            .map(|each| (each.workload().name(), lines(each), each.cpus(), each.description().name.clone()))
            .collect();
        assert_eq!(all.len(), 16);
        let of = |program: &'static str, lines, cpus, machine: &str| (program, lines, cpus, machine.to_owned());
        assert_eq!(all[0], of("migratory", 8, 2, "bitmap"));
        assert_eq!(all[1], of("migratory", 8, 2, "origin2000-r12k-300-8p"));
        assert_eq!(all[2], of("migratory", 8, 4, "bitmap"));
        assert_eq!(all[4], of("migratory", 16, 2, "bitmap"));
        assert_eq!(all[15], of("uniform", 16, 4, "origin2000-r12k-300-8p"));
    }

    #[test]
    fn variations_combine_and_the_protocol_varies_fastest() {
        let mut variations = Variations::default();
        let mut add = |key: &str, values: &[&str]| {
            let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
            variations.add(key, &values).map_err(|error| error.to_string())
        };
        add("tlb.miss_ns", &["0"]).expect("a parameter");
        add("tlb.miss_ns", &["50"]).expect("more of it");
        add("protocol", &["bit-vector", "hybrid"]).expect("protocols");
        add("barrier", &["ideal", "llsc"]).expect("barriers");
        add("locks", &["llsc", "at-memory"]).expect("locks");
        assert!(add("colour", &["red"]).expect_err("unknown key").contains("TABLE.KEY"));
        assert!(add("scheduler", &["fair"]).expect_err("no such scheduler").contains("run-queue"));
        let machines = variations.of("flash-4p").expect("machines");
        let told = |machine: &Resolved| {
            let protocol = machine.description.directory.as_ref().map(|directory| directory.protocol.clone());
            (machine.description.name.clone(), machine.description.tlb.miss.as_ns(), protocol.unwrap_or_default())
        };
        let all: Vec<_> = machines.iter().map(told).collect();
        assert_eq!(all[1], ("flash-4p+tlb.miss_ns=0".to_owned(), 0.0, "hybrid".to_owned()));
        assert_eq!(all[2], ("flash-4p+tlb.miss_ns=50".to_owned(), 50.0, "bit-vector".to_owned()));
        let programs = vec!["migratory".into()];
        let simulations = Sweep { machines, variations, programs, ..Sweep::default() }.simulations().expect("all run");
        let identities: std::collections::BTreeSet<_> = simulations.iter().map(Simulation::identity).collect();
        assert_eq!((simulations.len(), identities.len()), (16, 16));
    }

    #[test]
    fn what_cannot_run_is_refused_before_anything_does() {
        let refusal = |sweep: Sweep| sweep.simulations().expect_err("refused").to_string();
        let processors = refusal(Sweep { cpus: vec![8, 9], ..sweep() });
        assert!(processors.contains("--cpus 9") && processors.contains("1-8"), "{processors}");
        let unknown = refusal(Sweep { parameters: vec![("rounds".into(), vec![1])], ..sweep() });
        assert!(unknown.contains("--rounds 1: uniform has no parameter --rounds"), "{unknown}");
        let parameters = vec![("hot_lines".into(), vec![1 << 20])];
        let memory = refusal(Sweep { programs: vec!["hot-spot".into()], parameters, ..sweep() });
        // 128 MiB of each of sixteen processors, 256 KiB of each of the two of the node, and 128 KiB that all read.
        let parts = ["hot-spot needs 2097792 KiB on node 0 of bitmap", "up to"];
        assert!(parts.iter().all(|part| memory.contains(part)), "{memory}");
    }
}

//! Many simulations at once: every program with every choice of parameters, processors, machine and protocol.

use machine::{DescriptionError, Resolved};
use sim::{Options, Simulator};
use workloads::{Settings, Workload};

use super::Simulation;
use crate::error::ExperimentError;
use crate::variant;

/// What is to be varied. No values for processors stand for as many as a machine has.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// Machines, under every protocol ([`under_protocols`]).
    pub machines: Vec<Resolved>,
    /// Programs, by name.
    pub programs: Vec<String>,
    /// Parameters of the programs, each with its values.
    pub parameters: Vec<(String, Vec<u64>)>,
    /// How many processors take part.
    pub cpus: Vec<u16>,
    /// Options of the simulator; the seed is also the programs'.
    pub options: Options,
}

/// The machine called `name` under each of `protocols`, or under its own if there is none. Its name does not tell which.
///
/// # Errors
/// When there is no such machine, or it cannot have such a protocol.
pub fn under_protocols(name: &str, protocols: &[String]) -> Result<Vec<Resolved>, DescriptionError> {
    let own = variant::resolve(name)?;
    if protocols.is_empty() {
        return Ok(vec![own]);
    }
    let under = |protocol: &String| {
        let mut changed = variant::resolve(&variant::with_protocol(name, protocol))?;
        changed.description.name.clone_from(&own.description.name);
        Ok(changed)
    };
    protocols.iter().map(under).collect()
}

impl Sweep {
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
                let workload = Workload::new(program, &settings)?;
                for &cpus in &cpus {
                    for machine in &self.machines {
                        simulations.push(Simulation::new(machine.description.clone(), workload, cpus, self.options)?);
                    }
                }
            }
        }
        Ok(simulations)
    }

    /// Every combination of the parameters' values, the last parameter varying fastest.
    fn settings(&self) -> Vec<Settings> {
        self.parameters.iter().fold(vec![Settings::default()], |combinations, (name, values)| {
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
        let machine = |name| under_protocols(name, &[]).expect("a machine");
        Sweep {
            machines: ["bitmap", "origin2000-r12k-300-8p"].into_iter().flat_map(machine).collect(),
            programs: vec!["migratory".into(), "uniform".into()],
            ..Sweep::default()
        }
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
        let of = |program, lines, cpus, machine: &str| (program, lines, cpus, machine.to_owned());
        assert_eq!(all[0], of("migratory", 8, 2, "bitmap"));
        assert_eq!(all[1], of("migratory", 8, 2, "origin2000-r12k-300-8p"));
        assert_eq!(all[2], of("migratory", 8, 4, "bitmap"));
        assert_eq!(all[4], of("migratory", 16, 2, "bitmap"));
        assert_eq!(all[15], of("uniform", 16, 4, "origin2000-r12k-300-8p"));
    }

    #[test]
    fn what_cannot_run_is_refused_before_anything_does() {
        let refusal = |sweep: Sweep| sweep.simulations().expect_err("refused").to_string();
        let processors = refusal(Sweep { cpus: vec![8, 9], ..sweep() });
        assert!(processors.contains("--cpus 9") && processors.contains("1 to 8"), "{processors}");
        let unknown = refusal(Sweep { parameters: vec![("rounds".into(), vec![1])], ..sweep() });
        assert!(unknown.contains("--rounds 1: uniform has no such parameter"), "{unknown}");
        let parameters = vec![("hot_lines".into(), vec![1 << 20])];
        let memory = refusal(Sweep { programs: vec!["hot-spot".into()], parameters, ..sweep() });
        // 128 MiB of each of sixteen processors, 256 KiB of each of the two of the node, and 128 KiB that all read.
        let parts = ["hot-spot wants 2097792 KiB on node 0 of machine bitmap", "up to"];
        assert!(parts.iter().all(|part| memory.contains(part)), "{memory}");
    }
}

//! `ccnuma diagnose`: what keeps a program from being faster, and what trying the remedy gains.

use std::ffi::OsString;

use clap::Args;
use experiments::diagnosis::{self, Diagnosis};
use experiments::{Simulation, Sweep, Variations};
use frontend::launch::Launch;
use machine::Description;
use record::FindingRow;
use report::View;

use super::diagnose_host::{self, OnHost};
use super::profile::preamble;
use super::sim::flags::{ParameterFlags, after_help};
use super::sim::own::{Common, OwnFlags, ending_early, named};
use super::sim::{Varied, own_variations};
use crate::failure::{self, Failure};
use crate::output::{Output, OutputFlags, print};
use crate::platform::MachinesFlag;
use crate::{progress, provenance, runtime};

const EXAMPLES: &str = "Examples:
  ccnuma diagnose -m flash-scaled-32p art        why does it not scale?
  ccnuma diagnose -m flash-scaled-32p applu --no-trials
                                                 findings without running the remedies
  ccnuma diagnose -m arctic radix --cpus 16 --json
  ccnuma cc -g -O2 -o fft fft.c -lm && ccnuma diagnose -m flash-16p -- ./fft -p16
                                                 your own program, by variables and source lines
  ccnuma diagnose -- ./fft -p4                   any program on this computer, from kernel samples

On a simulated machine, remedies are tried where possible: pages are placed on the nodes that use them, falsely shared words
are separated, a parameter is changed; the program runs again, and the reduction of its time is the gain. A finding without a
gain could not be tried and is ranked by its cost. Built-in programs also run on a quarter of the processors, to find costs that
grow with the machine.
Exit code 1 if the program's check of its own results fails.";

/// Find the bottlenecks of a program on a simulated machine or on this computer: false sharing, misplaced data, locks and
/// more.
#[derive(Args, Debug)]
#[command(after_help = after_help(EXAMPLES))]
pub struct DiagnoseCommand {
    #[command(flatten)]
    machines: MachinesFlag,
    /// The program.
    #[arg(value_name = "PROGRAM", required_unless_present = "command")]
    program: Option<String>,
    /// Propose remedies without trying them.
    #[arg(long)]
    no_trials: bool,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    output: OutputFlags,
    /// A program built with `ccnuma cc`, `cxx` or `fc`, and its arguments; on this computer any program. It is run again for each
    /// remedy that is tried, with the same input and without its output.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "program")]
    command: Vec<OsString>,
}

/// How one program runs on one simulated machine.
#[derive(Args, Debug)]
pub struct RunFlags {
    /// Number of processors, starting with the first [default: all].
    #[arg(long, value_name = "N")]
    cpus: Option<u16>,
    /// Page placement: planned, first-touch, round-robin, fixed=NODE, mld or mld=RADIUS, each with +migration and
    /// +replication behind it if wanted.
    #[arg(long, value_name = "POLICY")]
    placement: Option<String>,
    /// Scheduler, as for `ccnuma sim`.
    #[arg(long, value_name = "POLICY")]
    scheduler: Option<String>,
    /// Barrier, as for `ccnuma sim`.
    #[arg(long, value_name = "KIND")]
    barrier: Option<String>,
    /// Locks, as for `ccnuma sim`.
    #[arg(long, value_name = "KIND")]
    locks: Option<String>,
    /// Random seed, of the program and of the simulated hardware.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    parameters: ParameterFlags,
}

impl RunFlags {
    /// The run to be diagnosed, and the one with fewer processors to compare it with.
    ///
    /// # Errors
    /// When there is no such machine, program, policy or parameter, or more than one is asked for.
    pub fn simulations(
        &self,
        machines: &MachinesFlag,
        program: &str,
    ) -> Result<(Simulation, Option<Simulation>), Failure> {
        let whole = self.simulation(machines, program, self.cpus)?;
        let fewer = diagnosis::fewer_processors(whole.cpus());
        let fewer = fewer.map(|cpus| self.simulation(machines, program, Some(cpus))).transpose()?;
        Ok((whole, fewer))
    }

    /// A run of a program of the user's own, and what follows from what it lost.
    ///
    /// # Errors
    /// When there is no such program, or more than one machine; when the simulation fails.
    pub fn of_own(
        &self,
        machines: &MachinesFlag,
        command: &[OsString],
        tries: bool,
        output: &OutputFlags,
    ) -> Result<Diagnosis, Failure> {
        let (own, launch, machine, common) = self.own_run(machines, command, tries, output)?;
        let (row, answer) = own.answer(&launch, &machine, self.cpus, &common)?;
        let wrong = (answer.status != 0).then(|| format!("exit status {}", answer.status));
        let mut found = Diagnosis { wrong, ..named(row, answer.attribution.unwrap_or_default(), &launch)? };
        if tries && !answer.interrupted {
            own.try_remedies(&mut found, &launch, &machine, self.cpus, &common)?;
        }
        Ok(found)
    }

    /// A program of the user's own as it is to be run, one or more times, on the one machine that is asked for.
    ///
    /// # Errors
    /// When there is no such program, or more than one machine.
    pub fn own_run(
        &self,
        machines: &MachinesFlag,
        command: &[OsString],
        repeated: bool,
        output: &OutputFlags,
    ) -> Result<(OwnFlags, Launch, Description, Common), Failure> {
        let launch = ending_early(runtime::launch(command)?.beside_records(output.replaces_table()));
        let launch = if repeated { launch.repeated() } else { launch };
        let (variations, policies) = own_variations(self.varied())?;
        let machine = match <[_; 1]>::try_from(machines.varied(&variations)?) {
            Ok([machine]) => machine.description,
            Err(_) => return Err(several_machines()),
        };
        let policies = policies.all().swap_remove(0);
        let common = Common { seed: self.seed, causes: true, stats: true, policies, ..Common::default() };
        Ok((OwnFlags::default(), launch, machine, common))
    }

    /// The name of the one machine that is asked for, with what the flags change of it.
    ///
    /// # Errors
    /// When none or several are asked for, or this computer.
    pub fn machine_name(&self, machines: &MachinesFlag) -> Result<String, Failure> {
        // Only the machine's own changes become part of its name.
        let placed = self.varied().filter(|varied| varied.key == experiments::variant::PLACEMENT);
        let mut variations = Variations::default();
        for Varied { flag, key, values } in placed {
            variations.add(key, values).map_err(|error| Failure::input(format!("{flag} {error}")))?;
        }
        match <[_; 1]>::try_from(machines.variants(&variations)?) {
            Ok([name]) => Ok(name),
            Err(_) => Err(several_machines()),
        }
    }

    /// How many processors take part; all without.
    pub const fn cpus(&self) -> Option<u16> {
        self.cpus
    }

    /// Flags that only simulated machines heed are refused on this computer.
    fn refuse_on_host(&self) -> Result<(), Failure> {
        let text = |value: &Option<u16>| value.map(|value| value.to_string());
        let given = [
            ("--cpus", text(&self.cpus)),
            ("--placement", self.placement.clone()),
            ("--scheduler", self.scheduler.clone()),
            ("--barrier", self.barrier.clone()),
            ("--locks", self.locks.clone()),
        ];
        match given.into_iter().find_map(|(flag, value)| Some((flag, value?))) {
            Some((flag, value)) => {
                Err(Failure::flag(flag, &value, "not applicable to this computer", "a simulated machine (-m MACHINE)"))
            }
            None => Ok(()),
        }
    }

    fn variations(&self) -> Result<Variations, Failure> {
        let mut variations = Variations::default();
        for Varied { flag, key, values } in self.varied() {
            variations.add(key, values).map_err(|error| Failure::input(format!("{flag} {error}")))?;
        }
        Ok(variations)
    }

    /// The policies that flags ask for.
    fn varied(&self) -> impl Iterator<Item = Varied<'_>> {
        let own = [
            ("--placement", "placement", &self.placement),
            ("--scheduler", "scheduler", &self.scheduler),
            ("--barrier", "barrier", &self.barrier),
            ("--locks", "locks", &self.locks),
        ];
        own.into_iter()
            .filter_map(|(flag, key, value)| Some(Varied { flag, key, values: std::slice::from_ref(value.as_ref()?) }))
    }

    /// The one run of a program that is asked for, on so many processors.
    ///
    /// # Errors
    /// When there is no such machine, program, policy or parameter, or more than one is asked for.
    pub fn simulation(&self, machines: &MachinesFlag, program: &str, cpus: Option<u16>) -> Result<Simulation, Failure> {
        let variations = self.variations()?;
        let sweep = Sweep {
            machines: machines.varied(&variations)?,
            variations,
            programs: vec![program.to_owned()],
            parameters: self.parameters.values.clone(),
            data: self.parameters.data()?,
            cpus: cpus.into_iter().collect(),
            seeds: Vec::new(),
            options: sim::Options { seed: self.seed, ..sim::Options::default() },
        };
        let mut simulations = sweep.simulations().map_err(Failure::input)?;
        match (simulations.pop(), simulations.is_empty()) {
            (Some(simulation), true) => Ok(simulation),
            (_, _) => Err(Failure::input("several runs requested; accepted: one machine and one value per parameter")),
        }
    }
}

/// The refusal of more than one machine.
fn several_machines() -> Failure {
    Failure::input("several machines given; accepted: one -m MACHINE")
}

/// Diagnoses a program under a bar of progress.
///
/// # Errors
/// When a simulation fails.
pub fn diagnosed(simulation: &Simulation, fewer: Option<&Simulation>, tries: bool) -> Result<Diagnosis, Failure> {
    let found = progress::growing("simulations", |told| diagnosis::run(simulation, fewer, tries, told));
    found.map_err(Failure::run)
}

/// Writes and prints what was found, after `before`. True if the program ended well.
fn tell(found: &Diagnosis, before: &str, view: &View, mut output: Output<FindingRow>) -> Result<bool, Failure> {
    let rows = found.rows();
    rows.iter().try_for_each(|row| output.write(row))?;
    output.complete()?;
    if output.wants_table() {
        print(before)?;
        let limits = found.sight.limits();
        print(format!("\n{}", report::findings(&rows, &found.sight.nothing_found(), limits.as_deref()).shown(view)))?;
    } else if let Some(limits) = found.sight.limits() {
        eprintln!("note: {}: {limits}", found.row.program);
    }
    output.finish()?;
    if let Some(wrong) = &found.wrong {
        failure::tell(format!("{}: {wrong}", found.row.program));
    }
    Ok(found.wrong.is_none())
}

impl DiagnoseCommand {
    /// Runs the command. True if the program found its results right.
    ///
    /// # Errors
    /// When the input cannot be used, a simulation fails or the output does.
    pub fn run(self) -> Result<bool, Failure> {
        let (found, output) = match &self.program {
            Some(program) => {
                let (simulation, fewer) = self.run.simulations(&self.machines, program)?;
                let output: Output<FindingRow> = self.output.open()?;
                (diagnosed(&simulation, fewer.as_ref(), !self.no_trials)?, output)
            }
            None if self.machines.is_host() => return self.on_host(),
            None => {
                let output = self.output.open()?;
                (self.run.of_own(&self.machines, &self.command, !self.no_trials, &self.output)?, output)
            }
        };
        let view = self.output.view();
        let times = report::time_split(std::slice::from_ref(&found.row));
        let times: Vec<String> = times.iter().map(|table| table.shown(&view)).collect();
        tell(&found, &times.join("\n"), &view, output)
    }

    /// The same on this computer, where nothing can be tried.
    fn on_host(&self) -> Result<bool, Failure> {
        self.run.refuse_on_host()?;
        let origin = provenance::of_this_computer().map_err(Failure::run)?;
        let output = self.output.open()?.of(&origin);
        let OnHost { found, sight } = diagnose_host::run(&self.command)?;
        let about = format!(
            "{} on {}: {:.3} s\n{}",
            found.row.program,
            found.row.machine,
            found.row.time_ns / 1e9,
            preamble::hidden(&sight)
        );
        let view = self.output.view();
        tell(&found, &report::paragraph(&about, &view), &view, output)
    }
}

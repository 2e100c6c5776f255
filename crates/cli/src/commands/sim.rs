//! `ccnuma sim`: a program on a simulated machine, and where the time went.

use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches, value_parser};
use experiments::{ExperimentError, Simulated, Simulation, Sweep, parallel};
use record::{ProgramRow, SimulationRow};
use workloads::Workload;

use crate::failure::Failure;
use crate::output::{Output, OutputFlags, print};
use crate::platform::MachinesFlag;
use crate::progress;

/// Run a program on a simulated machine: how long it takes, what it misses, what keeps the controllers busy.
#[derive(Args, Debug)]
#[command(after_help = "Programs: private migratory producer-consumer wide-read-sharing hot-spot uniform counters;
after SPLASH-2: fft radix lu ocean water. Each checks its own results.

Examples:
  ccnuma sim --list                              programs and their parameters
  ccnuma sim -m arctic migratory                 on all 64 processors of arctic
  ccnuma sim -m arctic hot-spot --hot 50 --stats who was busy with what
  ccnuma sim -m origin2000-r12k-300-64p wide-read-sharing --readers 1,7,60 --cpus 8,64
  ccnuma sim -m arctic -m bwana uniform producer-consumer --json=runs.jsonl

Machines, protocols, programs, numbers of processors and values of parameters combine: every combination is a run, and runs go
in parallel. Exit code 1 if a program's check of its own results fails.")]
pub struct SimCommand {
    #[command(flatten)]
    machines: MachinesFlag,
    /// The programs, one or more.
    #[arg(value_name = "PROGRAM", required_unless_present = "list")]
    programs: Vec<String>,
    /// How many processors take part, counted from the first; several numbers make several runs [default: all].
    #[arg(long, value_name = "N", value_delimiter = ',')]
    cpus: Vec<u16>,
    /// The directory protocol in place of the machine's own; several names make several runs.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    protocol: Vec<String>,
    /// Also print, and put into records, what each controller and processor did. Tells the simulation's speed on standard
    /// error.
    #[arg(long)]
    stats: bool,
    /// Seed of random choices, of the programs and of simulated hardware.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// List the programs and their parameters.
    #[arg(long, conflicts_with_all = ["programs", "names"])]
    list: bool,
    #[command(flatten)]
    parameters: ParameterFlags,
    #[command(flatten)]
    output: OutputFlags,
}

/// The parameters of all programs, each a flag, with the values given.
#[derive(Debug)]
struct ParameterFlags(Vec<(String, Vec<u64>)>);

impl SimCommand {
    /// Runs the command. True if all programs found their results right.
    ///
    /// # Errors
    /// When the input cannot be used, a simulation fails or the output does.
    pub fn run(self) -> Result<bool, Failure> {
        if self.list {
            return self.list_programs().map(|()| true);
        }
        let sweep = Sweep {
            machines: self.machines.under_protocols(&self.protocol)?,
            programs: self.programs,
            parameters: self.parameters.0,
            cpus: self.cpus,
            options: sim::Options { seed: self.seed, ..sim::Options::default() },
        };
        let simulations = sweep.simulations().map_err(Failure::input)?;
        let mut output: Output<SimulationRow> = self.output.open()?;
        for machine in &sweep.machines {
            let name = experiments::description_label(&machine.description);
            self.output.describe_machine((sweep.machines.len() > 1).then_some(name.as_str()), &machine.to_toml())?;
        }
        let rows = simulate(&simulations, self.stats, &mut output)?;
        if output.wants_table() {
            print(report::simulations("", &rows))?;
            for table in rows.iter().filter(|_| self.stats).flat_map(report::simulation_statistics) {
                print(format!("\n{table}"))?;
            }
        }
        Ok(rows.iter().all(SimulationRow::is_right))
    }

    fn list_programs(&self) -> Result<(), Failure> {
        let mut output: Output<ProgramRow> = self.output.open()?;
        let rows: Vec<_> = Workload::all().iter().flat_map(experiments::program_rows).collect();
        rows.iter().try_for_each(|row| output.write(row))?;
        if output.wants_table() { print(report::programs(&rows)) } else { Ok(()) }
    }
}

/// Runs all simulations on all cores and writes their records in order, with their parts if `stats` says so.
fn simulate(
    simulations: &[Simulation],
    stats: bool,
    output: &mut Output<SimulationRow>,
) -> Result<Vec<SimulationRow>, Failure> {
    let bar = progress::bar(simulations.len(), "simulations");
    let mut rows = Vec::new();
    let deliver = |_: usize, result: Result<Simulated, ExperimentError>| -> Result<(), Failure> {
        let simulated = result.map_err(Failure::run)?;
        if let Some(wrong) = &simulated.wrong {
            let SimulationRow { program, machine, .. } = &simulated.row;
            bar.suspend(|| eprintln!("error: {program} on {machine}: {wrong}"));
        }
        if stats {
            bar.suspend(|| eprintln!("{}", simulated.speed()));
        }
        let row = if stats { simulated.row } else { simulated.row.without_parts() };
        output.write(&row)?;
        rows.push(row);
        Ok(())
    };
    let result = parallel::in_order(simulations, Simulation::run, |done| bar.set_position(done as u64), deliver);
    bar.finish_and_clear();
    result.map(|()| rows)
}

impl FromArgMatches for ParameterFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &'static str| {
            let values = matches.get_many::<u64>(name)?.copied().collect();
            Some((name.to_owned(), values))
        };
        Ok(Self(parameters().into_iter().filter_map(|(name, _)| given(name)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|flags| *self = flags)
    }
}

impl Args for ParameterFlags {
    fn augment_args(command: clap::Command) -> clap::Command {
        parameters().into_iter().fold(command, |command, (name, programs)| {
            let flag = Arg::new(name).long(name).value_name("N").value_parser(value_parser!(u64));
            let flag = flag.value_delimiter(',').action(ArgAction::Append);
            command
                .arg(flag.help(format!("Of {}", programs.join(", "))).help_heading("Parameters of programs (--list)"))
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

/// Every parameter that a program has, with the programs that have it.
fn parameters() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for program in Workload::all() {
        for (parameter, _) in program.parameters() {
            match found.iter_mut().find(|(name, _)| *name == parameter.name) {
                Some((_, programs)) => programs.push(program.name()),
                None => found.push((parameter.name, vec![program.name()])),
            }
        }
    }
    found
}

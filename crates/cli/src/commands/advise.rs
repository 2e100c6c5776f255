//! `ccnuma advise`: which placement of memory and threads, and which memory mode, a program wants.

use std::ffi::OsString;

use clap::Args;
use experiments::advice::{self, Advice, Dimension, Present};
use experiments::{Simulation, parallel};
use record::AdviceRow;

use super::diagnose::RunFlags;
use super::sim::flags::after_help;
use crate::arguments::MOST_JOBS;
use crate::failure::{self, Failure};
use crate::output::{Output, OutputFlags, print};
use crate::platform::MachinesFlag;
use crate::progress;
use crate::provenance;

const EXAMPLES: &str = "Examples:
  ccnuma cc -O2 -fopenmp stream.c -o stream && ccnuma advise -m xeon-6252n-2s --cpus 8 -- ./stream
                                                 your own program: numactl? SNC? which cores?
  ccnuma advise -m epyc-7702-2s fft --points 16384 --cpus 16
                                                 a program of this package
  ccnuma advise -m mine.toml --only placement,threads -- ./prog
                                                 a server that `ccnuma fit --machine-out` described
  ccnuma advise -m flash-16p ocean --placement fixed=0 --json
                                                 what would gain if all pages were on node 0?

Each setting that the machine offers is tried alone: placements of pages (first touch, interleaved, all on one node, each on the node
that uses it; migration and replication where nodes can), memory modes of servers (snoop modes, SNC, NPS), hardware prefetchers off,
and orders of threads (close, spread, scattered, by core cluster, on shared cores). Then the best of each that gains runs together with
the others. Settings are ranked by the time of the program's measured part; those that gain at least 1 % are followed by the command or
firmware setting that gets them. Runs execute in parallel; your own program runs once for each, with the same input, and its output
appears once. Exit code 1 if the program's check of its own results fails.";

/// Find the memory placement, memory mode and thread placement that a program wants on a simulated machine.
#[derive(Args, Debug)]
#[command(after_help = after_help(EXAMPLES))]
pub struct AdviseCommand {
    #[command(flatten)]
    machines: MachinesFlag,
    /// The program.
    #[arg(value_name = "PROGRAM", required_unless_present = "command")]
    program: Option<String>,
    /// Kinds of settings to try: placement, memory-mode, prefetchers, threads [default: all].
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = dimension)]
    only: Vec<Dimension>,
    /// Runs at a time [default: one a core].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    output: OutputFlags,
    /// A program built with `ccnuma cc`, `cxx` or `fc`, and its arguments. It is run again for each setting that is tried, with the
    /// same input and without its output.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "program")]
    command: Vec<OsString>,
}

/// The dimension of a name.
fn dimension(name: &str) -> Result<Dimension, String> {
    let names = || Dimension::ALL.map(Dimension::name).join(", ");
    let found = Dimension::ALL.into_iter().find(|dimension| dimension.name() == name);
    found.ok_or_else(|| format!("accepted: {}", names()))
}

impl AdviseCommand {
    /// Runs the command. True if the program found its results right.
    ///
    /// # Errors
    /// When the input cannot be used, the run as it is fails, or the output does.
    pub fn run(self) -> Result<bool, Failure> {
        if let Some(jobs) = self.jobs {
            parallel::limit(jobs.into()).map_err(Failure::run)?;
        }
        let (advice, wrong, mut output) = match &self.program {
            Some(program) => {
                let name = self.run.machine_name(&self.machines)?;
                let simulation = self.run.simulation(&self.machines, program, self.run.cpus())?;
                let output: Output<AdviceRow> = self.output.open()?;
                let (advice, wrong) = self.built_in(&name, &simulation)?;
                (advice, wrong, output)
            }
            None => {
                let output = self.output.open()?;
                let (advice, wrong) = self.own()?;
                (advice, wrong, output)
            }
        };
        advice.rows.iter().try_for_each(|row| output.write(row))?;
        output.complete()?;
        if output.wants_table() {
            let worth = 100.0 * advice::WORTH_ADVISING;
            print(report::advice(&advice.rows, advice.runs, worth).shown(&self.output.view()))?;
        }
        output.finish()?;
        for (setting, problem) in &advice.failed {
            eprintln!("note: {setting}: left out: {problem}");
        }
        if let Some(wrong) = &wrong {
            failure::tell(wrong);
        }
        Ok(wrong.is_none())
    }

    fn dimensions(&self) -> &[Dimension] {
        if self.only.is_empty() { &Dimension::ALL } else { &self.only }
    }

    fn built_in(&self, name: &str, simulation: &Simulation) -> Result<(Advice, Option<String>), Failure> {
        let tried =
            |told: &mut dyn FnMut(usize, usize)| advice::advise_built_in(name, simulation, self.dimensions(), told);
        progress::growing("simulations", tried).map_err(Failure::run)
    }

    /// The same for a program of the user's own.
    fn own(&self) -> Result<(Advice, Option<String>), Failure> {
        let name = self.run.machine_name(&self.machines)?;
        let (flags, launch, machine, common) = self.run.own_run(&self.machines, &self.command, true, &self.output)?;
        let (row, answer) = flags.answer(&launch, &machine, self.run.cpus(), &common)?;
        if answer.interrupted {
            return Err(Failure::run(format!("{}: interrupted before anything was tried", launch.name())));
        }
        let wrong = (answer.status != 0).then(|| format!("{}: exit status {}", launch.name(), answer.status));
        let lost = answer.attribution.unwrap_or_default();
        let cpus = row.cpus as usize;
        let present = Present { name: &name, machine: &machine, cpus, plans: false };
        let words: Vec<_> = self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let command = provenance::quoted(&words);
        let again = flags.again(&launch, self.run.cpus(), &common);
        let tried = |told: &mut dyn FnMut(usize, usize)| {
            advice::advise(present, self.dimensions(), (&row, &lost), &command, again, told)
        };
        Ok((progress::growing("simulations", tried).map_err(Failure::run)?, wrong))
    }
}

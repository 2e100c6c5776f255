//! The `ccnuma` command: memory performance of cache-coherent NUMA machines.
//!
//! Flags, exit codes and where output goes; everything else is in the crates below.

/// Prints to standard error, unless that is full or closed: a remark that nobody can read ends no run.
macro_rules! eprint {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = write!(std::io::stderr(), $($text)*);
    }};
}

/// The same with the end of a line.
macro_rules! eprintln {
    ($($text:tt)*) => { eprint!("{}\n", format_args!($($text)*)) };
}

mod arguments;
mod commands;
mod failure;
mod interruption;
mod output;
mod platform;
mod progress;
mod provenance;
mod runtime;
mod size;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use failure::Failure;

/// The heap, which asks the kernel for huge pages: a simulated machine is some ten megabytes of tags and tables that every event
/// touches anywhere.
#[cfg(not(target_env = "musl"))]
#[global_allocator]
static HEAP: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Memory performance of cache-coherent NUMA machines, real or simulated: microbenchmarks, profiler, simulator.
#[derive(Parser, Debug)]
#[command(
    name = "ccnuma",
    version = provenance::version(),
    max_term_width = 110,
    after_help = "Examples:
  ccnuma bench                             measure this computer, in under a minute
  ccnuma topology                          topology of this computer
  ccnuma bench -m arctic --suite local     local latencies and bandwidths, simulated and published
  ccnuma topology -m stinger --svg s.svg   topology of a 128-processor machine
  ccnuma reproduce prestor/4.11            remote latency by distance: simulated, published, error
  ccnuma fit -m dresden                    fit the costs of a machine's parts to measurements
  ccnuma sim -m arctic migratory --stats   run a program on a simulated machine
  ccnuma sweep study.toml                  many runs, on one machine or by a cluster's scheduler
  ccnuma diagnose -m flash-scaled-32p art  find bottlenecks, and the gain of remedies
  ccnuma advise -m xeon-6252n-2s radix     which placement and memory mode a program wants
  ccnuma cc -O2 fft.c -o fft -lm           compile your own program for simulation
  ccnuma sar 1                             activity of this computer's nodes, every second
  ccnuma run -- ./prog                     run a program and sample its CPUs and memory placement
  ccnuma verify origin                     explore all reachable states of a protocol

Exit codes: 0 done, 1 ran and found a failure, 2 bad input, 130 or 143 interrupted by SIGINT or SIGTERM."
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// The subcommands: a new one is a file under `commands` and a line here and in [`run`].
#[derive(Subcommand, Debug)]
enum Command {
    Machines(commands::machines::MachinesCommand),
    Topology(commands::topology::TopologyCommand),
    Bench(Box<commands::bench::BenchCommand>),
    Fit(Box<commands::fit::FitCommand>),
    Verify(commands::verify::VerifyCommand),
    Sim(Box<commands::sim::SimCommand>),
    Sweep(commands::sweep::SweepCommand),
    Diagnose(Box<commands::diagnose::DiagnoseCommand>),
    Advise(Box<commands::advise::AdviseCommand>),
    Report(Box<commands::report::ReportCommand>),
    Reproduce(commands::reproduce::ReproduceCommand),
    Cc(commands::compile::CCommand),
    Cxx(commands::compile::CxxCommand),
    Fc(commands::compile::FortranCommand),
    Shims(commands::shims::ShimsCommand),
    Sar(Box<commands::profile::sar::SarCommand>),
    Run(Box<commands::profile::run::RunCommand>),
    Info(commands::profile::info::InfoCommand),
    Dump(Box<commands::profile::dump::DumpCommand>),
    Schema(commands::schema::SchemaCommand),
    #[command(hide = true)]
    Manual(commands::manual::ManualCommand),
    Completions(commands::completions::CompletionsCommand),
    Man(commands::man::ManCommand),
}

/// Runs a subcommand; its exit code.
fn run(command: Command) -> Result<ExitCode, Failure> {
    let done = match command {
        Command::Cc(command) => return command.run(),
        Command::Cxx(command) => return command.run(),
        Command::Fc(command) => return command.run(),
        Command::Shims(command) => command.run().map(|()| true),
        Command::Machines(command) => command.run().map(|()| true),
        Command::Topology(command) => command.run(),
        Command::Bench(command) => command.run().map(|()| true),
        Command::Fit(command) => command.run().map(|()| true),
        Command::Verify(command) => command.run(),
        Command::Sim(command) => command.run(),
        Command::Sweep(command) => command.run(),
        Command::Diagnose(command) => command.run(),
        Command::Advise(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Reproduce(command) => command.run().map(|()| true),
        Command::Sar(command) => command.run().map(|()| true),
        Command::Run(command) => return command.run(),
        Command::Info(command) => command.run().map(|()| true),
        Command::Dump(command) => command.run().map(|()| true),
        Command::Schema(command) => command.run().map(|()| true),
        Command::Manual(command) => command.run(&CommandLine::command()).map(|()| true),
        Command::Completions(command) => command.run(CommandLine::command()).map(|()| true),
        Command::Man(command) => command.run(CommandLine::command()).map(|()| true),
    };
    // Whatever ran and found a failure says so by its exit code.
    done.map(|done| if done { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    match words.first().map(commands::compile::called_as) {
        Some(Ok(before)) => drop(words.splice(1..1, before)),
        Some(Err(failure)) => return failure.report(),
        None => {}
    }
    let command = match arguments::parse::<CommandLine>(words) {
        Ok(line) => line.command,
        Err(said) if matches!(said.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            // Whoever asked for help and closed the pipe has seen enough of it.
            let _closed = said.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => return failure::of_arguments(&error).report(),
    };
    interruption::conclude(interruption::listen().and_then(|()| run(command)))
}

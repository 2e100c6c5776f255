//! `ccnuma machines`: which machine descriptions there are, and what one says.

use clap::{Args, Subcommand};
use record::{DescriptionRow, MachineRow};

use crate::failure::Failure;
use crate::output::{Output, OutputFlags, print};

/// List the built-in machine descriptions, or show one with all its parameters.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma machines                         the built-in machines
  ccnuma machines show arctic             every parameter of arctic, with its source
  ccnuma machines show flash-64p          a machine of a parametric family
  ccnuma machines show arctic+l2.size_mib=4
                                          the same with a parameter changed
  ccnuma machines show origin2000-r12k-400-32p > mine.toml
                                          a template for your own machine")]
pub struct MachinesCommand {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show a machine with all its parameters, as TOML that -m accepts.
    Show {
        /// Name of a machine, or path of a TOML file; optionally followed by changes: +PROTOCOL, +TABLE.KEY=VALUE.
        #[arg(value_name = "MACHINE")]
        name: String,
        #[command(flatten)]
        output: OutputFlags,
    },
}

impl MachinesCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// When there is no such machine, its description is wrong, or the output fails.
    pub fn run(self) -> Result<(), Failure> {
        match self.action {
            Some(Action::Show { name, output }) => {
                let resolved = experiments::variant::resolve(&name);
                let resolved = resolved.map_err(|error| Failure::input(format!("MACHINE {name}: {error}")))?;
                self.output.refuse("must follow the machine, as in `ccnuma machines show arctic --json`")?;
                let mut output: Output<DescriptionRow> = output.open()?;
                output.write(&experiments::description_row(&resolved))?;
                output.complete()?;
                if output.wants_table() {
                    print(resolved.to_toml())?;
                }
                output.finish()
            }
            None => list(&self.output),
        }
    }
}

fn list(flags: &OutputFlags) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (name, _) in machine::names() {
        rows.push(row(&machine::load(&name).map_err(Failure::run)?));
    }
    let mut table = report::machines(&rows);
    flags.check_columns([&table])?;
    let mut output = flags.open()?;
    for row in &rows {
        output.write(row)?;
    }
    output.complete()?;
    if output.wants_table() {
        for family in machine::families() {
            table.note(format!("also {family}"));
        }
        print(table.shown(&flags.view()))?;
    }
    output.finish()
}

fn row(machine: &machine::Description) -> MachineRow {
    let coherent = machine.coherent_cache();
    let cache_bus = coherent.port.map_or(machine.processor.clock, |port| port.clock);
    MachineRow {
        name: machine.name.clone(),
        title: machine.title.clone(),
        processors: machine.topology.processors,
        processor: machine.processor.model.to_string(),
        clock_mhz: machine.processor.clock.as_mhz(),
        l2_bus_mhz: cache_bus.as_mhz(),
        l2_mib: coherent.size.0 as f64 / f64::from(1 << 20),
        calibrated_on: machine.calibrated_on.clone(),
    }
}

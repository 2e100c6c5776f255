//! The machines that commands work on: by name, and which of them can be had.

use clap::Args;
use machine::Description;

use crate::failure::Failure;

/// The name that stands for this computer.
const HOST: &str = "host";

/// The machine flag of commands that work on one machine.
#[derive(Args, Debug, Clone)]
pub struct MachineFlag {
    /// The machine: a name from `ccnuma machines`, origin2000-PROC-CPUSp, or a TOML file.
    #[arg(short = 'm', long = "machine", value_name = "MACHINE", default_value = HOST)]
    name: String,
}

impl MachineFlag {
    /// The description of a simulated machine.
    ///
    /// # Errors
    /// When this computer is asked for, there is no such machine, or its description is wrong.
    pub fn simulated(&self) -> Result<Description, Failure> {
        Ok(self.resolved()?.description)
    }

    /// As [`MachineFlag::simulated`], with where each value comes from.
    ///
    /// # Errors
    /// As there.
    pub fn resolved(&self) -> Result<machine::Resolved, Failure> {
        if self.name == HOST {
            let names: Vec<String> = machine::names().map(|(name, _)| name).collect();
            let accepted = format!("-m MACHINE with one of {}, or the path of a TOML file", names.join(" "));
            return Err(Failure::flag("-m", HOST, "measuring this computer is not built yet", accepted));
        }
        machine::resolve(&self.name).map_err(|error| Failure::input(format!("-m {}: {error}", self.name)))
    }
}

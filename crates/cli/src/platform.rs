//! The machines that commands work on: by name, and which of them can be had.

use clap::Args;
use machine::Description;

use crate::failure::Failure;

/// The name that stands for this computer.
pub const HOST: &str = "host";

/// The machine flag of commands that work on one machine.
#[derive(Args, Debug, Clone)]
pub struct MachineFlag {
    /// Machine: host (this computer), a name from `ccnuma machines`, origin2000-PROC-CPUSp, flash-CPUSp, or a TOML file;
    /// optionally followed by changes: +PROTOCOL for another directory protocol, +TABLE.KEY=VALUE for any parameter.
    #[arg(short = 'm', long = "machine", value_name = "MACHINE", default_value = HOST)]
    name: String,
}

/// The machine flag of commands that work on several simulated machines.
#[derive(Args, Debug, Clone)]
pub struct MachinesFlag {
    /// Simulated machine (repeatable): a name from `ccnuma machines`, origin2000-PROC-CPUSp, flash-CPUSp, or a TOML file;
    /// optionally followed by changes: +PROTOCOL for another directory protocol, +TABLE.KEY=VALUE for any parameter.
    #[arg(short = 'm', long = "machine", value_name = "MACHINE")]
    names: Vec<String>,
}

impl MachinesFlag {
    /// Whether any machine is asked for.
    pub fn is_given(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether this computer is meant: it is asked for, or nothing is.
    pub fn is_host(&self) -> bool {
        self.names.iter().all(|name| name == HOST)
    }

    /// The names of machines that are asked for, if they are simulated ones.
    fn simulated(&self) -> Result<&[String], Failure> {
        match self.names.is_empty() || self.names.iter().any(|name| name == HOST) {
            true => Err(refused("programs run only on simulated machines".to_owned())),
            false => Ok(&self.names),
        }
    }

    /// The names of the machines that are asked for, each in all its variations.
    ///
    /// # Errors
    /// When none or this computer is asked for.
    pub fn variants(&self, variations: &experiments::Variations) -> Result<Vec<String>, Failure> {
        Ok(self.simulated()?.iter().flat_map(|name| variations.names(name)).collect())
    }

    /// The machines that are asked for, each in all its variations.
    ///
    /// # Errors
    /// When none or this computer is asked for, there is no such machine, or it cannot be varied so.
    pub fn varied(&self, variations: &experiments::Variations) -> Result<Vec<machine::Resolved>, Failure> {
        let resolve = |name: &String| {
            variations.of(name).map_err(|error| {
                let varied = if experiments::variant::resolve(name).is_ok() { " as varied" } else { "" };
                Failure::input(format!("-m {name}{varied}: {error}"))
            })
        };
        Ok(self.simulated()?.iter().map(resolve).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

/// A machine to work on.
pub enum Machine {
    /// This computer.
    Host,
    /// One that is simulated, by its description.
    Simulated(Box<machine::Resolved>),
}

impl MachineFlag {
    /// The machine that is asked for.
    ///
    /// # Errors
    /// When there is no such machine, or its description is wrong.
    pub fn machine(&self) -> Result<Machine, Failure> {
        if self.name == HOST {
            return Ok(Machine::Host);
        }
        let resolved = experiments::variant::resolve(&self.name)
            .map_err(|error| Failure::input(format!("-m {}: {error}", self.name)))?;
        Ok(Machine::Simulated(Box::new(resolved)))
    }

    /// The description of a simulated machine, for what this computer does not have: `lacking`, such as `no routing table`.
    ///
    /// # Errors
    /// When this computer is asked for, there is no such machine, or its description is wrong.
    pub fn simulated(&self, lacking: &str) -> Result<Description, Failure> {
        match self.machine()? {
            Machine::Simulated(resolved) => Ok(resolved.description),
            Machine::Host => Err(refused(format!("unavailable for this computer: {lacking}"))),
        }
    }
}

/// The refusal of this computer where a simulated machine is needed.
fn refused(problem: String) -> Failure {
    let names: Vec<String> = machine::names().map(|(name, _)| name).collect();
    let accepted = format!("-m MACHINE with one of {}, or the path of a TOML file", names.join(" "));
    Failure::flag("-m", HOST, problem, accepted)
}

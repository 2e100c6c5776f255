//! The flags of `ccnuma sim` that are more than a word: parameters of programs, numbers of processors, variations.

use std::str::FromStr;

use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches, value_parser};
use workloads::{Code, Data, Matrix, Scene, Workload};

use crate::failure::Failure;

/// The parameters of all programs, each a flag.
#[derive(Debug)]
pub struct ParameterFlags {
    /// The values given.
    pub values: Vec<(String, Vec<u64>)>,
    /// The matrix given, by name or file.
    matrix: Option<String>,
    /// The scene given, by name or file.
    scene: Option<String>,
}

/// The flags of data.
const MATRIX: &str = "matrix";
const SCENE: &str = "scene";

impl ParameterFlags {
    /// The data that programs are to work on.
    ///
    /// # Errors
    /// When there are none of that name, or the file holds none.
    pub fn data(&self) -> Result<Vec<Data>, Failure> {
        let matrix = self.matrix.as_deref().map(Matrix::named).transpose().map_err(Failure::input)?;
        let scene = self.scene.as_deref().map(Scene::named).transpose().map_err(Failure::input)?;
        Ok(matrix.map(Data::from).into_iter().chain(scene.map(Data::from)).collect())
    }
}

/// A policy or parameter to vary, and the values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variation {
    /// A policy, or a parameter of machines.
    pub key: String,
    /// Its values.
    pub values: Vec<String>,
}

impl FromStr for Variation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').filter(|(key, values)| !key.is_empty() && !values.is_empty());
        let (key, values) = parts.ok_or("accepted: KEY=VALUE, or KEY=VALUE,VALUE and so on")?;
        Ok(Self { key: key.to_owned(), values: values.split(',').map(str::to_owned).collect() })
    }
}

/// The end of a help text: what programs there are, and these examples.
pub fn after_help(examples: &str) -> String {
    let mut names = String::new();
    let mut length = 0;
    for program in Workload::all() {
        if length + program.name().len() > LINE {
            names.push('\n');
            length = 0;
        }
        names.push(' ');
        names.push_str(program.name());
        length += program.name().len() + 1;
    }
    format!("Programs, each of which checks its own results:\n{names}\n\n{examples}")
}

/// The heading of parameters of programs.
const HEADING: &str = "Parameters of programs (ccnuma sim --list)";
/// Characters in a line of names.
const LINE: usize = 96;

/// Examples of `ccnuma sim`.
pub const EXAMPLES: &str = "Examples:
  ccnuma sim --list                              programs and their parameters
  ccnuma sim -m arctic migratory                 on all 64 processors of arctic
  ccnuma sim -m arctic hot-spot --hot 50 --stats controller and handler statistics
  ccnuma sim -m flash-64p fft --cpus 1..64 --svg fft.svg
                                                 on 1, 2, 4, ... 64 processors: speedup, time breakdown
  ccnuma sim -m flash-64p ocean --placement first-touch,round-robin --barrier ideal,llsc
  ccnuma sim -m arctic radix --vary tlb.miss_ns=0,700 --vary processor.outstanding_misses=1,4
  ccnuma sim -m bwana swim --cpus 8 --record swim.references; ccnuma sim -m flash-64p swim.references
                                                 record once, replay on other machines
  ccnuma sim -m arctic --cpus 16 -- ./fft -p16 -m20
                                                 your own program, built with `ccnuma cc`
  ccnuma sim -m arctic -m bwana uniform producer-consumer --json=runs.jsonl --resume

Every combination of machines, policies, programs, processor counts and parameter values is a run; runs execute in parallel.
Records of finished runs are kept in FILE.part until all are done; --resume reuses them, and those in FILE. Exit code 1 if the
program's check of its own results fails.";

impl FromArgMatches for ParameterFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &'static str| {
            let values = matches.get_many::<u64>(name)?.copied().collect();
            Some((name.to_owned(), values))
        };
        let values = parameters().into_iter().filter_map(|(name, _)| given(name)).collect();
        Ok(Self { values, matrix: matches.get_one(MATRIX).cloned(), scene: matches.get_one(SCENE).cloned() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|flags| *self = flags)
    }
}

impl Args for ParameterFlags {
    fn augment_args(command: clap::Command) -> clap::Command {
        let data = |name: &'static str, help: String| {
            Arg::new(name).long(name).value_name("NAME|FILE").help_heading(HEADING).help(help)
        };
        let matrix = format!(
            "Of cholesky: matrix to factor instead of the mesh: {}, or a file with a symmetric matrix in Matrix Market \
             coordinate format, plain or gzip-compressed",
            Matrix::names()
        );
        let scene = format!(
            "Of raytrace: the scene in place of the flake: {}, or a file of SPLASH-2's raytrace, an environment (.env) or a \
             geometry (.geo)",
            Scene::names()
        );
        let command = command.arg(data(MATRIX, matrix)).arg(data(SCENE, scene));
        parameters().into_iter().fold(command, |command, (name, programs)| {
            let flag = Arg::new(name).long(name).value_name("N").value_parser(value_parser!(u64));
            let flag = flag.value_delimiter(',').action(ArgAction::Append);
            command.arg(flag.help(format!("Of {}", programs.join(", "))).help_heading(HEADING))
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

/// Every parameter that a program has, with the programs that have it, and those of code, which all have.
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
    found.extend(Code::PARAMETERS.iter().map(|parameter| (parameter.name, vec!["every built-in program"])));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variations_have_a_key_and_values() {
        let read = |text: &str| text.parse::<Variation>();
        let varied = read("placement=fixed=3,first-touch").expect("a variation");
        assert_eq!(
            (varied.key.as_str(), varied.values),
            ("placement", vec!["fixed=3".to_owned(), "first-touch".into()])
        );
        assert!(read("placement").is_err() && read("=3").is_err() && read("tlb.miss_ns=").is_err());
    }

    #[test]
    fn help_names_every_program() {
        let help = after_help(EXAMPLES);
        assert!(Workload::all().iter().all(|program| help.contains(&format!(" {}", program.name()))), "{help}");
    }
}

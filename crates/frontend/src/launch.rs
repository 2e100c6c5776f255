//! Starting a program of the user's on a simulated machine, and taking what came of it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use thiserror::Error;

use crate::lines::with_lines;
use crate::request::{self, Answer, BUILD, ReadError, Request, VARIABLE};
use crate::standard_input::Input;
pub use crate::watch::Progress;
use crate::watch::{self, Watch};
use crate::wrapped::LIBRARY;

/// Why a program cannot be run, or was not run to its end.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// There is no such program.
    #[error("{program}: {problem}; accepted: the path of a program that was built with `ccnuma cc`, `cxx` or `fc`")]
    Unreadable {
        /// Its path.
        program: String,
        /// The system's error.
        problem: std::io::Error,
    },
    /// It is no program of this system.
    #[error(
        "{program}: not an executable for this computer; accepted: a program that was built with `ccnuma cc`, `cxx` or \
         `fc`"
    )]
    NoExecutable {
        /// Its path.
        program: String,
    },
    /// It was compiled as usual.
    #[error(
        "{program}: not built with `ccnuma cc`, so its memory references cannot be simulated; accepted: a program whose \
         makefile was run with CC='ccnuma cc', CXX='ccnuma cxx', FC='ccnuma fc'"
    )]
    NotInstrumented {
        /// Its path.
        program: String,
    },
    /// It may not be executed.
    #[error(
        "{program}: may not be executed here; accepted: an executable file (chmod +x) on a file system that permits it"
    )]
    NotPermitted {
        /// Its path.
        program: String,
    },
    /// It could not be started, or its answer not be read.
    #[error("{program}: {problem}")]
    Failed {
        /// Its path.
        program: String,
        /// The system's error.
        problem: String,
    },
    /// Its runtime is of another build than this.
    #[error(
        "{program}: its runtime is of build {theirs}, this `ccnuma` of build {BUILD}; accepted: a program linked with the runtime of this \
         command (`ccnuma cc`, `cxx` or `fc` of this build link it), or run it with the `ccnuma` that belongs to its runtime"
    )]
    OtherBuild {
        /// Its path.
        program: String,
        /// The runtime's build.
        theirs: String,
    },
    /// It ended before the simulation did.
    #[error("{program} ended before its simulation did: {how}")]
    Silent {
        /// Its path.
        program: String,
        /// How it ended.
        how: ExitStatus,
    },
}

/// The placeholder in a program's arguments for the number of processors that it may use.
pub const CPUS: &str = "{cpus}";

/// A program of the user's, with its arguments.
#[derive(Clone, Debug)]
pub struct Launch {
    program: PathBuf,
    /// As they were given.
    arguments: Vec<OsString>,
    /// The number that takes the place of [`CPUS`] in them, once that is known.
    cpus: Option<usize>,
    input: Input,
    watch: Watch,
    /// Whether our standard output is for others to read.
    beside_records: bool,
}

impl Launch {
    /// The program of a command line: its path, or a name that is looked up as the shell does.
    ///
    /// # Errors
    /// When there is no such program, it was not built for simulated machines, or nobody may execute it.
    pub fn new(command: &[OsString]) -> Result<Self, LaunchError> {
        let (program, arguments) =
            command.split_first().map_or((PathBuf::new(), &[][..]), |(program, rest)| (program.into(), rest));
        let (input, watch) = (Input::Same, Watch::default());
        let arguments = arguments.to_vec();
        let launch = Self { program: found(&program), arguments, cpus: None, input, watch, beside_records: false };
        let name = launch.program.display().to_string();
        let bytes = input::bytes(&launch.program, input::HELD)
            .map_err(|problem| LaunchError::Unreadable { program: name.clone(), problem })?;
        if !bytes.starts_with(b"\x7fELF") {
            return Err(LaunchError::NoExecutable { program: name });
        }
        // Its name is among the libraries that the program needs.
        let named = bytes.windows(LIBRARY.len()).any(|window| window == LIBRARY.as_bytes());
        if !named {
            return Err(LaunchError::NotInstrumented { program: name });
        }
        let anybody = fs::metadata(&launch.program).is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
        if anybody { Ok(launch) } else { Err(LaunchError::NotPermitted { program: name }) }
    }

    /// If `records` go to our standard output, what it prints goes to standard error.
    pub fn beside_records(self, records: bool) -> Self {
        Self { beside_records: records, ..self }
    }

    /// It will be run several times: standard input is kept for each run.
    pub fn repeated(self) -> Self {
        Self { input: Input::kept(), ..self }
    }

    /// While it runs, `tell` learns now and then how far it is.
    pub fn told(self, tell: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { watch: self.watch.told(tell), ..self }
    }

    /// It is interrupted when `interrupted` says so: it ends with a record of what it has done.
    pub fn interrupted(self, interrupted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { watch: self.watch.interrupted(interrupted), ..self }
    }

    /// The same where it may use so many processors: the number takes the place of every [`CPUS`] in its arguments. What records
    /// call it stays, so that runs that differ in nothing else belong together.
    pub fn on(&self, cpus: usize) -> Self {
        Self { cpus: Some(cpus), ..self.clone() }
    }

    /// Its arguments as it gets them.
    fn filled(&self) -> impl Iterator<Item = OsString> {
        let number = self.cpus.map(|cpus| cpus.to_string());
        self.arguments.iter().map(move |argument| match &number {
            Some(number) => replaced(argument, CPUS, number),
            None => argument.clone(),
        })
    }

    /// Its name in records: without folders, with its arguments as they were given.
    pub fn name(&self) -> String {
        let name = self.program.file_name().unwrap_or_default();
        let words = std::iter::once(name).chain(self.arguments.iter().map(OsString::as_os_str));
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Its file.
    pub fn file(&self) -> &Path {
        &self.program
    }

    /// Runs it as `request` says, but for where the answer goes. What the program prints goes where ours does, beside records
    /// to standard error.
    ///
    /// # Errors
    /// When it cannot be started, or ends without an answer.
    pub fn run(&self, request: Request) -> Result<Answer, LaunchError> {
        let printed = if self.beside_records { std::io::stderr().into() } else { Stdio::inherit() };
        self.start(request, [self.input.of_a_run(false), printed, Stdio::inherit()]).map(|(answer, _)| answer)
    }

    /// The same, with what the program prints on its standard output.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_captured(&self, request: Request) -> Result<(Answer, Vec<u8>), LaunchError> {
        self.start(request, [self.input.of_a_run(false), Stdio::piped(), Stdio::inherit()])
    }

    /// Runs it once more for what comes of it alone: nobody sees what it prints.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_unseen(&self, request: Request) -> Result<Answer, LaunchError> {
        self.start(request, [self.input.of_a_run(true), Stdio::null(), Stdio::null()]).map(|(answer, _)| answer)
    }

    fn start(
        &self,
        request: Request,
        [read, printed, complained]: [Stdio; 3],
    ) -> Result<(Answer, Vec<u8>), LaunchError> {
        let program = self.program.display().to_string();
        let failed = |problem: String| LaunchError::Failed { program: program.clone(), problem };
        let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
        let (asked, answer) = (folder.path().join("request.json"), folder.path().join("answer.json"));
        let progress = self.watch.file(folder.path());
        let request = Request { answer: answer.clone(), progress: progress.clone(), ..request };
        let text = request::written(&request).map_err(|error| failed(error.to_string()))?;
        fs::write(&asked, text).map_err(|error| failed(error.to_string()))?;
        std::io::stdout().flush().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(&self.program);
        command.args(self.filled()).env(VARIABLE, &asked).stdout(printed).stderr(complained).stdin(read);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => LaunchError::NotPermitted { program: program.clone() },
            _ => failed(error.to_string()),
        })?;
        let feeder = self.input.feed(child.stdin.take());
        let watcher = self.watch.begin(&child, progress);
        let output = watch::output(child, watcher).map_err(|error| failed(error.to_string()))?;
        drop(feeder);
        match fs::read(&answer) {
            Ok(text) => {
                let mut answer: Answer = request::read(&text).map_err(|error| match error {
                    ReadError::OtherBuild { theirs, .. } => {
                        LaunchError::OtherBuild { program: program.clone(), theirs }
                    }
                    ReadError::Malformed(error) => failed(error.to_string()),
                })?;
                answer.error = answer.error.map(|error| with_lines(&self.program, &error));
                Ok((answer, output.stdout))
            }
            Err(_) => Err(LaunchError::Silent { program: program.clone(), how: output.status }),
        }
    }
}

/// An argument with every `what` in it replaced; the rest may be no UTF-8.
fn replaced(argument: &OsStr, what: &str, by: &str) -> OsString {
    let (mut rest, mut all) = (argument.as_bytes(), Vec::new());
    while let Some(at) = rest.windows(what.len()).position(|window| window == what.as_bytes()) {
        all.extend_from_slice(&rest[..at]);
        all.extend_from_slice(by.as_bytes());
        rest = &rest[at + what.len()..];
    }
    all.extend_from_slice(rest);
    OsString::from_vec(all)
}

/// Where a program is: its path, or if that is a mere name where the search path has it.
fn found(program: &Path) -> PathBuf {
    let folders = std::env::var_os("PATH").filter(|_| program.components().count() == 1 && !program.exists());
    let in_folders =
        folders.as_deref().map(std::env::split_paths).into_iter().flatten().map(|folder| folder.join(program));
    in_folders.into_iter().find(|path| path.is_file()).unwrap_or_else(|| {
        match program.is_absolute() || program.components().count() > 1 {
            true => program.to_path_buf(),
            false => Path::new(".").join(program),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_processors_takes_the_place_of_its_name_in_arguments() {
        let of = |argument: &[u8], cpus| {
            let arguments = vec![OsString::from_vec(argument.to_vec())];
            let (input, watch) = (Input::Same, Watch::default());
            let launch = Launch { program: "./fft".into(), arguments, cpus, input, watch, beside_records: false };
            launch.filled().map(OsString::into_vec).collect::<Vec<_>>()
        };
        assert_eq!(of(b"-p{cpus}", Some(16)), [b"-p16"]);
        assert_eq!(of(b"{cpus}:{cpus}\xff{cpu}", Some(4)), [b"4:4\xff{cpu}"]);
        assert_eq!(of(b"-p{cpus}", None), [b"-p{cpus}"]);
        let (input, watch) = (Input::Same, Watch::default());
        let arguments = vec!["-p{cpus}".into()];
        let launch = Launch { program: "/tmp/fft".into(), arguments, cpus: None, input, watch, beside_records: false };
        assert_eq!(launch.on(16).name(), "fft -p{cpus}", "records of a sweep call it the same");
    }
}

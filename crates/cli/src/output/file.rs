//! Files that commands write, and the one rule for what is there already.
//!
//! A file that is new or empty is written. A file of ours of the same kind is replaced; results that only another run could give
//! again are kept beside it as `FILE.old`, as `perf record` does; as `FILE.unfinished.old` if their run was cut short, so that they do
//! not displace those of a whole one. Anything else is refused before work begins. `--force` replaces whatever is there. What is no
//! regular file, such as `/dev/null` or a pipe, is written to as it is, and so is the file that standard output or error goes to.
//!
//! Files that are useful only as a whole are written aside and get their names when they are complete; records and traces are
//! written as they come, and are good for what they hold if the command ends early. A lock keeps other commands from them meanwhile.
//! Traces have an end of their own; beside records that are being written stands an empty `FILE.unfinished`, which stays if the
//! command does not come to an end.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::kind::Kind;
use crate::failure::Failure;
use crate::{interruption, progress};

/// How files are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files {
    /// Whether whatever is there is replaced.
    pub force: bool,
}

/// A file that is written as it comes. What goes wrong names the flag and the file.
#[derive(Debug)]
pub struct Stream {
    name: String,
    file: File,
}

/// The mark beside a file that is written as it comes: from its first byte until it is complete. Dropped before, it stays there.
#[derive(Debug)]
pub struct Unfinished {
    mark: PathBuf,
    begun: bool,
}

/// A file that gets its name when it is complete.
#[derive(Debug)]
pub struct Whole {
    name: String,
    kind: Kind,
    /// Where it belongs.
    path: PathBuf,
    files: Files,
    written: Written,
}

#[derive(Debug)]
enum Written {
    /// Beside the place where it belongs.
    Aside(NamedTempFile),
    /// The file of a device or pipe, which takes the bytes at once.
    There(File),
}

/// The ending of results that a later run has put aside.
const OLD: &str = "old";
/// The ending of the mark beside a file that is not complete.
const UNFINISHED: &str = "unfinished";

/// Kind of the file at a path.
enum There {
    Nothing,
    Device,
    Ours,
    Foreign(&'static str),
}

impl Files {
    /// Whether the file may be written: by the rule, for all that its folder tells, and as far as other commands are concerned.
    ///
    /// # Errors
    /// When it may not.
    pub fn check(self, flag: &str, path: &Path, kind: Kind) -> Result<(), Failure> {
        self.check_rule(flag, path, kind)?;
        let is_folder = if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(()) };
        is_folder
            .and_then(|()| fs::metadata(folder_of(path).join(".")))
            .map_err(|error| unwritable(flag, path, &error))?;
        let locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let is_written = !is_device(path) && File::open(path).is_ok_and(locked);
        if is_written { Err(written_by_another(flag, path)) } else { Ok(()) }
    }

    fn check_rule(self, flag: &str, path: &Path, kind: Kind) -> Result<(), Failure> {
        match there(path, kind) {
            There::Foreign(what) if !self.force => {
                let accepted = format!(
                    "a new file, a file of the same kind written by ccnuma ({}), or --force to \
                     replace it",
                    kind.name()
                );
                Err(Failure::flag(flag, path.display(), format!("exists and {what}"), accepted))
            }
            _ => Ok(()),
        }
    }

    /// Opens a file that is written as it comes.
    ///
    /// # Errors
    /// When it may not be written, by the rule or by the system.
    pub fn stream(self, flag: &str, path: &Path, kind: Kind) -> Result<Stream, Failure> {
        self.check(flag, path, kind)?;
        self.make_room(flag, path, kind)?;
        let refused = |error: io::Error| unwritable(flag, path, &error);
        let file = open(path).map_err(refused)?;
        if !is_device(path) {
            // Before anything of it goes. A file system without locks is written to all the same.
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return Err(written_by_another(flag, path));
            }
            file.set_len(0).map_err(refused)?;
        }
        Ok(Stream { name: name(flag, path), file })
    }

    /// Begins a file that is complete when it is said to be.
    ///
    /// # Errors
    /// When it may not be written, by the rule or by the system.
    pub fn whole(self, flag: &str, path: &Path, kind: Kind) -> Result<Whole, Failure> {
        self.check(flag, path, kind)?;
        let refused = |error: io::Error| unwritable(flag, path, &error);
        // The target of a link is replaced, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let written = match there(&path, kind) {
            There::Device => Written::There(open(&path).map_err(refused)?),
            _ => Written::Aside(aside(&path).map_err(refused)?),
        };
        if let Written::Aside(file) = &written {
            interruption::unfinished(file.path());
        }
        Ok(Whole { name: name(flag, &path), kind, path, files: self, written })
    }

    /// Puts results that are there aside, apart from those of whole runs if theirs was cut short.
    ///
    /// # Errors
    /// When what is there may not go, by the rule, or cannot.
    pub fn make_room(self, flag: &str, path: &Path, kind: Kind) -> Result<(), Failure> {
        self.check_rule(flag, path, kind)?;
        if self.force || !kind.is_result() || !matches!(there(path, kind), There::Ours) {
            return Ok(());
        }
        let mark = beside(path, UNFINISHED);
        let is_whole = !is_mark(&mark) && kind.has_its_end(path);
        let (old, which) = match is_whole {
            true => (beside(path, OLD), "previous file"),
            false => (beside(&mark, OLD), "previous file, of a run that was cut short,"),
        };
        fs::rename(path, &old).map_err(|error| unwritable(flag, path, &error))?;
        progress::say(format!("note: {flag} {}: the {which} was renamed to {}", path.display(), old.display()));
        // Without its file it says nothing.
        remove_mark(&mark);
        Ok(())
    }
}

impl Unfinished {
    /// The mark of a file that nothing is written to yet.
    pub fn of(path: &Path) -> Self {
        Self { mark: beside(path, UNFINISHED), begun: is_device(path) }
    }

    /// Something is about to be written. A file that cannot have a mark beside it is written all the same.
    pub fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            // What is there by that name stays: it is a mark already, or somebody's file.
            let _there = File::create_new(&self.mark);
        }
    }

    /// The file is complete.
    pub fn complete(self) {
        remove_mark(&self.mark);
    }
}

impl Whole {
    /// Where it is written now: for what writes to a path.
    pub fn path(&self) -> &Path {
        match &self.written {
            Written::Aside(file) => file.path(),
            Written::There(_) => &self.path,
        }
    }

    /// The file is complete.
    ///
    /// # Errors
    /// When it cannot be written to its end.
    pub fn complete(mut self) -> Result<(), Failure> {
        if let Some(mark) = self.kind.mark() {
            self.write_all(mark.as_bytes())?;
        }
        self.flush()?;
        let Self { name, kind, path, files, written } = self;
        let Written::Aside(file) = written else { return Ok(()) };
        let (flag, _) = name.split_once(' ').unwrap_or((&name, ""));
        files.make_room(flag, &path, kind)?;
        let aside = file.path().to_owned();
        interruption::finished(&aside, || file.persist(&path))
            .map(drop)
            .map_err(|error| named(&name, &error.error).into())
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| named(&self.name, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| named(&self.name, &error))
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.written {
            Written::Aside(file) => file.write(bytes),
            Written::There(file) => file.write(bytes),
        };
        written.map_err(|error| named(&self.name, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match &mut self.written {
            Written::Aside(file) => file.flush(),
            Written::There(file) => file.flush(),
        };
        flushed.map_err(|error| named(&self.name, &error))
    }
}

/// The path with another ending after its own.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut beside = path.to_path_buf().into_os_string();
    beside.push(format!(".{ending}"));
    beside.into()
}

/// Whether there is a mark at `path`: a file with something in it is somebody's own.
fn is_mark(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}

fn remove_mark(path: &Path) {
    if is_mark(path) {
        // Left behind, it only has a later run keep the file under another name.
        let _gone = fs::remove_file(path);
    }
}

/// Opens a file with what is in it.
fn open(path: &Path) -> io::Result<File> {
    match standard_stream(path) {
        Some(stream) => Ok(stream),
        None => File::options().write(true).create(true).truncate(false).open(path),
    }
}

/// Standard output or error, if it is what is at `path`: another place in the same file would be written over.
fn standard_stream(path: &Path) -> Option<File> {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let there = fs::metadata(path).map(identity).ok()?;
    let streams = [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()];
    let mut streams = streams.into_iter().flatten().map(File::from);
    streams.find(|stream| stream.metadata().map(identity).is_ok_and(|its| its == there))
}

/// Whether what is at `path` takes bytes as they come: no regular file, or one that this command prints to.
pub fn is_device(path: &Path) -> bool {
    let takes = |metadata: fs::Metadata| !metadata.is_dir() && (!metadata.is_file() || standard_stream(path).is_some());
    fs::metadata(path).is_ok_and(takes)
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file beside `path`, with the rights that a new file has.
fn aside(path: &Path) -> io::Result<NamedTempFile> {
    let mut prefix = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
    prefix.push(".");
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".incomplete")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder_of(path))
}

fn there(path: &Path, kind: Kind) -> There {
    match fs::metadata(path) {
        Err(_) => There::Nothing,
        Ok(metadata) if metadata.is_dir() => There::Nothing,
        Ok(_) if is_device(path) => There::Device,
        Ok(metadata) if metadata.len() == 0 => There::Nothing,
        Ok(_) => match kind.is_at(path) {
            Ok(true) => There::Ours,
            Ok(false) => There::Foreign("was not written by ccnuma"),
            Err(_) => There::Foreign("cannot be read"),
        },
    }
}

/// The flag and the file, as messages name them.
fn name(flag: &str, path: &Path) -> String {
    format!("{flag} {}", path.display())
}

/// An error of the system's with the file that it is about.
fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: cannot be written: {error}"))
}

fn written_by_another(flag: &str, path: &Path) -> Failure {
    Failure::flag(
        flag,
        path.display(),
        "is being written by another command",
        "another file, or this one when that has ended",
    )
}

fn unwritable(flag: &str, path: &Path, error: &io::Error) -> Failure {
    let problem = format!("cannot be written: {error}");
    Failure::flag(flag, path.display(), problem, "a file in an existing, writable folder")
}

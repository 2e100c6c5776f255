//! Where the kernel's files are read: this computer's, or a copy of another's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use units::{CpuId, NodeId};

use super::list::parse_list;
use super::note::Note;
use crate::HostError;

/// The folder under which `sys` and `proc` lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelFiles {
    root: PathBuf,
}

impl KernelFiles {
    /// This computer's.
    pub fn live() -> Self {
        Self::at("/")
    }

    /// A copy of some computer's files, with `sys` and `proc` in the folder `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The file `relative`, such as `sys/devices/system/node/online`.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Text of the file, or none if there is no such file. Bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn text(&self, relative: &str) -> Result<Option<String>, HostError> {
        let failed = |error: io::Error| HostError::KernelFile { path: self.path(relative), problem: error.to_string() };
        self.read(relative).map_err(failed)
    }

    fn read(&self, relative: &str) -> io::Result<Option<String>> {
        match fs::read(self.path(relative)) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The largest number of a CPU that a kernel can be built for (`NR_CPUS` of x86-64 and POWER).
const LARGEST_CPU: u16 = 8191;
/// The largest number of a node that a kernel can be built for (`NODES_SHIFT` is 10 at most).
const LARGEST_NODE: u16 = 1023;

/// Reads files for an inventory; what cannot be read or understood becomes a note instead of an error.
pub(super) struct Reader<'a> {
    files: &'a KernelFiles,
    /// Notes on all that could not be seen, in the order of the attempts.
    pub(super) notes: Vec<Note>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(files: &'a KernelFiles) -> Self {
        Self { files, notes: Vec::new() }
    }

    /// Text of the file, without blanks around it.
    pub(super) fn text(&mut self, relative: &str) -> Option<String> {
        let text = self.files.read(relative).unwrap_or_else(|error| {
            self.misunderstood(relative, error.to_string());
            None
        });
        text.map(|text| text.trim().to_owned())
    }

    /// The bytes of the file, for those that hold no text.
    pub(super) fn bytes(&mut self, relative: &str) -> Option<Vec<u8>> {
        fs::read(self.files.path(relative)).ok()
    }

    /// The number that the file holds.
    pub(super) fn number<T: FromStr>(&mut self, relative: &str) -> Option<T> {
        let text = self.text(relative)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.misunderstood(relative, format!("`{}` is not a number that fits", excerpt(&text)));
        }
        number
    }

    /// The CPUs in the list that the file holds.
    pub(super) fn cpus(&mut self, relative: &str) -> Option<Vec<CpuId>> {
        Some(self.list(relative, LARGEST_CPU)?.into_iter().map(CpuId).collect())
    }

    /// The nodes in the list that the file holds.
    pub(super) fn nodes(&mut self, relative: &str) -> Option<Vec<NodeId>> {
        Some(self.list(relative, LARGEST_NODE)?.into_iter().map(NodeId).collect())
    }

    fn list(&mut self, relative: &str, largest: u16) -> Option<Vec<u16>> {
        let text = self.text(relative)?;
        let within = |list: Vec<u16>| match list.last() {
            Some(&last) if last > largest => {
                Err(format!("{last} is more than any kernel has; accepted: up to {largest}"))
            }
            _ => Ok(list),
        };
        parse_list(&text).and_then(within).map_err(|problem| self.misunderstood(relative, problem)).ok()
    }

    /// The numbers N of the entries `prefix`N of a folder, ascending.
    pub(super) fn numbered(&mut self, folder: &str, prefix: &str) -> Vec<u16> {
        let names = self.names(folder);
        let mut numbers: Vec<u16> = names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The names in a folder, sorted; none if it cannot be listed.
    pub(super) fn names(&mut self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.files.path(folder)) else { return Vec::new() };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Notes that a file cannot be read, or says something else than it should.
    pub(super) fn misunderstood(&mut self, relative: &str, problem: String) {
        self.notes.push(Note::Unreadable { path: self.files.path(relative), problem });
    }
}

/// The start of a text, for messages.
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

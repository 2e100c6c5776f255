//! DynamoRIO's drmemtrace: the format of its offline traces and of those that Google publishes.
//!
//! A trace is a folder with a file a thread, or one file of several threads, plain, gzipped, or zipped in chunks. Each is a
//! sequence of entries of 12 bytes: kind (2), size (2), address (8), least significant byte first (`trace_entry_t` in its
//! `trace_entry.h`, versions 2 and later, of 64-bit programs). An instruction comes before the data that it refers to.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::{DeflateDecoder, MultiGzDecoder};
use zip::{CompressionMethod, ZipArchive};

use super::Gathered;
use crate::event::{AccessKind, Event};
use crate::source::{Header, OneByOne, ReferenceError, Source, ThreadEvents, Warning, beginning};

/// Bytes of an entry.
const ENTRY: usize = 12;

/// Kind of an entry, by the numbers of `trace_type_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Access(AccessKind),
    /// An instruction at an address.
    Instruction,
    /// Several, the first of which was told before.
    Bundle,
    /// Another iteration of one that was told before: it refers to data again.
    Again,
    Thread,
    ThreadExit,
    Header,
    Marker,
    /// Nothing that a machine's data caches see.
    Other,
    Unknown,
}

const fn kind(number: u16) -> Kind {
    match number {
        0 => Kind::Access(AccessKind::Load),
        1 => Kind::Access(AccessKind::Store),
        2..=7 | 32..=34 => Kind::Access(AccessKind::PrefetchShared),
        8 | 41..=46 => Kind::Access(AccessKind::PrefetchExclusive),
        10..=16 | 31 | 48 | 49 => Kind::Instruction,
        17 => Kind::Bundle,
        29 => Kind::Again,
        22 => Kind::Thread,
        23 => Kind::ThreadExit,
        25 => Kind::Header,
        28 => Kind::Marker,
        // Prefetches of instructions, flushes, processes, the end, what a cache simulator added, encodings.
        9 | 18..=21 | 24 | 26 | 27 | 30 | 35..=40 | 47 => Kind::Other,
        _ => Kind::Unknown,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    number: u16,
    size: u16,
    address: u64,
}

/// A trace of drmemtrace.
#[derive(Debug)]
pub struct DrMemTrace {
    header: Header,
    warnings: Vec<Warning>,
    /// By thread: its number in the traced system, and the file it is in.
    threads: Vec<(u64, PathBuf)>,
}

impl DrMemTrace {
    /// Whether the file at `path` is one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn is_one(path: &Path) -> Result<bool, ReferenceError> {
        let start = beginning(path, 4)?;
        let packed = start.starts_with(&[0x1f, 0x8b]) || start.starts_with(b"PK");
        if !packed && !matches!(start[..], [25 | 28, 0, ..]) {
            return Ok(false);
        }
        let Ok(mut entries) = Entries::open(path) else { return Ok(false) };
        let known = |entry: Entry| matches!(kind(entry.number), Kind::Header | Kind::Marker);
        Ok(entries.next().is_some_and(known) && entries.next().is_none_or(|entry| kind(entry.number) != Kind::Unknown))
    }

    /// The file or folder at `path`. It is read once from end to end to learn of its threads.
    ///
    /// # Errors
    /// It cannot be read, or holds nothing that drmemtrace wrote.
    pub fn open(path: &Path) -> Result<Self, ReferenceError> {
        let files = files_of(path)?;
        let (mut threads, mut warnings) = (Vec::new(), Vec::new());
        for file in &files {
            let mut unknown: BTreeMap<u16, u64> = BTreeMap::new();
            let mut entries = Entries::open(file)?;
            for entry in entries.by_ref() {
                match kind(entry.number) {
                    Kind::Thread if !threads.iter().any(|(thread, _)| *thread == entry.address) => {
                        threads.push((entry.address, file.clone()));
                    }
                    Kind::Unknown => *unknown.entry(entry.number).or_default() += 1,
                    _ => {}
                }
            }
            let path = || file.clone();
            warnings.extend(unknown.into_iter().map(|(kind, count)| Warning::Unknown { path: path(), kind, count }));
            if entries.cut_off {
                warnings.push(Warning::CutOff { path: path(), bytes: entries.read * ENTRY as u64 });
            }
        }
        if threads.is_empty() {
            return Err(ReferenceError::Unknown { path: path.to_owned() });
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let header = Header {
            program: name,
            command: Vec::new(),
            recorded_on: "DynamoRIO drmemtrace".to_owned(),
            threads: threads.len(),
            synchronised: false,
            lost: vec![
                "how threads waited for each other: all start at once and none waits".to_owned(),
                "which loads depend on others: all may overlap".to_owned(),
            ],
            areas: Vec::new(),
        };
        Ok(Self { header, warnings, threads })
    }
}

/// The files of a trace: in a folder, those of its threads in the order of their names.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, ReferenceError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let io = |source| ReferenceError::Io { path: path.to_owned(), source };
    // A folder of drmemtrace's has one called `trace` with what is read here.
    let inner = path.join("trace");
    let folder = if inner.is_dir() { inner } else { path.to_owned() };
    let entries: Result<Vec<_>, _> = std::fs::read_dir(&folder).map_err(io)?.collect();
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".trace"));
    let mut files: Vec<_> = entries.map_err(io)?.into_iter().map(|entry| entry.path()).filter(named).collect();
    files.sort();
    if files.is_empty() { Err(ReferenceError::Unknown { path: path.to_owned() }) } else { Ok(files) }
}

impl Source for DrMemTrace {
    fn header(&self) -> &Header {
        &self.header
    }

    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn events(&self, thread: usize) -> Result<ThreadEvents, ReferenceError> {
        let Some((number, file)) = self.threads.get(thread) else {
            return Ok(Box::new(OneByOne::new(std::iter::empty())));
        };
        let (entries, gathered) = (Entries::open(file)?, Gathered::default());
        Ok(Box::new(OneByOne::new(DrMemEvents { entries, thread: *number, current: None, gathered })))
    }
}

/// The events of one thread, as its file is read.
struct DrMemEvents {
    entries: Entries,
    thread: u64,
    /// Whose entries they are at present.
    current: Option<u64>,
    gathered: Gathered,
}

impl Iterator for DrMemEvents {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.gathered.ready.pop_front() {
                return Some(event);
            }
            let Some(entry) = self.entries.next() else {
                self.gathered.tell_instructions();
                return self.gathered.ready.pop_front();
            };
            match kind(entry.number) {
                Kind::Thread => self.current = Some(entry.address),
                _ if self.current != Some(self.thread) => {}
                Kind::Access(kind) => self.gathered.access(kind, entry.address, entry.size),
                Kind::Instruction => self.gathered.execute(1, Some(entry.address)),
                Kind::Bundle => self.gathered.execute(u32::from(entry.size), None),
                Kind::Again => self.gathered.execute(0, Some(entry.address)),
                Kind::ThreadExit | Kind::Header | Kind::Marker | Kind::Other | Kind::Unknown => {}
            }
        }
    }
}

/// The entries of a file.
struct Entries {
    bytes: BufReader<Box<dyn Read + Send>>,
    /// How many were read.
    read: u64,
    /// Whether the file ended within one, or could not be unpacked further.
    cut_off: bool,
}

impl Entries {
    fn open(path: &Path) -> Result<Self, ReferenceError> {
        let io = |source| ReferenceError::Io { path: path.to_owned(), source };
        let start = beginning(path, 2)?;
        let file = input::open(path).map_err(io)?;
        let plain: Box<dyn Read + Send> = match start[..] {
            [0x1f, 0x8b] => Box::new(MultiGzDecoder::new(file)),
            [b'P', b'K'] => chunks(path, file)?,
            _ => Box::new(file),
        };
        Ok(Self { bytes: BufReader::with_capacity(64 << 10, plain), read: 0, cut_off: false })
    }
}

/// The parts of an archive, one after the other.
fn chunks(path: &Path, file: File) -> Result<Box<dyn Read + Send>, ReferenceError> {
    let damaged = |what: String| ReferenceError::Damaged { path: path.to_owned(), at: 0, what };
    let mut archive = ZipArchive::new(file).map_err(|error| damaged(error.to_string()))?;
    let mut all: Box<dyn Read + Send> = Box::new(std::io::empty());
    for number in 0..archive.len() {
        let part = archive.by_index_raw(number).map_err(|error| damaged(error.to_string()))?;
        let start = part.data_start();
        let start = start.ok_or_else(|| damaged(format!("part {number} has no place in it")))?;
        let packed = Part { file: input::open(path), at: start, left: part.compressed_size() };
        all = match part.compression() {
            CompressionMethod::Stored => Box::new(all.chain(packed)),
            CompressionMethod::Deflated => Box::new(all.chain(DeflateDecoder::new(packed))),
            other => return Err(damaged(format!("part {number} is compressed by {other}; accepted: deflate, none"))),
        };
    }
    Ok(all)
}

/// Some bytes of a file.
struct Part {
    file: std::io::Result<File>,
    at: u64,
    left: u64,
}

impl Read for Part {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        use std::os::unix::fs::FileExt;
        let file = self.file.as_ref().map_err(|error| std::io::Error::from(error.kind()))?;
        let most = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = file.read_at(&mut bytes[..most], self.at)?;
        (self.at, self.left) = (self.at + count as u64, self.left - count as u64);
        Ok(count)
    }
}

impl Iterator for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let mut bytes = [0; ENTRY];
        let mut filled = 0;
        while filled < ENTRY {
            match self.bytes.read(&mut bytes[filled..]) {
                Ok(0) if filled == 0 => return None,
                Ok(0) | Err(_) => {
                    self.cut_off = true;
                    return None;
                }
                Ok(count) => filled += count,
            }
        }
        self.read += 1;
        let [k0, k1, s0, s1, address @ ..] = bytes;
        let (number, size) = (u16::from_le_bytes([k0, k1]), u16::from_le_bytes([s0, s1]));
        Some(Entry { number, size, address: u64::from_le_bytes(address) })
    }
}

//! Our own file: blocks of one thread's events each, compressed, as they are recorded.
//!
//! | bytes | what |
//! |---|---|
//! | 20 | `ccnuma-references 1\n` |
//! | 4 | length of the header, least significant byte first like all numbers |
//! | that many | the header: JSON |
//! | per block: 4, 4, 4, 4 | thread, events, bytes before compression, bytes after |
//! | that many | the events, compressed (zlib) |
//!
//! A block can be read without the ones before it but for what addresses are differences from: each begins anew.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rustc_hash::FxHashMap;

use crate::encoding::{Decoder, Encoder};
use crate::event::{Access, AccessKind, Event};
use crate::source::{Header, ReferenceError, Source, ThreadEvents, Warning};

/// What a file begins with.
pub const MAGIC: &[u8] = b"ccnuma-references 1\n";
/// Bytes of a thread's events that are compressed at once.
const BLOCK: usize = 64 << 10;
/// Bytes before a block.
const BLOCK_HEADER: u64 = 16;
/// No trace has more threads.
const MOST_THREADS: u32 = 1 << 16;
/// No header is longer.
const LONGEST_HEADER: u32 = 1 << 20;

/// Writes what threads do, as they do it. What goes wrong is told when it finishes.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: BufWriter<File>,
    threads: Vec<Pending>,
    /// How often each word was changed for others to see.
    changes: FxHashMap<u64, u32>,
    failed: Option<std::io::Error>,
}

/// What a thread did since its last block.
#[derive(Debug, Default)]
struct Pending {
    encoder: Encoder,
    bytes: Vec<u8>,
    events: u32,
}

impl Recorder {
    /// A new file at `path`; one that is there is overwritten.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path, header: &Header) -> Result<Self, ReferenceError> {
        let start = || {
            let mut file = BufWriter::new(File::create(path)?);
            let json = serde_json::to_vec(header)?;
            file.write_all(MAGIC)?;
            file.write_all(&(json.len() as u32).to_le_bytes())?;
            file.write_all(&json)?;
            Ok(file)
        };
        let file = start().map_err(|source| ReferenceError::Io { path: path.to_owned(), source })?;
        let (threads, changes) = Default::default();
        Ok(Self { path: path.to_owned(), file, threads, changes, failed: None })
    }

    /// Thread number `thread` does something.
    #[inline]
    pub fn record(&mut self, thread: usize, event: Event) {
        if thread >= self.threads.len() {
            self.threads.resize_with(thread + 1, Pending::default);
        }
        let pending = &mut self.threads[thread];
        pending.encoder.encode(event, &mut pending.bytes);
        pending.events += 1;
        if pending.bytes.len() >= BLOCK {
            self.write_block(thread);
        }
    }

    /// A thread changes a word for others to see.
    pub fn change(&mut self, thread: usize, address: u64) {
        *self.changes.entry(address).or_default() += 1;
        self.record(thread, Event::Change { address });
    }

    /// A thread has seen what a word of `bytes` bytes holds after all changes so far: if there were any, it is to wait for them.
    pub fn saw(&mut self, thread: usize, address: u64, bytes: u8) {
        let event = match self.changes.get(&address) {
            Some(&changes) => Event::Await { address, changes },
            None => Event::Access(Access { kind: AccessKind::Load, dependent: false, bytes, address }),
        };
        self.record(thread, event);
    }

    /// Writes all that is left.
    ///
    /// # Errors
    /// The file could not be written, now or before.
    pub fn finish(mut self) -> Result<(), ReferenceError> {
        (0..self.threads.len()).for_each(|thread| self.write_block(thread));
        let written = match self.failed {
            Some(error) => Err(error),
            None => self.file.flush(),
        };
        written.map_err(|source| ReferenceError::Io { path: self.path, source })
    }

    #[cold]
    fn write_block(&mut self, thread: usize) {
        let Pending { bytes, events, .. } = std::mem::take(&mut self.threads[thread]);
        if events == 0 || self.failed.is_some() {
            return;
        }
        let mut write = || {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&bytes)?;
            let compressed = encoder.finish()?;
            for number in [thread as u32, events, bytes.len() as u32, compressed.len() as u32] {
                self.file.write_all(&number.to_le_bytes())?;
            }
            self.file.write_all(&compressed)
        };
        self.failed = write().err();
    }
}

/// Where a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Block {
    at: u64,
    plain: u32,
    compressed: u32,
}

/// A file to read.
#[derive(Debug)]
pub struct ReferenceFile {
    file: Arc<File>,
    path: PathBuf,
    header: Header,
    blocks: Vec<Vec<Block>>,
    warnings: Vec<Warning>,
}

impl ReferenceFile {
    /// The file at `path`.
    ///
    /// # Errors
    /// It cannot be read, or has no whole header.
    pub fn open(path: &Path) -> Result<Self, ReferenceError> {
        let io = |source| ReferenceError::Io { path: path.to_owned(), source };
        let file = input::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let start = MAGIC.len() as u64;
        let damaged = |what: &str| ReferenceError::Damaged { path: path.to_owned(), at: start, what: what.to_owned() };
        let numbers = read_numbers::<1>(&file, start).ok_or_else(|| damaged("it ends before its header"))?;
        if numbers[0] > LONGEST_HEADER {
            return Err(damaged("its header is too long to be one"));
        }
        let mut json = vec![0; numbers[0] as usize];
        file.read_exact_at(&mut json, start + 4).map_err(|_| damaged("it ends within its header"))?;
        let mut header: Header = serde_json::from_slice(&json).map_err(|error| damaged(&error.to_string()))?;
        let mut blocks: Vec<Vec<Block>> = Vec::new();
        let mut at = start + 4 + u64::from(numbers[0]);
        while let Some([thread, _, plain, compressed]) = read_numbers::<4>(&file, at) {
            let end = at + BLOCK_HEADER + u64::from(compressed);
            if end > length || thread >= MOST_THREADS {
                break;
            }
            let thread = thread as usize;
            if thread >= blocks.len() {
                blocks.resize(thread + 1, Vec::new());
            }
            blocks[thread].push(Block { at: at + BLOCK_HEADER, plain, compressed });
            at = end;
        }
        // Threads may have come up after the header was written.
        header.threads = blocks.len();
        let warnings =
            if at < length { vec![Warning::CutOff { path: path.to_owned(), bytes: at }] } else { Vec::new() };
        Ok(Self { file: Arc::new(file), path: path.to_owned(), header, blocks, warnings })
    }
}

fn read_numbers<const COUNT: usize>(file: &File, at: u64) -> Option<[u32; COUNT]> {
    let mut numbers = [0; COUNT];
    for (place, number) in (at..).step_by(4).zip(&mut numbers) {
        let mut bytes = [0; 4];
        file.read_exact_at(&mut bytes, place).ok()?;
        *number = u32::from_le_bytes(bytes);
    }
    Some(numbers)
}

impl Source for ReferenceFile {
    fn header(&self) -> &Header {
        &self.header
    }

    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn events(&self, thread: usize) -> Result<ThreadEvents, ReferenceError> {
        // Seen now rather than in the middle of a run: whether the file is still there.
        self.file.metadata().map_err(|source| ReferenceError::Io { path: self.path.clone(), source })?;
        let blocks = self.blocks.get(thread).cloned().unwrap_or_default();
        let file = self.file.clone();
        Ok(Box::new(blocks.into_iter().flat_map(move |block| BlockEvents::read(&file, block))))
    }
}

/// The events of a block.
struct BlockEvents {
    bytes: Vec<u8>,
    done: usize,
    decoder: Decoder,
}

impl BlockEvents {
    /// Those of a block that is damaged end where it is.
    fn read(file: &File, block: Block) -> Self {
        let mut compressed = vec![0; block.compressed as usize];
        let mut bytes = Vec::new();
        if file.read_exact_at(&mut compressed, block.at).is_ok() {
            // What comes out before a fault is kept.
            let _ = ZlibDecoder::new(&compressed[..]).take(u64::from(block.plain)).read_to_end(&mut bytes);
        }
        Self { bytes, done: 0, decoder: Decoder::default() }
    }
}

impl Iterator for BlockEvents {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut left = &self.bytes[self.done..];
        let event = self.decoder.decode(&mut left);
        self.done = self.bytes.len() - left.len();
        event
    }
}

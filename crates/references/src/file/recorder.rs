//! The recorder, which writes a file while the threads run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::MAGIC;
use super::block::{self, Packer, SUMMARY};
use crate::encoding::{Encoder, GRAIN};
use crate::event::{Access, AccessKind, Event};
use crate::memory::Footprint;
use crate::source::{Header, ReferenceError};

/// Writes what threads do, as they do it. What goes wrong is told when it finishes.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    /// By thread, what it did since its last block.
    threads: Vec<Encoder>,
    footprint: Footprint,
    blocks: Blocks,
}

/// The file behind its header.
#[derive(Debug)]
struct Blocks {
    file: BufWriter<File>,
    packer: Packer,
    failed: Option<io::Error>,
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
            file.write_all(&block::checksum(&json).to_le_bytes())?;
            file.write_all(&json)?;
            Ok(file)
        };
        let file = start().map_err(|source| ReferenceError::Io { path: path.to_owned(), source })?;
        let blocks = Blocks { file, packer: Packer::default(), failed: None };
        Ok(Self { path: path.to_owned(), threads: Vec::new(), footprint: Footprint::default(), blocks })
    }

    /// Thread number `thread` does something.
    #[inline]
    pub fn record(&mut self, thread: usize, event: Event) {
        let leaves = self.thread(thread).encode(event);
        match event {
            Event::Access(access) => self.note(leaves, access),
            Event::Change { address } => {
                self.footprint.change(address);
                self.footprint.refer(address, 1);
            }
            Event::Await { address, .. } => self.footprint.refer(address, 1),
            _ => {}
        }
        self.write_if_full(thread);
    }

    /// Thread number `thread` issues so many instructions and then, by the code at `site`, an access: the same events, faster.
    #[inline]
    pub fn refer(&mut self, thread: usize, instructions: u32, site: u64, access: Access) {
        let leaves = self.thread(thread).access(instructions, site, access);
        self.note(leaves, access);
        self.write_if_full(thread);
    }

    /// Notes the memory that an access refers to, unless one before it did so.
    #[inline]
    fn note(&mut self, leaves: bool, access: Access) {
        if leaves || access.address % GRAIN + u64::from(access.bytes) > GRAIN {
            self.footprint.refer(access.address, access.bytes);
        }
    }

    /// A thread changes a word for others to see.
    pub fn change(&mut self, thread: usize, address: u64) {
        self.record(thread, Event::Change { address });
    }

    /// A thread has seen what a word of `bytes` bytes holds after all changes so far: if there were any, it is to wait for them.
    pub fn saw(&mut self, thread: usize, address: u64, bytes: u8) {
        let event = match self.footprint.changes(address) {
            0 => Event::Access(Access { kind: AccessKind::Load, dependent: false, bytes, address }),
            changes => Event::Await { address, changes },
        };
        self.record(thread, event);
    }

    #[inline]
    fn thread(&mut self, thread: usize) -> &mut Encoder {
        if thread >= self.threads.len() {
            self.begin(thread);
        }
        &mut self.threads[thread]
    }

    #[cold]
    fn begin(&mut self, thread: usize) {
        self.threads.resize_with(thread + 1, Encoder::default);
    }

    #[inline]
    fn write_if_full(&mut self, thread: usize) {
        let encoder = &self.threads[thread];
        if encoder.waiting() >= block::FULL || encoder.steps() >= block::FULL_STEPS {
            self.write_block(thread);
        }
    }

    #[cold]
    fn write_block(&mut self, thread: usize) {
        let Self { threads, blocks, .. } = self;
        threads[thread].hand_over(|steps, bytes| blocks.write(thread as u32, steps, bytes));
    }

    /// Writes all that is left, and the summary.
    ///
    /// # Errors
    /// The file could not be written, now or before.
    pub fn finish(self) -> Result<(), ReferenceError> {
        let Self { path, threads, footprint, mut blocks } = self;
        for (thread, mut encoder) in threads.into_iter().enumerate() {
            encoder.finish(|steps, bytes| blocks.write(thread as u32, steps, bytes));
        }
        blocks.write(SUMMARY, 0, &footprint.into_memory().encode());
        match blocks.failed {
            Some(source) => Err(ReferenceError::Io { path, source }),
            None => Ok(()),
        }
    }
}

impl Blocks {
    /// Writes a block, unless one could not be written before: nothing after a gap could be read.
    fn write(&mut self, thread: u32, steps: u32, bytes: &[u8]) {
        if self.failed.is_none() {
            let (frame, stored) = self.packer.pack(thread, steps, bytes);
            let framed = self.file.write_all(&frame.encode()).and_then(|()| self.file.write_all(stored));
            self.failed = framed.and_then(|()| self.file.flush()).err();
        }
    }
}

//! The reader of a file: its blocks when it is opened, to check and to find them; their events when they are needed.

use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::{self, Frame, SUMMARY, Unpacker};
use super::{LONGEST_HEADER, MAGIC, VERSION};
use crate::encoding::Decoder;
use crate::memory::Memory;
use crate::source::{Encoded, Events, Header, Portion, ReferenceError, Source, ThreadEvents, Warning};

/// Where the content of a block is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Block {
    at: u64,
    frame: Frame,
}

/// A file to read.
#[derive(Debug)]
pub struct ReferenceFile {
    stored: Arc<Stored>,
    header: Header,
    memory: Option<Memory>,
    warnings: Vec<Warning>,
}

/// State that the readers of all threads share.
#[derive(Debug)]
struct Stored {
    file: File,
    path: PathBuf,
    /// By thread, its blocks.
    blocks: Vec<Vec<Block>>,
}

impl ReferenceFile {
    /// The file at `path`. It is read once from end to end, to see whether all of it is as it was written.
    ///
    /// # Errors
    /// It cannot be read, is of another version, or is damaged.
    pub fn open(path: &Path) -> Result<Self, ReferenceError> {
        let io = |source| ReferenceError::Io { path: path.to_owned(), source };
        let file = input::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let mut opening = Opening { path, bytes: BufReader::with_capacity(block::FULL, &file), at: 0, length };
        let mut header = opening.header()?;
        let mut blocks: Vec<Vec<Block>> = Vec::new();
        let (mut memory, mut content) = (None, Vec::new());
        while memory.is_none() {
            let Some(block) = opening.block(&mut content)? else { break };
            if block.frame.thread == SUMMARY {
                memory = Some(opening.summary(block, &content)?);
                continue;
            }
            let thread = block.frame.thread as usize;
            if thread >= blocks.len() {
                blocks.resize(thread + 1, Vec::new());
            }
            blocks[thread].push(block);
        }
        // Threads may have come up after the header was written.
        header.threads = blocks.len();
        let cut_off = Warning::CutOff { path: path.to_owned(), bytes: opening.at };
        let warnings = if memory.is_none() { vec![cut_off] } else { Vec::new() };
        let stored = Arc::new(Stored { file, path: path.to_owned(), blocks });
        Ok(Self { stored, header, memory, warnings })
    }
}

/// A file that is looked through.
struct Opening<'a> {
    path: &'a Path,
    bytes: BufReader<&'a File>,
    /// How much of it is whole.
    at: u64,
    length: u64,
}

impl Opening<'_> {
    fn damaged(&self, at: u64, what: impl Into<String>) -> ReferenceError {
        ReferenceError::Damaged { path: self.path.to_owned(), at, what: what.into() }
    }

    /// Fills `bytes` with the next ones. Returns whether there were so many.
    fn read(&mut self, bytes: &mut [u8]) -> Result<bool, ReferenceError> {
        match self.bytes.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(source) => Err(ReferenceError::Io { path: self.path.to_owned(), source }),
        }
    }

    fn header(&mut self) -> Result<Header, ReferenceError> {
        let mut start = [0; MAGIC.len() + 8];
        let at = MAGIC.len() as u64;
        if !self.read(&mut start)? {
            return Err(self.damaged(at, "it ends before its header"));
        }
        let (magic, numbers) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            let line = String::from_utf8_lossy(&start[super::FAMILY.len()..]);
            let found = line.split(|end: char| !end.is_ascii_alphanumeric()).next().unwrap_or_default().to_owned();
            return Err(ReferenceError::Version { path: self.path.to_owned(), found, accepted: VERSION.to_owned() });
        }
        let number = |place: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| numbers[place + byte]));
        let (length, checksum) = (number(0), number(4));
        if length > LONGEST_HEADER {
            return Err(self.damaged(at, "its header is too long to be one"));
        }
        let mut json = vec![0; length as usize];
        if !self.read(&mut json)? {
            return Err(self.damaged(at, "it ends within its header"));
        }
        if block::checksum(&json) != checksum {
            return Err(self.damaged(at, "its header is not as it was written"));
        }
        self.at = at + 8 + u64::from(length);
        serde_json::from_slice(&json).map_err(|error| self.damaged(at, error.to_string()))
    }

    /// The next block, whose stored bytes are left in `content`; `None` where the file was cut off.
    fn block(&mut self, content: &mut Vec<u8>) -> Result<Option<Block>, ReferenceError> {
        let mut frame = [0; Frame::BYTES];
        if !self.read(&mut frame)? {
            return Ok(None);
        }
        let frame = Frame::decode(&frame).ok_or_else(|| self.damaged(self.at, "no block begins here"))?;
        if let Some(fault) = frame.fault() {
            return Err(self.damaged(self.at, fault));
        }
        let at = self.at + Frame::BYTES as u64;
        let end = at + u64::from(frame.stored);
        if end > self.length {
            return Ok(None);
        }
        content.resize(frame.stored as usize, 0);
        if !self.read(content)? {
            return Ok(None);
        }
        if block::checksum(content) != frame.checksum {
            return Err(self.damaged(at, "a block is not as it was written"));
        }
        self.at = end;
        Ok(Some(Block { at, frame }))
    }

    /// The memory in the summary, behind which nothing may be.
    fn summary(&self, block: Block, stored: &[u8]) -> Result<Memory, ReferenceError> {
        if self.at < self.length {
            return Err(self.damaged(self.at, "it goes on after its end"));
        }
        let mut plain = Vec::new();
        let unpacked = Unpacker::default().unpack(block.frame, stored, &mut plain);
        let memory = Memory::decode(&plain).filter(|_| unpacked);
        memory.ok_or_else(|| self.damaged(block.at, "its summary is none"))
    }
}

impl Source for ReferenceFile {
    fn header(&self) -> &Header {
        &self.header
    }

    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    fn events(&self, thread: usize) -> Result<ThreadEvents, ReferenceError> {
        // Seen now rather than in the middle of a run: whether the file is still there.
        let metadata = self.stored.file.metadata();
        metadata.map_err(|source| ReferenceError::Io { path: self.stored.path.clone(), source })?;
        Ok(Box::new(FileEvents::new(self.stored.clone(), thread)))
    }
}

/// The events of a thread, a block at a time.
struct FileEvents {
    stored: Arc<Stored>,
    thread: usize,
    /// Blocks that were begun.
    begun: usize,
    decoder: Decoder,
    unpacker: Unpacker,
    packed: Vec<u8>,
    /// The content of the latest block.
    content: Vec<u8>,
}

impl FileEvents {
    fn new(stored: Arc<Stored>, thread: usize) -> Self {
        let (begun, decoder, unpacker, packed, content) = Default::default();
        Self { stored, thread, begun, decoder, unpacker, packed, content }
    }

    /// Reads the content of the next block, if there is one.
    fn read_block(&mut self) -> Result<Option<Block>, ReferenceError> {
        let blocks = self.stored.blocks.get(self.thread).map_or(&[][..], Vec::as_slice);
        let Some(&block) = blocks.get(self.begun) else { return Ok(None) };
        self.packed.resize(block.frame.stored as usize, 0);
        let read = self.stored.file.read_exact_at(&mut self.packed, block.at);
        read.map_err(|source| ReferenceError::Io { path: self.stored.path.clone(), source })?;
        self.begun += 1;
        if self.unpacker.unpack(block.frame, &self.packed, &mut self.content) {
            return Ok(Some(block));
        }
        let what = "a block is not as it was when the file was opened".to_owned();
        Err(ReferenceError::Damaged { path: self.stored.path.clone(), at: block.at, what })
    }
}

impl Events for FileEvents {
    fn next(&mut self) -> Result<Option<Portion<'_>>, ReferenceError> {
        let Some(Block { at, frame }) = self.read_block()? else { return Ok(None) };
        let Self { stored, decoder, content, .. } = self;
        Ok(Some(Portion::Encoded(Encoded { decoder, bytes: content, steps: frame.steps, path: &stored.path, at })))
    }
}

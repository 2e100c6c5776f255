//! Our own file: blocks of one thread's steps each, written as they fill, and in the end what all of them refer to.
//!
//! | bytes | what |
//! |---|---|
//! | 20 | `ccnuma-references 3\n` |
//! | 4, 4 | length of the header, least significant byte first like all numbers; checksum of the header |
//! | that many | the header: JSON |
//! | per block: 24 | its frame: thread, steps, lengths, checksums (`file/block.rs`) |
//! | its stored length | the steps (`encoding/mod.rs`), compressed if that makes them shorter |
//! | once: 24 | the frame of the summary, of thread 0xffff_ffff |
//! | its stored length | the memory that the trace refers to, and how often words are changed ([`crate::Memory`]) |
//!
//! A file without a summary was cut off: it is read up to there, and that is told. Anything else that is not as it was written is
//! refused when the file is opened: every byte behind the first line is covered by a checksum.
//!
//! Recording holds no more than a block and a table of predictions (64 KiB each) of each thread, and the summary; reading the same
//! of each thread, and a list of blocks, of which one holds several thousand steps to a million.

mod block;
mod reader;
mod recorder;

pub use reader::ReferenceFile;
pub use recorder::Recorder;

/// The bytes with which a file of any version begins.
pub(crate) const FAMILY: &[u8] = b"ccnuma-references ";
/// The bytes with which a file of this version begins.
const MAGIC: &[u8] = b"ccnuma-references 3\n";
/// This version.
const VERSION: &str = "3";
/// No trace has more threads.
const MOST_THREADS: u32 = 1 << 16;
/// No header is longer, in bytes.
const LONGEST_HEADER: u32 = 1 << 20;

//! A block in its frame: what is in it, how long it is, and checksums of both.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | thread |
//! | 4 | steps |
//! | 4 | bytes of the content |
//! | 4 | bytes stored: as many if it is stored as it is, fewer if it is compressed (deflate) |
//! | 4 | checksum of what is stored |
//! | 4 | checksum of the frame so far |

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use twox_hash::XxHash64;

/// The thread of the block that is the summary.
pub const SUMMARY: u32 = u32::MAX;
/// Steps after which a block is full, however few bytes they take: so it is written now and then.
pub const FULL_STEPS: u32 = 1 << 20;
/// Steps of a block at most: the last event may have brought two others along that waited for an access.
const MOST_STEPS: u32 = FULL_STEPS + 2;
/// Bytes of steps after which a block is full. The last step may reach beyond.
pub const FULL: usize = 64 << 10;
/// The content of a thread's block at most, in bytes.
const LONGEST: usize = FULL + 256;

/// Blocks that are stored as they are after one that was no shorter for being compressed by an eighth: a program whose addresses
/// follow from its data is not slowed down by attempts to compress them.
const RESPITE: u32 = 15;

/// The frame before a block's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    pub thread: u32,
    pub steps: u32,
    /// Bytes of its content.
    pub plain: u32,
    /// Bytes that are stored.
    pub stored: u32,
    /// Their checksum.
    pub checksum: u32,
}

impl Frame {
    /// Bytes of a frame.
    pub const BYTES: usize = 24;

    /// The frame as bytes.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let numbers = [self.thread, self.steps, self.plain, self.stored, self.checksum];
        for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let checksum = checksum(&bytes[..Self::BYTES - 4]);
        bytes[Self::BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The frame that the bytes are; `None` if their checksum is wrong.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let number = |place: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[4 * place + byte]));
        let frame =
            Self { thread: number(0), steps: number(1), plain: number(2), stored: number(3), checksum: number(4) };
        (number(5) == checksum(&bytes[..Self::BYTES - 4])).then_some(frame)
    }

    /// The fault for which it is no frame of a trace, if there is one.
    pub fn fault(self) -> Option<&'static str> {
        let longest = if self.thread == SUMMARY { u32::MAX as usize } else { LONGEST };
        if self.thread != SUMMARY && self.thread >= super::MOST_THREADS {
            Some("a block is of a thread beyond the last one possible")
        } else if self.steps > MOST_STEPS {
            Some("a block has more steps than any")
        } else if self.stored > self.plain || self.plain as usize > longest {
            Some("a block is longer than any")
        } else {
            None
        }
    }
}

/// A checksum of bytes.
pub fn checksum(bytes: &[u8]) -> u32 {
    XxHash64::oneshot(0, bytes) as u32
}

/// Compresses blocks.
#[derive(Debug)]
pub struct Packer {
    compress: Compress,
    compressed: Vec<u8>,
    /// Blocks to store as they are.
    respite: u32,
}

impl Default for Packer {
    fn default() -> Self {
        Self { compress: Compress::new(Compression::fast(), false), compressed: Vec::new(), respite: 0 }
    }
}

impl Packer {
    /// The frame of a block of `steps` steps of a thread, and what is to be stored.
    pub fn pack<'b>(&'b mut self, thread: u32, steps: u32, plain: &'b [u8]) -> (Frame, &'b [u8]) {
        let stored = match self.respite.checked_sub(1) {
            Some(left) => {
                self.respite = left;
                plain
            }
            None if self.compress(plain) => &self.compressed,
            None => plain,
        };
        let (length, checksum) = (stored.len() as u32, checksum(stored));
        (Frame { thread, steps, plain: plain.len() as u32, stored: length, checksum }, stored)
    }

    /// Compresses a block. Returns whether it got shorter.
    fn compress(&mut self, plain: &[u8]) -> bool {
        self.compress.reset();
        self.compressed.clear();
        // Nothing longer than the block itself is wanted.
        self.compressed.reserve(plain.len());
        let status = self.compress.compress_vec(plain, &mut self.compressed, FlushCompress::Finish);
        let shorter = matches!(status, Ok(Status::StreamEnd)) && self.compressed.len() < plain.len();
        if !shorter || self.compressed.len() > plain.len() / 8 * 7 {
            self.respite = RESPITE;
        }
        shorter
    }
}

/// Gives the content of a block back.
#[derive(Debug)]
pub struct Unpacker {
    decompress: Decompress,
}

impl Default for Unpacker {
    fn default() -> Self {
        Self { decompress: Decompress::new(false) }
    }
}

impl Unpacker {
    /// Replaces what is in `plain` by the content of the block of `frame`. Returns whether it is one.
    pub fn unpack(&mut self, frame: Frame, stored: &[u8], plain: &mut Vec<u8>) -> bool {
        plain.clear();
        if checksum(stored) != frame.checksum {
            return false;
        }
        if frame.stored == frame.plain {
            plain.extend_from_slice(stored);
            return true;
        }
        self.decompress.reset(false);
        plain.resize(frame.plain as usize, 0);
        let status = self.decompress.decompress(stored, plain, FlushDecompress::Finish);
        matches!(status, Ok(Status::StreamEnd)) && self.decompress.total_out() == u64::from(frame.plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(packer: &mut Packer, plain: &[u8]) -> Frame {
        let (frame, stored) = packer.pack(3, 7, plain);
        let (mut unpacker, mut found) = (Unpacker::default(), Vec::new());
        assert!(unpacker.unpack(frame, stored, &mut found));
        assert_eq!(found, plain);
        assert_eq!(Frame::decode(&frame.encode()), Some(frame));
        let mut damaged = stored.to_vec();
        damaged[0] ^= 4;
        assert!(!unpacker.unpack(frame, &damaged, &mut found));
        frame
    }

    /// Bytes that no compression shortens.
    fn drawn(count: u64) -> Vec<u8> {
        let drawn = |number: u64| XxHash64::oneshot(1, &number.to_le_bytes()).to_le_bytes();
        (0..count / 8).flat_map(drawn).collect()
    }

    #[test]
    fn what_gets_no_shorter_is_stored_as_it_is_and_not_tried_again_for_a_while() {
        let mut packer = Packer::default();
        let (drawn, equal) = (drawn(4096), [7; 4096]);
        assert!(there_and_back(&mut packer, &equal).stored < 100);
        for _ in 0..=RESPITE {
            assert_eq!(there_and_back(&mut packer, &drawn).stored, 4096);
        }
        for _ in 0..=RESPITE {
            there_and_back(&mut packer, &drawn);
        }
        assert!(there_and_back(&mut packer, &equal).stored < 100, "it is tried again");
    }

    #[test]
    fn the_respite_is_that_of_all_blocks() {
        let mut packer = Packer::default();
        there_and_back(&mut packer, &drawn(4096));
        let tried = (0..=RESPITE).filter(|_| there_and_back(&mut packer, &[7; 4096]).stored < 4096).count();
        assert_eq!(tried, 1);
    }

    #[test]
    fn a_damaged_frame_is_none() {
        let frame = Frame { thread: 1, steps: 2, plain: 3, stored: 3, checksum: 4 };
        for byte in 0..Frame::BYTES {
            let mut bytes = frame.encode();
            bytes[byte] ^= 1;
            assert_eq!(Frame::decode(&bytes), None, "byte {byte}");
        }
        assert_eq!(Frame { steps: MOST_STEPS, ..frame }.fault(), None);
        let long = Frame { plain: LONGEST as u32 + 1, ..frame };
        let many = Frame { steps: MOST_STEPS + 1, ..frame };
        for none in [Frame { thread: SUMMARY - 1, ..frame }, Frame { stored: 4, ..frame }, long, many] {
            assert!(none.fault().is_some(), "{none:?}");
        }
        assert_eq!(Frame { thread: SUMMARY, ..long }.fault(), None);
    }
}

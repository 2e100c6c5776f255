//! Encoding of states in words: bit fields, written one after the other and read back in the same order.

use protocol::contract::Directory;
use units::LineAddr;

use super::Names;

/// Encoding of a directory protocol's states in words.
pub trait Codec: Directory {
    /// Words of a home line; the second one is left out if it is always 0.
    const HOME_WORDS: usize = 1;
    /// Notes of the checker about a line, for properties of the protocol's own; `()` for most.
    type Notes: Copy + Default + Send + Sync;

    /// Packs a line at a cache, under new names. Fields without meaning in their state are packed as zeros, so that they
    /// distinguish no states.
    fn pack_cache(line: &Self::CacheLine, names: &Names) -> u32;

    /// Unpacks a line at a cache.
    fn unpack_cache(word: u32) -> Self::CacheLine;

    /// Packs a line at its home, with its part of the store, under new names.
    fn pack_home(&self, line: &Self::HomeLine, store: &Self::Store, notes: Self::Notes, names: &Names) -> [u32; 2];

    /// Unpacks a line at its home, and allocates its part of the store.
    fn unpack_home(&self, words: [u32; 2], address: LineAddr, store: &mut Self::Store)
    -> (Self::HomeLine, Self::Notes);

    /// Packs a message under new names.
    fn pack_message(message: &Self::Message, names: &Names) -> u32;

    /// Unpacks a message.
    fn unpack_message(word: u32) -> Self::Message;
}

/// Writer of fields, from the least significant bit up.
#[derive(Default)]
pub struct Writer {
    word: u32,
    used: u32,
}

impl Writer {
    /// Appends a field of `width` bits.
    pub fn put(&mut self, width: u32, value: u32) -> &mut Self {
        debug_assert!(value < 1 << width && self.used + width <= u32::BITS, "{value} has no room");
        self.word |= value << self.used;
        self.used += width;
        self
    }

    /// The word.
    pub fn word(&self) -> u32 {
        self.word
    }
}

/// Reader of fields, from the least significant bit up.
pub struct Reader {
    word: u32,
}

impl Reader {
    /// Creates a reader of this word.
    pub fn new(word: u32) -> Self {
        Self { word }
    }

    /// Next field of `width` bits.
    pub fn take(&mut self, width: u32) -> u32 {
        let value = self.word & ((1 << width) - 1);
        self.word >>= width;
        value
    }

    /// Next bit.
    pub fn flag(&mut self) -> bool {
        self.take(1) == 1
    }
}

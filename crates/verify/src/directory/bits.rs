//! Bit fields written into a word one after the other, and read back in the same order.

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

//! A direct-mapped tag store: MAGIC's instruction and data caches.

/// The tags of a direct-mapped cache.
#[derive(Clone, Debug)]
pub struct DirectMapped {
    /// The line in each frame, plus one; zero for none.
    tags: Vec<u64>,
    line_shift: u32,
    accesses: u64,
    misses: u64,
}

impl DirectMapped {
    /// An empty cache of `size` bytes in lines of `line` bytes, both powers of two.
    pub fn new(size: u64, line: u64) -> Self {
        Self { tags: vec![0; (size / line) as usize], line_shift: line.trailing_zeros(), accesses: 0, misses: 0 }
    }

    /// Accesses the byte at `address`. Returns whether it missed.
    #[inline]
    pub fn access(&mut self, address: u64) -> bool {
        let line = address >> self.line_shift;
        let place = line as usize & (self.tags.len() - 1);
        let missed = self.tags[place] != line + 1;
        self.tags[place] = line + 1;
        self.accesses += 1;
        self.misses += u64::from(missed);
        missed
    }

    /// Accesses `length` bytes from `address` on. Returns the number of lines that missed.
    #[inline]
    pub fn access_range(&mut self, address: u64, length: u64) -> u32 {
        if length == 0 {
            return 0;
        }
        let (first, last) = (address >> self.line_shift, (address + length - 1) >> self.line_shift);
        (first..=last).map(|line| u32::from(self.access(line << self.line_shift))).sum()
    }

    /// Accesses, and how many of them missed.
    pub const fn counts(&self) -> (u64, u64) {
        (self.accesses, self.misses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_same_place_displace_each_other() {
        let mut cache = DirectMapped::new(1024, 128);
        assert_eq!(cache.access_range(0, 256), 2);
        assert_eq!(cache.access_range(100, 100), 0);
        assert!(cache.access(1024), "place 0 again");
        assert!(cache.access(0), "and it was displaced");
        assert!(!cache.access(128));
        assert_eq!(cache.counts(), (2 + 2 + 3, 2 + 2));
    }

    #[test]
    fn nothing_touches_nothing() {
        assert_eq!(DirectMapped::new(1024, 128).access_range(64, 0), 0);
    }
}

//! The remote access cache (RAC): part of a node's memory that holds what its processor's cache has evicted of other nodes'
//! lines (FLASH dissertation, Section 5.4).

use protocol::Version;
use protocol::msi::Msi;
use rustc_hash::FxHashMap;
use units::{Bytes, LineAddr};

use crate::memory::LineMap;

/// A line in the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Which.
    pub line: LineAddr,
    /// Its state, never [`Msi::Invalid`].
    pub state: Msi,
    /// Its contents.
    pub version: Version,
}

/// A direct-mapped cache of lines, its tags in memory. Only frames in use take space here.
#[derive(Clone, Debug)]
pub struct RemoteAccessCache {
    frames: FxHashMap<u64, Kept>,
    places: u64,
    lines: LineMap,
    nodes: u64,
    hits: u64,
    misses: u64,
}

impl RemoteAccessCache {
    /// An empty cache of `size` for lines of `line`, in a machine of `nodes` nodes.
    pub fn new(size: Bytes, line: Bytes, lines: LineMap, nodes: usize) -> Self {
        let places = size.0 / line.0;
        Self { frames: FxHashMap::default(), places, lines, nodes: nodes as u64, hits: 0, misses: 0 }
    }

    /// The frame of a line: by its place in its home's memory. Memories of different homes are spread over the cache, as an
    /// operating system spreads the pages that a program gets; mapped by physical address alone, the first pages of all
    /// nodes would share the first frames.
    #[inline]
    fn frame(&self, line: LineAddr) -> u64 {
        let home = u64::from(self.lines.home(line).0);
        (self.lines.offset(line) + home * (self.places / self.nodes)) % self.places
    }

    /// The line, if it is there.
    #[inline]
    pub fn get(&self, line: LineAddr) -> Option<Kept> {
        self.frames.get(&self.frame(line)).copied().filter(|kept| kept.line == line)
    }

    /// What stands in the frame that `line` would take, if that is another line.
    pub fn in_the_way_of(&self, line: LineAddr) -> Option<Kept> {
        self.frames.get(&self.frame(line)).copied().filter(|kept| kept.line != line)
    }

    /// The line is there now; what stood in its frame is lost.
    pub fn put(&mut self, kept: Kept) {
        self.frames.insert(self.frame(kept.line), kept);
    }

    /// The line is not there any more.
    pub fn remove(&mut self, line: LineAddr) {
        let frame = self.frame(line);
        if self.frames.get(&frame).is_some_and(|kept| kept.line == line) {
            self.frames.remove(&frame);
        }
    }

    /// Counts a look on behalf of the processor.
    pub fn count(&mut self, hit: bool) {
        self.hits += u64::from(hit);
        self.misses += u64::from(!hit);
    }

    /// Hits and misses of the processor.
    pub const fn counts(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }

    /// Every line that is there, in no order.
    pub fn lines(&self) -> impl Iterator<Item = Kept> + '_ {
        self.frames.values().copied()
    }
}

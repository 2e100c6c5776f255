//! The remote access cache (RAC): a part of a node's memory that holds remote lines evicted from its processor's cache
//! (FLASH dissertation, Section 5.4).

use protocol::Version;
use protocol::msi::Msi;
use rustc_hash::FxHashMap;
use units::{Bytes, LineAddr};

use crate::map::LineMap;

/// A line in the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// The line.
    pub line: LineAddr,
    /// Its state, never [`Msi::Invalid`].
    pub state: Msi,
    /// Its contents.
    pub version: Version,
}

/// A direct-mapped cache of lines, with its tags in memory. The host stores only frames in use.
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

    /// The frame of a line, by its offset in its home's memory. Memories of different homes start at different frames,
    /// as an operating system would spread a program's pages; by physical address alone, the first pages of all nodes
    /// would share the first frames.
    #[inline]
    fn frame(&self, line: LineAddr) -> u64 {
        let home = u64::from(self.lines.home(line).0);
        (self.lines.offset(line) + home * (self.places / self.nodes)) % self.places
    }

    /// The line, if it is present.
    #[inline]
    pub fn get(&self, line: LineAddr) -> Option<Kept> {
        self.frames.get(&self.frame(line)).copied().filter(|kept| kept.line == line)
    }

    /// The other line in the frame of `line`, if there is one.
    pub fn in_the_way_of(&self, line: LineAddr) -> Option<Kept> {
        self.frames.get(&self.frame(line)).copied().filter(|kept| kept.line != line)
    }

    /// Inserts the line; the previous contents of its frame are lost.
    pub fn put(&mut self, kept: Kept) {
        self.frames.insert(self.frame(kept.line), kept);
    }

    /// Removes the line, if it is present.
    pub fn remove(&mut self, line: LineAddr) {
        let frame = self.frame(line);
        if self.frames.get(&frame).is_some_and(|kept| kept.line == line) {
            self.frames.remove(&frame);
        }
    }

    /// Counts a lookup for the processor.
    pub fn count(&mut self, hit: bool) {
        self.hits += u64::from(hit);
        self.misses += u64::from(!hit);
    }

    /// Hits and misses of the processor.
    pub const fn counts(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }

    /// All lines present, in no particular order.
    pub fn lines(&self) -> impl Iterator<Item = Kept> + '_ {
        self.frames.values().copied()
    }
}

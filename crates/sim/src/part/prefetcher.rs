//! A hardware prefetcher: it observes references to lines and proposes others. It sends nothing itself.

use machine::description::PrefetchKind;

/// The rule of a prefetcher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrefetcherSpec {
    /// The kind of rule.
    pub kind: PrefetchKind,
    /// Lines that it proposes at once.
    pub degree: u32,
    /// Entries of its table.
    pub streams: usize,
}

/// A reference that a prefetcher observes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    /// Its line.
    pub line: u64,
    /// The site of the code, or else the page.
    pub site: u64,
    /// Whether it missed, or was the first to a line that was prefetched.
    pub is_new: bool,
}

/// Lines that a prefetcher proposes, nearest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proposed {
    line: u64,
    stride: i64,
    /// The next step and the last one, in strides from the line.
    next: u32,
    last: u32,
    /// The stream that they belong to.
    stream: Option<usize>,
}

impl Iterator for Proposed {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.next > self.last {
            return None;
        }
        let step = self.stride * i64::from(self.next);
        self.next += 1;
        self.line.checked_add_signed(step)
    }
}

/// An entry of a table: the references of a site, or a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Entry {
    /// The site; streams have none.
    site: u64,
    /// Its latest line.
    line: u64,
    /// The distance from the line before.
    stride: i64,
    /// Whether the distance has occurred twice in a row.
    steady: bool,
    /// The line of a stream that has been requested last.
    requested: u64,
    /// The number of the reference that used it last; 0 for an empty entry.
    used: u64,
}

/// The state of a prefetcher.
#[derive(Clone, Debug)]
pub struct Prefetcher {
    spec: PrefetcherSpec,
    table: Vec<Entry>,
    references: u64,
}

/// The most lines between a miss and the end of its stream.
const STREAM_WINDOW: u64 = 4;

impl Prefetcher {
    /// A prefetcher that has observed nothing.
    pub fn new(spec: PrefetcherSpec) -> Self {
        Self { spec, table: vec![Entry::default(); spec.streams], references: 0 }
    }

    /// Observes a reference. Returns the lines that it proposes, if any.
    pub fn observe(&mut self, reference: Reference) -> Option<Proposed> {
        self.references += 1;
        let mut proposed = Proposed { line: reference.line, stride: 1, next: 1, last: self.spec.degree, stream: None };
        match self.spec.kind {
            PrefetchKind::NextLine if reference.is_new => {}
            PrefetchKind::Stride => proposed.stride = self.stride_of(reference)?,
            PrefetchKind::Stream if reference.is_new => {
                let (place, direction) = self.stream_of(reference.line)?;
                (proposed.stride, proposed.stream) = (direction, Some(place));
                proposed.next = self.first_step(place, reference.line);
            }
            PrefetchKind::NextLine | PrefetchKind::Stream => return None,
        }
        Some(proposed)
    }

    /// The first step ahead of `line` that the stream at `place` has not requested.
    fn first_step(&self, place: usize, line: u64) -> u32 {
        let Entry { requested, stride, .. } = self.table[place];
        let ahead = requested.wrapping_sub(line).cast_signed() * stride;
        let is_ahead = (1..=i64::from(self.spec.degree)).contains(&ahead);
        if is_ahead { ahead as u32 + 1 } else { 1 }
    }

    /// The line has been requested, or needs no request: a stream does not propose it again.
    #[inline]
    pub fn requested(&mut self, proposed: &Proposed, line: u64) {
        if let Some(place) = proposed.stream {
            self.table[place].requested = line;
        }
    }

    /// The distance of the references of a site, once it has occurred twice in a row. References to one line count once.
    fn stride_of(&mut self, Reference { line, site, .. }: Reference) -> Option<i64> {
        let found = self.table.iter().position(|entry| entry.used > 0 && entry.site == site);
        let entry = match found {
            Some(place) => &mut self.table[place],
            None => {
                let entry = least_recently_used(&mut self.table)?;
                *entry = Entry { site, line, used: self.references, ..Entry::default() };
                return None;
            }
        };
        entry.used = self.references;
        let stride = line.wrapping_sub(entry.line).cast_signed();
        if stride == 0 {
            return None;
        }
        (entry.steady, entry.stride, entry.line) = (stride == entry.stride, stride, line);
        entry.steady.then_some(stride)
    }

    /// The stream that a miss continues, and its direction: a miss near the latest one of an entry makes it a stream, and a miss
    /// ahead of a stream, in its direction, continues it.
    fn stream_of(&mut self, line: u64) -> Option<(usize, i64)> {
        let continues = |entry: &Entry| {
            // Few entries are near: this comes first.
            if entry.line.wrapping_sub(line).wrapping_add(STREAM_WINDOW) > 2 * STREAM_WINDOW {
                return false;
            }
            let distance = line.wrapping_sub(entry.line).cast_signed();
            entry.used > 0 && distance != 0 && (!entry.steady || distance.signum() == entry.stride)
        };
        if let Some(place) = self.table.iter().position(continues) {
            let entry = &mut self.table[place];
            let direction = line.wrapping_sub(entry.line).cast_signed().signum();
            let requested = if entry.steady { entry.requested } else { line };
            *entry = Entry { line, stride: direction, steady: true, used: self.references, requested, ..*entry };
            return Some((place, direction));
        }
        let entry = least_recently_used(&mut self.table)?;
        *entry = Entry { line, used: self.references, ..Entry::default() };
        None
    }
}

/// An empty entry, or else the one used longest ago.
fn least_recently_used(table: &mut [Entry]) -> Option<&mut Entry> {
    table.iter_mut().min_by_key(|entry| entry.used)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prefetcher(kind: PrefetchKind, degree: u32, streams: usize) -> Prefetcher {
        Prefetcher::new(PrefetcherSpec { kind, degree, streams })
    }

    fn proposed(prefetcher: &mut Prefetcher, line: u64, site: u64, is_new: bool) -> Vec<u64> {
        prefetcher.observe(Reference { line, site, is_new }).map_or_else(Vec::new, Iterator::collect)
    }

    #[test]
    fn next_lines_follow_misses_alone() {
        let mut next = prefetcher(PrefetchKind::NextLine, 2, 0);
        assert_eq!(proposed(&mut next, 10, 0, true), [11, 12]);
        assert_eq!(proposed(&mut next, 11, 0, false), []);
        assert_eq!(proposed(&mut next, u64::MAX, 0, true), [], "there is no line after the last");
    }

    #[test]
    fn a_stride_counts_from_its_second_occurrence_on() {
        let mut strides = prefetcher(PrefetchKind::Stride, 2, 2);
        assert_eq!(proposed(&mut strides, 100, 1, true), []);
        assert_eq!(proposed(&mut strides, 97, 1, true), []);
        assert_eq!(proposed(&mut strides, 500, 2, true), [], "another site");
        assert_eq!(proposed(&mut strides, 94, 1, false), [91, 88]);
        assert_eq!(proposed(&mut strides, 94, 1, false), [], "the same line");
        assert_eq!(proposed(&mut strides, 92, 1, true), [], "another distance");
        assert_eq!(proposed(&mut strides, 0, 3, true), [], "a third site displaces the second");
        assert_eq!(proposed(&mut strides, 90, 1, true), [88, 86]);
        assert_eq!(proposed(&mut strides, 510, 2, true), []);
        assert_eq!(proposed(&mut strides, 520, 2, true), [], "the second site begins anew");
    }

    #[test]
    fn streams_ascend_or_descend() {
        let mut streams = prefetcher(PrefetchKind::Stream, 3, 2);
        assert_eq!(proposed(&mut streams, 100, 0, true), []);
        assert_eq!(proposed(&mut streams, 200, 0, true), []);
        assert_eq!(proposed(&mut streams, 101, 0, true), [102, 103, 104]);
        assert_eq!(proposed(&mut streams, 198, 0, true), [197, 196, 195]);
        assert_eq!(proposed(&mut streams, 105, 0, true), [106, 107, 108]);
        assert_eq!(proposed(&mut streams, 106, 0, false), [], "an old line");
        assert_eq!(proposed(&mut streams, 103, 0, true), [], "against the direction: a new stream");
    }

    #[test]
    fn a_stream_proposes_what_it_has_not_requested() {
        let mut streams = prefetcher(PrefetchKind::Stream, 3, 1);
        let mut observe = |line: u64, granted: usize| {
            let reference = Reference { line, site: 0, is_new: true };
            let Some(proposed) = streams.observe(reference) else { return Vec::new() };
            let lines: Vec<u64> = proposed.collect();
            lines.iter().take(granted).for_each(|&line| streams.requested(&proposed, line));
            lines
        };
        assert_eq!(observe(100, 0), []);
        assert_eq!(observe(101, 2), [102, 103, 104]);
        assert_eq!(observe(102, 2), [104, 105], "103 was the last that was requested");
        assert_eq!(observe(104, 2), [106, 107]);
        assert_eq!(observe(108, 1), [109, 110, 111], "the stream has been overtaken");
        assert_eq!(observe(500, 1), [], "another stream");
        assert_eq!(observe(499, 1), [498, 497, 496]);
    }

    proptest! {
        /// References without a pattern of a site's own never make a stride prefetcher propose more than it saw twice.
        #[test]
        fn proposals_repeat_what_was_seen(lines in prop::collection::vec(0u64..1000, 1..100), degree in 1u32..5) {
            let mut strides = prefetcher(PrefetchKind::Stride, degree, 4);
            for (number, &line) in lines.iter().enumerate() {
                let proposals = proposed(&mut strides, line, 0, true);
                if !proposals.is_empty() {
                    let mut seen: Vec<_> = lines[..=number].to_vec();
                    seen.dedup();
                    let last: Vec<_> = seen.iter().rev().take(3).map(|&line| line.cast_signed()).collect();
                    prop_assert_eq!(last[0] - last[1], last[1] - last[2]);
                    prop_assert!(proposals.len() <= degree as usize);
                }
            }
        }
    }
}

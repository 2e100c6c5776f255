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

    /// Observes a reference; `propose` receives the lines that it proposes, nearest first.
    pub fn observe(&mut self, reference: Reference, propose: impl FnMut(u64)) {
        self.references += 1;
        let stride = match self.spec.kind {
            PrefetchKind::NextLine => reference.is_new.then_some(1),
            PrefetchKind::Stride => self.stride_of(reference),
            PrefetchKind::Stream => reference.is_new.then(|| self.stream_of(reference.line)).flatten(),
        };
        let Some(stride) = stride else { return };
        let ahead = |step: u32| reference.line.checked_add_signed(stride * i64::from(step));
        (1..=self.spec.degree).filter_map(ahead).for_each(propose);
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

    /// The direction of the stream that a miss continues: a miss near the latest one of an entry makes it a stream, and a miss
    /// ahead of a stream, in its direction, continues it.
    fn stream_of(&mut self, line: u64) -> Option<i64> {
        let continues = |entry: &Entry| {
            let distance = line.wrapping_sub(entry.line).cast_signed();
            let near = distance != 0 && distance.unsigned_abs() <= STREAM_WINDOW;
            entry.used > 0 && near && (!entry.steady || distance.signum() == entry.stride)
        };
        if let Some(place) = self.table.iter().position(continues) {
            let entry = &mut self.table[place];
            let direction = line.wrapping_sub(entry.line).cast_signed().signum();
            *entry = Entry { line, stride: direction, steady: true, used: self.references, ..*entry };
            return Some(direction);
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
        let mut lines = Vec::new();
        prefetcher.observe(Reference { line, site, is_new }, |line| lines.push(line));
        lines
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

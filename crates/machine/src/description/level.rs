//! The private levels of a processor's caches, whichever table describes each.

use units::{Bytes, Hertz};

use super::{Description, Fill, Frames, Inclusion, L1Spec, L2Spec, L3Spec, Replacement, WritePolicy};

/// Maximum number of private cache levels.
pub const MOST_CACHE_LEVELS: usize = 3;

/// A private cache level.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CacheLevel {
    /// The name of its table.
    pub table: &'static str,
    /// The key of its capacity.
    pub size_key: &'static str,
    /// Capacity.
    pub size: Bytes,
    /// Lines in a set.
    pub ways: u32,
    /// Line size.
    pub line: Bytes,
    /// The replacement policy.
    pub replacement: Replacement,
    /// Core cycles of a hit, beyond the hit time of the level inside.
    pub hit_cycles: u32,
    /// The relation of its contents to those of the level outside.
    pub inclusion: Inclusion,
    /// The treatment of stores that hit.
    pub write: WritePolicy,
    /// Whether a store that misses brings its line into this level.
    pub allocate_on_write_miss: bool,
    /// Whether a store that hits leaves its line in this level.
    pub keep_on_write_hit: bool,
    /// Whether a store to private data that misses brings its line into this level.
    pub allocate_on_private_write_miss: bool,
    /// Traffic of others into it, in MB/s.
    pub others_mb_per_s: u32,
    /// Its bus or port; `None` for a primary cache inside others.
    pub port: Option<CachePort>,
}

/// The bus of a level outside the primary one, or the system port of a primary cache without others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CachePort {
    /// Its clock.
    pub clock: Hertz,
    /// Its width.
    pub width: Bytes,
    /// Whether the cache accesses the predicted way first.
    pub way_prediction: bool,
    /// Its occupancy by a line from outside.
    pub fill: Fill,
    /// Size of the blocks of a preemptible fill.
    pub fill_block: Bytes,
    /// Its cycles for each block of a preemptible fill or for the end of a whole-line one.
    pub fill_write_cycles: u32,
    /// Its cycles for the writeback of a modified line of the level inside.
    pub inner_writeback_cycles: u32,
    /// Whether an access starts only at common edges with the core clock.
    pub common_edge_start: bool,
    /// Its cycles for a tag check.
    pub tag_check_cycles: u32,
    /// Its cycles from one tag check to the next, in the mean; 0: one begins when the last is done.
    pub tag_interval_cycles: f64,
    /// Its cycles for a mispredicted way.
    pub way_miss_cycles: u32,
    /// Its cycles for a store that the level inside passes on, after the tag check.
    pub store_cycles: u32,
}

/// The level that a table of a level outside the primary one describes.
macro_rules! from_table {
    ($spec:ident, $table:literal) => {
        impl From<&$spec> for CacheLevel {
            fn from(spec: &$spec) -> Self {
                Self {
                    table: $table,
                    size_key: "size_mib",
                    size: spec.size,
                    ways: spec.ways,
                    line: spec.line,
                    replacement: spec.replacement,
                    hit_cycles: spec.hit_cycles,
                    inclusion: spec.inclusion,
                    write: spec.write,
                    allocate_on_write_miss: spec.allocate_on_write_miss,
                    keep_on_write_hit: spec.keep_on_write_hit,
                    allocate_on_private_write_miss: spec.allocate_on_private_write_miss,
                    others_mb_per_s: spec.others_mb_per_s,
                    port: Some(CachePort {
                        clock: spec.bus_clock,
                        width: spec.bus_width,
                        way_prediction: spec.way_prediction,
                        fill: spec.fill,
                        fill_block: spec.fill_block,
                        fill_write_cycles: spec.fill_write_cycles,
                        inner_writeback_cycles: spec.inner_writeback_cycles,
                        common_edge_start: spec.common_edge_start,
                        tag_check_cycles: spec.tag_check_cycles,
                        tag_interval_cycles: spec.tag_interval_cycles,
                        way_miss_cycles: spec.way_miss_cycles,
                        store_cycles: spec.store_cycles,
                    }),
                }
            }
        }
    };
}

from_table!(L2Spec, "l2");
from_table!(L3Spec, "l3");

impl From<&L1Spec> for CacheLevel {
    fn from(spec: &L1Spec) -> Self {
        Self {
            table: "l1",
            size_key: "size_kib",
            size: spec.size,
            ways: spec.ways,
            line: spec.line,
            replacement: spec.replacement,
            hit_cycles: spec.hit_cycles,
            inclusion: spec.inclusion,
            write: spec.write,
            allocate_on_write_miss: spec.allocate_on_write_miss,
            keep_on_write_hit: spec.keep_on_write_hit,
            allocate_on_private_write_miss: true,
            others_mb_per_s: 0,
            port: None,
        }
    }
}

impl CacheLevel {
    /// Its lines.
    pub const fn lines(&self) -> u64 {
        self.size.0 / self.line.0
    }
}

impl Description {
    /// The primary cache as a level.
    fn primary_cache(&self) -> CacheLevel {
        let port = self.l1_port.as_ref().map(|port| CachePort {
            clock: port.clock,
            width: port.width,
            way_prediction: false,
            fill: port.fill,
            fill_block: port.fill_block,
            fill_write_cycles: port.fill_write_cycles,
            inner_writeback_cycles: 0,
            common_edge_start: false,
            tag_check_cycles: port.tag_check_cycles,
            tag_interval_cycles: 0.0,
            way_miss_cycles: 0,
            store_cycles: 0,
        });
        CacheLevel { port, ..CacheLevel::from(&self.l1) }
    }

    /// The private cache levels, innermost first: one to three.
    pub fn cache_levels(&self) -> impl DoubleEndedIterator<Item = CacheLevel> {
        let (second, third) = (self.l2.as_ref().map(CacheLevel::from), self.l3.as_ref().map(CacheLevel::from));
        [Some(self.primary_cache()), second, third].into_iter().flatten()
    }

    /// The outermost private level, which is the coherent one.
    pub fn coherent_cache(&self) -> CacheLevel {
        let outer = self.l3.as_ref().map(CacheLevel::from).or(self.l2.as_ref().map(CacheLevel::from));
        outer.unwrap_or_else(|| self.primary_cache())
    }

    /// Lines of this size in a page, a shift, if the frames of consecutive pages are scattered; otherwise 0.
    pub fn scattered_page_shift(&self, line: Bytes) -> u32 {
        match self.memory.frames {
            Frames::Consecutive => 0,
            Frames::Scattered => (self.tlb.page.0 / line.0).trailing_zeros(),
        }
    }

    /// Lines that its private caches hold together: those of the coherent level, and of the levels inside that are exclusive.
    pub fn held_lines(&self) -> u64 {
        let mut levels = self.cache_levels().rev();
        let coherent = levels.next().map_or(0, |level| level.lines());
        let exclusive = levels.take_while(|level| level.inclusion == Inclusion::Exclusive);
        coherent + exclusive.map(|level| level.lines()).sum::<u64>()
    }

    /// Sets the capacity of the coherent level, of a machine changed in memory.
    pub fn set_coherent_size(&mut self, size: Bytes) {
        match (&mut self.l3, &mut self.l2) {
            (Some(l3), _) => l3.size = size,
            (None, Some(l2)) => l2.size = size,
            (None, None) => self.l1.size = size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::parse;

    fn loaded(name: &str) -> Description {
        crate::load(name).expect("a built-in machine")
    }

    /// The message for `text`, a file called `my.toml`.
    fn refusal(text: &str) -> String {
        match parse("my.toml", text) {
            Ok(_) => panic!("{text} was accepted"),
            Err(error) => error.to_string(),
        }
    }

    /// The levels of a processor are those whose tables are given; what is inherited can be given up.
    #[test]
    fn a_processor_has_one_to_three_levels() {
        let described =
            |text: &str| parse("my.toml", &format!("inherit = \"arctic\"\n{text}")).expect("a machine").description;
        let port = "[l1_port]\nclock_mhz = 300\nwidth_bytes = 16\nfill = \"whole-line\"\nfill_block_bytes = 32\n\
            fill_write_cycles = 1\ntag_check_cycles = 2";
        let third = "[l3]\nsize_mib = 16\nways = 16\nline_bytes = 128\nbus_clock_mhz = 100\nbus_width_bytes = 16\n\
            replacement = \"lru\"\nway_prediction = false\nfill = \"whole-line\"\nfill_block_bytes = 64\n\
            fill_write_cycles = 1\nl2_writeback_cycles = 4\ncommon_edge_start = false\nhit_cycles = 40\n\
            tag_check_cycles = 2\nway_miss_cycles = 0";
        let tables = |machine: &Description| machine.cache_levels().map(|level| level.table).collect::<Vec<_>>();
        let one = described(&format!("l2 = \"none\"\n[l1]\nline_bytes = 64\n{port}"));
        assert_eq!((tables(&one), one.coherent_cache().line), (vec!["l1"], Bytes(64)));
        let three = described(third);
        assert_eq!((tables(&three), three.coherent_cache().size), (vec!["l1", "l2", "l3"], Bytes::from_mib(16)));
        assert_eq!(tables(&loaded("arctic")), ["l1", "l2"]);
        for mut machine in [one, three] {
            machine.set_coherent_size(Bytes::from_mib(32));
            assert_eq!(machine.coherent_cache().size, Bytes::from_mib(32));
            let again = parse("again.toml", &machine.to_toml()).expect("what was written can be read");
            assert_eq!(again.description, machine);
        }
        let cases = [
            (
                "l2 = \"none\"".to_owned(),
                "my.toml:1: l1_port.clock_mhz = (missing): without [l2], the primary cache needs a port",
            ),
            (
                format!("l2 = \"none\"\n{third}\n{port}"),
                "my.toml:4: l3.size_mib = 16: no effect without [l2]; accepted: [l3] with",
            ),
            (
                port.to_owned(),
                "my.toml:3: l1_port.clock_mhz = 300: no effect with [l2]; accepted: [l1_port] without [l2]",
            ),
            (
                "l2 = \"no\"".to_owned(),
                "my.toml:2: l2 = \"no\": a string is not accepted here; accepted: \"none\", or the table [l2]",
            ),
            ("tlb = \"none\"".to_owned(), "my.toml:2: tlb = \"none\": unknown key"),
            ("[l3]\nsize_mib = 16".to_owned(), "my.toml:1: l3.ways is missing"),
            (
                format!("[l2]\nsize_mib = 32\n{third}"),
                "my.toml:3: l2.size_mib = 32: the secondary cache is larger than the third (16 MiB)",
            ),
            (
                "[l2]\nwrite = \"through\"".to_owned(),
                "my.toml:3: l2.write = \"through\": the coherence protocol acts on this level",
            ),
            (
                "[l2]\nallocate_on_write_miss = false".to_owned(),
                "my.toml:3: l2.allocate_on_write_miss = false: the coherence protocol acts on this level; accepted: true",
            ),
            (
                "[l2]\ninclusion = \"exclusive\"".to_owned(),
                "my.toml:3: l2.inclusion = \"exclusive\": there is no private level outside it",
            ),
            ("[l1]\ninclusion = \"neither\"".to_owned(), "machines/r10000.toml:"),
            (
                "[l1]\nline_bytes = 128\ninclusion = \"exclusive\"\nwrite = \"through\"".to_owned(),
                "my.toml:5: l1.write = \"through\": the outer level may not have the line with l1.inclusion = \"exclusive\"",
            ),
            (
                "[l1]\nline_bytes = 128\ninclusion = \"neither\"\nallocate_on_write_miss = false".to_owned(),
                "my.toml:5: l1.allocate_on_write_miss = false: the outer level receives no line on a miss with",
            ),
            (
                "[l1]\nkeep_on_write_hit = false".to_owned(),
                "my.toml:3: l1.keep_on_write_hit = false: a line of a write-back level is the only one with what was stored; accepted: true",
            ),
            (
                "[l1]\nwrite = \"through\"\nkeep_on_write_hit = false".to_owned(),
                "my.toml:4: l1.keep_on_write_hit = false: a store miss would allocate a line that a store hit \
                 invalidates; accepted: true, or l1.allocate_on_write_miss = false",
            ),
            (
                "[l2]\nallocate_on_private_write_miss = false".to_owned(),
                "my.toml:3: l2.allocate_on_private_write_miss = false: no store goes around the caches with controller.kind = \"hub\"",
            ),
            (
                "[processor]\nmodel = \"blocking\"\ninstruction_window = 1".to_owned(),
                "processor.issue_width = 4: instructions do not overlap with processor.model = \"blocking\"",
            ),
            (
                "[processor]\nmodel = \"blocking\"\ninstruction_window = 1\nissue_width = 1\nwrite_buffer = 2"
                    .to_owned(),
                "my.toml:6: processor.write_buffer = 2: instructions do not overlap with processor.model = \"blocking\"",
            ),
            (
                "[prefetch]\nkind = \"next-line\"\ndegree = 1\nstreams = 4".to_owned(),
                "my.toml:5: prefetch.streams = 4: no effect with prefetch.kind = \"next-line\"; accepted: 0",
            ),
            ("[prefetch]\nkind = \"stream\"\ndegree = 1".to_owned(), "prefetch.streams"),
            (
                "[os]\nmigration = true\n[prefetch]\nkind = \"next-line\"\ndegree = 1".to_owned(),
                "my.toml:3: os.migration = true: a prefetch of [prefetch] would trap",
            ),
            (
                "[processor]\noutstanding_misses = 1\n[prefetch]\nkind = \"next-line\"\ndegree = 1".to_owned(),
                "my.toml:3: processor.outstanding_misses = 1: [prefetch] needs a miss register",
            ),
        ];
        for (text, expected) in cases {
            let message = refusal(&format!("inherit = \"arctic\"\n{text}"));
            assert!(message.contains(expected), "{message}\nis not\n{expected}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
        let without = parse("my.toml", "inherit = \"arctic\"\nprefetch = \"none\"").expect("a machine");
        assert!(without.description.prefetch.is_none());
    }
}

//! Scheduling of DRAM, request by request, and its rules under random requests.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::part::Refresh;

/// Two ranks of eight banks, rows of eight lines, and no refresh within the first microsecond after its start.
const TIMING: DramTiming = DramTiming {
    channels: 1,
    banks: 16,
    ranks: 2,
    access: Duration(100),
    read: Duration(8),
    write: Duration(8),
    cycle: Duration(50),
    row_lines: 8,
    activate: Duration(15),
    precharge: Duration(12),
    open: Duration(300),
    reorders: true,
    patience: Duration(400),
    rank_switch: Duration(3),
    same_group: Duration(11),
    four_activations: Duration(40),
    high_watermark: 1,
    low_watermark: 0,
    read_to_write: Duration(3),
    write_to_read: Duration(30),
    write_recovery: Duration(20),
    refresh: Refresh::new(Duration(1_000_000), Duration(10)),
};
const START: Time = Time(1000);
/// Lines of all rows of one number, and those of two rows in turn.
const ROWS: u64 = 16 * 8;
const SET: u64 = 2 * 8;
/// A line in the bank of line [`SET`], in the next row.
const OTHER: u64 = ROWS + 6 * SET;

/// The memory, with the events of its channel.
struct Bench {
    dram: Dram,
    events: BTreeMap<(Time, u32), ()>,
    done: BTreeMap<u32, Time>,
}

impl Bench {
    fn new(timing: DramTiming) -> Self {
        Self { dram: Dram::new(timing, (0, 1)), events: BTreeMap::new(), done: BTreeMap::new() }
    }

    fn plan(&mut self, wake: Option<Wake>) {
        if let Some(Wake { channel, at }) = wake {
            self.events.insert((at, channel), ());
        }
    }

    /// Runs up to `end`.
    fn run(&mut self, end: Time) {
        while let Some((&(at, channel), ())) = self.events.first_key_value()
            && at <= end
        {
            self.events.pop_first();
            let mut done = Vec::new();
            let wake = self.dram.serve(channel, at, &mut done);
            self.done.extend(done);
            self.plan(wake);
        }
    }

    fn read(&mut self, line: u64, read: u32, at: Time) {
        self.run(at);
        let wake = self.dram.read(line, read, at, at);
        self.plan(wake);
    }

    fn write(&mut self, line: u64, at: Time) {
        self.run(at);
        let wake = self.dram.write(line, at, at);
        self.plan(wake);
    }

    /// The times of the first data of all reads, after `START`.
    fn all(mut self) -> Vec<u64> {
        self.run(Time::MAX);
        self.done.values().map(|&at| at.0 - START.0).collect()
    }
}

/// The times of reads that come at the start.
fn reads(timing: DramTiming, lines: &[u64]) -> Vec<u64> {
    let mut bench = Bench::new(timing);
    for (read, &line) in lines.iter().enumerate() {
        bench.read(line, read as u32, START);
    }
    bench.all()
}

#[test]
fn lines_lie_in_rows_of_two_groups_in_turn() {
    let place = |line| (TIMING.place(line).bank, TIMING.place(line).row);
    assert_eq!([0, 1, 2, SET - 1].map(place), [(0, 0), (1, 0), (0, 0), (1, 0)]);
    assert_eq!([SET, SET + 1].map(place), [(2, 0), (3, 0)], "the other groups");
    assert_eq!(place(ROWS), (6, 1), "the next row begins with another bank");
    assert_eq!(place(OTHER), (2, 1));
    let mut all: Vec<_> = (0..ROWS * 3).map(place).collect();
    all.sort_unstable();
    let each = all.chunk_by(|one, other| one == other).map(<[_]>::len).collect::<Vec<_>>();
    assert_eq!(each, [8; 48], "each row of each bank has all its lines");
    let group_and_rank = |bank| {
        let place = TIMING.place_in(bank, 0);
        (place.group, place.rank)
    };
    assert_eq!([0, 1, 4, 15].map(group_and_rank), [(0, 0), (1, 0), (0, 1), (3, 1)]);
}

#[test]
fn lines_of_banks_follow_each_other_on_the_wires() {
    assert_eq!(reads(TIMING, &[0]), [100]);
    assert_eq!(reads(TIMING, &[0, 1, 2, 3]), [100, 108, 116, 124]);
    assert_eq!(reads(TIMING, &[0, 2]), [100, 111], "a line of the same row: the group of banks is not ready earlier");
    assert_eq!(reads(TIMING, &[0, 2 * SET]), [100, 111], "a bank of the other rank: the wires change hands");
}

#[test]
fn another_row_waits_for_the_bank_and_lines_of_the_open_one_go_first() {
    // Activated at 0, open for 50 less the precharge, precharged and activated again.
    assert_eq!(reads(TIMING, &[SET, OTHER]), [100, 150]);
    assert_eq!(reads(TIMING, &[SET, OTHER, SET + 4]), [100, 150, 111]);
    let in_order = DramTiming { reorders: false, ..TIMING };
    assert_eq!(reads(in_order, &[SET, OTHER, SET + 4]), [100, 150, 200]);
    assert_eq!(reads(in_order, &[SET, OTHER, SET + 1]), [100, 150, 158], "behind it, though its bank is free");
    let is_third = |line: &u64| (TIMING.place(*line).bank, TIMING.place(*line).row) == (TIMING.place(SET).bank, 2);
    let third = (2 * ROWS..3 * ROWS).find(is_third).expect("a row of each bank");
    assert_eq!(
        reads(in_order, &[SET, OTHER, third, OTHER]).len(),
        4,
        "a row that is open for the last of them waits, too"
    );
}

#[test]
fn an_open_row_is_sooner_and_a_closed_one_no_later_than_none() {
    let mut bench = Bench::new(TIMING);
    bench.read(SET, 0, START);
    bench.read(SET + 4, 1, START + Duration(200));
    bench.read(OTHER, 2, START + Duration(400));
    bench.read(SET, 3, START + Duration(900));
    assert_eq!(bench.all(), [100, 285, 512, 1000], "open, another one open, and closed for long");
}

#[test]
fn ranks_take_turns_when_a_request_has_waited_for_long() {
    // Lines of one rank without end, and one of the other, which each of them would keep from the wires.
    let mut bench = Bench::new(TIMING);
    bench.read(0, 0, START);
    bench.read(2 * SET, 1, START);
    for read in 2..200 {
        bench.read(u64::from(read) % SET, read, START + Duration(7 * u64::from(read - 2)));
    }
    let times = bench.all();
    assert!((485..510).contains(&times[1]), "{}", times[1]);
    assert_eq!(times.len(), 200);
}

#[test]
fn four_activations_of_a_rank_hold_up_the_fifth() {
    // Rows of five banks of one rank.
    let lines = [0, 1, SET, SET + 1, 4 * SET];
    assert_eq!(reads(TIMING, &lines)[4], 140);
    assert_eq!(reads(DramTiming { four_activations: Duration(0), ..TIMING }, &lines)[4], 132);
}

/// Writes are collected, three of them; two lines may follow each other in a group of banks.
const COLLECTING: DramTiming = DramTiming { high_watermark: 3, same_group: Duration(0), ..TIMING };

#[test]
fn collected_lines_are_written_at_once_and_their_rank_is_read_again_later() {
    let mut bench = Bench::new(COLLECTING);
    bench.write(0, START);
    bench.write(1, START);
    bench.read(2, 0, START);
    bench.run(START + Duration(200));
    assert_eq!(bench.dram.busy_before(Time(9000)), Duration(8), "nothing has been written yet");
    bench.write(3, START + Duration(200));
    bench.read(6, 1, START + Duration(201));
    bench.read(2 * SET, 2, START + Duration(201));
    // The row of one is open still; the other row is opened meanwhile, and has two of the lines. Of two reads, that of the other rank
    // waits for its row alone, which is opened when the last write has the wires.
    let last = 200 + 15 + 8;
    assert_eq!(bench.all(), [100, last + 8 + 30 + 85, last + 100]);
}

#[test]
fn some_of_the_collected_lines_are_kept() {
    let mut bench = Bench::new(DramTiming { low_watermark: 1, ..COLLECTING });
    for line in [0, 1, 2] {
        bench.write(line, START);
    }
    bench.run(START + Duration(500));
    assert_eq!(bench.dram.busy_before(Time(9000)), Duration(2 * 8), "with one left, it waits for more");
    for line in [4, 5] {
        bench.write(line, START + Duration(500));
    }
    bench.run(Time::MAX);
    assert_eq!(bench.dram.busy_before(Time::MAX), Duration(4 * 8));
}

#[test]
fn a_read_that_has_waited_for_long_ends_writing() {
    // Writes without end, each before the last is done.
    let mut bench = Bench::new(COLLECTING);
    bench.write(SET, START);
    bench.write(SET + 2, START);
    bench.write(SET + 4, START);
    bench.read(0, 0, START);
    for write in 0..200 {
        bench.write((SET + 2 * (write % 8)) % ROWS, START + Duration(7 * write));
    }
    let time = bench.all()[0];
    assert!((400 + 30 + 85..400 + 30 + 85 + 40).contains(&time), "{time}");
}

#[test]
fn writes_have_their_turn_where_every_read_has_waited_for_long() {
    let mut bench = Bench::new(DramTiming { patience: Duration(1), ..COLLECTING });
    for number in 0..100 {
        bench.read((2 * number % 16) as u64, number, START);
        bench.write(SET + 2 * u64::from(number % 8), START);
    }
    bench.run(Time::MAX);
    let written = bench.dram.busy_before(Time::MAX).0 / 8 - 100;
    assert!((95..=100).contains(&written), "{written} of 100, and no more than are collected are left");
    let last = bench.done.values().max().expect("reads").since(START);
    assert!(last > Duration(190 * 8), "{last:?}: writes come between reads, not after them");
}

#[test]
fn a_group_of_banks_is_not_ready_earlier_because_another_has_had_the_wires() {
    // Lines 0 and 2 are of one group, 1 of another: the third waits for the first.
    let timing = DramTiming { same_group: Duration(50), ..TIMING };
    assert_eq!(reads(timing, &[0, 1, 2]), [100, 108, 150]);
}

#[test]
fn a_bank_that_has_been_written_opens_a_row_for_a_read_while_others_are_written() {
    let mut bench = Bench::new(DramTiming { high_watermark: 6, write_to_read: Duration(0), ..COLLECTING });
    for line in [0, SET, SET + 2, SET + 4, SET + 6, SET + 8] {
        bench.write(line, START);
    }
    bench.read(ROWS + 5 * SET, 0, START);
    // The first write has recovered when its row is closed, before the last one has the wires.
    assert_eq!(bench.all(), [15 + 8 + 20 + 12 + 15 + 85]);
}

#[test]
fn reads_go_on_while_the_row_of_a_write_is_opened() {
    let mut bench = Bench::new(COLLECTING);
    for (read, line) in [SET, 0, 2, 4, 6, 8].into_iter().enumerate() {
        bench.read(line, read as u32, START);
    }
    for line in [OTHER, OTHER + 2, OTHER + 4] {
        bench.write(line, START + Duration(23));
    }
    // The bank of the writes has its row open for 50. Of the reads, the last would keep the wires from the first of them.
    let written = 50 + 15 + 3 * 8;
    assert_eq!(bench.all(), [100, 108, 116, 124, 132, written + 30 + 85]);
}

#[test]
fn a_row_is_closed_only_when_its_last_write_has_recovered() {
    let next_row = |recovery| {
        let timing = DramTiming { high_watermark: 1, write_to_read: Duration(0), cycle: Duration(30), ..TIMING };
        let mut bench = Bench::new(DramTiming { write_recovery: Duration(recovery), ..timing });
        bench.write(SET, START);
        bench.read(OTHER, 0, START);
        bench.all()[0]
    };
    assert_eq!((next_row(0), next_row(20)), (15 + 8 + 12 + 100, 15 + 8 + 20 + 12 + 100));
}

#[test]
fn no_access_starts_within_a_refresh() {
    for (at, data) in [(999_000, 100), (999_005, 105), (1_000_000, 100)] {
        let mut bench = Bench::new(TIMING);
        bench.read(0, 0, START + Duration(at));
        assert_eq!(bench.all(), [if at == 999_000 { 999_010 + data } else { at + data }], "at {at}");
    }
}

proptest! {
    /// Every part has its share of the lines, each in a place of its own.
    #[test]
    fn parts_share_lines(first in 0u64..1 << 40, parts in 1u64..13) {
        let lines = parts * PAIR;
        let places: Vec<_> = (first * lines..(first + 40) * lines).map(|line| spread(line, parts)).collect();
        let mut apart = places.clone();
        apart.sort_unstable();
        apart.dedup();
        prop_assert_eq!(apart.len(), places.len());
        for part in 0..parts as usize {
            prop_assert_eq!(places.iter().filter(|place| place.0 == part).count() as u64, 40 * PAIR);
        }
    }

    /// Lines at a regular distance lie in all parts alike, in the long run.
    #[test]
    fn lines_at_regular_distances_lie_in_all_parts(first in 0u64..1 << 30, distance in 1u64..200, parts in 2u64..7) {
        let count = 20_000;
        let mut each = vec![0u64; parts as usize];
        for step in 0..count {
            each[spread(first + step * distance, parts).0] += 1;
        }
        let share = count / parts;
        prop_assert!(each.iter().all(|&lines| lines.abs_diff(share) < share / 5), "{each:?}");
    }

    /// Nothing is lost, no line comes sooner than an open row allows, and data never overlap.
    #[test]
    fn wires_carry_one_line_at_a_time(
        steps in prop::collection::vec((0u64..4 * ROWS, 0u64..60, any::<bool>()), 1..300),
        high in 1usize..20,
        low in 0usize..10,
        reorders in any::<bool>(),
        row_lines in prop_oneof![Just(0u64), Just(8)],
    ) {
        let (high_watermark, low_watermark) = if reorders { (high, low.min(high - 1)) } else { (1, 0) };
        let mut bench = Bench::new(DramTiming { high_watermark, low_watermark, reorders, row_lines, ..TIMING });
        let (mut now, mut asked) = (START, BTreeMap::new());
        for (number, (line, later, write)) in steps.into_iter().enumerate() {
            now += Duration(later);
            if write {
                bench.write(line, now);
            } else {
                asked.insert(number as u32, now);
                bench.read(line, number as u32, now);
            }
        }
        bench.run(Time::MAX);
        prop_assert_eq!(bench.done.keys().collect::<Vec<_>>(), asked.keys().collect::<Vec<_>>());
        for (read, &at) in &bench.done {
            prop_assert!(at.since(asked[read]) >= TIMING.access - TIMING.activate);
        }
        let mut times: Vec<_> = bench.done.values().copied().collect();
        times.sort_unstable();
        prop_assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) >= TIMING.read));
    }
}

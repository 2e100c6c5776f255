//! Main memory of several channels and banks. Consecutive lines lie in different channels, and within each channel in
//! different banks. A bank serves one access at a time; the lines of its channel share the data wires. Where rows are described
//! ([`super::rows`]), consecutive lines of a channel lie in different groups of banks, and in one row of each.

use engine::{Grid, Server};
use machine::description::{BanksSpec, Description};
use units::{Duration, Hertz, Time};

use super::rows::{Opening, Row, RowTiming};

/// Bytes of a word.
const WORD_BYTES: u64 = 8;

/// Sizes and times of a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BanksTiming {
    /// Channels.
    pub channels: usize,
    /// Banks of each channel.
    pub banks: usize,
    /// From the start of an access to the first data.
    pub access: Duration,
    /// Occupancy of the channel by a line read.
    pub read: Duration,
    /// Occupancy of the channel by a line written.
    pub write: Duration,
    /// Occupancy of the channel by a word written.
    pub word: Duration,
    /// Least occupancy of a bank by an access.
    pub cycle: Duration,
    /// Whether accesses to other banks overtake one that waits for its bank.
    pub reorders: bool,
    /// From the start of one refresh of all banks to the start of the next.
    pub refresh_interval: Duration,
    /// Occupancy of all banks by a refresh.
    pub refresh: Duration,
    /// The rows of banks, if they stay open.
    pub rows: Option<RowTiming>,
    /// Lines that are collected for a channel before they are written, with the wires turned once; 1: none are.
    pub batch: usize,
    /// Time in which the wires of a channel turn from reads to writes and back.
    pub turnaround: Duration,
}

impl BanksTiming {
    /// The memory of `description`, whose controller has this clock.
    pub fn new(description: &Description, banks: &BanksSpec, clock: Hertz) -> Self {
        let (memory, cycles) = (&description.memory, |count: u32| clock.period() * u64::from(count));
        let write = cycles(memory.line_write_cycles);
        Self {
            channels: banks.channels as usize,
            banks: banks.banks as usize,
            access: cycles(memory.access_cycles),
            read: cycles(memory.line_cycles),
            write,
            word: write / (description.coherent_cache().line.0 / WORD_BYTES),
            cycle: cycles(banks.cycle),
            reorders: banks.reorders,
            refresh_interval: memory.refresh_interval,
            refresh: cycles(memory.refresh_cycles),
            rows: (banks.row_lines > 0).then(|| RowTiming {
                lines: banks.row_lines.into(),
                activate: cycles(banks.activate_cycles),
                precharge: cycles(banks.precharge_cycles),
                open: cycles(banks.row_open_cycles),
                cycle: cycles(banks.cycle),
            }),
            batch: banks.write_batch.max(1) as usize,
            turnaround: cycles(banks.turnaround_cycles),
        }
    }
}

/// The banks and channels of a memory.
#[derive(Clone, Debug)]
pub struct Banks {
    timing: BanksTiming,
    channels: Vec<Server>,
    /// By channel, then by bank.
    banks: Vec<Server>,
    /// The same: the rows that are open.
    rows: Vec<Row>,
    /// By channel, the banks and rows of the lines that are collected to be written.
    collected: Vec<Vec<(usize, u64)>>,
}

impl Banks {
    /// An idle memory.
    pub fn new(timing: BanksTiming) -> Self {
        let idle = |count| vec![Server::default(); count];
        let banks = timing.channels * timing.banks;
        let rows = vec![Row::default(); if timing.rows.is_some() { banks } else { 0 }];
        let collected = vec![Vec::with_capacity(timing.batch); timing.channels];
        Self { timing, channels: idle(timing.channels), banks: idle(banks), rows, collected }
    }

    /// From the start of an access to the first data.
    pub const fn access(&self) -> Duration {
        self.timing.access
    }

    /// The channel, the bank and the row of the line with this number.
    fn place(&self, line: u64) -> (usize, usize, u64) {
        let (channels, banks) = (self.timing.channels as u64, self.timing.banks as u64);
        let (channel, own) = (line % channels, line / channels);
        let (bank, row) = self.timing.rows.map_or((own % banks, 0), |rows| rows.place(own, banks));
        (channel as usize, (channel * banks + bank) as usize, row)
    }

    /// What an access to a row of a bank, requested at `now`, finds there: when it can start, and what it takes then.
    fn opening(&self, (bank, row): (usize, u64), now: Time, length: Duration) -> Opening {
        let free = now.max(self.banks[bank].free_at());
        match &self.timing.rows {
            None => Opening::without_rows(free, self.timing.cycle),
            Some(rows) => rows.opening(&self.rows[bank], row, free, length),
        }
    }

    /// An access of a bank has started.
    fn note_row(&mut self, (bank, row): (usize, u64), start: Time, opening: &Opening) {
        if let Some(open) = self.rows.get_mut(bank) {
            open.note(row, start, opening);
        }
    }

    /// The first moment from `time` on that is in no refresh.
    fn refreshed(&self, time: Time) -> Time {
        let phase = Duration(time.0 % self.timing.refresh_interval.0);
        if phase < self.timing.refresh { time + (self.timing.refresh - phase) } else { time }
    }

    /// Reads the line with number `line`, requested at `now`. Returns the time of its first data.
    pub fn read(&mut self, line: u64, now: Time) -> Time {
        self.transfer(line, now, self.timing.read)
    }

    /// Accesses the line with number `line`, requested at `now`, and then has its channel for `length`. Returns the time from which
    /// it has it.
    fn transfer(&mut self, line: u64, now: Time, length: Duration) -> Time {
        let (channel, bank, row) = self.place(line);
        let BanksTiming { access, reorders, .. } = self.timing;
        let opening = self.opening((bank, row), now, length);
        let free = self.refreshed(opening.from);
        let start = self.banks[bank].reserve_from(now, free, Grid::ANY, opening.occupancy);
        self.note_row((bank, row), start, &opening);
        if reorders {
            let awake = self.refreshed(now);
            let slot = self.channels[channel].reserve_from(now, awake, Grid::ANY, length);
            return start.max(slot) + (access + opening.late - opening.early);
        }
        let data = self.channels[channel].reserve_from(now, start + access, Grid::ANY, length);
        self.hold(bank, data + length);
        data
    }

    /// As [`Self::read`], up to the end of the line.
    pub fn read_whole(&mut self, line: u64, now: Time) -> Time {
        self.read(line, now) + self.timing.read
    }

    /// Reads what is stored with the line with number `line` but not the line, requested at `now`. Returns the time at which
    /// it is known.
    pub fn look_up(&mut self, line: u64, now: Time) -> Time {
        let (_, bank, _) = self.place(line);
        let access = self.timing.access;
        let free = self.refreshed(now.max(self.banks[bank].free_at()));
        self.banks[bank].reserve_from(now, free, Grid::ANY, access) + access
    }

    /// Writes the line with number `line`, whose data are there from `now` on. Returns the time at which they are in
    /// the bank, or with those that are collected for it.
    pub fn write(&mut self, line: u64, now: Time) -> Time {
        let (channel, bank, row) = self.place(line);
        let BanksTiming { write, cycle, reorders, batch, .. } = self.timing;
        if batch > 1 {
            self.collected[channel].push((bank, row));
            if self.collected[channel].len() == batch {
                self.write_collected(channel, now);
            }
            return now;
        }
        let opening = self.opening((bank, row), now, write);
        let free = self.refreshed(opening.from);
        if reorders {
            let awake = self.refreshed(now);
            let slot = self.channels[channel].reserve_from(now, awake, Grid::ANY, write);
            let start = self.banks[bank].reserve_from(now, free.max(slot), Grid::ANY, opening.occupancy);
            self.note_row((bank, row), start, &opening);
            return start + write;
        }
        let start = self.channels[channel].reserve_from(now, free, Grid::ANY, write);
        let start = self.banks[bank].reserve_from(now, start, Grid::ANY, cycle);
        self.hold(bank, start + write);
        start + write
    }

    /// Writes the lines that are collected for a channel, one after another, with its wires turned before and after them.
    fn write_collected(&mut self, channel: usize, now: Time) {
        let BanksTiming { write, turnaround, .. } = self.timing;
        let mut lines = std::mem::take(&mut self.collected[channel]);
        let (awake, length) = (self.refreshed(now), turnaround + write * lines.len() as u64);
        let mut slot = self.channels[channel].reserve_from(now, awake, Grid::ANY, length);
        for place in lines.drain(..) {
            let opening = self.opening(place, slot, write);
            let free = self.refreshed(opening.from);
            let start = self.banks[place.0].reserve_from(slot, free, Grid::ANY, opening.occupancy);
            self.note_row(place, start, &opening);
            slot += write;
        }
        self.collected[channel] = lines;
    }

    /// Writes a word of the line with number `line`, requested at `now`, in the access that reads what is stored with the line.
    /// Returns the time at which it is in the bank.
    pub fn write_word(&mut self, line: u64, now: Time) -> Time {
        let word = self.timing.word;
        self.transfer(line, now, word) + word
    }

    /// Holds a bank until `end` at least.
    fn hold(&mut self, bank: usize, end: Time) {
        let server = &mut self.banks[bank];
        server.prolong(end.since(server.free_at()));
    }

    /// Time before `time` in which data of a channel were on its wires, over all channels.
    pub fn busy_before(&self, time: Time) -> Duration {
        self.channels.iter().fold(Duration::ZERO, |sum, channel| sum + channel.busy_before(time))
    }

    /// The same over all memories of a node.
    pub fn all_busy_before(memories: &[Self], time: Time) -> Duration {
        memories.iter().fold(Duration::ZERO, |sum, memory| sum + memory.busy_before(time))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two channels of two banks, and no refresh within the first microsecond after its start.
    const TIMING: BanksTiming = BanksTiming {
        channels: 2,
        banks: 2,
        access: Duration(100),
        read: Duration(20),
        write: Duration(30),
        word: Duration(4),
        cycle: Duration(150),
        reorders: false,
        refresh_interval: Duration(1_000_000),
        refresh: Duration(10),
        rows: None,
        batch: 1,
        turnaround: Duration::ZERO,
    };
    const START: Time = Time(1000);

    #[test]
    fn banks_of_a_channel_overlap_but_for_their_data() {
        let mut banks = Banks::new(TIMING);
        assert_eq!(banks.read(0, START), Time(1100));
        assert_eq!(banks.read(1, START), Time(1100), "another channel");
        assert_eq!(banks.read(2, START), Time(1120), "the other bank of the first channel, whose wires are taken");
        assert_eq!(banks.read(4, START), Time(1250), "the first bank again, free after its cycle at 1150");
        assert_eq!(banks.busy_before(Time(2000)), Duration(4 * 20));
    }

    #[test]
    fn a_bank_is_taken_at_the_end_of_its_cycle_less_one_and_free_at_its_end() {
        for (now, data) in [(1149, 1250), (1150, 1250), (1151, 1251)] {
            let mut banks = Banks::new(TIMING);
            banks.write(0, START);
            assert_eq!(banks.read(0, Time(now)), Time(data), "requested at {now}");
        }
    }

    #[test]
    fn a_word_takes_one_access_and_its_part_of_a_line() {
        let mut banks = Banks::new(TIMING);
        assert_eq!(banks.write_word(0, START), Time(1104));
        assert_eq!(banks.write_word(2, START), Time(1108), "the wires are taken for a word");
        assert_eq!(banks.write_word(0, Time(1104)), Time(1254), "the bank is free after its cycle at 1150");
    }

    #[test]
    fn a_controller_that_reorders_leaves_no_gap_behind_a_taken_bank() {
        let mut banks = Banks::new(BanksTiming { reorders: true, ..TIMING });
        assert_eq!(banks.read(0, START), Time(1100));
        assert_eq!(banks.read(4, START), Time(1250), "the first bank, free after its cycle at 1150");
        assert_eq!(banks.read(2, START), Time(1140), "the other bank, behind the wires of both others alone");
    }

    #[test]
    fn collected_lines_are_written_at_once_with_the_wires_turned() {
        let cycle = Duration(1);
        let mut banks = Banks::new(BanksTiming { reorders: true, batch: 3, turnaround: Duration(50), cycle, ..TIMING });
        assert_eq!([0, 2].map(|line| banks.write(line, START)), [START; 2]);
        assert_eq!(banks.read(6, START), Time(1100), "nothing has been written yet");
        banks.write(4, START);
        assert_eq!(banks.busy_before(Time(9000)), Duration(20 + 50 + 3 * 30));
        assert_eq!(banks.read(10, START), Time(1260), "behind a read, three lines and the wires' turns");
        assert_eq!(banks.read(1, START), Time(1100), "another channel");
    }

    #[test]
    fn no_access_starts_within_a_refresh() {
        let mut banks = Banks::new(TIMING);
        assert_eq!(banks.read(0, Time(1_000_009)), Time(1_000_110));
        assert_eq!(banks.read(1, Time(1_000_010)), Time(1_000_110));
        assert_eq!(banks.write(2, Time(2_000_000)), Time(2_000_040));
    }

    proptest! {
        #[test]
        fn data_of_a_channel_never_overlap(steps in prop::collection::vec((0u64..16, 0u64..300, any::<bool>()), 1..100)) {
            let mut banks = Banks::new(TIMING);
            let (mut now, mut last) = (START, [Time::ZERO; 2]);
            for (line, later, write) in steps {
                now += Duration(later);
                let (start, end) = if write {
                    let end = banks.write(line, now);
                    (Time(end.0 - 30), end)
                } else {
                    let start = banks.read(line, now);
                    prop_assert!(start >= now + TIMING.access);
                    (start, start + TIMING.read)
                };
                let channel = (line % 2) as usize;
                prop_assert!(start >= last[channel], "{start:?} while data are on the wires until {:?}", last[channel]);
                last[channel] = end;
            }
        }
    }
}

//! Main memory of several channels and banks. Consecutive lines lie in different channels, and within each channel in
//! different banks. A bank serves one access at a time; the lines of its channel share the data wires, in the order of the accesses.
//! [`super::Dram`] is the memory of controllers that schedule accesses.

use engine::{Grid, Server};
use machine::description::{BanksSpec, Description};
use units::{Duration, Hertz, Time};

use super::Refresh;

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
    /// Refresh of all banks.
    pub refresh: Refresh,
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
            refresh: Refresh::new(memory.refresh_interval, cycles(memory.refresh_cycles)),
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
}

impl Banks {
    /// An idle memory.
    pub fn new(timing: BanksTiming) -> Self {
        let idle = |count| vec![Server::default(); count];
        let banks = timing.channels * timing.banks;
        Self { timing, channels: idle(timing.channels), banks: idle(banks) }
    }

    /// From the start of an access to the first data.
    pub const fn access(&self) -> Duration {
        self.timing.access
    }

    /// The channel and the bank of the line with this number.
    const fn place(&self, line: u64) -> (usize, usize) {
        let (channels, banks) = (self.timing.channels as u64, self.timing.banks as u64);
        let (channel, own) = (line % channels, line / channels);
        (channel as usize, (channel * banks + own % banks) as usize)
    }

    /// The first moment from `now` on at which a bank is free, in no refresh.
    fn free(&self, bank: usize, now: Time) -> Time {
        self.timing.refresh.free(now.max(self.banks[bank].free_at()))
    }

    /// Reads the line with number `line`, requested at `now`. Returns the time of its first data.
    pub fn read(&mut self, line: u64, now: Time) -> Time {
        self.transfer(line, now, self.timing.read)
    }

    /// Accesses the line with number `line`, requested at `now`, and then has its channel for `length`. Returns the time from which
    /// it has it.
    fn transfer(&mut self, line: u64, now: Time, length: Duration) -> Time {
        let (channel, bank) = self.place(line);
        let BanksTiming { access, cycle, .. } = self.timing;
        let free = self.free(bank, now);
        let start = self.banks[bank].reserve_from(now, free, Grid::ANY, cycle);
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
        let (_, bank) = self.place(line);
        let access = self.timing.access;
        let free = self.free(bank, now);
        self.banks[bank].reserve_from(now, free, Grid::ANY, access) + access
    }

    /// Writes the line with number `line`, whose data are there from `now` on. Returns the time at which they are in
    /// the bank.
    pub fn write(&mut self, line: u64, now: Time) -> Time {
        let (channel, bank) = self.place(line);
        let BanksTiming { write, cycle, .. } = self.timing;
        let free = self.free(bank, now);
        let start = self.channels[channel].reserve_from(now, free, Grid::ANY, write);
        let start = self.banks[bank].reserve_from(now, start, Grid::ANY, cycle);
        self.hold(bank, start + write);
        start + write
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
        refresh: Refresh::new(Duration(1_000_000), Duration(10)),
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

//! DRAM behind a memory controller that schedules its requests. Consecutive lines lie in different channels ([`spread`]), within each
//! channel in different groups of banks ([`bank`]), and in one row of each.
//!
//! Each channel has queues of reads and of collected writes ([`channel`]). Banks open rows for the oldest requests, also while lines of
//! other banks are on the wires. Requests whose rows are open are served in the order in which they can start (first-ready scheduling;
//! Rixner et al. 2000), so that lines of one rank follow each other without a gap, and lines of an open row before those of another; but
//! one that has waited for long precedes all of its kind. Writes are collected, and neither merged nor read again meanwhile: from a high
//! watermark of them on, a channel writes until a low one is reached, or a read has waited for long (write major mode of Intel's memory
//! controllers; Xeon E5-2600 uncore performance monitoring guide, 2.5).

mod activations;
mod bank;
mod channel;
mod timing;

use units::{Duration, Time};

pub use self::timing::DramTiming;

use self::bank::mixed;
use self::channel::Channel;

/// Consecutive lines in one channel: address bit 7 is the lowest that selects one (Haswell-EP; Pessl et al. 2016, Table 2).
const PAIR: u64 = 2;
/// Rounds over all parts from one value of the hash to the next: with two parts, 4 KiB.
const ROUNDS: u64 = 16;

/// The time at which a channel must serve a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wake {
    /// The channel.
    pub channel: u32,
    /// The time.
    pub at: Time,
}

/// The part that a line lies in of so many that share lines out, and its number there. Pairs of lines lie in the parts in turn; a hash of
/// the upper bits of the address says which part comes first, so that lines at regular distances lie in all of them.
pub fn spread(line: u64, parts: u64) -> (usize, u64) {
    let pair = line / PAIR;
    let number = pair / parts;
    (((pair + mixed(number / ROUNDS)) % parts) as usize, number * PAIR + line % PAIR)
}

/// The channels of a memory controller.
#[derive(Clone, Debug)]
pub struct Dram {
    timing: DramTiming,
    channels: Vec<Channel>,
}

impl Dram {
    /// An idle memory: that of controller number `controller` among so many of its node, whose ranks are refreshed one after another.
    pub fn new(timing: DramTiming, (controller, controllers): (usize, usize)) -> Self {
        let apart = timing.refresh.interval() / (timing.ranks * timing.channels * controllers) as u64;
        let channel = |number: usize| Channel::new(&timing, apart * (number * controllers + controller) as u64);
        Self { channels: (0..timing.channels).map(channel).collect(), timing }
    }

    /// A read of the line with number `line` comes at `at`, which is told at `now`. Its number `read` comes back from [`Self::serve`].
    #[must_use]
    pub fn read(&mut self, line: u64, read: u32, at: Time, now: Time) -> Option<Wake> {
        self.add(line, Some(read), at, now)
    }

    /// A write of the line with number `line`, as [`Self::read`].
    #[must_use]
    pub fn write(&mut self, line: u64, at: Time, now: Time) -> Option<Wake> {
        self.add(line, None, at, now)
    }

    fn add(&mut self, line: u64, read: Option<u32>, at: Time, now: Time) -> Option<Wake> {
        let (channel, number) = spread(line, self.channels.len() as u64);
        let place = self.timing.place(number);
        let at = self.channels[channel].add(place, read, at, now, &self.timing)?;
        Some(Wake { channel: channel as u32, at })
    }

    /// A channel serves requests at `now`, if that is the time for which it has been woken. Each read comes to `done` with the time of
    /// its first data.
    #[must_use]
    pub fn serve(&mut self, channel: u32, now: Time, done: &mut Vec<(u32, Time)>) -> Option<Wake> {
        let at = self.channels[channel as usize].serve(now, &self.timing, done)?;
        Some(Wake { channel, at })
    }

    /// Time before `time` in which data of a channel were on its wires, over all channels.
    pub fn busy_before(&self, time: Time) -> Duration {
        self.channels.iter().fold(Duration::ZERO, |sum, channel| sum + channel.busy_before(time))
    }
}

#[cfg(test)]
mod tests;

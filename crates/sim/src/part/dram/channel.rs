//! A channel of DRAM: its queues, its banks, and the lines on its data wires, one after another.

use engine::{Grid, Server};
use units::{Duration, Time};

use super::bank::{Bank, GROUPS, Place, Rank};
use super::timing::DramTiming;

/// A request in a queue of a channel.
#[derive(Clone, Copy, Debug)]
struct Request {
    place: Place,
    /// The read that it is; `None` for a write.
    read: Option<u32>,
    /// The time at which it came.
    since: Time,
    /// From when on its row is open for it; [`Time::MAX`] until the row is opened.
    ready: Time,
}

impl Request {
    const fn is_open(&self) -> bool {
        self.ready.0 != Time::MAX.0
    }
}

/// The kind of requests that a channel serves at a time, each with a queue of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    /// Reads, and writes that are not collected.
    Reads,
    /// Collected writes, until few are left.
    Writes,
}

/// A request that is selected: the queue it is in, its position there, and the time from which it has the wires.
#[derive(Clone, Copy, Debug)]
struct Choice {
    turn: Turn,
    index: usize,
    start: Time,
}

/// The number of a rank's group of banks, as read or as written.
const fn group_of(is_write: bool, Place { rank, group, .. }: Place) -> usize {
    ((rank as usize) * GROUPS as usize + group as usize) * 2 + is_write as usize
}

/// The last line on the wires.
#[derive(Clone, Copy, Debug)]
struct Last {
    is_write: bool,
    rank: u16,
    end: Time,
}

/// A channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    wires: Server,
    banks: Vec<Bank>,
    /// By [`Turn`], requests in the order in which they came.
    queues: [Vec<Request>; 2],
    /// Whether the channel has turned to collected writes.
    is_writing: bool,
    /// Requests served of the kind that it has turned to.
    served: usize,
    last: Option<Last>,
    /// By kind, rank and group of banks, the start of the last line.
    starts: Vec<Time>,
    ranks: Vec<Rank>,
    /// The time at which the channel serves its next request; [`Time::MAX`] for none.
    planned: Time,
}

impl Channel {
    /// An idle channel. The refreshes of its ranks are spread over their interval; those of the first come by `earlier` before its multiples.
    pub(super) fn new(timing: &DramTiming, earlier: Duration) -> Self {
        let refresh = |rank: u64| earlier + timing.refresh.interval() * rank / timing.ranks as u64;
        let ranks = (0..timing.ranks as u64).map(|rank| Rank::new(refresh(rank))).collect();
        Self {
            wires: Server::default(),
            banks: vec![Bank::default(); timing.banks],
            queues: [Vec::new(), Vec::new()],
            is_writing: false,
            served: 0,
            last: None,
            starts: vec![Time::ZERO; 2 * timing.ranks * GROUPS as usize],
            ranks,
            planned: Time::MAX,
        }
    }

    /// Time before `time` in which data were on the wires.
    pub(super) fn busy_before(&self, time: Time) -> Duration {
        self.wires.busy_before(time)
    }

    /// A request comes at `at`. Returns the time at which the channel must serve one, unless that is planned already.
    pub(super) fn add(
        &mut self,
        place: Place,
        read: Option<u32>,
        at: Time,
        now: Time,
        timing: &DramTiming,
    ) -> Option<Time> {
        let is_collected = read.is_none() && timing.high_watermark > 1;
        let turn = if is_collected { Turn::Writes } else { Turn::Reads };
        self.queues[turn as usize].push(Request { place, read, since: at, ready: Time::MAX });
        if !self.turn_to_writes(now, timing) && turn == self.turn() {
            self.admit(at, timing);
        }
        self.plan(now, timing)
    }

    /// The requests that may be served now.
    const fn turn(&self) -> Turn {
        if self.is_writing { Turn::Writes } else { Turn::Reads }
    }

    /// Opens the row of the request that came last at `at`, unless its bank has others to serve before.
    fn admit(&mut self, at: Time, timing: &DramTiming) {
        let Some((&Request { place, .. }, others)) = self.queues[self.turn() as usize].split_last() else { return };
        let of_bank = others.iter().filter(|other| other.place.bank == place.bank);
        let (mut waiting, mut oldest) = (false, at);
        for other in of_bank {
            waiting = true;
            if !other.is_open() {
                oldest = oldest.min(other.since);
            }
        }
        let may_join = timing.reorders && at.since(oldest) <= timing.patience;
        let joins = may_join && self.banks[place.bank as usize].has(place.row);
        if !waiting || joins {
            self.open(place, at, timing);
        }
    }

    /// Opens a row at `at`, for all requests to it.
    fn open(&mut self, place: Place, at: Time, timing: &DramTiming) {
        let rank = &mut self.ranks[usize::from(place.rank)];
        let ready = self.banks[place.bank as usize].open(place.row, at, rank, timing);
        let requests = self.queues.iter_mut().flatten();
        for request in requests.filter(|request| request.place.bank == place.bank) {
            if request.place.row != place.row {
                request.ready = Time::MAX;
            } else if !request.is_open() {
                request.ready = ready.max(request.since);
            }
        }
    }

    /// Opens the row of the oldest request to a bank that has nothing to serve otherwise, at `at`. While writes are served, banks
    /// without any have rows opened for reads.
    fn open_next(&mut self, bank: u32, at: Time, timing: &DramTiming) {
        let turn = self.turn();
        if !self.open_oldest(bank, turn, at, timing) && turn == Turn::Writes {
            self.open_oldest(bank, Turn::Reads, at, timing);
        }
    }

    /// Opens the row of the oldest request of a kind to a bank, unless that of another is open, which may be served first only where
    /// requests overtake each other. Returns whether there is any.
    fn open_oldest(&mut self, bank: u32, turn: Turn, at: Time, timing: &DramTiming) -> bool {
        let mut next = None;
        for request in &self.queues[turn as usize] {
            if request.place.bank == bank {
                if request.is_open() {
                    return true;
                }
                next = next.or(Some(request.place));
                if !timing.reorders {
                    break;
                }
            }
        }
        if let Some(place) = next {
            self.open(place, at, timing);
        }
        next.is_some()
    }

    /// Whether the oldest read has waited for long.
    fn is_starving(&self, now: Time, timing: &DramTiming) -> bool {
        let read = self.queues[Turn::Reads as usize].first();
        read.is_some_and(|read| now.since(read.since) > timing.patience)
    }

    /// Turns to writes if enough are collected, and no read has waited for long, unless twice as many are collected and reads have had
    /// their turn. Returns whether it does.
    fn turn_to_writes(&mut self, now: Time, timing: &DramTiming) -> bool {
        let collected = self.queues[Turn::Writes as usize].len();
        if self.is_writing || collected < timing.high_watermark {
            return false;
        }
        let is_due = collected >= 2 * timing.high_watermark && self.has_had_turn(timing);
        if !is_due && self.is_starving(now, timing) {
            return false;
        }
        (self.is_writing, self.served) = (true, 0);
        // Rows that are still open from an earlier turn may have been closed by now.
        self.queues[Turn::Writes as usize].iter_mut().for_each(|request| request.ready = Time::MAX);
        self.open_all(now, timing);
        true
    }

    /// Whether as many requests have been served since the last turn as lie between the watermarks: where reads always wait for long,
    /// each kind has its turns.
    const fn has_had_turn(&self, timing: &DramTiming) -> bool {
        self.served >= timing.high_watermark - timing.low_watermark
    }

    /// Turns back to reads if few writes are left, or the oldest read has waited for long and writes have had their turn. Returns whether
    /// it does.
    fn turn_to_reads(&mut self, now: Time, timing: &DramTiming) -> bool {
        let is_due = self.has_had_turn(timing) && self.is_starving(now, timing);
        let left = self.queues[Turn::Writes as usize].len();
        if !self.is_writing || left > timing.low_watermark && !is_due {
            return false;
        }
        (self.is_writing, self.served) = (false, 0);
        self.open_all(now, timing);
        true
    }

    /// Opens rows in all banks that have something to serve and nothing that is ready.
    fn open_all(&mut self, at: Time, timing: &DramTiming) {
        let turn = self.turn() as usize;
        for index in 0..self.queues[turn].len() {
            let request = self.queues[turn][index];
            if !request.is_open() {
                self.open_next(request.place.bank, at, timing);
            }
        }
    }

    /// The soonest time at which a request can have the wires.
    fn soonest(&self, now: Time) -> Time {
        now.max(self.wires.free_at())
    }

    /// The request to serve next. When the channel turns to writes, reads whose rows are still open go on until the row of a write is.
    fn choose(&self, now: Time, timing: &DramTiming) -> Option<Choice> {
        let next = self.first_of(self.turn(), now, timing);
        if self.is_writing && self.last.is_some_and(|last| !last.is_write) {
            let read = self.first_of(Turn::Reads, now, timing);
            let end = |start: Time| start + timing.read + timing.read_to_write;
            if read.is_some_and(|read| next.is_none_or(|write| end(read.start) <= write.start)) {
                return read;
            }
        }
        next
    }

    /// The first request of a kind that can have the wires, or the oldest if it has waited for long.
    fn first_of(&self, turn: Turn, now: Time, timing: &DramTiming) -> Option<Choice> {
        let mut best: Option<Choice> = None;
        let soonest = self.soonest(now);
        for (index, request) in self.queues[turn as usize].iter().enumerate() {
            if request.is_open() {
                let start = self.start(request, soonest, timing);
                let choice = Choice { turn, index, start };
                if best.is_none_or(|best| start < best.start) {
                    best = Some(choice);
                }
                // The wires wait for it no longer than for another rank.
                if now.since(request.since) > timing.patience && start <= soonest + timing.rank_switch {
                    return Some(choice);
                }
                // None is sooner, and those that follow have waited for less.
                if start == soonest {
                    return best;
                }
            }
            if !timing.reorders {
                return best;
            }
        }
        best
    }

    /// The time from which a request can have the wires, which no request can before `soonest`.
    fn start(&self, request: &Request, soonest: Time, timing: &DramTiming) -> Time {
        let Place { rank, .. } = request.place;
        let is_write = request.read.is_none();
        let behind = match self.last {
            None => Time::ZERO,
            Some(last) if is_write && !last.is_write => last.end + timing.read_to_write,
            Some(last) if last.rank != rank || last.is_write != is_write => last.end + timing.rank_switch,
            Some(last) => last.end,
        };
        let start = self.starts[group_of(is_write, request.place)];
        let behind = if start == Time::ZERO { behind } else { behind.max(start + timing.same_group) };
        let rank = &self.ranks[usize::from(rank)];
        let turned = if is_write { Time::ZERO } else { rank.readable };
        timing.refresh.free_earlier(soonest.max(request.ready).max(behind).max(turned), rank.refreshed_earlier)
    }

    /// Plans the next request to serve. Returns its time, unless that is planned already.
    fn plan(&mut self, now: Time, timing: &DramTiming) -> Option<Time> {
        if self.planned <= self.soonest(now) {
            return None;
        }
        let next = self.choose(now, timing)?.start;
        if next < self.planned {
            self.planned = next;
            return Some(next);
        }
        None
    }

    /// Serves what can start at `now`: passes each read to `done` with the time of its first data. Returns the time to come back, if
    /// that is not planned already.
    pub(super) fn serve(&mut self, now: Time, timing: &DramTiming, done: &mut Vec<(u32, Time)>) -> Option<Time> {
        if self.planned != now {
            return None;
        }
        self.planned = Time::MAX;
        loop {
            let choice = self.choose(now, timing)?;
            if choice.start > now {
                self.planned = choice.start;
                return Some(choice.start);
            }
            self.issue(choice, now, timing, done);
        }
    }

    /// A request that is selected has the wires from `now` on.
    fn issue(
        &mut self,
        Choice { turn, index, .. }: Choice,
        now: Time,
        timing: &DramTiming,
        done: &mut Vec<(u32, Time)>,
    ) {
        let Request { place, read, .. } = self.queues[turn as usize].remove(index);
        let length = if read.is_some() { timing.read } else { timing.write };
        self.wires.reserve(now, Grid::ANY, length);
        let end = now + length;
        let Place { rank, .. } = place;
        self.last = Some(Last { is_write: read.is_none(), rank, end });
        self.starts[group_of(read.is_none(), place)] = now;
        let bank = &mut self.banks[place.bank as usize];
        if let Some(read) = read {
            bank.note_read(end);
            done.push((read, now + (timing.access - timing.activate)));
        } else {
            bank.note_write(end, timing);
            self.ranks[usize::from(rank)].readable = end + timing.write_to_read;
        }
        self.served += usize::from(self.is_writing == read.is_none());
        let turns = if read.is_some() { self.turn_to_writes(now, timing) } else { self.turn_to_reads(now, timing) };
        if !turns {
            self.open_next(place.bank, now, timing);
        }
    }
}

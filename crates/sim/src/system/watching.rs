//! Readings of counters at equal steps of simulated time. A reading is no event; it precedes all events at or after its
//! time.

use machine::VirtualNetwork;
use units::{CpuId, Duration, Time};

use super::programs::Running;
use super::{Controller, Held, System};
use crate::SimError;
use crate::account::ThreadCounts;
use crate::counters::{Bank, CounterUnit, Place, Reading, Round, TICK, Watch, Watched, Watcher};
use crate::wire::Interconnect;

/// A unit that is read, with its registers.
struct Slot {
    watched: Watched,
    bank: Bank,
    turn: usize,
    /// The start of the registers' counts.
    since: Time,
    /// The earliest time at which halving registers could overflow; otherwise never.
    full: Time,
    /// From the start of a round to the reading of this unit.
    offset: Duration,
}

/// The units that are read, and the watcher.
pub(super) struct Watching {
    interval: Duration,
    reader: Option<CpuId>,
    slots: Vec<Slot>,
    /// The start of the next or present round, whether it has begun, and the number of its units already read.
    next: Time,
    begun: bool,
    read: usize,
    /// The round's cost to the reading processor.
    cost: Duration,
    /// The start of the latest round, if there was any.
    latest: Option<Time>,
    readings: Vec<Reading>,
    watcher: Watcher,
    /// Final counts of ended threads, by number.
    ended: Vec<Option<ThreadCounts>>,
    /// Whether programs are read or interrupted, so that they must not run ahead of a reading.
    holds_programs: bool,
    /// Exact counts of the present unit.
    exact: Vec<u64>,
}

impl Watching {
    /// The time of the next action.
    fn due(&self) -> Time {
        self.slots.iter().map(|slot| slot.full).fold(self.next_reading(), Time::min)
    }

    fn next_reading(&self) -> Time {
        match self.slots.get(self.read) {
            Some(slot) if self.begun => self.next + slot.offset,
            _ => self.next,
        }
    }

    /// The look-ahead horizon of programs.
    pub fn horizon(&self) -> Time {
        if self.holds_programs { self.next_reading() } else { Time::MAX }
    }

    /// Ends a round, with all units read at `now`, and calls the watcher.
    fn end_round(&mut self, now: Time) {
        let cost = if self.reader.is_some() { self.cost } else { Duration::ZERO };
        (self.watcher)(&Round { due: self.next, readings: &self.readings, cost });
        self.latest = Some(self.next);
        (self.begun, self.read) = (false, 0);
        // A round that takes longer than the interval is followed by the next one at once.
        self.next = (self.next + self.interval).max(now);
    }

    /// Keeps the final counts of an ended thread.
    pub fn ended(&mut self, thread: usize, counts: ThreadCounts) {
        if self.ended.len() <= thread {
            self.ended.resize_with(thread + 1, || None);
        }
        self.ended[thread] = Some(counts);
    }
}

impl<C: Controller> System<C> {
    /// Takes readings as `watch` specifies from now on, and calls `watcher` after every round.
    ///
    /// # Errors
    /// There is no such unit, mode or place; the interval is zero; the reading processor does not exist.
    pub fn watch(&mut self, watch: Watch, watcher: Watcher) -> Result<(), SimError> {
        if watch.interval == Duration::ZERO {
            return Err(SimError::Unwatchable {
                what: "every 0 ns".to_owned(),
                why: "an interval is longer than no time".to_owned(),
            });
        }
        let processors = self.threads.running.len();
        if let Some(cpu) = watch.reader.filter(|cpu| cpu.index() >= processors) {
            return Err(SimError::NoSuchProcessor { cpu, processors });
        }
        let mut offset = Duration::ZERO;
        let mut slots = Vec::new();
        for watched in watch.units {
            self.check_watched(&watched)?;
            if watch.reader.is_some() {
                offset += self.access_time(watch.reader, &watched);
            }
            self.prepare(&watched);
            let mut exact = vec![0; watched.mode(0).events.len()];
            self.exact(watched.place, watched.unit, watched.modes[0], self.kernel.now, &mut exact);
            let bank = Bank::new(watched.unit.shape(), &exact);
            let full = full_at(&bank, self.kernel.now);
            slots.push(Slot { watched, bank, turn: 0, since: self.kernel.now, full, offset });
        }
        let threads = slots.iter().any(|slot| matches!(slot.watched.place, Place::Thread(_)));
        let reading = |slot: &Slot| Reading {
            at: self.kernel.now,
            turn: 0,
            since: self.kernel.now,
            registers: Vec::new(),
            exact: vec![0; slot.watched.mode(0).events.len()],
            cpu: None,
        };
        self.observation.watching = Some(Box::new(Watching {
            interval: watch.interval,
            reader: watch.reader,
            readings: slots.iter().map(reading).collect(),
            slots,
            next: self.kernel.now,
            begun: false,
            read: 0,
            cost: offset,
            latest: None,
            watcher,
            ended: Vec::new(),
            holds_programs: threads || watch.reader.is_some(),
            exact: Vec::new(),
        }));
        self.set_due();
        Ok(())
    }

    fn check_watched(&self, watched: &Watched) -> Result<(), SimError> {
        let topology = self.network.topology();
        let refuse = |why: &str| {
            Err(SimError::Unwatchable {
                what: format!("{:?} of {:?}", watched.unit, watched.place),
                why: why.to_owned(),
            })
        };
        let (nodes, unit) = (topology.nodes().len(), watched.unit);
        match (watched.place, unit) {
            (Place::Node(node), _) if node.index() >= nodes => return Err(SimError::NoSuchNode { node, nodes }),
            (Place::Node(_), CounterUnit::NodeTruth) => {}
            (Place::Node(_), unit) if C::COUNTERS.contains(&unit) => {}
            (Place::Node(_), _) => return refuse("its nodes have no such counters"),
            (Place::Port(router, port), CounterUnit::RouterPort { channel }) => {
                let lanes = self.network.virtual_channels();
                if usize::from(channel) >= lanes {
                    return refuse(&format!("links have virtual channels 0 to {}", lanes - 1));
                }
                if topology.outgoing(router, port).is_none() {
                    return refuse("the machine has no such port, or nothing is connected to it");
                }
            }
            (Place::Thread(_), CounterUnit::Processor { .. } | CounterUnit::ThreadTruth) => {}
            _ => return refuse("it is something else that has such counters"),
        }
        let modes = unit.modes();
        if watched.modes.is_empty() || watched.modes.iter().any(|&mode| mode >= modes.len()) {
            return refuse("it has no such mode");
        }
        let unseen = |&mode: &usize| modes[mode].events.iter().any(|event| !event.is_seen());
        if watched.modes.iter().any(unseen) {
            return refuse("the simulator has not the part of a processor that this event is about");
        }
        Ok(())
    }

    /// The time to read a unit; an access to another node's Hub adds the way there and back.
    fn access_time(&self, reader: Option<CpuId>, watched: &Watched) -> Duration {
        let own = reader.map(|cpu| self.node_of(cpu));
        let way = match (watched.place, own) {
            (Place::Node(node), Some(own)) if node != own && watched.unit.access() > Duration::ZERO => {
                let one = |network, from, to| self.network.wires.unhindered(network, from, to, &[Time::ZERO])[0];
                let there = one(VirtualNetwork::Request, own, node).since(Time::ZERO);
                let registers = watched.mode(0).events.len() as u64;
                (there + one(VirtualNetwork::Reply, node, own).since(Time::ZERO)) * registers
            }
            _ => Duration::ZERO,
        };
        watched.unit.access() + way
    }

    /// Enables counts that are kept only for readings.
    fn prepare(&mut self, watched: &Watched) {
        if let (Place::Port(router, port), CounterUnit::RouterPort { channel }) = (watched.place, watched.unit) {
            self.network.wires.watch(router, port, usize::from(channel), self.kernel.now);
        }
    }

    /// Updates the time of the next reading.
    pub(super) fn set_due(&mut self) {
        self.observation.due = self.observation.watching.as_ref().map_or(Time::MAX, |watching| watching.due());
    }

    /// Takes all readings that are due at `time`, before the events at that time.
    #[cold]
    pub(super) fn look(&mut self, time: Time) {
        if let Some(mut watching) = self.observation.watching.take() {
            self.look_at_counters(&mut watching, time);
            self.observation.watching = Some(watching);
        }
        self.set_due();
    }

    fn look_at_counters(&mut self, watching: &mut Watching, time: Time) {
        for slot in &mut watching.slots {
            if slot.full <= time {
                self.advance(slot, &watching.ended, time, &mut watching.exact);
                slot.full = full_at(&slot.bank, time);
            }
        }
        while watching.next_reading() <= time {
            if !watching.begun {
                watching.begun = true;
                if let Some(reader) = watching.reader {
                    self.kernel.now = time;
                    self.interrupt(reader, watching.cost);
                }
                continue;
            }
            if watching.read < watching.slots.len() {
                self.read_next(watching, time);
            }
            if watching.read == watching.slots.len() {
                watching.end_round(time);
            }
        }
    }

    fn read_next(&mut self, watching: &mut Watching, time: Time) {
        let number = watching.read;
        let slot = &mut watching.slots[number];
        let cpu = self.advance(slot, &watching.ended, time, &mut watching.exact);
        let reading = &mut watching.readings[number];
        (reading.at, reading.turn, reading.since, reading.cpu) = (time, slot.turn, slot.since, cpu);
        reading.registers.clear();
        reading.registers.extend(slot.bank.contents());
        reading.exact.clear();
        reading.exact.extend_from_slice(slot.bank.exact());
        // The registers are cleared for the next turn, or because reading clears them.
        let modes = slot.watched.modes.len();
        if modes > 1 || matches!(slot.watched.unit, CounterUnit::RouterPort { .. }) {
            slot.turn = (slot.turn + 1) % modes;
            slot.since = time;
            let Watched { place, unit, .. } = slot.watched;
            let mode = slot.watched.modes[slot.turn];
            watching.exact.clear();
            watching.exact.resize(unit.modes()[mode].events.len(), 0);
            self.exact_or_ended(place, unit, mode, time, &watching.ended, &mut watching.exact);
            slot.bank.select(&watching.exact);
            slot.full = full_at(&slot.bank, time);
        }
        watching.read += 1;
    }

    /// Takes the last readings of this run, at its end `time`.
    pub(super) fn look_finally(&mut self, time: Time) {
        while self.observation.due <= time && self.observation.watching.is_some() {
            self.look(self.observation.due);
        }
        let Some(mut watching) = self.observation.watching.take() else { return };
        if watching.latest != Some(time) || watching.begun {
            let next = watching.next;
            if !watching.begun {
                watching.next = time;
            }
            while watching.read < watching.slots.len() {
                self.read_next(&mut watching, time);
            }
            watching.end_round(time);
            watching.next = next.max(time + Duration(1));
        }
        self.observation.watching = Some(watching);
        self.set_due();
    }

    /// Advances a unit's registers to the counts before `time`. Returns the processor of a thread.
    fn advance(
        &mut self,
        slot: &mut Slot,
        ended: &[Option<ThreadCounts>],
        time: Time,
        exact: &mut Vec<u64>,
    ) -> Option<CpuId> {
        let Watched { place, unit, .. } = slot.watched;
        let mode = slot.watched.modes[slot.turn];
        // An unknown count, as of a thread without a processor, stands still.
        exact.clear();
        exact.extend_from_slice(slot.bank.exact());
        let cpu = self.exact_or_ended(place, unit, mode, time, ended, exact);
        slot.bank.advance(exact);
        cpu
    }

    fn exact_or_ended(
        &mut self,
        place: Place,
        unit: CounterUnit,
        mode: usize,
        time: Time,
        ended: &[Option<ThreadCounts>],
        exact: &mut [u64],
    ) -> Option<CpuId> {
        if let Place::Thread(thread) = place
            && let Some(Some(counts)) = ended.get(thread)
        {
            self.thread_counts(unit, mode, counts, exact);
            return None;
        }
        self.exact(place, unit, mode, time, exact)
    }

    /// Writes the number of occurrences of each event of a unit's mode before `time` into `exact`, which stays
    /// unchanged if they are unknown. Returns the processor that a thread runs on.
    pub(super) fn exact(
        &mut self,
        place: Place,
        unit: CounterUnit,
        mode: usize,
        time: Time,
        exact: &mut [u64],
    ) -> Option<CpuId> {
        match place {
            Place::Node(node) if unit == CounterUnit::NodeTruth => {
                let Held { bus, controller, queued, memory } = C::held(self, node, time);
                for (exact, time) in exact.iter_mut().zip([bus, controller, queued, memory]) {
                    *exact = time.0 / 1000;
                }
            }
            Place::Node(node) => C::counted(self, node, unit, mode, time, exact),
            Place::Port(router, port) => {
                self.network.wires.counted(router, port, mode, time, exact);
            }
            Place::Thread(thread) => {
                let runs = |running: &Option<Running>| running.as_ref().is_some_and(|running| running.thread == thread);
                let cpu = CpuId(self.threads.running.iter().position(runs)? as u16);
                self.processor_mut(cpu);
                let running = self.threads.running[cpu.index()].as_ref()?;
                let counts = running.counts(self.processor(cpu), time)?;
                self.thread_counts(unit, mode, &counts, exact);
                return Some(cpu);
            }
        }
        None
    }

    fn thread_counts(&self, unit: CounterUnit, mode: usize, counts: &ThreadCounts, exact: &mut [u64]) {
        match unit {
            CounterUnit::Processor { second } => {
                exact[0] = counts.event(mode + if second { 16 } else { 0 }, self.cycle, self.line);
            }
            _ => counts.truth(exact),
        }
    }
}

/// The earliest time at which halving registers could overflow, at one count for each tick of their clock.
fn full_at(bank: &Bank, now: Time) -> Time {
    // Ticks are counted from the start of time, so that the last one is complete.
    let tick = |room: u64| Time(now.0 / TICK.0 * TICK.0) + TICK * room.max(1);
    bank.room().map_or(Time::MAX, tick)
}

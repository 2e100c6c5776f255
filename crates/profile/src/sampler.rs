//! Samples: which interval, which registers, whose.

use std::collections::HashMap;

use trace::{Counter, Event, Object, ObjectKind, Preamble, Register, Value, WriteError};

use crate::{CounterSource, Reading, Sink, Virtual, Virtualiser};

/// Nanoseconds from sample to sample where nobody says and no register is in a hurry.
const DEFAULT_NS: u64 = 10_000_000;
/// How much of the time in which a register can wrap may pass until it is read: the reader can be late.
const SAFE: f64 = 0.9;

/// How often samples are taken, and registers read in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// Nanoseconds from one written sample to the next.
    pub sample_ns: u64,
    /// Nanoseconds from one reading to the next: a whole part of the other.
    pub reading_ns: u64,
}

impl Interval {
    /// Chosen for these counters: as asked for, with so many readings in between that no register wraps twice; as often as the
    /// narrowest register needs, and every 10 ms at least, if nothing is asked for.
    pub fn choose(counters: &[Counter], asked_ns: Option<u64>) -> Self {
        let longest = counters.iter().filter_map(|counter| Virtualiser::new(counter).longest_ns());
        let safe = longest.fold(f64::INFINITY, f64::min) * SAFE;
        let safe = if safe.is_finite() { (safe as u64).max(1) } else { u64::MAX };
        let asked = asked_ns.unwrap_or(DEFAULT_NS.min(safe)).max(1);
        let readings = asked.div_ceil(safe);
        Self { sample_ns: asked, reading_ns: asked.div_ceil(readings) }
    }

    /// Readings in a sample, the last of which is written.
    pub fn readings(&self) -> u64 {
        self.sample_ns.div_ceil(self.reading_ns)
    }
}

/// Where the readings of objects lie.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// For each kind of object, how many counters it has.
    per_kind: [usize; ObjectKind::ALL.len()],
}

impl Readings {
    /// For these counters.
    pub fn new(counters: &[Counter]) -> Self {
        let mut per_kind = [0; ObjectKind::ALL.len()];
        for counter in counters {
            per_kind[counter.of as usize] += 1;
        }
        Self { per_kind }
    }

    /// How many readings an object of that kind has.
    pub fn of_kind(&self, kind: ObjectKind) -> usize {
        self.per_kind[kind as usize]
    }

    /// How many readings these objects have together.
    pub fn of(&self, objects: &[Object]) -> usize {
        objects.iter().map(|object| self.of_kind(object.kind)).sum()
    }
}

/// A counter of a kind of objects, and which of that kind counts the time for its group.
#[derive(Clone, Copy, Debug)]
struct Member {
    virtualiser: Virtualiser,
    clock: Option<(usize, u64)>,
}

/// An object of the source's, in the source's order.
#[derive(Clone, Copy, Debug)]
struct Placed {
    index: u32,
    kind: ObjectKind,
    newborn: bool,
    /// Where its readings and its 64-bit counters begin.
    readings: usize,
    state: usize,
}

/// Reads a source and makes samples of it. Does not own the source, which may be there only from time to time.
#[derive(Debug)]
pub struct Sampler {
    layout: Readings,
    members: [Vec<Member>; ObjectKind::ALL.len()],
    interval: Interval,
    start_ns: Option<u64>,
    placed: Vec<Placed>,
    known: HashMap<(ObjectKind, u64), u32>,
    titles: Vec<String>,
    states_of: Vec<usize>,
    states: Vec<Virtual>,
    readings: Vec<Reading>,
    values: Vec<Value>,
    time_ns: u64,
    counts: (u64, u64, u64),
    spent_ns: u64,
}

impl Sampler {
    /// A sampler of what has these counters.
    pub fn new(counters: &[Counter], asked_ns: Option<u64>) -> Self {
        let members = ObjectKind::ALL.map(|kind| {
            let of_kind: Vec<&Counter> = counters.iter().filter(|counter| counter.of == kind).collect();
            let member = |counter: &&Counter| Member {
                virtualiser: Virtualiser::new(counter),
                clock: clock_of(&of_kind, counter.register),
            };
            of_kind.iter().map(member).collect()
        });
        Self {
            layout: Readings::new(counters),
            members,
            interval: Interval::choose(counters, asked_ns),
            start_ns: None,
            placed: Vec::new(),
            known: HashMap::new(),
            titles: Vec::new(),
            states_of: Vec::new(),
            states: Vec::new(),
            readings: Vec::new(),
            values: Vec::new(),
            time_ns: 0,
            counts: (0, 0, 0),
            spent_ns: 0,
        }
    }

    /// How often it is to be called.
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// Notes in a preamble what the source and the sampler are.
    pub fn describe(&self, source: &dyn CounterSource, preamble: &mut Preamble) {
        (preamble.interval_ns, preamble.reading_ns) = (self.interval.sample_ns, self.interval.reading_ns);
        preamble.constants.extend(source.constants());
        preamble.sources.push(source.describe());
    }

    /// Asks the source for objects that came and went, and tells the sink. To be called before the first reading.
    ///
    /// # Errors
    /// When the sink fails.
    pub fn refresh(&mut self, source: &mut dyn CounterSource, sink: &mut dyn Sink) -> Result<(), WriteError> {
        let now = source.now();
        let time = now - *self.start_ns.get_or_insert(now);
        if !source.refresh() && !self.placed.is_empty() {
            return Ok(());
        }
        let gone: Vec<u32> = self.placed.iter().map(|placed| placed.index).collect();
        self.placed.clear();
        let mut readings = 0;
        for object in source.objects() {
            let index = self.index_of(time, object, sink)?;
            let state = self.states_of[index as usize];
            self.placed.push(Placed { index, kind: object.kind, newborn: object.newborn, readings, state });
            readings += self.layout.of_kind(object.kind);
        }
        self.readings.resize(readings, Reading::MISSING);
        self.values.clear();
        self.values.resize(readings, Value::MISSING);
        for index in gone {
            if !self.placed.iter().any(|placed| placed.index == index) {
                sink.event(time, &Event::Gone { index })?;
            }
        }
        Ok(())
    }

    /// The number of an object, which is told to the sink if it is new or has another title.
    fn index_of(&mut self, time: u64, object: &Object, sink: &mut dyn Sink) -> Result<u32, WriteError> {
        if let Some(&index) = self.known.get(&(object.kind, object.key)) {
            let title = &mut self.titles[index as usize];
            if *title != object.title {
                title.clone_from(&object.title);
                sink.event(time, &Event::Renamed { index, title: object.title.clone() })?;
            }
            return Ok(index);
        }
        let index = self.titles.len() as u32;
        self.known.insert((object.kind, object.key), index);
        self.titles.push(object.title.clone());
        self.states_of.push(self.states.len());
        let states = self.states.len() + self.layout.of_kind(object.kind);
        self.states.resize(states, Virtual::default());
        sink.object(time, object)?;
        Ok(index)
    }

    /// Reads all registers, so that none wraps twice until the next time. Does not allocate.
    pub fn read(&mut self, source: &mut dyn CounterSource) {
        let now = source.now();
        self.time_ns = now - *self.start_ns.get_or_insert(now);
        self.readings.fill(Reading::MISSING);
        source.read(&mut self.readings);
        let mut late = 0;
        for placed in &self.placed {
            let members = &self.members[placed.kind as usize];
            let readings = &self.readings[placed.readings..placed.readings + members.len()];
            let states = &mut self.states[placed.state..placed.state + members.len()];
            let values = &mut self.values[placed.readings..placed.readings + members.len()];
            for (i, member) in members.iter().enumerate() {
                let clock = member.clock.map(|(clock, hertz)| (readings[clock], hertz));
                let update =
                    member.virtualiser.update(&mut states[i], readings[i], self.time_ns, clock, placed.newborn);
                // Counters that were not due now may have been read since the last sample.
                if update.value.total.is_some() {
                    values[i] = update.value;
                }
                late += u64::from(update.late);
            }
        }
        self.counts.1 += 1;
        self.counts.2 += late;
        self.spent_ns += source.now().saturating_sub(now);
    }

    /// Reads all registers and hands a sample to the sink.
    ///
    /// # Errors
    /// When the sink fails.
    pub fn sample(&mut self, source: &mut dyn CounterSource, sink: &mut dyn Sink) -> Result<(), WriteError> {
        self.read(source);
        self.hand_over(sink)
    }

    /// Hands what was read last to the sink.
    fn hand_over(&mut self, sink: &mut dyn Sink) -> Result<(), WriteError> {
        for placed in &self.placed {
            let values = &self.values[placed.readings..placed.readings + self.layout.of_kind(placed.kind)];
            if !values.is_empty() {
                sink.sample(self.time_ns, placed.index, values)?;
            }
        }
        self.values.fill(Value::MISSING);
        self.counts.0 += 1;
        sink.tick(self.time_ns)
    }

    /// When the last reading was, in nanoseconds since the first call.
    pub fn time_ns(&self) -> u64 {
        self.time_ns
    }

    /// Summary of the samples so far.
    pub fn summary(&self) -> Event {
        let (ticks, readings, late) = self.counts;
        Event::Summary { ticks, readings, sample_ns: self.spent_ns / readings.max(1), late }
    }
}

/// The register that counts time in the group of one that is halved with others.
fn clock_of(counters: &[&Counter], register: Register) -> Option<(usize, u64)> {
    let Register::Halving { group, .. } = register else { return None };
    counters.iter().enumerate().find_map(|(i, counter)| match counter.register {
        Register::Halving { group: same, clock: Some(hertz), .. } if same == group => Some((i, hertz)),
        _ => None,
    })
}

//! Several sources as one: objects that several know are one object, with the counters of all.

use std::collections::HashMap;

use trace::{Counter, Object, ObjectKind, SourceDescription};

use crate::{CounterSource, Reading, Readings};

/// A source among others.
struct Part {
    source: Box<dyn CounterSource>,
    /// For each kind, where its counters begin among all of that kind.
    offsets: [usize; ObjectKind::ALL.len()],
    layout: Readings,
    /// For each of its objects where its readings begin, among its own and among all.
    places: Vec<(usize, usize, usize)>,
    readings: Vec<Reading>,
    due_ns: u64,
    /// Time of a reading, smoothed upwards: being interrupted now and then says nothing of it.
    cost_ns: u64,
}

/// Sources may take this part of the time of one CPU, where there is one; each is read less often than it would be if it took
/// more.
const SHARE: u64 = 100;
/// The part of a cost beyond what was known that is believed at once.
const SMOOTH: u64 = 8;

/// Sources that are read together, those that take long less often.
pub struct Sources {
    cpus: u64,
    parts: Vec<Part>,
    counters: Vec<Counter>,
    objects: Vec<Object>,
}

impl Sources {
    /// These sources as one, of a computer with so many CPUs. The first tells the time.
    pub fn new(sources: Vec<Box<dyn CounterSource>>, cpus: usize) -> Self {
        let mut counters: Vec<Counter> = Vec::new();
        let mut parts = Vec::new();
        for source in sources {
            let offsets = Readings::new(&counters);
            let offsets = ObjectKind::ALL.map(|kind| offsets.of_kind(kind));
            let layout = Readings::new(source.counters());
            counters.extend_from_slice(source.counters());
            parts.push(Part {
                source,
                offsets,
                layout,
                places: Vec::new(),
                readings: Vec::new(),
                due_ns: 0,
                cost_ns: 0,
            });
        }
        let mut all = Self { cpus: cpus.max(1) as u64, parts, counters, objects: Vec::new() };
        all.arrange();
        all
    }

    /// The same sources, each read as often as it is asked for, whatever that takes. For measuring what a reading takes.
    #[must_use]
    pub fn at_any_cost(self) -> Self {
        Self { cpus: u64::MAX, ..self }
    }

    /// Descriptions of the sources: what each sees and does not.
    pub fn descriptions(&self) -> Vec<SourceDescription> {
        self.parts.iter().map(|part| part.source.describe()).collect()
    }

    /// Brings the objects of all together, and finds out where their readings go.
    fn arrange(&mut self) {
        self.objects.clear();
        let all = Readings::new(&self.counters);
        let mut found: HashMap<(ObjectKind, u64), usize> = HashMap::new();
        let mut starts = Vec::new();
        let mut end = 0;
        for object in self.parts.iter().flat_map(|part| part.source.objects()) {
            found.entry((object.kind, object.key)).or_insert_with(|| {
                self.objects.push(object.clone());
                starts.push(end);
                end += all.of_kind(object.kind);
                starts.len() - 1
            });
        }
        for part in &mut self.parts {
            part.places.clear();
            let mut own = 0;
            for object in part.source.objects() {
                let count = part.layout.of_kind(object.kind);
                let start = starts[found[&(object.kind, object.key)]] + part.offsets[object.kind as usize];
                part.places.push((own, start, count));
                own += count;
            }
            part.readings.resize(own, Reading::MISSING);
        }
    }
}

impl CounterSource for Sources {
    fn describe(&self) -> SourceDescription {
        let mut all = SourceDescription { name: "all sources".to_owned(), ..SourceDescription::default() };
        for part in self.descriptions() {
            all.sees.extend(part.sees);
            all.blind.extend(part.blind);
        }
        all
    }

    fn counters(&self) -> &[Counter] {
        &self.counters
    }

    fn objects(&self) -> &[Object] {
        &self.objects
    }

    fn constants(&self) -> Vec<(String, f64)> {
        self.parts.iter().flat_map(|part| part.source.constants()).collect()
    }

    fn refresh(&mut self) -> bool {
        let mut changed = false;
        for part in &mut self.parts {
            changed |= part.source.refresh();
        }
        if changed {
            self.arrange();
        }
        changed
    }

    fn starting(&mut self, begins: bool) {
        self.parts.iter_mut().for_each(|part| part.source.starting(begins));
    }

    fn now(&mut self) -> u64 {
        self.parts.first_mut().map_or(0, |part| part.source.now())
    }

    fn read(&mut self, readings: &mut [Reading]) {
        let cpus = self.cpus;
        for part in &mut self.parts {
            let now = part.source.now();
            if now < part.due_ns {
                continue;
            }
            part.source.read(&mut part.readings);
            let cost = part.source.now() - now;
            part.cost_ns = match cost.checked_sub(part.cost_ns) {
                Some(more) if part.cost_ns > 0 => part.cost_ns + more / SMOOTH,
                _ => cost,
            };
            part.due_ns = now + part.source.pace_ns().max(part.cost_ns.saturating_mul(SHARE) / cpus);
            for &(own, all, count) in &part.places {
                readings[all..all + count].copy_from_slice(&part.readings[own..own + count]);
            }
        }
    }
}

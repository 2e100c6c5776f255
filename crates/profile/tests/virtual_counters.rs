//! Registers of any width, read often enough, say what a counter of 64 bits would.

use profile::{CounterSource, Interval, Live, Reading, Sampler, Sources};
use proptest::prelude::*;
use trace::{Counter, Object, ObjectKind, Register, SourceDescription, Trace, TraceWriter};

/// A machine of one node whose counters are exactly known, seen through its registers.
struct Registers {
    counters: Vec<Counter>,
    objects: Vec<Object>,
    time_ns: u64,
    exact: Vec<u64>,
    /// Contents of the registers that are cleared by reading and halved together.
    halving: Vec<u64>,
    enabled: Vec<(u64, u64)>,
}

const CLOCK: u64 = 50_000_000;

impl Registers {
    fn new(counters: Vec<Counter>) -> Self {
        let count = counters.len();
        let objects = vec![Object::node(0, "/hw/module/1/slot/n1/node")];
        Self {
            counters,
            objects,
            time_ns: 0,
            exact: vec![0; count],
            halving: vec![0; count],
            enabled: vec![(0, 0); count],
        }
    }

    /// Counts for a time; `running` says which of multiplexed counters has the register.
    fn pass(&mut self, ns: u64, counts: &[u64], running: &[bool]) {
        self.time_ns += ns;
        for (i, counter) in self.counters.iter().enumerate() {
            self.exact[i] += counts[i];
            self.enabled[i].0 += ns;
            self.enabled[i].1 += if running[i] { ns } else { 0 };
            self.halving[i] += counts[i];
            let Register::Halving { width, .. } = counter.register else { continue };
            assert!(counts[i] < 1 << width, "finer steps are needed");
        }
        let full = |(counter, held): (&Counter, &u64)| match counter.register {
            Register::Halving { width, .. } => *held >= 1 << width,
            _ => false,
        };
        if self.counters.iter().zip(&self.halving).any(full) {
            self.halving.iter_mut().for_each(|held| *held /= 2);
        }
    }
}

impl CounterSource for Registers {
    fn describe(&self) -> SourceDescription {
        SourceDescription::default()
    }
    fn counters(&self) -> &[Counter] {
        &self.counters
    }
    fn objects(&self) -> &[Object] {
        &self.objects
    }
    fn now(&mut self) -> u64 {
        self.time_ns
    }
    fn read(&mut self, readings: &mut [Reading]) {
        for (i, counter) in self.counters.iter().enumerate() {
            readings[i] = match counter.register {
                Register::Wrapping { width: 64 } | Register::Level => Reading::of(self.exact[i]),
                Register::Wrapping { width } => Reading::of(self.exact[i] % (1 << width)),
                Register::Halving { .. } => Reading::of(std::mem::take(&mut self.halving[i])),
            };
            if counter.multiplexed {
                let (enabled, running) = self.enabled[i];
                readings[i] = Reading::in_turns(readings[i].raw, enabled, running);
            }
        }
    }
}

/// Samples what `pass` does step by step; the trace of it.
fn trace_of(mut registers: Registers, steps: usize, mut pass: impl FnMut(&mut Registers, usize)) -> (Trace, Registers) {
    let mut sampler = Sampler::new(&registers.counters.clone(), None);
    let mut writer = TraceWriter::new(Vec::new(), &Default::default(), &registers.counters).unwrap();
    sampler.refresh(&mut registers, &mut writer).unwrap();
    sampler.sample(&mut registers, &mut writer).unwrap();
    for step in 0..steps {
        pass(&mut registers, step);
        sampler.sample(&mut registers, &mut writer).unwrap();
    }
    let bytes = writer.finish().unwrap();
    (Trace::read(&bytes[..]).unwrap(), registers)
}

fn last(trace: &Trace) -> Vec<u64> {
    let tick = trace.ticks().next_back().unwrap();
    let (_, values) = tick.rows().next().unwrap();
    values.iter().map(|value| value.total.unwrap()).collect()
}

proptest! {
    #[test]
    fn no_wrap_is_lost(width in 4_u8..40, start in any::<u32>(), steps in prop::collection::vec(0.0_f64..1.0, 1..300)) {
        let rate = 1e8;
        let register = Register::Wrapping { width };
        let counter = Counter::with(ObjectKind::Node, "narrow", "", "w", register).at_most(rate);
        let interval = Interval::choose(std::slice::from_ref(&counter), None);
        let mut registers = Registers::new(vec![counter]);
        registers.exact[0] = u64::from(start);
        let most = (interval.reading_ns as f64 * 1e-9 * rate) as u64;
        let (trace, registers) = trace_of(registers, steps.len(), |registers, step| {
            registers.pass(interval.reading_ns, &[(most as f64 * steps[step]) as u64], &[true]);
        });
        prop_assert_eq!(last(&trace)[0], registers.exact[0] - u64::from(start));
    }

    #[test]
    fn turns_are_estimated_in_proportion(rates in prop::collection::vec(1_u64..1000, 2..6), steps in 12_usize..60) {
        let counter = |i: &usize| Counter::count(ObjectKind::Node, &format!("mode{i}"), "", "w").in_turns();
        let count = rates.len();
        let mut registers = Registers::new((0..count).map(|i| counter(&i)).collect());
        let mut sampler = Sampler::new(&registers.counters.clone(), Some(1000));
        let mut writer = TraceWriter::new(Vec::new(), &Default::default(), &registers.counters).unwrap();
        sampler.refresh(&mut registers, &mut writer).unwrap();
        sampler.sample(&mut registers, &mut writer).unwrap();
        let mut truth = vec![0; count];
        for step in 0..steps {
            let running: Vec<bool> = (0..count).map(|i| step % count == i).collect();
            let counts: Vec<u64> = (0..count).map(|i| if running[i] { rates[i] * 10 } else { 0 }).collect();
            registers.pass(1000, &counts, &running);
            // Until a counter had its turn there is nothing to go by.
            truth.iter_mut().zip(&rates).enumerate().filter(|(i, _)| step >= *i).for_each(|(_, (sum, rate))| *sum += rate * 10);
            sampler.sample(&mut registers, &mut writer).unwrap();
        }
        let trace = Trace::read(&writer.finish().unwrap()[..]).unwrap();
        prop_assert_eq!(last(&trace), truth);
        let tick = trace.ticks().next_back().unwrap();
        let (_, values) = tick.rows().next().unwrap();
        prop_assert!(values.iter().enumerate().all(|(i, value)| (value.counted < 1.0) == ((steps - 1) % count != i)));
    }
}

/// The register of time of the Origin's routers fills in 1.3 ms; read in time it and its neighbours are exact, read late their
/// proportions are (Prestor 2001, 5.2.3).
#[test]
fn halved_registers_keep_their_proportions() {
    let register = |clock| Register::Halving { width: 16, group: 0, clock };
    let counters = || {
        vec![
            Counter::with(ObjectKind::Node, "sent", "micropackets", "w", register(None)),
            Counter::with(ObjectKind::Node, "time", "cycles", "w", register(Some(CLOCK))),
        ]
    };
    assert!(Interval::choose(&counters(), Some(10_000_000)).reading_ns < 1_310_720);
    for (pieces, exact) in [(10_u64, true), (500, false)] {
        let (trace, registers) = trace_of(Registers::new(counters()), 200, |registers, _| {
            // Microseconds, each of 50 cycles of which ten send.
            (0..pieces * 100).for_each(|_| registers.pass(1000, &[10, 50], &[true, true]));
        });
        let seen = last(&trace);
        if exact {
            assert_eq!(seen, registers.exact);
        }
        let off = |i: usize| (seen[i] as f64 / registers.exact[i] as f64 - 1.0).abs();
        assert!(off(0) < 0.01 && off(1) < 0.001, "{seen:?} of {:?}", registers.exact);
        let tick = trace.ticks().next_back().unwrap();
        assert_eq!(tick.rows().next().unwrap().1[0].counted == 1.0, exact);
    }
}

#[test]
fn a_late_reading_is_counted_as_late() {
    let counter = Counter::with(ObjectKind::Node, "narrow", "", "w", Register::Wrapping { width: 20 }).at_most(1e8);
    let (mut registers, mut live) = (Registers::new(vec![counter.clone()]), Live::new(Vec::new(), &[]));
    let mut sampler = Sampler::new(&[counter], None);
    sampler.refresh(&mut registers, &mut live).unwrap();
    for ns in [1_000, 9_000_000, 11_000_000] {
        registers.pass(ns, &[5], &[true]);
        sampler.sample(&mut registers, &mut live).unwrap();
    }
    let trace::Event::Summary { ticks: 3, readings: 3, late: 1, .. } = sampler.summary() else {
        panic!("{:?}", sampler.summary())
    };
}

#[test]
fn objects_that_two_sources_know_are_one() {
    let first = Registers::new(vec![Counter::count(ObjectKind::Node, "a", "", "w")]);
    let mut second = Registers::new(vec![Counter::count(ObjectKind::Node, "b", "", "w")]);
    second.objects.insert(0, Object::node(1, ""));
    // The other node's counters come first in its order.
    second.counters.push(Counter::count(ObjectKind::Node, "c", "", "w"));
    let mut all = Sources::new(vec![Box::new(first), Box::new(Pair(second))], 1);
    assert_eq!(all.objects().iter().map(|object| object.key).collect::<Vec<_>>(), [0, 1]);
    let mut readings = [Reading::MISSING; 6];
    all.read(&mut readings);
    let raw = readings.map(|reading| reading.present.then_some(reading.raw));
    assert_eq!(raw, [Some(0), Some(20), Some(21), None, Some(10), Some(11)]);
}

/// Two nodes, with counters that say which is which.
struct Pair(Registers);

impl CounterSource for Pair {
    fn describe(&self) -> SourceDescription {
        SourceDescription::default()
    }
    fn counters(&self) -> &[Counter] {
        &self.0.counters
    }
    fn objects(&self) -> &[Object] {
        &self.0.objects
    }
    fn now(&mut self) -> u64 {
        0
    }
    fn read(&mut self, readings: &mut [Reading]) {
        for (reading, raw) in readings.iter_mut().zip([10, 11, 20, 21]) {
            *reading = Reading::of(raw);
        }
    }
}

//! Formulas over the counters of a trace, evaluated sample by sample.

use std::collections::{BTreeMap, HashMap};

use super::catalogue::Metric;
use super::formula::{self, Operator, Tree};
use crate::{Counter, Object, ObjectKind, Value};

/// The counter by which a thread tells on which node it is.
const NODE_OF_THREAD: &str = "node";

/// Whose counter a name means, seen from an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    Own,
    OfNode,
    OfProcess,
    OfMachine,
    /// The sum over all of its kind.
    Total,
}

/// A counter in a formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
    whose: Whose,
    /// The kind of the objects that have it.
    kind: ObjectKind,
    /// Which of the counters of that kind.
    counter: usize,
    level: bool,
}

/// A formula whose names have been found.
#[derive(Clone, PartialEq, Debug)]
enum Step {
    Number(f64),
    Slot(usize),
    Seconds,
    Negative(Box<Step>),
    Binary(Operator, Box<Step>, Box<Step>),
    If(Box<[Step; 3]>),
}

/// A metric that can be computed from given counters.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolved {
    /// Its declaration.
    pub metric: Metric,
    step: Step,
    slots: Vec<Slot>,
}

impl Resolved {
    /// The metrics that can be computed from `counters` and the numbers of the machine; of those with the same name for the
    /// same kind of objects the first. Then those that cannot, each with a name that is not there.
    pub fn derive(
        metrics: &[Metric],
        counters: &[Counter],
        constants: &BTreeMap<String, f64>,
    ) -> (Vec<Self>, Vec<(Metric, String)>) {
        let (mut found, mut lacking): (Vec<Self>, Vec<(Metric, String)>) = (Vec::new(), Vec::new());
        for metric in metrics {
            let same = |other: &Metric| other.name == metric.name && other.of == metric.of;
            if found.iter().any(|resolved| same(&resolved.metric)) {
                continue;
            }
            match Self::new(metric, counters, constants) {
                Ok(resolved) => {
                    lacking.retain(|(other, _)| !same(other));
                    found.push(resolved);
                }
                Err(name) if lacking.iter().any(|(other, _)| same(other)) => drop(name),
                Err(name) => lacking.push((metric.clone(), name)),
            }
        }
        (found, lacking)
    }

    /// One metric; the name that is not there if it cannot be computed.
    fn new(metric: &Metric, counters: &[Counter], constants: &BTreeMap<String, f64>) -> Result<Self, String> {
        let tree = formula::parse(&metric.formula).map_err(|error| error.to_string())?;
        let mut finder = Finder { of: metric.of, counters, constants, slots: Vec::new() };
        let step = finder.step(&tree)?;
        Ok(Self { metric: metric.clone(), step, slots: finder.slots })
    }

    /// The columns that it is computed from.
    pub fn columns(&self, counters: &[Counter]) -> Vec<String> {
        let column = |slot: &Slot| counters.iter().filter(|counter| counter.of == slot.kind).nth(slot.counter);
        self.slots.iter().filter_map(column).map(Counter::column).collect()
    }
}

/// Finds what the names of a formula mean.
struct Finder<'a> {
    of: ObjectKind,
    counters: &'a [Counter],
    constants: &'a BTreeMap<String, f64>,
    slots: Vec<Slot>,
}

impl Finder<'_> {
    fn step(&mut self, tree: &Tree) -> Result<Step, String> {
        Ok(match tree {
            Tree::Number(number) => Step::Number(*number),
            Tree::Seconds => Step::Seconds,
            Tree::Negative(inner) => Step::Negative(Box::new(self.step(inner)?)),
            Tree::Binary(operator, a, b) => Step::Binary(*operator, Box::new(self.step(a)?), Box::new(self.step(b)?)),
            Tree::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                Step::If(Box::new([self.step(condition)?, self.step(then)?, self.step(otherwise)?]))
            }
            Tree::Name(name) => match self.find(name) {
                Some((slot, _)) => Step::Slot(self.slot(slot)),
                None => Step::Number(*self.constants.get(name).ok_or_else(|| name.clone())?),
            },
            Tree::Capacity(name) => {
                let (_, counter) = self.find(name).ok_or_else(|| name.clone())?;
                let most = counter.most_per_second.ok_or_else(|| format!("capacity({name})"))?;
                Step::Binary(Operator::Multiply, Box::new(Step::Number(most)), Box::new(Step::Seconds))
            }
        })
    }

    fn slot(&mut self, slot: Slot) -> usize {
        self.slots.iter().position(|other| *other == slot).unwrap_or_else(|| {
            self.slots.push(slot);
            self.slots.len() - 1
        })
    }

    fn find(&self, name: &str) -> Option<(Slot, &Counter)> {
        let (whose, kind, name) = match name.split_once('.') {
            None => (Whose::Own, self.of, name),
            Some(("total", name)) => (Whose::Total, self.of, name),
            Some(("node", name)) => (Whose::OfNode, ObjectKind::Node, name),
            Some(("process", name)) => (Whose::OfProcess, ObjectKind::Process, name),
            Some(("machine", name)) => (Whose::OfMachine, ObjectKind::Machine, name),
            Some(_) => return None,
        };
        let whose = if kind == self.of && whose != Whose::Total { Whose::Own } else { whose };
        let mut of_kind = self.counters.iter().filter(|counter| counter.of == kind).enumerate();
        let (index, counter) = of_kind.find(|(_, counter)| counter.name == name)?;
        Some((Slot { whose, kind, counter: index, level: counter.is_level() }, counter))
    }
}

/// Content of a slot when a metric was last computed: the object, and its count.
type Held = (usize, u64);

/// The state of a metric at an object.
#[derive(Clone, Debug, Default)]
struct Baseline {
    time_ns: u64,
    held: Vec<Held>,
    /// Its value at the last sample; none unless all its counters were there then and at a sample before.
    value: Option<f64>,
    estimate: bool,
}

/// Computes metrics sample by sample, each from the last sample at which all its counters were there to this one.
#[derive(Clone, Debug)]
pub struct Evaluator {
    metrics: Vec<Resolved>,
    objects: Vec<Object>,
    by_key: HashMap<(ObjectKind, u64), usize>,
    /// Where threads tell their node.
    node_of_thread: Option<usize>,
    /// The last that was read of each object's counters, and whether it was in this sample.
    values: Vec<Vec<Value>>,
    sampled: Vec<bool>,
    /// By metric, then by object.
    baselines: Vec<Vec<Option<Baseline>>>,
    /// Room for what the slots of one metric hold.
    now: Vec<Held>,
}

impl Evaluator {
    /// An evaluator of these metrics, over objects with these counters.
    pub fn new(metrics: Vec<Resolved>, counters: &[Counter]) -> Self {
        let mut of_thread = counters.iter().filter(|counter| counter.of == ObjectKind::Thread);
        let node_of_thread = of_thread.position(|counter| counter.name == NODE_OF_THREAD && counter.is_level());
        let baselines = vec![Vec::new(); metrics.len()];
        Self {
            metrics,
            objects: Vec::new(),
            by_key: HashMap::new(),
            node_of_thread,
            values: Vec::new(),
            sampled: Vec::new(),
            baselines,
            now: Vec::new(),
        }
    }

    /// The metrics, by whose index values are asked for.
    pub fn metrics(&self) -> &[Resolved] {
        &self.metrics
    }

    /// Makes the next object known.
    pub fn object(&mut self, object: &Object) {
        self.by_key.insert((object.kind, object.key), self.objects.len());
        self.objects.push(object.clone());
        self.values.push(Vec::new());
        self.sampled.push(false);
        for baselines in &mut self.baselines {
            baselines.push(None);
        }
    }

    /// How many objects are known.
    pub fn objects(&self) -> usize {
        self.objects.len()
    }

    /// Takes in the sample of a moment: rows of objects by index. Afterwards [`value`](Self::value) tells the metrics.
    pub fn tick<'v>(&mut self, time_ns: u64, rows: impl IntoIterator<Item = (usize, &'v [Value])>) {
        self.sampled.fill(false);
        for (object, values) in rows {
            let Some(known) = self.values.get_mut(object) else { continue };
            known.clear();
            known.extend_from_slice(values);
            self.sampled[object] = true;
        }
        for metric in 0..self.metrics.len() {
            for object in 0..self.objects.len() {
                if self.sampled[object] && self.objects[object].kind == self.metrics[metric].metric.of {
                    self.advance(metric, object, time_ns);
                } else if let Some(baseline) = &mut self.baselines[metric][object] {
                    baseline.value = None;
                }
            }
        }
    }

    /// The value of a metric of an object in the interval that ended with the last sample, and whether it is an estimate;
    /// none if it could not be computed.
    pub fn value(&self, metric: usize, object: usize) -> Option<(f64, bool)> {
        let baseline = self.baselines.get(metric)?.get(object)?.as_ref()?;
        baseline.value.map(|value| (value, baseline.estimate))
    }

    fn advance(&mut self, metric: usize, object: usize, time_ns: u64) {
        let mut now = std::mem::take(&mut self.now);
        now.clear();
        let slots = &self.metrics[metric].slots;
        let mut estimate = false;
        let read = slots.iter().all(|slot| match self.read(slot, object) {
            Some((held, counted)) => {
                now.push(held);
                estimate |= counted < 1.0;
                true
            }
            None => false,
        });
        let step = &self.metrics[metric].step;
        let baseline = &mut self.baselines[metric][object];
        match baseline {
            Some(baseline) if read => {
                let seconds = time_ns.saturating_sub(baseline.time_ns) as f64 * 1e-9;
                let value = compute(step, slots, &now, &baseline.held, seconds);
                baseline.value = value.filter(|value| value.is_finite());
                (baseline.time_ns, baseline.estimate) = (time_ns, estimate);
                std::mem::swap(&mut baseline.held, &mut now);
            }
            Some(baseline) => baseline.value = None,
            None if read => *baseline = Some(Baseline { time_ns, held: now.clone(), value: None, estimate }),
            None => {}
        }
        self.now = now;
    }

    /// The content of a slot, seen from an object, and the part of time in which it was counted.
    fn read(&self, slot: &Slot, object: usize) -> Option<(Held, f32)> {
        let whose = match slot.whose {
            Whose::Own => object,
            Whose::OfMachine => *self.by_key.get(&(ObjectKind::Machine, 0))?,
            Whose::OfNode => *self.by_key.get(&(ObjectKind::Node, self.node_of(object)?))?,
            Whose::OfProcess => *self.by_key.get(&(ObjectKind::Process, self.objects[object].process?))?,
            Whose::Total => return Some(((object, self.total(slot)?), 1.0)),
        };
        if !self.sampled[whose] {
            return None;
        }
        let value = self.values[whose].get(slot.counter)?;
        Some(((whose, value.total?), value.counted))
    }

    fn node_of(&self, object: usize) -> Option<u64> {
        let told = self.node_of_thread.filter(|_| self.objects[object].kind == ObjectKind::Thread);
        let told = told.and_then(|counter| self.values[object].get(counter)?.total);
        told.or(self.objects[object].node)
    }

    /// The sum over all objects of a kind that were ever read.
    fn total(&self, slot: &Slot) -> Option<u64> {
        let objects = self.objects.iter().zip(&self.values).filter(|(object, _)| object.kind == slot.kind);
        let totals = objects.filter_map(|(_, values)| values.get(slot.counter)?.total);
        totals.fold(None, |sum, total| Some(sum.unwrap_or(0_u64).saturating_add(total)))
    }
}

/// The value of a formula; none where a slot belongs to another object than before, such as the node of a thread that moved.
fn compute(step: &Step, slots: &[Slot], now: &[Held], before: &[Held], seconds: f64) -> Option<f64> {
    let inner = |step: &Step| compute(step, slots, now, before, seconds);
    match step {
        Step::Number(number) => Some(*number),
        Step::Seconds => Some(seconds),
        Step::Negative(step) => inner(step).map(|value| -value),
        Step::Binary(operator, a, b) => Some(operator.apply(inner(a)?, inner(b)?)),
        Step::If(parts) => inner(&parts[if inner(&parts[0])? != 0.0 { 1 } else { 2 }]),
        Step::Slot(slot) => {
            let ((whose, now), (whose_before, before)) = (now[*slot], before[*slot]);
            match slots[*slot].level {
                true => Some(now as f64),
                false => (whose == whose_before).then(|| now.saturating_sub(before) as f64),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::parse;
    use super::*;

    fn metrics(formulas: &[(&str, &str, &str)]) -> Vec<Metric> {
        let metric = |(name, of, formula): &(&str, &str, &str)| {
            format!("[[metric]]\nname = \"{name}\"\nof = \"{of}\"\nwhat = \"w\"\nformula = \"{formula}\"\n")
        };
        let text: String = formulas.iter().map(metric).collect();
        parse("test", &format!("group = \"g\"\nwhat = \"w\"\n{text}")).unwrap()
    }

    fn counters() -> Vec<Counter> {
        vec![
            Counter::count(ObjectKind::Node, "busy", "cycles", "w").at_most(100.0),
            Counter::count(ObjectKind::Thread, "misses", "", "w"),
            Counter::level(ObjectKind::Thread, "node", "", "w"),
            Counter::count(ObjectKind::Node, "idle", "cycles", "w"),
        ]
    }

    fn exact(values: &[u64]) -> Vec<Value> {
        values.iter().map(|&value| Value::exact(value)).collect()
    }

    #[test]
    fn metrics_are_those_of_the_interval() {
        let declared = metrics(&[
            ("util", "node", "percent(busy, busy + idle)"),
            ("rate", "node", "rate(busy) * line"),
            ("full", "node", "percent(busy, capacity(busy))"),
            ("share", "node", "busy / total.busy"),
            ("local", "thread", "node.busy / misses"),
            ("none", "node", "nothing"),
        ]);
        let constants = BTreeMap::from([("line".to_owned(), 128.0)]);
        let (resolved, lacking) = Resolved::derive(&declared, &counters(), &constants);
        assert_eq!((resolved.len(), lacking.len()), (5, 1));
        assert_eq!(lacking[0].1, "nothing");
        assert_eq!(resolved[0].columns(&counters()), ["node.busy", "node.idle"]);
        let mut evaluator = Evaluator::new(resolved, &counters());
        evaluator.object(&Object::node(0, ""));
        evaluator.object(&Object::node(1, ""));
        evaluator.object(&Object::new(ObjectKind::Thread, 5, "t5", ""));
        let tick = |evaluator: &mut Evaluator, time, rows: [&[u64]; 3]| {
            let rows = rows.map(exact);
            evaluator.tick(time, rows.iter().enumerate().map(|(i, row)| (i, &row[..])));
        };
        tick(&mut evaluator, 1_000_000_000, [&[10, 90], &[0, 0], &[5, 0]]);
        assert_eq!(evaluator.value(0, 0), None);
        tick(&mut evaluator, 3_000_000_000, [&[40, 160], &[10, 0], &[20, 0]]);
        let value = |evaluator: &Evaluator, metric, object| evaluator.value(metric, object).map(|(value, _)| value);
        assert_eq!(value(&evaluator, 0, 0), Some(30.0));
        assert_eq!(value(&evaluator, 0, 1), Some(100.0));
        assert_eq!(value(&evaluator, 1, 0), Some(15.0 * 128.0));
        assert_eq!(value(&evaluator, 2, 0), Some(15.0));
        assert_eq!(value(&evaluator, 3, 1), Some(0.25));
        assert_eq!(value(&evaluator, 4, 2), Some(2.0));
        // Nothing happened: no share can be told. The thread is elsewhere: neither node's count is its.
        tick(&mut evaluator, 4_000_000_000, [&[40, 160], &[10, 0], &[30, 1]]);
        assert_eq!(value(&evaluator, 0, 0), None);
        assert_eq!(value(&evaluator, 4, 2), None);
        tick(&mut evaluator, 5_000_000_000, [&[40, 160], &[40, 0], &[40, 1]]);
        assert_eq!(value(&evaluator, 4, 2), Some(3.0));
    }

    #[test]
    fn what_is_read_rarely_is_computed_from_its_own_readings() {
        let (resolved, _) = Resolved::derive(&metrics(&[("r", "node", "rate(busy)")]), &counters(), &BTreeMap::new());
        let mut evaluator = Evaluator::new(resolved, &counters());
        evaluator.object(&Object::node(0, ""));
        let estimate = Value { total: Some(40), counted: 0.5 };
        let rows = [(0, Value::exact(10)), (1, Value::MISSING), (2, Value::MISSING), (4, estimate)];
        let mut seen = Vec::new();
        for (seconds, busy) in rows {
            evaluator.tick(seconds * 1_000_000_000, [(0, &[busy, Value::exact(0)][..])]);
            seen.push(evaluator.value(0, 0));
        }
        assert_eq!(seen, [None, None, None, Some((7.5, true))]);
    }
}

//! Where samples go.

use std::io::Write;

use trace::metric::{Evaluator, Resolved};
use trace::{Counter, Event, Object, TraceWriter, Value, WriteError};

/// Takes samples. Objects are numbered from 0 as they come; times are nanoseconds since the beginning.
pub trait Sink {
    /// The next object.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn object(&mut self, time_ns: u64, object: &Object) -> Result<(), WriteError>;

    /// An event other than a new object.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn event(&mut self, time_ns: u64, event: &Event) -> Result<(), WriteError>;

    /// The values of an object's counters.
    ///
    /// # Errors
    /// When they cannot be kept.
    fn sample(&mut self, time_ns: u64, index: u32, values: &[Value]) -> Result<(), WriteError>;

    /// All samples of this moment were handed over.
    ///
    /// # Errors
    /// When they cannot be kept.
    fn tick(&mut self, time_ns: u64) -> Result<(), WriteError> {
        let _ = time_ns;
        Ok(())
    }
}

impl<W: Write> Sink for TraceWriter<W> {
    fn object(&mut self, time_ns: u64, object: &Object) -> Result<(), WriteError> {
        Self::object(self, time_ns, object).map(|_| ())
    }

    fn event(&mut self, time_ns: u64, event: &Event) -> Result<(), WriteError> {
        Self::event(self, time_ns, event)
    }

    fn sample(&mut self, time_ns: u64, index: u32, values: &[Value]) -> Result<(), WriteError> {
        Self::sample(self, time_ns, index, values)
    }
}

/// Metrics of the last sample, for whoever looks on.
pub struct Live {
    evaluator: Evaluator,
    objects: Vec<Object>,
    rows: Vec<(usize, usize)>,
    values: Vec<Value>,
    time_ns: u64,
    complete: bool,
}

impl Live {
    /// Computes these metrics from samples of these counters.
    pub fn new(metrics: Vec<Resolved>, counters: &[Counter]) -> Self {
        let evaluator = Evaluator::new(metrics, counters);
        let (objects, rows, values) = (Vec::new(), Vec::new(), Vec::new());
        Self { evaluator, objects, rows, values, time_ns: 0, complete: false }
    }

    /// The objects so far, by index.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// The metrics.
    pub fn metrics(&self) -> &[Resolved] {
        self.evaluator.metrics()
    }

    /// The objects of the last sample.
    pub fn sampled(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows.iter().map(|&(object, _)| object)
    }

    /// A metric of an object in the interval that ended with the last sample, and whether it is an estimate.
    pub fn value(&self, metric: usize, object: usize) -> Option<(f64, bool)> {
        self.evaluator.value(metric, object)
    }

    /// When the last sample was taken.
    pub fn time_ns(&self) -> u64 {
        self.time_ns
    }
}

impl Sink for Live {
    fn object(&mut self, _: u64, object: &Object) -> Result<(), WriteError> {
        self.evaluator.object(object);
        self.objects.push(object.clone());
        Ok(())
    }

    fn event(&mut self, _: u64, event: &Event) -> Result<(), WriteError> {
        if let Event::Renamed { index, title } = event
            && let Some(object) = self.objects.get_mut(*index as usize)
        {
            object.title.clone_from(title);
        }
        Ok(())
    }

    fn sample(&mut self, _: u64, index: u32, values: &[Value]) -> Result<(), WriteError> {
        if std::mem::take(&mut self.complete) {
            self.rows.clear();
            self.values.clear();
        }
        self.rows.push((index as usize, self.values.len()));
        self.values.extend_from_slice(values);
        Ok(())
    }

    fn tick(&mut self, time_ns: u64) -> Result<(), WriteError> {
        let (rows, values) = (&self.rows, &self.values);
        let end = |row: usize| rows.get(row + 1).map_or(values.len(), |&(_, next)| next);
        let slices = rows.iter().enumerate().map(|(row, &(object, start))| (object, &values[start..end(row)]));
        self.evaluator.tick(time_ns, slices);
        (self.time_ns, self.complete) = (time_ns, true);
        Ok(())
    }
}

/// Hands samples to two.
pub struct Tee<'a, A, B>(pub &'a mut A, pub &'a mut B);

impl<A: Sink, B: Sink> Sink for Tee<'_, A, B> {
    fn object(&mut self, time_ns: u64, object: &Object) -> Result<(), WriteError> {
        self.0.object(time_ns, object)?;
        self.1.object(time_ns, object)
    }

    fn event(&mut self, time_ns: u64, event: &Event) -> Result<(), WriteError> {
        self.0.event(time_ns, event)?;
        self.1.event(time_ns, event)
    }

    fn sample(&mut self, time_ns: u64, index: u32, values: &[Value]) -> Result<(), WriteError> {
        self.0.sample(time_ns, index, values)?;
        self.1.sample(time_ns, index, values)
    }

    fn tick(&mut self, time_ns: u64) -> Result<(), WriteError> {
        self.0.tick(time_ns)?;
        self.1.tick(time_ns)
    }
}

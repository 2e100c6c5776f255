//! The probe: the one interface between the simulator and its observers.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use units::CpuId;

use super::event::{ContentsEvent, IntervalEvent, ReferenceEvent};
use crate::error::SimError;

/// The channels of notifications that an observer subscribes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Channels {
    /// References, misses and waits.
    pub references: bool,
    /// The contents of lines.
    pub contents: bool,
    /// Measured intervals.
    pub intervals: bool,
}

/// An observer: a subscriber to notifications.
pub trait Observer: Any {
    /// The channels of its notifications.
    fn channels(&self) -> Channels;

    /// Receives a step in the references, misses or waits of a processor.
    fn reference(&mut self, _cpu: CpuId, _event: &ReferenceEvent, _findings: &mut Findings) {}

    /// Receives a step in the contents of lines.
    fn contents(&mut self, _event: &ContentsEvent, _findings: &mut Findings) {}

    /// Receives a step in the measured parts of programs.
    fn interval(&mut self, _event: &IntervalEvent<'_>) {}
}

/// The findings of observers during a notification.
#[derive(Default)]
pub struct Findings {
    /// Conclusions about the processor of the notification, of which all observers are notified after it.
    published: Vec<ReferenceEvent>,
    failure: Option<SimError>,
}

impl Findings {
    /// Notifies all observers of a conclusion, after the present notification.
    pub fn publish(&mut self, event: ReferenceEvent) {
        self.published.push(event);
    }

    /// Stops the run with an error. The first one counts.
    pub fn fail(&mut self, error: impl Into<SimError>) {
        self.failure.get_or_insert_with(|| error.into());
    }
}

/// The observers of a machine.
struct Observers {
    subscribed: Vec<(Channels, Box<dyn Observer>)>,
    findings: Findings,
}

impl Observers {
    fn reference(&mut self, cpu: CpuId, event: &ReferenceEvent) {
        self.receive(cpu, event);
        let mut next = 0;
        while let Some(&event) = self.findings.published.get(next) {
            self.receive(cpu, &event);
            next += 1;
        }
        self.findings.published.clear();
    }

    fn receive(&mut self, cpu: CpuId, event: &ReferenceEvent) {
        for (_, observer) in self.subscribed.iter_mut().filter(|(channels, _)| channels.references) {
            observer.reference(cpu, event, &mut self.findings);
        }
    }

    fn contents(&mut self, event: &ContentsEvent) {
        for (_, observer) in self.subscribed.iter_mut().filter(|(channels, _)| channels.contents) {
            observer.contents(event, &mut self.findings);
        }
    }

    fn interval(&mut self, event: &IntervalEvent<'_>) {
        for (_, observer) in self.subscribed.iter_mut().filter(|(channels, _)| channels.intervals) {
            observer.interval(event);
        }
    }
}

/// The connection of a processor or of the system to the observers.
#[derive(Clone)]
pub struct Probe {
    /// The observers, if any of them subscribes to references or contents.
    observers: Option<Rc<RefCell<Observers>>>,
    /// The channels with subscribers.
    channels: Channels,
    /// All observers.
    all: Rc<RefCell<Observers>>,
}

impl Probe {
    /// A connection to `observers`, which are notified in this order.
    pub fn new(observers: impl Iterator<Item = Box<dyn Observer>>) -> Self {
        let subscribed: Vec<_> = observers.map(|observer| (observer.channels(), observer)).collect();
        let any = |of: fn(&Channels) -> bool| subscribed.iter().any(|(channels, _)| of(channels));
        let channels = Channels {
            references: any(|channels| channels.references),
            contents: any(|channels| channels.contents),
            intervals: any(|channels| channels.intervals),
        };
        let all = Rc::new(RefCell::new(Observers { subscribed, findings: Findings::default() }));
        Self { observers: (channels.references || channels.contents).then(|| all.clone()), channels, all }
    }

    /// Whether anything subscribes to references or contents: the test on the fast path.
    #[inline]
    pub const fn is_active(&self) -> bool {
        self.observers.is_some()
    }

    /// Whether anything subscribes to the contents of lines, so that every store makes a version.
    pub const fn follows_contents(&self) -> bool {
        self.channels.contents
    }

    /// Notifies of a step in the references, misses or waits of `cpu`.
    #[inline]
    pub fn reference(&self, cpu: CpuId, event: ReferenceEvent) {
        if let Some(observers) = &self.observers {
            notify_of_reference(observers, cpu, &event);
        }
    }

    /// Notifies of a step in the contents of lines.
    #[inline]
    pub fn contents(&self, event: ContentsEvent) {
        if let Some(observers) = &self.observers {
            notify_of_contents(observers, &event);
        }
    }

    /// Notifies of a step in the measured parts of programs.
    pub fn interval(&self, event: &IntervalEvent<'_>) {
        self.all.borrow_mut().interval(event);
    }

    /// The error by which an observer stops the run, if any.
    #[inline]
    pub fn take_failure(&self) -> Option<SimError> {
        self.observers.as_ref().and_then(|observers| observers.borrow_mut().findings.failure.take())
    }

    /// Collects results from the observer of type `T`; `None` if it is not subscribed.
    pub fn collect<T: Observer, R>(&self, read: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut all = self.all.borrow_mut();
        let found =
            all.subscribed.iter_mut().find_map(|(_, observer)| (&mut **observer as &mut dyn Any).downcast_mut());
        found.map(read)
    }
}

#[cold]
#[inline(never)]
fn notify_of_reference(observers: &RefCell<Observers>, cpu: CpuId, event: &ReferenceEvent) {
    observers.borrow_mut().reference(cpu, event);
}

#[cold]
#[inline(never)]
fn notify_of_contents(observers: &RefCell<Observers>, event: &ContentsEvent) {
    observers.borrow_mut().contents(event);
}

#[cfg(test)]
mod tests {
    use units::LineAddr;

    use super::*;
    use crate::incoherence::Incoherence;

    const CPU: CpuId = CpuId(3);
    const LINE: LineAddr = LineAddr(7);

    /// An observer that counts its notifications, and comments on the end of a program.
    #[derive(Default)]
    struct Counter {
        channels: Channels,
        references: u32,
        hits: u32,
        contents: u32,
        intervals: u32,
    }

    impl Observer for Counter {
        fn channels(&self) -> Channels {
            self.channels
        }

        fn reference(&mut self, cpu: CpuId, event: &ReferenceEvent, findings: &mut Findings) {
            assert_eq!(cpu, CPU);
            self.references += 1;
            match event {
                ReferenceEvent::End => findings.publish(ReferenceEvent::Hit { line: LINE }),
                ReferenceEvent::Hit { .. } => self.hits += 1,
                _ => {}
            }
        }

        fn contents(&mut self, event: &ContentsEvent, findings: &mut Findings) {
            self.contents += 1;
            if let ContentsEvent::Nack { cpu, line, count } = *event {
                findings.fail(Incoherence::Starved { cpu, line, refusals: count });
            }
        }

        fn interval(&mut self, _event: &IntervalEvent<'_>) {
            self.intervals += 1;
        }
    }

    /// A probe with a counter on these channels.
    fn probe(channels: Channels) -> Probe {
        let counter: Box<dyn Observer> = Box::new(Counter { channels, ..Counter::default() });
        let probe = Probe::new(std::iter::once(counter));
        probe.reference(CPU, ReferenceEvent::End);
        probe.contents(ContentsEvent::Nack { cpu: CPU, line: LINE, count: 1 });
        probe.contents(ContentsEvent::Nack { cpu: CPU, line: LINE, count: 2 });
        probe.interval(&IntervalEvent::Begin { thread: 0 });
        probe
    }

    fn counts(probe: &Probe) -> Option<[u32; 4]> {
        probe.collect(|counter: &mut Counter| [counter.references, counter.hits, counter.contents, counter.intervals])
    }

    #[test]
    fn observers_receive_the_channels_that_they_subscribe_to() {
        let none = Channels::default();
        let references = probe(Channels { references: true, ..none });
        assert_eq!((references.is_active(), references.follows_contents()), (true, false));
        assert_eq!(counts(&references), Some([2, 1, 0, 0]), "and what an observer publishes");
        let contents = probe(Channels { contents: true, ..none });
        assert_eq!((contents.is_active(), contents.follows_contents()), (true, true));
        assert_eq!(counts(&contents), Some([0, 0, 2, 0]));
        let intervals = probe(Channels { intervals: true, ..none });
        assert!(!intervals.is_active(), "the fast path of references is free");
        assert_eq!(counts(&intervals), Some([0, 0, 0, 1]));
    }

    #[test]
    fn the_first_error_of_an_observer_stops_the_run() {
        let probe = probe(Channels { contents: true, ..Channels::default() });
        let error = probe.take_failure().expect("an error");
        assert!(matches!(error, SimError::Incoherent(Incoherence::Starved { refusals: 1, .. })), "{error}");
        assert!(probe.take_failure().is_none(), "once");
    }
}

//! A trace for the Perfetto timeline viewer: a track for each kind of objects, under it each object, under that each metric.
//!
//! Fields are those of perfetto's `protos/perfetto/trace/trace_packet.proto`, `track_descriptor.proto`,
//! `counter_descriptor.proto` and `track_event.proto`.

use std::io::{self, Write};

use trace::metric::{Evaluator, Resolved};
use trace::{Event, ObjectKind, Trace};

use super::protobuf::Message;

/// `Trace.packet`.
const PACKET: u32 = 1;
/// Fields of `TracePacket`.
mod packet {
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;
}
/// Fields of `TrackDescriptor`, and of `CounterDescriptor` in it.
mod track {
    pub(super) const UUID: u32 = 1;
    pub(super) const NAME: u32 = 2;
    pub(super) const PARENT: u32 = 5;
    pub(super) const COUNTER: u32 = 8;
    pub(super) const UNIT_NAME: u32 = 6;
}
/// Fields and types of `TrackEvent`.
mod event {
    pub(super) const TYPE: u32 = 9;
    pub(super) const TRACK: u32 = 11;
    pub(super) const NAME: u32 = 23;
    pub(super) const DOUBLE_VALUE: u32 = 44;
    pub(super) const SLICE_BEGIN: u64 = 1;
    pub(super) const SLICE_END: u64 = 2;
    pub(super) const INSTANT: u64 = 3;
    pub(super) const COUNTER: u64 = 4;
}

/// All packets are of one sequence, which begins without a past (`SEQ_INCREMENTAL_STATE_CLEARED`).
const SEQUENCE: u64 = 1;
const CLEARED: u64 = 1;

/// Track numbers: a kind's, an object's, and a metric's of an object.
fn kind_track(kind: ObjectKind) -> u64 {
    1 + kind as u64
}

fn object_track(object: usize) -> u64 {
    (1 + object as u64) << 16
}

fn metric_track(object: usize, metric: usize) -> u64 {
    object_track(object) + 1 + metric as u64
}

/// Writes packets.
struct Packets<'w, W> {
    destination: &'w mut W,
}

impl<W: Write> Packets<'_, W> {
    fn packet(&mut self, packet: Message) -> io::Result<()> {
        let packet = packet.number(packet::SEQUENCE, SEQUENCE);
        self.destination.write_all(Message::default().message(PACKET, &packet).wire())
    }

    fn track(&mut self, uuid: u64, parent: Option<u64>, name: &str, unit: Option<&str>) -> io::Result<()> {
        let mut track = Message::default().number(track::UUID, uuid).text(track::NAME, name);
        if let Some(parent) = parent {
            track = track.number(track::PARENT, parent);
        }
        if let Some(unit) = unit {
            let counter =
                if unit.is_empty() { Message::default() } else { Message::default().text(track::UNIT_NAME, unit) };
            track = track.message(track::COUNTER, &counter);
        }
        self.packet(Message::default().message(packet::TRACK_DESCRIPTOR, &track))
    }

    fn event(&mut self, time_ns: u64, event: &Message) -> io::Result<()> {
        self.packet(Message::default().number(packet::TIMESTAMP, time_ns).message(packet::TRACK_EVENT, event))
    }

    fn slice(&mut self, time_ns: u64, track: u64, name: Option<&str>) -> io::Result<()> {
        let kind = if name.is_some() { event::SLICE_BEGIN } else { event::SLICE_END };
        let slice = Message::default().number(event::TYPE, kind).number(event::TRACK, track);
        self.event(time_ns, &name.map_or(slice.clone(), |name| slice.text(event::NAME, name)))
    }
}

/// Writes a trace for the viewer, with these metrics as counters. Every object has a slice as long as it was seen.
///
/// # Errors
/// When the destination fails.
pub fn perfetto<W: Write>(trace: &Trace, metrics: &[Resolved], destination: &mut W) -> io::Result<()> {
    let mut packets = Packets { destination };
    packets.packet(Message::default().number(packet::SEQUENCE_FLAGS, CLEARED))?;
    for kind in ObjectKind::ALL {
        if trace.objects.iter().any(|object| object.kind == kind) {
            packets.track(kind_track(kind), None, kind.name(), None)?;
        }
    }
    let mut seen: Vec<Option<(u64, u64)>> = vec![None; trace.objects.len()];
    for tick in trace.ticks() {
        for (object, _) in tick.rows() {
            let (_, last) = seen[object].get_or_insert((tick.time_ns, tick.time_ns));
            *last = tick.time_ns;
        }
    }
    for (index, object) in trace.objects.iter().enumerate() {
        let Some((first, _)) = seen[index] else { continue };
        let name = format!("{} {}", object.name, object.title);
        packets.track(object_track(index), Some(kind_track(object.kind)), &name, None)?;
        for (metric, Resolved { metric: declared, .. }) in metrics.iter().enumerate() {
            if declared.of == object.kind {
                packets.track(
                    metric_track(index, metric),
                    Some(object_track(index)),
                    &declared.name,
                    Some(&declared.unit),
                )?;
            }
        }
        packets.slice(first, object_track(index), Some(&object.title))?;
    }
    counters(trace, metrics, &mut packets)?;
    for (index, seen) in seen.iter().enumerate() {
        if let Some((_, last)) = seen {
            packets.slice(*last, object_track(index), None)?;
        }
    }
    notes(trace, &mut packets)?;
    packets.destination.flush()
}

fn counters<W: Write>(trace: &Trace, metrics: &[Resolved], packets: &mut Packets<'_, W>) -> io::Result<()> {
    let mut evaluator = Evaluator::new(metrics.to_vec(), &trace.counters);
    trace.objects.iter().for_each(|object| evaluator.object(object));
    let mut before = 0;
    for tick in trace.ticks() {
        evaluator.tick(tick.time_ns, tick.rows());
        for (object, _) in tick.rows() {
            for metric in 0..metrics.len() {
                let Some((value, _)) = evaluator.value(metric, object) else { continue };
                let counter = Message::default().number(event::TYPE, event::COUNTER);
                let counter = counter.number(event::TRACK, metric_track(object, metric));
                // The viewer draws a value from its time on: that is where its interval began.
                packets.event(before, &counter.double(event::DOUBLE_VALUE, value))?;
            }
        }
        before = tick.time_ns;
    }
    Ok(())
}

/// Events, as marks on the tracks of the objects, or of the machine.
fn notes<W: Write>(trace: &Trace, packets: &mut Packets<'_, W>) -> io::Result<()> {
    for (time, event) in &trace.events {
        let (track, name) = match event {
            Event::Renamed { index, title } => (object_track(*index as usize), format!("exec: {title}")),
            Event::Note { text } => (kind_track(ObjectKind::Machine), text.clone()),
            Event::Exit { code: Some(code), .. } => (kind_track(ObjectKind::Machine), format!("exit status {code}")),
            Event::Exit { signal, .. } => {
                (kind_track(ObjectKind::Machine), format!("ended by signal {}", signal.unwrap_or_default()))
            }
            _ => continue,
        };
        let mark = Message::default().number(event::TYPE, event::INSTANT).number(event::TRACK, track);
        packets.event(*time, &mark.text(event::NAME, &name))?;
    }
    Ok(())
}

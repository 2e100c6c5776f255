//! The networks within and between the sockets, in time: ways between stops, wires, links and their credits.
//!
//! A message takes the time of its way. One with a line takes the data wires of every edge on its way in turn, and waits where
//! another line is on them; requests, snoops and responses have wires of their own, which are never the bottleneck and are not
//! modelled. A link between sockets, or to a memory node, carries one message after another, and no more than it has credits
//! for: a credit returns when the message has come out at the far end and the link has taken it back.

use std::ops::Range;

use engine::{Grid, Server};
use machine::description::{Description, ServerSpec};
use machine::server::{Package, Sockets, StopId};
use units::{Duration, Time};

use crate::SimError;

/// A place in the machine: a stop of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The socket.
    pub(super) socket: u16,
    /// The stop.
    pub(super) stop: StopId,
    /// The memory node behind the stop, by its number among memory nodes.
    pub(super) memory_node: Option<u16>,
}

impl Place {
    /// A place at a stop.
    pub(super) const fn at(socket: u16, stop: StopId) -> Self {
        Self { socket, stop, memory_node: None }
    }
}

/// The times of a link.
#[derive(Clone, Copy, Debug)]
struct LinkTiming {
    latency: Duration,
    header: Duration,
    line: Duration,
}

/// One direction of a link.
#[derive(Clone, Debug)]
struct Direction {
    wires: Server,
    /// When the credits of the last messages return, oldest first from `next` on; of headers and of lines.
    credits: [Vec<Time>; 2],
    next: [usize; 2],
}

impl Direction {
    fn new(credits: u32) -> Self {
        let all = || vec![Time::ZERO; credits as usize];
        Self { wires: Server::default(), credits: [all(), all()], next: [0; 2] }
    }

    /// Sends a message that is here at `at` if nothing delays it, and was delayed by `delay` so far. Returns its delay with this
    /// link's. It takes the link in the order of decisions, which are made at `now`, and not before a credit is there.
    fn send(&mut self, timing: &LinkTiming, line: bool, (now, at): (Time, Time), delay: Duration) -> Duration {
        let class = usize::from(line);
        let slot = self.next[class];
        self.next[class] = if slot + 1 == self.credits[class].len() { 0 } else { slot + 1 };
        let length = if line { timing.line } else { timing.header };
        let ahead = at.since(now);
        let credit = Time(self.credits[class][slot].0.saturating_sub(ahead.0));
        let turn = self.wires.reserve_from(now, now.max(credit), Grid::ANY, length).since(now);
        let delay = delay.max(turn);
        self.credits[class][slot] = at + delay + length + timing.latency * 2;
        delay
    }
}

/// A way between two stops of a socket: its time, and its wires among those of all ways.
#[derive(Clone, Copy, Debug)]
struct Way {
    time: Duration,
    first: u32,
    edges: u32,
}

/// An edge on a way: its wires, and their occupancy by a line.
#[derive(Clone, Copy, Debug)]
struct Step {
    line: Duration,
    wire: u16,
}

/// The networks of a machine.
pub(super) struct Fabric {
    sockets: Sockets,
    stops: usize,
    /// By stop of departure, then by stop of arrival.
    ways: Vec<Way>,
    steps: Vec<Step>,
    /// By socket, then by number.
    wires: Vec<Server>,
    wires_of_socket: usize,
    between: LinkTiming,
    /// By sending socket, then by link.
    links: Vec<Direction>,
    /// By socket, then by neighbour, the links that lead there.
    links_to: Vec<Range<u16>>,
    link_stops: Vec<StopId>,
    far: Option<LinkTiming>,
    /// By memory node: to it, and from it.
    far_links: Vec<[Direction; 2]>,
}

impl Fabric {
    /// The idle networks of `description`, with sockets like `package`.
    ///
    /// # Errors
    /// It describes another kind of node.
    pub(super) fn new(description: &Description, server: &ServerSpec, package: &Package) -> Result<Self, SimError> {
        let link = SimError::table(description.socket_link.as_ref(), description, "server")?;
        let sockets = Sockets::new(server.sockets, link.links);
        let sockets = *SimError::table(sockets.as_ref(), description, "server")?;
        let cycles = |count: u32| server.clock.period() * u64::from(count);
        let stops = package.stops.len();
        let (mut ways, mut steps) = (Vec::with_capacity(stops * stops), Vec::new());
        for (from, to) in (0..stops).flat_map(|from| (0..stops).map(move |to| (from as StopId, to as StopId))) {
            let first = steps.len() as u32;
            for edge in package.way(from, to).into_iter().map(|edge| package.edges()[usize::from(edge)]) {
                let line = cycles(package.wires()[usize::from(edge.wire)].line_cycles);
                steps.push(Step { line, wire: edge.wire });
            }
            let time = cycles(package.way_cycles(from, to));
            ways.push(Way { time, first, edges: steps.len() as u32 - first });
        }
        let far = description.memory_link.as_ref();
        let far_links = (0..description.topology.memory_nodes).map(|_| {
            let direction = || Direction::new(far.map_or(1, |link| link.credits));
            [direction(), direction()]
        });
        Ok(Self {
            sockets,
            stops,
            ways,
            steps,
            wires: vec![Server::default(); package.wires().len() * usize::from(sockets.count)],
            wires_of_socket: package.wires().len(),
            between: LinkTiming { latency: link.latency, header: link.header, line: link.line },
            links: vec![Direction::new(link.credits); usize::from(sockets.count * sockets.links)],
            links_to: (0..sockets.count)
                .flat_map(|from| (0..sockets.count).map(move |to| sockets.links_to(from, to)))
                .collect(),
            link_stops: package.links.clone(),
            far: far.map(|link| LinkTiming { latency: link.latency, header: link.header, line: link.line }),
            far_links: far_links.collect(),
        })
    }

    #[inline]
    fn way(&self, from: StopId, to: StopId) -> Way {
        self.ways[usize::from(from) * self.stops + usize::from(to)]
    }

    /// The time of a way within a socket without contention.
    #[inline]
    pub(super) fn way_time(&self, from: StopId, to: StopId) -> Duration {
        self.way(from, to).time
    }

    /// The stop of a link of a socket.
    #[inline]
    fn stop_of_link(&self, link: u16) -> StopId {
        self.link_stops[usize::from(link) % self.link_stops.len()]
    }

    /// The link that messages about a line take from one socket to its neighbour; both directions are the same one.
    #[inline]
    fn link_for(&self, from: u16, to: u16, line: u64) -> u16 {
        let links = &self.links_to[usize::from(from * self.sockets.count + to)];
        links.start + (line % u64::from(links.end - links.start)) as u16
    }

    /// Sends a message about `line`, which is ready at `at`, with its data if `data`. Returns when its critical part is there. The
    /// decision is made at `now`: wires and links serve messages in the order of decisions, so that one that is decided long before
    /// it leaves holds up no other. What waits longest decides the delay of a message, as behind a queue there is none.
    pub(super) fn send(&mut self, (from, to): (Place, Place), line: u64, data: bool, (now, at): (Time, Time)) -> Time {
        let (mut at, mut delay) = (at, Duration::ZERO);
        if let (Some(node), Some(timing)) = (from.memory_node, self.far) {
            delay = self.far_links[usize::from(node)][1].send(&timing, data, (now, at), delay);
            at += timing.latency;
        }
        let mut here = from;
        while here.socket != to.socket {
            let next = self.sockets.next(here.socket, to.socket);
            let link = self.link_for(here.socket, next, line);
            delay = delay.max(self.travel(here.socket, (here.stop, self.stop_of_link(link)), data, now));
            at += self.way_time(here.stop, self.stop_of_link(link));
            let direction = &mut self.links[usize::from(here.socket * self.sockets.links + link)];
            delay = direction.send(&self.between, data, (now, at), delay);
            at += self.between.latency;
            here = Place::at(next, self.stop_of_link(self.link_for(next, here.socket, line)));
        }
        delay = delay.max(self.travel(here.socket, (here.stop, to.stop), data, now));
        at += self.way_time(here.stop, to.stop);
        if let (Some(node), Some(timing)) = (to.memory_node, self.far) {
            delay = self.far_links[usize::from(node)][0].send(&timing, data, (now, at), delay);
            at += timing.latency;
        }
        at + delay
    }

    /// Passes from stop to stop of a socket. Returns the delay.
    #[inline]
    fn travel(&mut self, socket: u16, (from, to): (StopId, StopId), data: bool, now: Time) -> Duration {
        let mut delay = Duration::ZERO;
        if data {
            let (way, first) = (self.way(from, to), usize::from(socket) * self.wires_of_socket);
            for step in &self.steps[way.first as usize..(way.first + way.edges) as usize] {
                let turn = self.wires[first + usize::from(step.wire)].reserve(now, Grid::ANY, step.line);
                delay = delay.max(turn.since(now));
            }
        }
        delay
    }

    /// The time of a message without contention.
    pub(super) fn unhindered(&self, from: Place, to: Place, line: u64) -> Duration {
        let far = |place: Place| match (place.memory_node, self.far) {
            (Some(_), Some(timing)) => timing.latency,
            _ => Duration::ZERO,
        };
        let (mut here, mut time) = (from, far(from) + far(to));
        while here.socket != to.socket {
            let next = self.sockets.next(here.socket, to.socket);
            let out = self.stop_of_link(self.link_for(here.socket, next, line));
            time += self.way_time(here.stop, out) + self.between.latency;
            here = Place::at(next, self.stop_of_link(self.link_for(next, here.socket, line)));
        }
        time + self.way_time(here.stop, to.stop)
    }

    /// Whether no link of a socket carries anything at `now`.
    pub(super) fn links_are_idle(&self, socket: u16, now: Time) -> bool {
        let first = usize::from(socket * self.sockets.links);
        let links = &self.links[first..first + usize::from(self.sockets.links)];
        links.iter().all(|link| link.wires.free_at() <= now)
    }

    /// Time before `time` in which the links of a socket carried something, over all of them.
    pub(super) fn links_busy_before(&self, socket: u16, time: Time) -> Duration {
        let first = usize::from(socket * self.sockets.links);
        let links = &self.links[first..first + usize::from(self.sockets.links)];
        links.iter().fold(Duration::ZERO, |sum, link| sum + link.wires.busy_before(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fabric(machine: &str) -> Fabric {
        let description = machine::load(machine).unwrap_or_else(|error| panic!("{error}"));
        let server = description.server.as_ref().expect("a server");
        Fabric::new(&description, server, &Package::new(server).expect("a layout")).expect("a server")
    }

    #[test]
    fn messages_without_a_line_never_wait_within_a_socket_and_lines_do() {
        let mut fabric = fabric("xeon-8180-2s");
        let (from, to, now) = (Place::at(0, 1), Place::at(0, 4), (Time(1000), Time(1000)));
        let alone = Time(1000) + fabric.unhindered(from, to, 0);
        assert_eq!([(); 2].map(|()| fabric.send((from, to), 0, false, now)), [alone; 2]);
        assert_eq!(fabric.send((from, to), 0, true, now), alone);
        let occupancy = fabric.steps[fabric.way(1, 4).first as usize].line;
        assert_eq!(fabric.send((from, to), 0, true, now), alone + occupancy, "at t, not at t - 1");
        assert_eq!(fabric.send((to, from), 0, true, now), alone, "the other direction");
    }

    #[test]
    fn a_link_without_credits_waits_for_one_to_return() {
        let timing = LinkTiming { latency: Duration(100), header: Duration(1), line: Duration(10) };
        let mut link = Direction::new(2);
        let mut send = |line, at| link.send(&timing, line, (Time(at), Time(at)), Duration::ZERO);
        assert_eq!(send(true, 0), Duration(0));
        assert_eq!(send(true, 0), Duration(10));
        assert_eq!(send(true, 0), Duration(210), "the first credit returns at 210");
        assert_eq!(send(false, 311), Duration(0), "messages without a line have credits of their own");
    }
}

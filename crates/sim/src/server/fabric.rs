//! The networks within and between the sockets, in time: ways between stops, wires, links and their credits.
//!
//! A message takes the time of its way. One with a line takes the data wires of every edge on its way in turn, and waits where
//! another line is on them; requests, snoops and responses have wires of their own, which are never the bottleneck and are not
//! modelled. A link between sockets, or to a memory node, carries one message after another, and no more than it has credits
//! for: a credit returns when the message has come out at the far end and the link has taken it back.

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

    /// Sends a message that is ready at `now`. Returns when it comes out.
    fn send(&mut self, timing: &LinkTiming, line: bool, now: Time) -> Time {
        let class = usize::from(line);
        let slot = self.next[class];
        self.next[class] = if slot + 1 == self.credits[class].len() { 0 } else { slot + 1 };
        let length = if line { timing.line } else { timing.header };
        let start = self.wires.reserve_from(now, now.max(self.credits[class][slot]), Grid::ANY, length);
        let arrival = start + timing.latency;
        self.credits[class][slot] = arrival + length + timing.latency;
        arrival
    }
}

/// A way between two stops of a socket: its time, and its wires among those of all ways.
#[derive(Clone, Copy, Debug)]
struct Way {
    time: Duration,
    first: u32,
    edges: u32,
}

/// An edge on a way: the time until the next one, its wires, and their occupancy by a line.
#[derive(Clone, Copy, Debug)]
struct Step {
    time: Duration,
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
        let sockets = SimError::table(sockets.as_ref(), description, "server")?;
        let cycles = |count: u32| server.clock.period() * u64::from(count);
        let stops = package.stops.len();
        let (mut ways, mut steps) = (Vec::with_capacity(stops * stops), Vec::new());
        for (from, to) in (0..stops).flat_map(|from| (0..stops).map(move |to| (from as StopId, to as StopId))) {
            let first = steps.len() as u32;
            for edge in package.way(from, to).into_iter().map(|edge| package.edges()[usize::from(edge)]) {
                let line = cycles(package.wires()[usize::from(edge.wire)].line_cycles);
                steps.push(Step { time: cycles(edge.cycles), line, wire: edge.wire });
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
            sockets: *sockets,
            stops,
            ways,
            steps,
            wires: vec![Server::default(); package.wires().len() * usize::from(sockets.count)],
            wires_of_socket: package.wires().len(),
            between: LinkTiming { latency: link.latency, header: link.header, line: link.line },
            links: vec![Direction::new(link.credits); usize::from(sockets.count * sockets.links)],
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
        let links = self.sockets.links_to(from, to);
        links.start + (line % u64::from(links.end - links.start)) as u16
    }

    /// Sends a message about `line`, which is ready at `now`, with its data if `data`. Returns when its critical part is there.
    pub(super) fn send(&mut self, from: Place, to: Place, line: u64, data: bool, now: Time) -> Time {
        let mut at = now;
        if let (Some(node), Some(timing)) = (from.memory_node, self.far) {
            at = self.far_links[usize::from(node)][1].send(&timing, data, at);
        }
        let mut here = from;
        while here.socket != to.socket {
            let next = self.sockets.next(here.socket, to.socket);
            let link = self.link_for(here.socket, next, line);
            at = self.travel(here.socket, here.stop, self.stop_of_link(link), data, at);
            let direction = &mut self.links[usize::from(here.socket * self.sockets.links + link)];
            at = direction.send(&self.between, data, at);
            here = Place::at(next, self.stop_of_link(self.link_for(next, here.socket, line)));
        }
        at = self.travel(here.socket, here.stop, to.stop, data, at);
        if let (Some(node), Some(timing)) = (to.memory_node, self.far) {
            at = self.far_links[usize::from(node)][0].send(&timing, data, at);
        }
        at
    }

    /// Passes from stop to stop of a socket.
    #[inline]
    fn travel(&mut self, socket: u16, from: StopId, to: StopId, data: bool, now: Time) -> Time {
        let way = self.way(from, to);
        if !data {
            return now + way.time;
        }
        let first = usize::from(socket) * self.wires_of_socket;
        let mut at = now;
        for step in &self.steps[way.first as usize..(way.first + way.edges) as usize] {
            let start = self.wires[first + usize::from(step.wire)].reserve(at, Grid::ANY, step.line);
            at = start + step.time;
        }
        at
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
        let (from, to) = (Place::at(0, 1), Place::at(0, 4));
        let alone = Time(1000) + fabric.unhindered(from, to, 0);
        assert_eq!([(); 2].map(|()| fabric.send(from, to, 0, false, Time(1000))), [alone; 2]);
        assert_eq!(fabric.send(from, to, 0, true, Time(1000)), alone);
        let occupancy = fabric.steps[fabric.way(1, 4).first as usize].line;
        assert_eq!(fabric.send(from, to, 0, true, Time(1000)), alone + occupancy, "at t, not at t - 1");
        assert_eq!(fabric.send(to, from, 0, true, Time(1000)), alone, "the other direction");
    }

    #[test]
    fn a_link_without_credits_waits_for_one_to_return() {
        let timing = LinkTiming { latency: Duration(100), header: Duration(1), line: Duration(10) };
        let mut link = Direction::new(2);
        assert_eq!(link.send(&timing, true, Time(0)), Time(100));
        assert_eq!(link.send(&timing, true, Time(0)), Time(110));
        assert_eq!(link.send(&timing, true, Time(0)), Time(310), "the first credit returns at 210");
        assert_eq!(link.send(&timing, false, Time(311)), Time(411), "messages without a line have credits of their own");
    }
}

//! The handling of messages at caching agents and at homes, with the time that it takes.

use engine::Grid;
use protocol::server::{
    self, CachingLine, CachingOutcome, CachingSite, HomeOutcome, HomeSite, Lane, Leaves, Message, MessageKind,
    Replaced, Request, Stage,
};
use protocol::{Agent, ProtocolError};
use units::{CpuId, Duration, LineAddr, NodeId, Time};

use super::Servers;
use super::event::ServerEvent;
use super::fabric::Place;
use super::parked::Arrived;
use super::slices;
use super::slices::{Room, Step};
use crate::kernel::{EnvelopeId, Event};
use crate::system::{Served, System};

/// From one look at a cache that is being emptied to the next, in ns.
const LOOK_AGAIN_NS: f64 = 100.0;

/// Whether a message begins a transaction at an agent, for which that needs a tracker.
const fn needs_tracker(kind: MessageKind) -> bool {
    use MessageKind as K;
    matches!(
        kind,
        K::CoreRead
            | K::CoreReadCode
            | K::CoreReadCurrent
            | K::CoreReadOwn
            | K::CoreUpgrade
            | K::ReadData
            | K::ReadCode
            | K::ReadCurrent
            | K::ReadOwn
            | K::Upgrade
    )
}

/// Whether a message at a caching agent has cores invalidated for a write, if there are any: a snoop, or the step that gives the cluster of
/// the writer the right to write, which it may have had.
fn invalidates(message: &Message, before: &CachingLine, after: &CachingLine) -> bool {
    use MessageKind as K;
    let waits_for_home = |request: &Request| matches!(request.stage, Stage::Home(_) | Stage::Data(_));
    let writes = |request: &Request| matches!(request.kind, K::CoreReadOwn | K::CoreUpgrade);
    let begins = matches!(message.kind, K::CoreReadOwn | K::CoreUpgrade);
    let has_waited = before.request.as_ref().is_some_and(|request| writes(request) && waits_for_home(request));
    matches!(message.kind, K::SnoopOwn | K::SnoopInvalidate)
        || (begins || has_waited) && !after.request.as_ref().is_some_and(waits_for_home)
}

impl System<Servers> {
    /// A message reaches a caching agent or a home. Whatever follows from it at the same place is handled as well.
    pub(super) fn on_agent(&mut self, id: EnvelopeId) {
        let message = self.kernel.envelopes.remove(id).message;
        if let Err(error) = self.handle(Arrived::new(message, self.kernel.now)) {
            return self.fail(error);
        }
        self.handle_all();
    }

    /// Handles the messages that are at their agents.
    pub(super) fn handle_all(&mut self) {
        while let Some(arrived) = self.controllers.inbox.pop() {
            if let Err(error) = self.handle(arrived) {
                return self.fail(error);
            }
        }
    }

    fn handle(&mut self, arrived: Arrived) -> Result<(), ProtocolError> {
        match arrived.message.to {
            Agent::Interface(cluster) => self.at_caching_agent(cluster, arrived),
            Agent::Home(home) => self.at_home(home, arrived),
            Agent::Processor(_) | Agent::Sharers => Ok(()),
        }
    }

    /// A message is handled at a caching agent, whose pipeline it has reached.
    fn at_caching_agent(&mut self, cluster: NodeId, arrived: Arrived) -> Result<(), ProtocolError> {
        let Arrived { message, at, .. } = arrived;
        let (line, now) = (message.line, self.kernel.now);
        let places = &self.controllers.places;
        let (slice, home) = (places.slice(line), places.home(line));
        if needs_tracker(message.kind) {
            self.let_others_in(cluster, slice, line, at + self.controllers.timing.lookup);
        }
        let Servers { places, clusters, slice_trackers, sent, timing, inbox, .. } = &mut self.controllers;
        let state = &mut clusters[cluster.index()];
        let begins = needs_tracker(message.kind) && !state.is_active(line);
        let full = state.slices[usize::from(slice)].active.len() >= *slice_trackers;
        if begins && (full || state.lacks_room(slice, line)) {
            state.slices[usize::from(slice)].parked.wait_for_tracker(&arrived, inbox);
            return Ok(());
        }
        let mut active = state.get(slice, line);
        let site = CachingSite { cluster, line, home };
        let before = active.state;
        let outcome = server::at_caching_agent(&mut active.state, &places.design, &site, &message, &mut |message| {
            sent.push((message, Leaves::AtOnce));
        })?;
        let CachingOutcome::Done(work) = outcome else {
            state.slices[usize::from(slice)].parked.wait_for_line(message);
            return Ok(());
        };
        let looks_up = message.kind.lane() != Lane::Response;
        let pipeline = &mut state.slices[usize::from(slice)].pipeline;
        // Its turn is in the order of decisions: what comes later from the same place holds up nothing that is there.
        let start = pipeline.reserve(now, Grid::ANY, timing.occupancy).max(at);
        let out = start + if looks_up { timing.lookup } else { timing.pass };
        // The data of a response's line have been read while it was under way.
        let with_data = if work.l3_read && looks_up { out + timing.data } else { out };
        active.served = self.served_by(&message, active.served, cluster);
        let begun = message.core().filter(|_| needs_tracker(message.kind));
        if active.state.request.is_none()
            && let Some(core) = before.request.map(|request| request.core).or(begun)
        {
            self.note_supply(core, line, home, active.served.take());
        }
        if invalidates(&message, &before, &active.state) {
            let node = self.controllers.places.node_of_cluster(cluster);
            self.controllers.counts[node.index()].invalidations.count(work.snoops);
        }
        self.send_all(self.controllers.places.slice_place(cluster, slice), out, with_data);
        self.controllers.clusters[cluster.index()].set(slice, active);
        self.make_room(cluster, slice, (line, Step::new(&before, &active.state, looks_up)), out);
        self.offer_again((cluster, slice), &active.state, &arrived, out);
        Ok(())
    }

    /// How the request that is served at a caching agent is answered, as far as `message` shows.
    fn served_by(&self, message: &Message, before: Option<Served>, cluster: NodeId) -> Option<Served> {
        use MessageKind as K;
        let node = |cluster| self.controllers.places.node_of_cluster(cluster);
        match message.kind {
            K::ForwardedData => Some(Served::ByOwner(message.cluster().map_or(node(cluster), node))),
            K::CoreRspIData | K::CoreRspSData | K::CoreRspVData => Some(Served::ByOwner(node(cluster))),
            K::Data => Some(Served::ByHome),
            K::Completion => before.or(Some(Served::Invalidating)),
            _ => before,
        }
    }

    /// A request has been answered: by its own cluster, if no other agent has had a part in it.
    fn note_supply(&mut self, core: CpuId, line: LineAddr, home: NodeId, served: Option<Served>) {
        match served {
            Some(served) => self.note_service(core, line, home, served),
            None => {
                let own = self.node_of(core);
                self.note_service(core, line, own, Served::ByHome);
            }
        }
    }

    /// Sends what the present step has sent, from `from`: at `out`, or with a line at `with_data`. Snoops of cores leave one after
    /// another.
    fn send_all(&mut self, from: Place, out: Time, with_data: Time) {
        let mut sent = std::mem::take(&mut self.controllers.sent);
        let mut snoops = 0;
        for (message, _) in sent.drain(..) {
            let at = if message.kind.carries_data() {
                with_data
            } else if matches!(message.to, Agent::Processor(_)) && message.kind.lane() == Lane::Snoop {
                snoops += 1;
                out + self.controllers.timing.next_snoop * (snoops - 1)
            } else {
                out
            };
            let message = self.spoiled(message);
            self.count_agent_message(&message);
            self.transmit(message, from, at);
        }
        self.controllers.sent = sent;
    }

    pub(super) fn count_agent_message(&mut self, message: &Message) {
        let node = match message.from {
            Agent::Interface(cluster) => self.controllers.places.node_of_cluster(cluster),
            Agent::Home(home) => home,
            _ => return,
        };
        self.controllers.counts[node.index()].sent[message.kind as usize] += 1;
    }

    /// Replaces what the lines of others displace from the set of a line that is looked for now, and looked up at `found`: recalls
    /// that left at once would reach cores within the look-ahead.
    #[inline]
    fn let_others_in(&mut self, cluster: NodeId, slice: u16, line: LineAddr, found: Time) {
        let (mut left, now) = (None, self.kernel.now);
        while let Some(victim) = self.controllers.clusters[cluster.index()].let_others_in(slice, line, now, &mut left) {
            self.replace(cluster, slice, victim, Room::L3, found);
        }
    }

    /// Replaces lines for which a slice has no room left beside a line, at `at`; as [`slices::Cluster::settle`].
    fn make_room(&mut self, cluster: NodeId, slice: u16, (line, step): (LineAddr, Step), at: Time) {
        // One room after the other: a line may be new in both.
        while let Some((victim, room)) = self.controllers.clusters[cluster.index()].settle(slice, line, &step) {
            self.replace(cluster, slice, victim, room, at);
        }
    }

    /// Empties the third-level cache of a core's cluster, once the lines that the core itself has given up are there.
    pub(super) fn on_empty_slices(&mut self, cpu: CpuId) {
        let (now, core) = (self.kernel.now, self.core_of(cpu));
        if self.controllers.cores[core.index()].all_arrived().is_none_or(|last| last >= now) {
            return self.look_again(cpu, ServerEvent::EmptySlices(cpu));
        }
        let cluster = self.controllers.places.design.cluster_of(core);
        // Recalls that left at once would reach cores within the look-ahead.
        let found = now + self.controllers.timing.lookup;
        for slice in 0..self.controllers.places.slices_of_cluster {
            for line in self.controllers.clusters[cluster.index()].at_rest(slice) {
                self.replace(cluster, slice, line, Room::L3, found);
                let left = self.controllers.clusters[cluster.index()].get(slice, line);
                self.make_room(cluster, slice, (line, Step::to(&left.state)), found);
            }
        }
        self.handle_all();
        self.on_emptied_slices(cpu);
    }

    /// Resumes the program on a core whose cluster has emptied its third-level cache, when no line has work under way.
    pub(super) fn on_emptied_slices(&mut self, cpu: CpuId) {
        let cluster = self.controllers.places.design.cluster_of(self.core_of(cpu));
        if self.controllers.clusters[cluster.index()].works() {
            return self.look_again(cpu, ServerEvent::EmptiedSlices(cpu));
        }
        self.resume_at(cpu, self.kernel.now);
    }

    fn look_again(&mut self, cpu: CpuId, event: ServerEvent) {
        let at = self.kernel.now + Duration::from_ns(LOOK_AGAIN_NS);
        self.schedule_processor(cpu, at, Event::Node(event));
    }

    /// Replaces one line in a slice.
    fn replace(&mut self, cluster: NodeId, slice: u16, victim: LineAddr, room: Room, at: Time) {
        let Servers { places, clusters, sent, timing, .. } = &mut self.controllers;
        let state = &mut clusters[cluster.index()];
        let mut active: slices::Active = state.get(slice, victim);
        let site = CachingSite { cluster, line: victim, home: places.home(victim) };
        let mut send = |message| sent.push((message, Leaves::AtOnce));
        let replaced = match room {
            Room::L3 => server::evict_l3(&mut active.state, &places.design, &site, &mut send),
            Room::Filter => server::evict_filter(&mut active.state, &places.design, &site, &mut send),
        };
        debug_assert_ne!(replaced, Replaced::Busy, "{victim:?} has work under way");
        let out = at + timing.data;
        state.set(slice, active);
        if matches!(replaced, Replaced::Started(_)) {
            let node = places.node_of_cluster(cluster);
            self.controllers.counts[node.index()].reclamations += 1;
        }
        self.send_all(self.controllers.places.slice_place(cluster, slice), at, out);
    }

    /// Offers a message that waits for a line, if the line takes it in its `state`, and a request that waits for a tracker or for room, after
    /// a step of the line that ends at `out`.
    fn offer_again(&mut self, (cluster, slice): (NodeId, u16), state: &CachingLine, before: &Arrived, out: Time) {
        let Servers { clusters, inbox, slice_trackers, .. } = &mut self.controllers;
        let slice = &mut clusters[cluster.index()].slices[usize::from(slice)];
        let has_tracker = slice.active.len() < *slice_trackers;
        slice.parked.offer_again(|lane| state.takes(lane), has_tracker, (before, out), inbox);
    }

    /// A message is handled at a home, which it has reached.
    fn at_home(&mut self, home: NodeId, arrived: Arrived) -> Result<(), ProtocolError> {
        let Arrived { message, at, .. } = arrived;
        let (line, now) = (message.line, self.kernel.now);
        let Servers { places, homes, home_trackers, sent, timing, fabric, opportunistic, inbox, .. } =
            &mut self.controllers;
        let (controller, _) = places.memory(line);
        let begins = needs_tracker(message.kind) && !homes.is_active(line);
        let filtered = places.design.home == server::HomeKind::ProbeFilter;
        let state = homes.controller(home, controller);
        let waits = state.active.len() >= *home_trackers || filtered && state.lacks_room(line);
        if begins && waits {
            homes.controller(home, controller).parked.wait_for_tracker(&arrived, inbox);
            return Ok(());
        }
        let mut active = homes.get(home, controller, line);
        let had_entry = active.state.entry.is_some();
        let site = HomeSite { home, line, local: places.local_of(home) };
        let snoops_early = *opportunistic && fabric.links_are_idle(places.home_place(line).socket, now);
        let outcome = server::at_home(
            &mut active.state,
            &places.design,
            &site,
            &message,
            snoops_early,
            &mut |message, leaves| {
                sent.push((message, leaves));
            },
        )?;
        let HomeOutcome::Done(work) = outcome else {
            homes.controller(home, controller).parked.wait_for_line(message);
            return Ok(());
        };
        let request = message.kind.lane() == Lane::Request;
        let turn = homes.controller(home, controller).server.reserve(now, Grid::ANY, timing.home_occupancy);
        let start = turn.max(at);
        let out = start + if request { timing.home_request } else { timing.home_response };
        self.use_memory(&mut active, &message, &work, (start, out));
        self.send_from_home(line, out, active.read);
        let homes = &mut self.controllers.homes;
        homes.set(home, controller, active);
        if let Some(victim) = homes.settle(home, controller, line, (had_entry, active.state.entry.is_some())) {
            self.replace_entry(home, controller, victim, out);
        }
        let Servers { homes, inbox, home_trackers, .. } = &mut self.controllers;
        let state = homes.controller(home, controller);
        let has_tracker = state.active.len() < *home_trackers;
        state.parked.offer_again(|lane| active.state.takes(lane), has_tracker, (&arrived, out), inbox);
        Ok(())
    }

    /// Replaces the entry of a line in a directory cache or a probe filter.
    fn replace_entry(&mut self, home: NodeId, controller: usize, victim: LineAddr, at: Time) {
        let Servers { places, homes, sent, .. } = &mut self.controllers;
        let mut active = homes.get(home, controller, victim);
        let site = HomeSite { home, line: victim, local: places.local_of(home) };
        let cached = matches!(places.design.home, server::HomeKind::Directory { .. });
        let replaced = if cached {
            server::evict_directory_cache(&mut active.state)
        } else {
            server::evict_probe_filter(&mut active.state, &places.design, &site, &mut |message, leaves| {
                sent.push((message, leaves));
            })
            .map(|_| ())
        };
        debug_assert_eq!(replaced, Ok(()), "{victim:?} has a transaction under way");
        if !cached {
            self.controllers.counts[home.index()].reclamations += 1;
        }
        self.send_from_home(victim, at, active.read);
        self.controllers.homes.set(home, controller, active);
    }
}

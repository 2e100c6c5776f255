//! A core: its requests, its evictions, and what reaches it.

use protocol::Access;
use protocol::contract::Started;
use protocol::server::{self, CoreLine, CoreOutcome, CoreSite, Message, MessageKind};
use units::{CpuId, LineAddr, Time};

use super::Servers;
use super::event::ServerEvent;
use crate::fault::Fault;
use crate::kernel::{EnvelopeId, Event};
use crate::part::CachedCopy;
use crate::processor::{MissId, Post};
use crate::system::{Crossing, System};

/// Requests and evictions of a core that are under way, and the order of its messages.
pub(super) struct Core {
    /// Its requests.
    requests: Vec<(LineAddr, Access)>,
    /// Lines that have left its caches, whose notices have yet to leave the core, each with the time at which it will.
    leaving: Vec<(LineAddr, Time)>,
    /// By slice of its cluster, the last arrival there of what it has sent, and here of what the slice has sent.
    pub(super) sent: Vec<Time>,
    pub(super) received: Vec<Time>,
}

impl Core {
    /// A core with nothing outstanding, in a cluster of so many slices.
    pub(super) fn new(slices: u16) -> Self {
        let none = || vec![Time::ZERO; usize::from(slices)];
        Self { requests: Vec::new(), leaving: Vec::new(), sent: none(), received: none() }
    }

    /// Number of requests and evictions under way.
    pub(super) fn outstanding(&self) -> usize {
        self.requests.len() + self.leaving.len()
    }

    /// The time by which all that it has sent is at the slices of its cluster; none while notices have yet to leave.
    pub(super) fn all_arrived(&self) -> Option<Time> {
        self.leaving.is_empty().then(|| self.sent.iter().copied().max().unwrap_or(Time::ZERO))
    }

    fn request(&self, line: LineAddr) -> Option<Access> {
        self.requests.iter().find(|request| request.0 == line).map(|request| request.1)
    }
}

impl System<Servers> {
    /// A core misses: its request will leave the second-level cache.
    pub(super) fn on_miss(&mut self, cpu: CpuId, post: &Post, access: Access) {
        let Some(miss) = self.processor_mut(cpu).miss_on(post.line) else { return };
        self.schedule_processor(cpu, post.at, Event::Node(ServerEvent::Begin(cpu, miss, access)));
    }

    /// The request of a miss begins.
    pub(super) fn on_begin(&mut self, cpu: CpuId, miss: MissId, access: Access) {
        let Some(line) = self.processor_mut(cpu).miss(miss).map(|miss| miss.line) else { return };
        let mut core = self.core_line(cpu, line);
        let (design, mut sent) = (self.controllers.places.design, None);
        let site = CoreSite { core: cpu, line };
        let started = server::access(&mut core, &design, &site, access, &mut |message| sent = Some(message));
        debug_assert_eq!(started, Started::Requested, "{access:?} of {line:?} by {cpu:?}: {core:?}");
        if let Some(request) = sent {
            self.controllers.cores[cpu.index()].requests.push((line, access));
            self.leave_core(cpu, request);
        }
    }

    /// A line leaves the caches of a core. Its notice is ahead of all that the core sends about the line from now on.
    pub(super) fn on_evict(&mut self, cpu: CpuId, post: &Post) {
        let (line, design) = (post.line, self.controllers.places.design);
        let mut core = CoreLine { copy: post.copy.state, contents: post.copy.version, request: None };
        let mut sent = None;
        server::evict(&mut core, &design, &CoreSite { core: cpu, line }, &mut |message| sent = Some(message));
        let Some(notice) = sent else { return };
        let notice = self.spoiled(notice);
        self.controllers.cores[cpu.index()].leaving.push((line, post.at));
        let id = self.envelop(notice, self.node_of(cpu));
        self.schedule_processor(cpu, post.at, Event::Node(ServerEvent::Depart(cpu, id)));
    }

    /// A notice of an eviction, or a response that was behind one, leaves its core.
    pub(super) fn on_depart(&mut self, cpu: CpuId, id: EnvelopeId) {
        let message = self.kernel.envelopes.remove(id).message;
        self.leave_core(cpu, message);
        if !matches!(message.kind, MessageKind::CleanEvict | MessageKind::DirtyEvict) {
            return;
        }
        let (line, leaving) = (message.line, &mut self.controllers.cores[cpu.index()].leaving);
        if let Some(place) = leaving.iter().position(|leaving| leaving.0 == line) {
            leaving.remove(place);
        }
        if self.processor_mut(cpu).is_writing_back(line) {
            self.processor_mut(cpu).release_writeback(line);
            self.wake_writeback(cpu, line);
        }
    }

    /// The line as the protocol sees it at a core.
    fn core_line(&mut self, cpu: CpuId, line: LineAddr) -> CoreLine {
        let copy = self.processor_mut(cpu).copy(line);
        let request = self.controllers.cores[cpu.index()].request(line);
        CoreLine { copy: copy.state, contents: copy.version, request }
    }

    /// A message reaches a core.
    pub(super) fn on_core(&mut self, cpu: CpuId, id: EnvelopeId) {
        let message = self.kernel.envelopes.remove(id).message;
        let (line, design) = (message.line, self.controllers.places.design);
        let mut core = self.core_line(cpu, line);
        let (before, mut sent) = (core, None);
        let site = CoreSite { core: cpu, line };
        match server::at_core(&mut core, &design, &site, &message, &mut |message| sent = Some(message)) {
            Ok(CoreOutcome::Performed(_)) => self.complete(cpu, &message, &core),
            Ok(CoreOutcome::Snooped { data, .. }) => self.answer_snoop(cpu, &message, (&before, &core), data, sent),
            Err(error) => self.fail(error),
        }
    }

    /// A request is complete, and its access performed.
    fn complete(&mut self, cpu: CpuId, message: &Message, core: &CoreLine) {
        let (line, now) = (message.line, self.kernel.now);
        self.controllers.cores[cpu.index()].requests.retain(|request| request.0 != line);
        let processor = self.processor_mut(cpu);
        let Some(miss) = processor.miss_on(line) else {
            return debug_assert!(false, "processor {cpu} has requested {line:?} without a miss");
        };
        processor.set_copy(line, CachedCopy { state: core.copy, version: core.contents }, false);
        self.wake_spinner(cpu);
        self.observe_grant(cpu, line);
        let data = message.kind == MessageKind::GoData;
        let crossing =
            Crossing { occupancy: Default::default(), seen: Default::default(), line: data.then(Default::default) };
        self.cross_bus(cpu, miss, now, crossing);
    }

    /// A core has answered a snoop, which takes a check of its tags, and with data their read-out.
    fn answer_snoop(
        &mut self,
        cpu: CpuId,
        snoop: &Message,
        (before, after): (&CoreLine, &CoreLine),
        data: bool,
        response: Option<Message>,
    ) {
        let (line, now) = (snoop.line, self.kernel.now);
        let invalidates = snoop.kind == MessageKind::CoreSnoopInvalidate;
        let planted = self.observation.planted.is_some();
        if before.copy != after.copy && !(planted && invalidates && self.strikes(Fault::KeptCopy)) {
            let processor = self.processor_mut(cpu);
            let open =
                processor.miss_on(line).and_then(|miss| processor.miss(miss)).is_some_and(|miss| !miss.is_granted());
            processor.set_copy(line, CachedCopy { state: after.copy, version: after.contents }, open);
            self.wake_spinner(cpu);
        }
        let timing = self.controllers.timing;
        let processor = self.processor_mut(cpu);
        if invalidates {
            processor.count_invalidation(line);
        } else {
            processor.count_intervention(line);
        }
        let checked = processor.snoop(line, now);
        let read = if data { processor.read_out(checked) + timing.read_out } else { checked };
        let Some(response) = response else { return };
        if planted && invalidates && self.strikes(Fault::LostAcknowledgement) {
            return;
        }
        let (response, at) = (self.spoiled(response), read + timing.snoop);
        let leaving = self.controllers.cores[cpu.index()].leaving.iter().find(|leaving| leaving.0 == line);
        match leaving.map(|leaving| leaving.1) {
            None => self.leave_core_at(cpu, response, at),
            Some(notice) => {
                let id = self.envelop(response, self.node_of(cpu));
                self.schedule_processor(cpu, at.max(notice), Event::Node(ServerEvent::Depart(cpu, id)));
            }
        }
    }

    /// A message with a planted fault, if it strikes: the line's contents before the last store.
    pub(super) fn spoiled(&mut self, mut message: Message) -> Message {
        if message.kind.carries_data() && self.observation.planted.is_some() && self.strikes(Fault::StaleData) {
            message.version.0 = message.version.0.wrapping_sub(1);
        }
        message
    }
}

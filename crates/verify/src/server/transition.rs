//! Transitions of a server: run the handlers of cores, caching agents and home on a copy of the state, apply the planted
//! fault if there is one, renumber, check.

use protocol::contract::Started;
use protocol::server::{
    CachingLine, CachingOutcome, CachingSite, CoreOutcome, CoreSite, HomeKind, HomeOutcome, HomeSite, L3, L3Copy, Lane,
    Message, Replaced, access, at_caching_agent, at_core, at_home, evict, evict_directory_cache, evict_filter,
    evict_l3, evict_probe_filter,
};
use protocol::{Access, Agent, ProtocolError};
use units::{CpuId, LineAddr, NodeId};

use super::fault::{AtAgent, AtCore, AtHome, Plant};
use super::state::{JUST_STORED, LATEST, LineState, STALE, ServerState, ServerStep};
use super::{HOME, ServerModel, codec};
use crate::model::{Property, Violation};

/// Result of a step.
type After = Result<ServerState, Violation>;

impl ServerModel {
    fn core_site(core: usize, line: usize) -> CoreSite {
        CoreSite { core: CpuId(core as u16), line: LineAddr(line as u64) }
    }

    fn agent_site(cluster: usize, line: usize) -> CachingSite {
        CachingSite { cluster: NodeId(cluster as u16), line: LineAddr(line as u64), home: HOME }
    }

    fn home_site(&self, line: usize) -> HomeSite {
        HomeSite { home: HOME, line: LineAddr(line as u64), local: self.local }
    }

    /// Visits the accesses and the eviction that a core may start. A hit that changes nothing is no step.
    pub(super) fn core_steps(
        &self,
        state: &ServerState,
        line: usize,
        core: usize,
        visit: &mut dyn FnMut(ServerStep, After),
    ) {
        let (site, before) = (Self::core_site(core, line), state.lines[line].cores[core]);
        let named = |step: fn(u8, u8) -> ServerStep| step(core as u8, line as u8);
        for &kind in &self.accesses {
            let (mut at, mut sent) = (before, Vec::new());
            let started = access(&mut at, &self.design, &site, kind, &mut |message| sent.push(message));
            if at != before {
                let mut performed = (started == Started::Done).then_some(kind);
                let after = self.at_core(state.clone(), core, line, None, at, sent, &mut performed);
                visit(ServerStep::Access(core as u8, line as u8, kind), self.performed(after, line, core, performed));
            }
        }
        let (mut at, mut sent) = (before, Vec::new());
        evict(&mut at, &self.design, &site, &mut |message| sent.push(message));
        if at != before {
            let after = self.at_core(state.clone(), core, line, None, at, sent, &mut None);
            visit(named(ServerStep::Evict), self.finish(after));
        }
    }

    /// Visits the replacements of a line.
    pub(super) fn replacements(&self, state: &ServerState, line: usize, visit: &mut dyn FnMut(ServerStep, After)) {
        for cluster in 0..self.clusters {
            let site = Self::agent_site(cluster, line);
            let before = state.lines[line].agents[cluster];
            let victim = self.design.l3 == L3::Victim;
            for (filter, possible) in [(false, before.l3 != L3Copy::None), (true, victim && before.cores != 0)] {
                if !possible {
                    continue;
                }
                let (mut at, mut sent) = (before, Vec::new());
                let replace = if filter { evict_filter } else { evict_l3 };
                if replace(&mut at, &self.design, &site, &mut |message| sent.push(message)) != Replaced::Busy {
                    let after = self.at_agent(state.clone(), cluster, line, at, sent);
                    let step = if filter { ServerStep::EvictFilter } else { ServerStep::EvictL3 };
                    visit(step(cluster as u8, line as u8), self.finish(after));
                }
            }
        }
        let (mut after, mut sent) = (state.clone(), Vec::new());
        let home = &mut after.lines[line].home;
        let replaced = match self.design.home {
            HomeKind::ProbeFilter => {
                evict_probe_filter(home, &self.design, &self.home_site(line), &mut |message, _| sent.push(message))
                    .is_ok()
            }
            _ => evict_directory_cache(home).is_ok(),
        };
        if replaced {
            self.plant_at_home(state, &mut after, line, None, &mut sent);
            self.send(&mut after, &sent);
            visit(ServerStep::EvictEntry(line as u8), self.finish(after));
        }
    }

    /// Visits the arrival of every message that can arrive: in channels that keep order, of the first, and of those that
    /// pass a request that waits; equal messages once.
    pub(super) fn deliveries(&self, state: &ServerState, visit: &mut dyn FnMut(ServerStep, After)) {
        let words = state.messages();
        let mut held = None;
        for (index, &word) in words.iter().enumerate() {
            let message = codec::unpack_message(word);
            let in_order = self.keeps_order(&message);
            if held == Some(codec::channel(word)) || (!in_order && index > 0 && words[index - 1] == word) {
                continue;
            }
            let taken = self.deliver(state, index, &message, visit);
            if in_order && (taken || message.kind.lane() != Lane::Request) {
                held = Some(codec::channel(word));
            }
        }
    }

    /// Visits the arrival of one message; returns whether it was handled.
    fn deliver(
        &self,
        state: &ServerState,
        index: usize,
        message: &Message,
        visit: &mut dyn FnMut(ServerStep, After),
    ) -> bool {
        if self.lacks_room(state, message) {
            return false;
        }
        let mut rest = state.clone();
        rest.take(index);
        let line = message.line.index();
        match message.to {
            Agent::Processor(core) => {
                let core = core.index();
                let (mut at, mut sent) = (rest.lines[line].cores[core], Vec::new());
                let site = Self::core_site(core, line);
                let handled = at_core(&mut at, &self.design, &site, message, &mut |message| sent.push(message));
                let after = handled.map_err(unexpected).and_then(|outcome| {
                    let mut performed = match outcome {
                        CoreOutcome::Performed(access) => Some(access),
                        CoreOutcome::Snooped { .. } => None,
                    };
                    let after = self.at_core(rest, core, line, Some(message), at, sent, &mut performed);
                    self.performed(after, line, core, performed)
                });
                visit(ServerStep::Deliver(*message, false), after);
                true
            }
            Agent::Interface(cluster) => {
                let (mut at, mut sent) = (rest.lines[line].agents[cluster.index()], Vec::new());
                let site = Self::agent_site(cluster.index(), line);
                let handled =
                    at_caching_agent(&mut at, &self.design, &site, message, &mut |message| sent.push(message));
                let after = match handled.map_err(unexpected) {
                    Ok(CachingOutcome::Busy) => return false,
                    Ok(CachingOutcome::Done(_)) => {
                        let after = self.at_agent(rest, cluster.index(), line, at, sent);
                        self.finish(after)
                    }
                    Err(violation) => Err(violation),
                };
                visit(ServerStep::Deliver(*message, false), after);
                true
            }
            _ => self.deliver_home(&rest, message, visit),
        }
    }

    /// Visits the arrival of a message at the home, which may snoop opportunistically.
    fn deliver_home(&self, rest: &ServerState, message: &Message, visit: &mut dyn FnMut(ServerStep, After)) -> bool {
        let line = message.line.index();
        let may_choose = matches!(self.design.home, HomeKind::Directory { .. }) && message.kind.lane() == Lane::Request;
        let mut done = None;
        for opportunistic in [false, true] {
            if opportunistic && !may_choose {
                break;
            }
            let (mut after, mut sent) = (rest.clone(), Vec::new());
            if let (Some(Plant::ServeBusy), Lane::Request) = (self.plant, message.kind.lane()) {
                after.lines[line].home.busy = None;
            }
            let home = &mut after.lines[line].home;
            let site = self.home_site(line);
            let mut push = |message: Message, _| sent.push(message);
            let result = match at_home(home, &self.design, &site, message, opportunistic, &mut push) {
                Ok(HomeOutcome::Busy) => return false,
                Ok(HomeOutcome::Done(_)) => {
                    self.plant_at_home(rest, &mut after, line, Some(message), &mut sent);
                    self.send(&mut after, &sent);
                    if done.as_ref() == Some(&after) {
                        break;
                    }
                    done = Some(after.clone());
                    self.finish(after)
                }
                Err(error) => Err(unexpected(error)),
            };
            visit(ServerStep::Deliver(*message, opportunistic), result);
        }
        true
    }

    /// Puts a core's line into a state, with the messages that it has sent.
    #[expect(clippy::too_many_arguments, reason = "a step at a core is all of these")]
    fn at_core(
        &self,
        mut after: ServerState,
        core: usize,
        line: usize,
        message: Option<&Message>,
        mut at: protocol::server::CoreLine,
        mut sent: Vec<Message>,
        performed: &mut Option<Access>,
    ) -> ServerState {
        let before = after.lines[line].cores[core];
        if let Some(Plant::Core(fault)) = self.plant {
            fault(&mut AtCore { message, before: &before, line: &mut at, sent: &mut sent });
            if at.request.is_some() {
                *performed = None;
            }
        }
        after.lines[line].cores[core] = at;
        self.send(&mut after, &sent);
        after
    }

    /// Puts a caching agent's line into a state, with the messages that it has sent.
    fn at_agent(
        &self,
        mut after: ServerState,
        cluster: usize,
        line: usize,
        mut at: CachingLine,
        mut sent: Vec<Message>,
    ) -> ServerState {
        let before = after.lines[line].agents[cluster];
        if let Some(Plant::Agent(fault)) = self.plant {
            fault(&mut AtAgent { before: &before, line: &mut at, sent: &mut sent });
        }
        after.lines[line].agents[cluster] = at;
        self.send(&mut after, &sent);
        after
    }

    fn plant_at_home(
        &self,
        before: &ServerState,
        after: &mut ServerState,
        line: usize,
        message: Option<&Message>,
        sent: &mut Vec<Message>,
    ) {
        if let Some(Plant::Home(fault)) = self.plant {
            let (before, line) = (&before.lines[line].home, &mut after.lines[line].home);
            fault(&mut AtHome { message, before, line, sent });
        }
    }

    fn send(&self, state: &mut ServerState, messages: &[Message]) {
        for message in messages {
            state.send(codec::pack_message(message), self.keeps_order(message));
        }
    }

    /// Whether messages of a message's channel arrive in the order in which they were sent.
    pub(super) fn keeps_order(&self, message: &Message) -> bool {
        let keeps = matches!(message.from, Agent::Processor(_))
            || matches!(message.to, Agent::Processor(_))
            || matches!((message.from, message.to), (Agent::Interface(_), Agent::Home(_)));
        keeps && !matches!(self.plant, Some(Plant::NoOrder(such)) if such(message))
    }

    /// Accounts for an access that a core has performed, and checks the state.
    fn performed(&self, mut after: ServerState, line: usize, core: usize, performed: Option<Access>) -> After {
        let contents = after.lines[line].cores[core].contents;
        let old = match performed {
            Some(Access::Store) => contents != JUST_STORED,
            // Data that were the latest when the read was under way may be returned.
            Some(Access::UncachedRead) => contents == STALE,
            Some(_) => contents != LATEST,
            None => false,
        };
        if old {
            let verb = crate::directory::verb(performed.unwrap_or(Access::Load));
            let detail = format!("core{core} {verb} line {line}, whose contents are older than the last store");
            return Err(Violation { property: Property::LatestValue, detail });
        }
        if performed == Some(Access::Store) {
            after.renumber(line, core, |message| self.keeps_order(message));
        }
        self.finish(after)
    }

    /// Checks the state.
    fn finish(&self, after: ServerState) -> After {
        self.check(&after)?;
        Ok(after)
    }

    /// Whether a request must wait for room for its line: in the snoop filter or the inclusive L3 of its cluster, or in the
    /// probe filter. Each has room for one line if there are several, and a request that has begun has reserved it. Nothing
    /// else waits for room: what evictions and responses bring has a place until a replacement makes room.
    fn lacks_room(&self, state: &ServerState, message: &Message) -> bool {
        if self.lines < 2 || message.kind.lane() != Lane::Request {
            return false;
        }
        let others = || (0..self.lines).filter(|&line| line != message.line.index()).map(|line| &state.lines[line]);
        let own = &state.lines[message.line.index()];
        match message.to {
            Agent::Interface(cluster) => {
                let has_place = |at: &CachingLine| match self.design.l3 {
                    L3::Inclusive => at.l3 != L3Copy::None,
                    L3::Victim => at.cores != 0,
                };
                let at = |line: &LineState| line.agents[cluster.index()];
                !has_place(&at(own)) && others().any(|line| has_place(&at(line)) || at(line).request.is_some())
            }
            _ if self.design.home == HomeKind::ProbeFilter => {
                own.home.entry.is_none() && others().any(|line| line.home.entry.is_some() || line.home.busy.is_some())
            }
            _ => false,
        }
    }
}

fn unexpected(error: ProtocolError) -> Violation {
    Violation { property: Property::ExpectedMessage, detail: error.to_string() }
}

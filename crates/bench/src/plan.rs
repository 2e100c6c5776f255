//! An experiment as data: what is measured, between whom, how thoroughly; and whether that is possible.

use host::memory::PageKind;
use serde::{Deserialize, Serialize};
use units::{Bytes, CpuId, NodeId};

use crate::state::names;
use crate::{Experiment, Layout, PlanError, Request, RestartSearch, Series, State, extent};

/// Processors that take part, and the home of the lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The node whose memory holds the lines.
    pub home: NodeId,
    /// The requesters; each works on lines of its own.
    pub locals: Vec<CpuId>,
    /// The owners or sharers. A single owner owns the lines of every requester; several own those of one requester
    /// each, in order. Sharers share all lines, and read them in this order. Of a loaded latency: processors that load the memory
    /// of their own nodes.
    pub remotes: Vec<CpuId>,
}

impl Placement {
    /// Requesters of lines that they have had themselves before ([`State::Cexm`]): of a further pass over their own portions.
    pub fn again(home: NodeId, locals: Vec<CpuId>) -> Self {
        Self { home, remotes: locals.clone(), locals }
    }

    /// One requester and at most one owner or sharer.
    pub fn new(home: NodeId, local: CpuId, remote: impl IntoIterator<Item = CpuId>) -> Self {
        Self { home, locals: vec![local], remotes: remote.into_iter().collect() }
    }
}

/// How thoroughly to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How often each measurement is repeated, the state prepared afresh each time.
    pub iterations: u32,
    /// Lines in a requester's list or array; by default those of [`Settings::latency_lines`] and its fellows, as far as
    /// they fit the caches that must hold them.
    pub lines: Option<u64>,
    /// Lines of a back-to-back experiment, unless `lines` says otherwise.
    pub latency_lines: u64,
    /// Lines of a bandwidth experiment, unless `lines` says otherwise.
    pub bandwidth_lines: u64,
    /// Lines of one step of a restart search, unless `lines` says otherwise.
    pub restart_lines: u64,
    /// The restart search.
    pub restart: RestartSearch,
    /// Lines from one element of a list to the next. Some caches fetch lines in pairs, so that a list of neighbouring lines
    /// finds every second one there already.
    pub spacing: u64,
    /// The pages that the memory is to have; `None` for those that the platform was set up with.
    pub pages: Option<PageKind>,
    /// Whether sharers drop their copies after the directory has noted them. By default several do, as in the
    /// invalidation experiments, and a single one does not (Prestor 2001 sections 4.3.1 and 4.3.4).
    pub sharers_drop: Option<bool>,
    /// The array of an experiment that ranges over one.
    pub array: Bytes,
    /// The stride over that array.
    pub stride: Bytes,
    /// The chunks of the array that a map of regions has.
    pub chunk: Bytes,
    /// The traffic under which a loaded latency is measured.
    pub traffic: Traffic,
    /// Loads of a sample of a loaded latency.
    pub loaded_loads: u64,
    /// Round trips of each line of a sample of `ping-pong`.
    pub round_trips: u64,
    /// Whether to check, before the first sample, that the state was prepared indeed.
    pub check: bool,
}

/// Traffic of a processor that loads the memory: loads, stores, and cycles of idling in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Traffic {
    /// Loads in a row.
    pub reads: u32,
    /// Stores in a row.
    pub writes: u32,
    /// Cycles of idling between rows.
    pub pause: u32,
}

impl Settings {
    /// For this computer: samples enough for an interval, lists that skip lines that are fetched in pairs, and states that
    /// are checked. Bandwidths are measured over more memory than in a simulation, for prefetchers to come up to speed.
    pub fn host() -> Self {
        Self {
            iterations: 11,
            bandwidth_lines: 32 << 10,
            restart_lines: 256,
            spacing: 4,
            array: Bytes::from_mib(64),
            stride: Bytes(256),
            loaded_loads: 8 << 10,
            round_trips: 1000,
            check: true,
            ..Self::simulated()
        }
    }

    /// For simulated machines, on which nothing disturbs a measurement: caches are emptied on request, so that lists
    /// need not exceed them as in the thesis. Lists are whole multiples of the 256 lines between two TLB misses of a
    /// walk, so that their share is that of a long list.
    pub fn simulated() -> Self {
        Self {
            iterations: 3,
            lines: None,
            latency_lines: 1024,
            bandwidth_lines: 4096,
            restart_lines: 512,
            restart: RestartSearch::default(),
            spacing: 1,
            pages: None,
            sharers_drop: None,
            array: Bytes::from_mib(32),
            stride: Bytes(128),
            chunk: Bytes::from_mib(16),
            traffic: Traffic { reads: 1, writes: 0, pause: 0 },
            loaded_loads: 1 << 10,
            round_trips: 64,
            check: false,
        }
    }
}

/// One experiment, ready to run. Plain data: plans can be listed, sent to other threads and run in any order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment.
    pub experiment: Experiment,
    /// The state prepared before each measurement.
    pub state: State,
    /// Between whom.
    pub placement: Placement,
    /// How thoroughly.
    pub settings: Settings,
    /// The series of a suite that it belongs to.
    pub series: Series,
}

impl Plan {
    /// A plan of its own, in no suite.
    pub fn new(experiment: Experiment, state: State, placement: Placement, settings: Settings) -> Self {
        Self { experiment, state, placement, settings, series: Series::Single }
    }

    /// The same plan as a member of `series`.
    #[must_use]
    pub fn in_series(mut self, series: Series) -> Self {
        self.series = series;
        self
    }

    /// Lines in each requester's list, as [`Plan::validate`] accepts them.
    pub fn lines(&self, layout: &Layout) -> u64 {
        let settings = &self.settings;
        let wanted = match self.experiment {
            Experiment::AreaRead => return (settings.array.0 / settings.stride.0.max(1)).max(1),
            Experiment::RegionRead => return (settings.array.0 / settings.chunk.0.max(1)).max(1),
            experiment if experiment.is_loaded() => return (settings.array.0 / layout.line.0).max(1),
            experiment if experiment.is_restart() => settings.restart_lines,
            experiment if experiment.is_bandwidth() => settings.bandwidth_lines,
            _ => settings.latency_lines,
        };
        settings.lines.unwrap_or_else(|| wanted.min(self.most_lines(layout).unwrap_or(wanted)).max(1))
    }

    /// The most lines that stay where the experiment needs them: modified, shared or dirty ones in one L2, clean ones
    /// that the owner must still hold in half of it (Prestor 2001 sections 4.2.1, 4.2.2 and 4.3.3). `None` if any number
    /// will do.
    pub(crate) fn most_lines(&self, layout: &Layout) -> Option<u64> {
        let l2_lines = layout.l2.0 / layout.line.0;
        let owned_by_one = match self.placement.remotes.len() {
            1 => self.placement.locals.len() as u64,
            _ => 1,
        };
        let by_state = match self.state {
            State::Cexh => Some(l2_lines / 2 / owned_by_one),
            State::Dexd | State::Dext => Some(l2_lines / owned_by_one),
            State::Uown | State::Shrd | State::Cexm => None,
        };
        let by_request = match self.experiment.request() {
            Request::ReadExclusive | Request::Upgrade if self.keeps_what_it_writes() => Some(l2_lines),
            _ => None,
        };
        // Lists that leave lines out use as many fewer sets of a cache.
        let sets = self.element_stride(layout).0 / layout.line.0;
        by_state.into_iter().chain(by_request).min().map(|lines| (lines / sets.max(1)).max(1))
    }

    /// Whether the lines that it writes are to stay in the requester's cache.
    fn keeps_what_it_writes(&self) -> bool {
        let experiment = self.experiment;
        !(experiment == Experiment::BwZero || experiment == Experiment::BwWriteNt || experiment.is_stream())
    }

    /// From one element to the next: lists may skip lines, arrays do not.
    pub(crate) fn element_stride(&self, layout: &Layout) -> Bytes {
        let spread = self.experiment.walks_a_list() || self.experiment.is_ping_pong();
        let spacing = if spread { self.settings.spacing } else { 1 };
        Bytes(layout.line.0.saturating_mul(spacing))
    }

    /// How the lines are brought into their state, in words.
    pub fn preparation(&self) -> String {
        let Placement { locals, remotes, .. } = &self.placement;
        let (locals, remotes) = (list(locals), list(remotes));
        if self.experiment == Experiment::RegionRead {
            return "in no cache".to_owned();
        }
        if self.experiment.ranges_over_an_array() {
            return "touched before (steady state)".to_owned();
        }
        match self.state {
            State::Uown if self.experiment.is_ping_pong() => "handed back and forth".to_owned(),
            State::Uown if self.experiment.is_stream() => "caches full of lines of the same loop".to_owned(),
            State::Uown => "in no cache".to_owned(),
            State::Shrd if self.placement.remotes.is_empty() => format!("shared by CPU {locals}"),
            State::Shrd if self.sharers_drop() => {
                format!("read by CPU {remotes} and {locals}, copies of {remotes} silently evicted")
            }
            State::Shrd if self.is_shared_by_others() => format!("read by CPU {remotes}"),
            State::Shrd => format!("read by CPU {remotes} and {locals}"),
            State::Cexh => format!("read by CPU {remotes}"),
            State::Cexm => format!("read by CPU {remotes}, then silently evicted"),
            State::Dexd | State::Dext => format!("modified by CPU {remotes}"),
        }
    }

    /// Whether sharers drop their copies once the directory has noted them.
    pub fn sharers_drop(&self) -> bool {
        self.settings.sharers_drop.unwrap_or(self.placement.remotes.len() > 1)
    }

    /// Whether lines are shared before a requester reads them, by others that keep their copies: no victim of the requester's is
    /// then in a cache that it shares with them.
    pub fn is_shared_by_others(&self) -> bool {
        let Placement { locals, remotes, .. } = &self.placement;
        let others = remotes.iter().filter(|sharer| !locals.contains(sharer)).count();
        others > 1 && !self.sharers_drop() && self.experiment.request() == Request::Read
    }

    /// Whether upgrades, if these are measured, find lines that the requester has a shared copy of.
    pub(crate) fn has_upgrades(&self, layout: &Layout) -> bool {
        let Placement { locals, remotes, .. } = &self.placement;
        let shared = locals.iter().all(|local| remotes.iter().any(|sharer| sharer != local));
        layout.shares_alone || shared || self.state != State::Shrd || self.experiment.request() != Request::Upgrade
    }

    /// Checks the plan against the machine, before any work.
    ///
    /// # Errors
    /// The first impossibility: an unknown place, a state without the processors it needs, an experiment that means
    /// nothing in the state, or a number out of range.
    pub fn validate(&self, layout: &Layout) -> Result<(), PlanError> {
        self.validate_places(layout)?;
        self.validate_roles(layout)?;
        if !self.experiment.states().contains(&self.state) {
            let problem = format!("{} does not apply to this state", self.experiment);
            return Err(PlanError::new(
                "--state",
                self.state.name(),
                problem,
                names(self.experiment.states().to_vec()),
            ));
        }
        self.validate_numbers(layout)
    }

    fn validate_places(&self, layout: &Layout) -> Result<(), PlanError> {
        let Placement { home, locals, remotes } = &self.placement;
        let machine = layout.machine();
        if !layout.has_memory(*home) {
            let lack = if layout.has_node(*home) { "has no memory on this node" } else { "has no such node" };
            let problem = format!("{machine} {lack}");
            return Err(PlanError::new("--home", home.to_string(), problem, layout.accepted_nodes()));
        }
        if locals.is_empty() {
            return Err(PlanError::new("--local", "(none)", "no requester given", layout.accepted_cpus()));
        }
        for (flag, cpus) in [("--local", locals), ("--remote", remotes)] {
            for (i, cpu) in cpus.iter().enumerate() {
                let problem = if layout.node_of(*cpu).is_none() {
                    format!("{machine} has no such CPU")
                } else if cpus[..i].contains(cpu) {
                    "given twice".to_owned()
                } else {
                    continue;
                };
                let accepted = format!("{}, each once", layout.accepted_cpus());
                return Err(PlanError::new(flag, cpu.to_string(), problem, accepted));
            }
        }
        Ok(())
    }

    fn validate_roles(&self, layout: &Layout) -> Result<(), PlanError> {
        let Placement { locals, remotes, .. } = &self.placement;
        let state = self.state;
        let one_requester = match self.experiment {
            Experiment::AreaRead | Experiment::RegionRead | Experiment::PingPong => true,
            experiment => experiment.is_p3(),
        };
        if one_requester && locals.len() > 1 {
            let list = list(locals);
            return Err(PlanError::new("--local", list, format!("{} has one requester", self.experiment), "one CPU"));
        }
        if self.experiment.is_loaded() {
            self.validate_traffic(layout)?;
        }
        if self.experiment.is_ping_pong() && (remotes.len() != 1 || remotes[0] == locals[0]) {
            let problem = "ping-pong needs one local and one remote CPU";
            let accepted = format!("{} other than the local one", layout.accepted_cpus());
            return Err(PlanError::new("--remote", list(remotes), problem, accepted));
        }
        if !self.has_upgrades(layout) {
            let problem =
                format!("{} gives a CPU without sharers exclusive lines, which it stores to at once", layout.machine());
            let accepted = format!("{} other than the local ones", layout.accepted_cpus());
            return Err(PlanError::new("--remote", list(remotes), problem, accepted));
        }
        if !state.needs_owner() {
            return Ok(());
        }
        // A requester may read again what it has evicted itself.
        let may_be_requester = state == State::Cexm;
        let others = if may_be_requester { "" } else { " other than the local ones" };
        let accepted = format!("{}{others}", layout.accepted_cpus());
        if remotes.is_empty() {
            let problem = format!("state {state} needs a remote CPU that owns the lines");
            return Err(PlanError::new("--remote", "(none)", problem, accepted));
        }
        if let Some(both) = remotes.iter().find(|remote| locals.contains(remote) && !may_be_requester) {
            let problem = format!("in state {state} the owner cannot be the requester");
            return Err(PlanError::new("--remote", both.to_string(), problem, accepted));
        }
        if remotes.len() != 1 && remotes.len() != locals.len() {
            let problem = format!("in state {state} a line has one owner");
            let accepted = format!("one remote CPU, or one for each of the {} local ones", locals.len());
            return Err(PlanError::new("--remote", list(remotes), problem, accepted));
        }
        Ok(())
    }

    /// The first processor measures, the others load the memory of the home, and the remote ones that of their own nodes.
    fn validate_traffic(&self, layout: &Layout) -> Result<(), PlanError> {
        let Placement { locals, remotes, .. } = &self.placement;
        if locals.len() + remotes.len() < 2 {
            let problem = "no traffic: the first CPU measures, the others generate traffic";
            return Err(PlanError::new("--local", list(locals), problem, "two or more CPUs"));
        }
        if let Some(both) = remotes.iter().find(|remote| locals.contains(remote)) {
            let problem = "a CPU loads the memory of the home or that of its own node";
            return Err(PlanError::new("--remote", both.to_string(), problem, "CPUs other than the local ones"));
        }
        let without = |cpu: &&CpuId| layout.node_of(**cpu).is_none_or(|node| !layout.has_memory(node));
        if let Some(cpu) = remotes.iter().find(without) {
            let problem = "its node has no memory that it could load";
            return Err(PlanError::new("--remote", cpu.to_string(), problem, "CPUs of nodes with memory"));
        }
        Ok(())
    }

    fn validate_numbers(&self, layout: &Layout) -> Result<(), PlanError> {
        let settings = &self.settings;
        if settings.iterations == 0 {
            return Err(PlanError::new("--iterations", "0", "no measurement would be made", "1 or more"));
        }
        if let Some(lines) = settings.lines {
            let most = self.most_lines(layout);
            if lines == 0 || most.is_some_and(|most| lines > most) {
                let problem = match most {
                    Some(most) if lines > 0 => {
                        format!(
                            "{} in state {}: the list must fit the caches, at most {most}",
                            self.experiment, self.state
                        )
                    }
                    _ => "the list is empty".to_owned(),
                };
                let accepted = most.map_or("1 or more".to_owned(), |most| format!("1..{most}"));
                return Err(PlanError::new("--lines", lines.to_string(), problem, accepted));
            }
            let fit = LARGEST_LIST.0 / self.element_stride(layout).0.max(1);
            if lines > fit {
                let problem = format!("the list is larger than {LARGEST_LIST}");
                return Err(PlanError::new("--lines", lines.to_string(), problem, format!("1..{fit}")));
            }
        }
        if self.experiment.is_restart() {
            settings.restart.validate()?;
        }
        if self.experiment.ranges_over_an_array() {
            extent::check_stride(settings.array, settings.stride)?;
        }
        if self.experiment == Experiment::RegionRead {
            extent::check_chunks(settings.array, settings.chunk, layout)?;
        }
        if settings.spacing == 0 {
            return Err(PlanError::new("--spacing", "0", "all elements coincide", "1 line or more"));
        }
        if settings.round_trips == 0 {
            return Err(PlanError::new("--round-trips", "0", "no measurement would be made", "1 or more"));
        }
        if self.experiment == Experiment::LoadedRead
            && settings.traffic.reads.saturating_add(settings.traffic.writes) == 0
        {
            return Err(PlanError::new("--traffic", "0:0", "no accesses", "READS:WRITES, not both zero"));
        }
        Ok(())
    }
}

/// The largest list of a requester: it walks no more in a day.
const LARGEST_LIST: Bytes = Bytes::from_mib(1 << 20);

/// Processors as the value of a repeated flag.
fn list(cpus: &[CpuId]) -> String {
    if cpus.is_empty() {
        return "(none)".to_owned();
    }
    cpus.iter().map(CpuId::to_string).collect::<Vec<_>>().join(" ")
}

//! Properties of the model of a server.

use protocol::Rights;
use protocol::server::{Bits, ClusterState, HomeKind, L3, L3Copy};

use super::state::{LATEST, LineState, ServerState};
use super::{ServerModel, Violated};
use crate::model::{Property, Violation};

impl ServerModel {
    /// Checks the properties that hold in every state, with anything outstanding, and the agreement of home, caching agents
    /// and cores if nothing is.
    pub(super) fn check(&self, state: &ServerState) -> Result<(), Violation> {
        for (number, line) in state.lines[..self.lines].iter().enumerate() {
            let problem = self.core_problem(line).or_else(|| self.cluster_problem(line)).or_else(|| {
                let quiet = self.is_quiet(state, number);
                quiet.then(|| self.disagreement(line)).flatten()
            });
            if let Some((property, problem)) = problem {
                return Err(Violation { property, detail: format!("line {number}: {problem}") });
            }
        }
        Ok(())
    }

    /// Problem of the cores' copies: a second writer, or old contents. A load could hit any valid copy at any time.
    fn core_problem(&self, line: &LineState) -> Option<Violated> {
        let (mut writers, mut readers) = (0, 0);
        for copy in &line.cores[..self.cores] {
            match copy.copy.rights() {
                Rights::None => continue,
                Rights::Read => readers += 1,
                Rights::Write => writers += 1,
            }
            if copy.contents != LATEST {
                return Some((Property::LatestValue, "a core has a copy that is older than the last store".into()));
            }
        }
        if writers > 1 || (writers == 1 && readers > 0) {
            let problem = format!("{writers} cores may write, and {readers} others may read");
            return Some((Property::SingleWriter, problem));
        }
        None
    }

    /// Problem of the clusters: two that supply the line, copies beside the only one, or copies that tags do not have.
    fn cluster_problem(&self, line: &LineState) -> Option<Violated> {
        let agents = &line.agents[..self.clusters];
        let count = |such: fn(ClusterState) -> bool| agents.iter().filter(|agent| such(agent.state)).count();
        let (holders, exclusive) = (count(|at| at != ClusterState::Invalid), count(|at| at == ClusterState::Exclusive));
        if exclusive > 0 && holders > 1 {
            return Some((Property::SingleWriter, format!("a cluster has the only copy, and {holders} have one")));
        }
        let suppliers = count(|at| !matches!(at, ClusterState::Invalid | ClusterState::Shared));
        if suppliers > 1 {
            return Some((Property::SingleWriter, format!("{suppliers} clusters supply the line")));
        }
        for (core, copy) in line.cores[..self.cores].iter().enumerate().filter(|(_, copy)| copy.copy.is_valid()) {
            let agent = &agents[self.cluster(core)];
            if agent.cores >> (core % self.per_cluster) & 1 == 0 {
                return Some((Property::DirectoryAgreement, format!("core{core} has a copy that the tags lack")));
            }
            if self.design.l3 == L3::Inclusive && agent.l3 == L3Copy::None {
                return Some((Property::DirectoryAgreement, format!("core{core} has a copy that the L3 lacks")));
            }
            if copy.copy.rights() == Rights::Write && !agent.sole {
                return Some((Property::DirectoryAgreement, format!("core{core} may write, and the tags deny it")));
            }
        }
        None
    }

    /// Problem of a line on which nothing is outstanding: the directory disagrees with the clusters, or data are lost.
    fn disagreement(&self, line: &LineState) -> Option<Violated> {
        let agents = &line.agents[..self.clusters];
        let modified = line.cores[..self.cores].iter().any(|copy| copy.copy.is_dirty());
        let dirty = modified || agents.iter().any(|agent| agent.l3 == L3Copy::Dirty);
        if !dirty && line.home.memory != LATEST {
            return agreement("no cache has modified the line, and memory is older than the last store");
        }
        if agents.iter().any(|agent| agent.l3 != L3Copy::None && !modified && agent.contents != LATEST) {
            return agreement("no core has modified the line, and an L3 is older than the last store");
        }
        let (mut sharing, mut supplying) = (0u64, 0u64);
        for (cluster, agent) in agents.iter().enumerate() {
            match agent.state {
                ClusterState::Invalid => {}
                ClusterState::Shared | ClusterState::Forward => sharing |= 1 << cluster,
                ClusterState::Owned | ClusterState::Exclusive => supplying |= 1 << cluster,
            }
            let empty = agent.l3 == L3Copy::None && agent.cores == 0;
            if empty != (agent.state == ClusterState::Invalid) {
                return agreement("a cluster's state disagrees with its copies");
            }
        }
        let remote = !self.local.map_or(0, |local| 1 << local.0);
        match (self.design.home, line.home.entry) {
            (HomeKind::HomeSnoop | HomeKind::EarlySnoop, _) => None,
            (HomeKind::ProbeFilter, entry) => {
                let holders = entry.unwrap_or_default();
                let owner = holders.owner.map_or(0, |owner| 1 << owner.0);
                if supplying & !owner != 0 || sharing & !holders.all() != 0 {
                    agreement("a cluster has a copy that the probe filter lacks")
                } else {
                    None
                }
            }
            (HomeKind::Directory { .. }, Some(holders)) => {
                let owner = holders.owner.map_or(0, |owner| 1 << owner.0);
                if line.home.bits != Bits::Any {
                    agreement("the directory cache has a line whose bits are not A")
                } else if supplying & remote & !owner != 0 || sharing & remote & !holders.all() != 0 {
                    agreement("a cluster has a copy that the directory cache lacks")
                } else {
                    None
                }
            }
            (HomeKind::Directory { .. }, None) => match line.home.bits {
                Bits::Invalid if (sharing | supplying) & remote != 0 => {
                    agreement("the directory bits are I, and another cluster has a copy")
                }
                Bits::Shared if supplying & remote != 0 => {
                    agreement("the directory bits are S, and another cluster owns the line")
                }
                _ => None,
            },
        }
    }

    /// Whether nothing is outstanding on a line.
    pub(super) fn is_quiet(&self, state: &ServerState, number: usize) -> bool {
        let line = &state.lines[number];
        line.home.is_quiet()
            && line.agents[..self.clusters].iter().all(protocol::server::CachingLine::is_quiet)
            && line.cores[..self.cores].iter().all(protocol::server::CoreLine::is_quiet)
            && state.messages().iter().all(|&word| super::codec::unpack_message(word).line.index() != number)
    }
}

fn agreement(problem: &str) -> Option<Violated> {
    Some((Property::DirectoryAgreement, problem.to_owned()))
}

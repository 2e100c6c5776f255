//! The end-of-run comparison: cores against the tags of their caching agents, clusters against homes, contents against each other.

use protocol::server::{CachingLine, ClusterState, L3, L3Copy};
use protocol::{Rights, Version};
use units::{CpuId, LineAddr, NodeId};

use super::Servers;
use crate::incoherence::{Incoherence, Unfinished};
use crate::part::CachedCopy;
use crate::system::System;

impl System<Servers> {
    /// Compares all copies, when nothing is under way.
    pub(super) fn compare_agents(&mut self) -> Result<(), Incoherence> {
        self.nothing_is_outstanding()?;
        let copies = self.copies_by_line();
        let mut lines: Vec<_> = copies.iter().collect();
        lines.sort_unstable_by_key(|(line, _)| line.0);
        for (&line, copies) in lines {
            let newest = self.controllers.newest(line);
            for &(cpu, copy) in copies {
                self.is_known(line, cpu, copy)?;
                if let Some(&(other, _)) = copies.iter().find(|other| other.0 != cpu)
                    && copy.state.rights() != Rights::Read
                {
                    return Err(Incoherence::OwnerNotAlone { line, owner: cpu, other });
                }
                if !copy.state.is_dirty() && copy.version != newest {
                    return Err(Incoherence::SharedDiffers { cpu, line, found: copy.version, memory: newest });
                }
            }
        }
        self.compare_with_stores(&copies, Servers::newest)
    }

    fn nothing_is_outstanding(&self) -> Result<(), Incoherence> {
        let Servers { cores, clusters, homes, inbox, places, .. } = &self.controllers;
        Unfinished::none(NodeId(0), inbox.len(), "messages between agents at one place")?;
        for (cpu, core) in (0..).map(CpuId).zip(cores) {
            Unfinished::none(self.node_of(cpu), core.outstanding(), "lines with requests or evictions of a core")?;
        }
        for (cluster, state) in (0..).map(NodeId).zip(clusters) {
            let node = places.node_of_cluster(cluster);
            for slice in &state.slices {
                Unfinished::none(node, slice.active.len(), "lines with work under way at a slice")?;
                Unfinished::none(node, slice.parked.len(), "messages that wait at a slice")?;
            }
        }
        for (node, controllers) in (0..).map(NodeId).zip(&homes.nodes) {
            for home in controllers {
                Unfinished::none(node, home.active.len(), "transactions at a home")?;
                Unfinished::none(node, home.parked.len(), "messages that wait at a home")?;
            }
        }
        Ok(())
    }

    /// The caching agent of a core has the core among those with copies, and one that may write alone.
    fn is_known(&mut self, line: LineAddr, cpu: CpuId, copy: CachedCopy) -> Result<(), Incoherence> {
        let design = self.controllers.places.design;
        let state = self.controllers.caching_line(design.cluster_of(cpu), line);
        let listed = state.cores & design.core_bit(cpu) != 0;
        let may_write = copy.state.rights() == Rights::Write;
        let included = design.l3 != L3::Inclusive || state.l3 != L3Copy::None;
        if listed && included && (!may_write || state.sole && state.state == ClusterState::Exclusive) {
            return Ok(());
        }
        let directory = match state.state {
            ClusterState::Invalid => "I",
            ClusterState::Shared => "S",
            ClusterState::Forward => "F",
            ClusterState::Owned => "O",
            ClusterState::Exclusive => "E",
        };
        Err(Incoherence::UnknownCopy { cpu, line, state: copy.state, directory })
    }
}

impl Servers {
    fn caching_line(&mut self, cluster: NodeId, line: LineAddr) -> CachingLine {
        let slice = self.places.slice(line);
        self.clusters[cluster.index()].get(slice, line).state
    }

    /// The newest contents of a line outside the cores: those of a third-level cache with dirty data, or else memory's.
    fn newest(&mut self, line: LineAddr) -> Version {
        let dirty = (0..self.clusters.len() as u16).map(NodeId).find_map(|cluster| {
            let state = self.caching_line(cluster, line);
            (state.l3 == L3Copy::Dirty).then_some(state.contents)
        });
        let (home, controller) = (self.places.home(line), self.places.memory(line).0);
        dirty.unwrap_or_else(|| self.homes.get(home, controller, line).state.memory)
    }
}

//! The end-of-run comparison of caches, devices, directories and memory.

use protocol::cluster::{DirectoryState, Entry};
use protocol::snoop::Rights as NodeRights;
use protocol::{CopyState, Rights};
use units::{CpuId, LineAddr, NodeId};

use super::Cluster;
use crate::incoherence::{Incoherence, Unfinished};
use crate::system::System;

/// The node that owns a line.
pub(super) const fn owner(entry: &Entry) -> Option<NodeId> {
    match entry.state {
        DirectoryState::Owned { owner } | DirectoryState::Forwarded { owner, .. } => Some(owner),
        DirectoryState::Shared => None,
    }
}

impl<const OWNED: bool> System<Cluster<OWNED>> {
    /// Compares all copies with each other and with memory, and with the rights of their nodes, and those with the directory.
    pub(super) fn compare_nodes(&mut self) -> Result<(), Incoherence> {
        self.network.audit()?;
        for (node, device) in (0..).map(NodeId).zip(&self.controllers.devices) {
            Unfinished::none(node, device.waiting.len(), "transactions that wait for a right")?;
            Unfinished::none(node, device.blocked.len(), "transactions that wait for a busy line")?;
            Unfinished::none(node, device.collecting.len(), "writes without their last acknowledgement")?;
            Unfinished::none(node, device.own.len(), "bus transactions of the device")?;
            Unfinished::none(node, device.queued.len(), "messages that wait for a busy line")?;
            let open = device.lines.values().filter(|kept| !kept.line.is_quiet()).count();
            Unfinished::none(node, open, "lines of other nodes with something outstanding")?;
        }
        let copies = self.compare_on_bus(|cluster, line| cluster.newest(line))?;
        let all =
            copies.iter().flat_map(|(&line, copies)| copies.iter().map(move |&(cpu, copy)| (line, cpu, copy.state)));
        let mut all: Vec<_> = all.collect();
        all.sort_unstable_by_key(|&(line, cpu, _)| (line.0, cpu.0));
        all.into_iter().try_for_each(|(line, cpu, state)| self.compare_rights(line, cpu, state))
    }

    /// A copy's node has the right to it, and the directory lists the node.
    fn compare_rights(&mut self, line: LineAddr, cpu: CpuId, state: CopyState) -> Result<(), Incoherence> {
        let node = self.node_of(cpu);
        let home = self.controllers.buses.lines.home(line);
        let rights = self.controllers.line(node, line).0.rights;
        let entry = self.controllers.homes.line(line).entry.unwrap_or(Entry::uncached(home));
        let needs =
            if state.rights() == Rights::Write || state.is_dirty() { NodeRights::Write } else { NodeRights::Read };
        let listed = owner(&entry) == Some(node) || entry.lists(node) && needs == NodeRights::Read;
        if rights < needs || !listed {
            return Err(Incoherence::UnknownCopy { cpu, line, state, directory: entry.state.mnemonic() });
        }
        Ok(())
    }
}

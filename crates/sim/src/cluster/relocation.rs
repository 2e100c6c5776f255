//! Relocation of pages into the page cache (Lai and Falsafi 2000, Section 3.2): counted misses, the trap, and the flush of lines.

use protocol::cluster::Line;
use protocol::snoop::Rights;
use units::{CpuId, LineAddr, NodeId};

use super::Cluster;
use super::event::ClusterEvent;
use crate::fault::Fault;
use crate::kernel::EnvelopeId;
use crate::snooping::{Requester, Transaction};
use crate::system::System;

impl<const OWNED: bool> System<Cluster<OWNED>> {
    /// Counts a miss that is about to be requested from its home. If it makes its page due for relocation, the page is relocated,
    /// and the transaction tries again at the end of the trap. Returns whether it does.
    pub(super) fn relocates(&mut self, id: EnvelopeId, Transaction { node, line, requester }: Transaction) -> bool {
        let held = self.controllers.devices[node.index()].lines.get(&line);
        if held.is_some_and(|kept| kept.line.rights != Rights::None || !kept.line.is_quiet()) {
            return false;
        }
        let Some(page) = self.controllers.devices[node.index()].pages.due(line) else { return false };
        let victim = self.controllers.devices[node.index()].pages.enter(page);
        let times = self.controllers.devices[node.index()].pages.times();
        let mut length = times.trap;
        for flushed in [Some(page), victim].into_iter().flatten() {
            length += times.flush * self.flush(node, flushed);
        }
        if victim.is_some() {
            length += times.trap;
        }
        self.controllers.devices[node.index()].pages.count_relocation(length);
        let now = self.kernel.now;
        self.shoot_down_others(node, requester);
        self.request_bus(id, now + length);
        true
    }

    /// Flushes the lines of a page from the node. Lines with something outstanding are left. Returns the number of lines.
    fn flush(&mut self, node: NodeId, page: u64) -> u64 {
        let lines = self.controllers.devices[node.index()].pages.lines(page);
        let mut count = 0;
        for line in lines {
            let kept = self.controllers.devices[node.index()].lines.get(&line).map(|kept| kept.line);
            if !kept.is_some_and(|line| line.rights != Rights::None && line.is_quiet()) {
                continue;
            }
            count += 1;
            if self.strikes(Fault::ForgottenFlush) {
                self.forget_line(node, line);
                continue;
            }
            self.replace(node, line);
        }
        count
    }

    /// A planted fault: the device gives up a line, and what caches have of it stays.
    fn forget_line(&mut self, node: NodeId, line: LineAddr) {
        if let Some(kept) = self.controllers.devices[node.index()].lines.get_mut(&line) {
            kept.line = Line::ABSENT;
        }
        self.controllers.devices[node.index()].tidy(line);
    }

    /// The other processors of the node are interrupted for their translations, when the trap is under way.
    fn shoot_down_others(&mut self, node: NodeId, requester: Requester) {
        let at = self.kernel.now + self.controllers.buses.timing.wires.snoop;
        for number in 0..self.controllers.buses.nodes[node.index()].processors.len() {
            let cpu = self.controllers.buses.nodes[node.index()].processors[number];
            if Requester::Processor(cpu) != requester {
                self.schedule(node, at, ClusterEvent::Shootdown(cpu));
            }
        }
    }

    /// A processor drops its translation of a page that its node relocates.
    pub(super) fn on_local_shootdown(&mut self, cpu: CpuId) {
        let node = self.node_of(cpu);
        let cost = self.controllers.devices[node.index()].pages.times().shootdown;
        self.interrupt(cpu, cost);
    }
}

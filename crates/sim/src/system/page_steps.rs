//! The steps of the transfer of a page, some lines at a time, for machines whose nodes read a page at its source and send each line
//! to its new home as a writeback: MAGIC and the devices of clusters.

use units::{Duration, LineAddr, NodeId, PhysicalAddr, Time};

use super::{Controller, System};
use crate::map::{address_in, node_of};
use crate::os::{PageJob, PageStep, PageTransfers, Transfer};

/// A machine whose nodes transfer pages in these steps.
pub trait TransfersPages: Controller {
    /// The transfers of a node.
    fn transfers(&mut self, node: NodeId) -> &mut PageTransfers;

    /// The event of a step at a node.
    fn page_event(node: NodeId, step: PageStep) -> Self::Event;

    /// Lines of a page under way at once, of which the operating system lets a node copy `copied`.
    fn lines_at_once(&self, _transfer: &Transfer, copied: u32) -> u32 {
        copied
    }

    /// Begins with line `number` of the page in transfer, or repeats a request for it. [`PageStep::Left`] follows when the line has
    /// left the node.
    fn take_line(system: &mut System<Self>, node: NodeId, number: u32);

    /// All lines of a page have left its source, so long after the transfer began.
    fn page_left(&mut self, _node: NodeId, _transfer: &Transfer, _length: Duration) {}

    /// All lines of a page are in their frame at `node`.
    fn page_arrived(&mut self, _node: NodeId, _transfer: &Transfer) {}
}

impl<C: TransfersPages> System<C> {
    /// Queues a transfer at its source, to begin at `at`.
    pub fn enqueue_page(&mut self, transfer: Transfer, at: Time) {
        let node = node_of(transfer.source());
        self.controllers.transfers(node).outgoing.enqueue(transfer);
        self.schedule_page_step(node, at, PageStep::Begin);
    }

    /// Schedules a step of the transfer of a page.
    pub fn schedule_page_step(&mut self, node: NodeId, at: Time, step: PageStep) {
        self.schedule(node, at, C::page_event(node, step));
    }

    /// The transfer of a page takes a step.
    pub fn on_page_step(&mut self, node: NodeId, step: PageStep) {
        match step {
            PageStep::Begin => self.next_page(node),
            PageStep::Left => self.end_page_line(node),
            PageStep::Line(number) => C::take_line(self, node, number),
            PageStep::End(frame) => self.end_incoming(node, frame),
        }
    }

    /// The page that a node transfers.
    pub fn page_job(&mut self, node: NodeId) -> Option<&mut PageJob> {
        self.controllers.transfers(node).outgoing.job.as_mut()
    }

    fn next_page(&mut self, node: NodeId) {
        let (line, page, now) = (self.line(), self.paging.page(), self.kernel.now);
        if !self.controllers.transfers(node).outgoing.start(line, page, now) {
            return;
        }
        let Some(transfer) = self.page_job(node).map(|job| job.transfer) else { return };
        if let Some(target) = transfer.target() {
            let (frame, lines) = (self.frame_number(target), (page.0 / line.0) as u32);
            self.controllers.transfers(node_of(target)).expect(frame, transfer, lines);
        }
        for _ in 0..self.controllers.lines_at_once(&transfer, self.paging.spec().copy_lines) {
            self.next_page_line(node);
        }
    }

    fn next_page_line(&mut self, node: NodeId) {
        if let Some(number) = self.page_job(node).and_then(PageJob::next) {
            C::take_line(self, node, number);
        }
    }

    /// A line of the page has left its source.
    fn end_page_line(&mut self, node: NodeId) {
        let now = self.kernel.now;
        let Some(job) = self.page_job(node) else { return };
        if !job.end_line() {
            return self.next_page_line(node);
        }
        let (transfer, length) = (job.transfer, now - job.began);
        self.controllers.transfers(node).outgoing.job = None;
        self.controllers.page_left(node, &transfer, length);
        if transfer.target().is_none() {
            self.end_transfer(transfer);
        }
        self.next_page(node);
    }

    /// A writeback has been handled at its home, whose memory has the line at `written`. If the line's frame stands for a page
    /// elsewhere, it is a line of that page.
    pub fn note_page_line(&mut self, home: NodeId, line: LineAddr, written: Time) {
        if self.memory.map.frames.remote_line(line).is_none() {
            return;
        }
        let frame = self.frame_number(self.memory.map.lines.address(line));
        if self.controllers.transfers(home).receive(frame) {
            self.schedule_page_step(home, written, PageStep::End(frame));
        }
    }

    /// The last line of a page is in its frame.
    fn end_incoming(&mut self, home: NodeId, frame: u32) {
        if let Some(transfer) = self.controllers.transfers(home).end(frame) {
            self.controllers.page_arrived(home, &transfer);
            self.end_transfer(transfer);
        }
    }

    /// The number of the frame of an address within its node.
    fn frame_number(&self, at: PhysicalAddr) -> u32 {
        ((at.0 - address_in(node_of(at), 0).0) / self.paging.page().0) as u32
    }
}

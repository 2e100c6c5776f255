//! Transfers of pages between frames, and the progress of one, line by line.

use std::collections::VecDeque;

use units::{Bytes, LineAddr, PhysicalAddr, Time};

use super::paging::PageNumber;

/// A transfer of a page between frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// Moves the page from one frame to another, and gives up the first.
    Move(PageNumber, PhysicalAddr, PhysicalAddr),
    /// Copies the page from one frame to another.
    Copy(PageNumber, PhysicalAddr, PhysicalAddr),
    /// Gives up a frame that holds a copy of the page.
    Purge(PageNumber, PhysicalAddr),
    /// Gathers the page from all caches into its frame, before copies are made of it.
    Gather(PageNumber, PhysicalAddr),
}

impl Transfer {
    /// The page.
    pub const fn page(&self) -> PageNumber {
        let (Self::Move(page, ..) | Self::Copy(page, ..) | Self::Purge(page, _) | Self::Gather(page, _)) = self;
        *page
    }

    /// The frame that the page is read from, gathered in, or that is given up.
    pub const fn source(&self) -> PhysicalAddr {
        let (Self::Move(_, from, _) | Self::Copy(_, from, _) | Self::Purge(_, from) | Self::Gather(_, from)) = self;
        *from
    }

    /// The frame that the page is written to, if there is one.
    pub const fn target(&self) -> Option<PhysicalAddr> {
        match self {
            Self::Move(_, _, to) | Self::Copy(_, _, to) => Some(*to),
            Self::Purge(..) | Self::Gather(..) => None,
        }
    }

    /// Whether all translations to the source frame are taken away, and all of its lines from caches.
    pub const fn recalls(&self) -> bool {
        !matches!(self, Self::Copy(..))
    }
}

/// A page in transfer: its lines begun and done.
#[derive(Clone, Debug)]
pub struct PageJob {
    /// The transfer.
    pub transfer: Transfer,
    /// The time at which it began.
    pub began: Time,
    /// The first line of the source frame.
    from: LineAddr,
    /// The first line of the target frame, if there is one.
    to: Option<LineAddr>,
    /// Number of lines of a page, of lines begun and of lines done.
    lines: u32,
    begun: u32,
    done: u32,
    /// Lines of either frame with an outstanding request or writeback.
    under_way: Vec<LineAddr>,
}

impl PageJob {
    fn new(transfer: Transfer, line: Bytes, page: Bytes, began: Time) -> Self {
        let (from, to) = (transfer.source().line(line), transfer.target().map(|to| to.line(line)));
        Self { transfer, began, from, to, lines: (page.0 / line.0) as u32, begun: 0, done: 0, under_way: Vec::new() }
    }

    /// The number of the next line to begin with, if one is left.
    pub fn next(&mut self) -> Option<u32> {
        let number = self.begun;
        self.begun += u32::from(number < self.lines);
        (number < self.lines).then_some(number)
    }

    /// Line `number` of the source frame.
    pub fn source_line(&self, number: u32) -> LineAddr {
        LineAddr(self.from.0 + u64::from(number))
    }

    /// The number of a line of either frame within its page.
    pub fn number(&self, line: LineAddr) -> u32 {
        let first = if self.is_source(line) { Some(self.from) } else { self.to };
        (line.0 - first.map_or(0, |first| first.0)) as u32
    }

    /// Whether a line lies in the source frame.
    pub fn is_source(&self, line: LineAddr) -> bool {
        (self.from.0..self.from.0 + u64::from(self.lines)).contains(&line.0)
    }

    /// A request or writeback for `line` is outstanding from now on.
    pub fn begin(&mut self, line: LineAddr) {
        self.under_way.push(line);
    }

    /// Whether a request or writeback for `line` is outstanding.
    pub fn awaits(&self, line: LineAddr) -> bool {
        self.under_way.contains(&line)
    }

    /// The request or writeback for `line` is complete.
    pub fn settle(&mut self, line: LineAddr) {
        self.under_way.retain(|&other| other != line);
    }

    /// A line is done. Returns whether the page is.
    pub fn end_line(&mut self) -> bool {
        self.done += 1;
        self.done == self.lines
    }
}

/// The transfers of a node, one after another.
#[derive(Clone, Debug, Default)]
pub struct PageJobs {
    /// The page in transfer.
    pub job: Option<PageJob>,
    queue: VecDeque<Transfer>,
}

impl PageJobs {
    /// Queues a transfer.
    pub fn enqueue(&mut self, transfer: Transfer) {
        self.queue.push_back(transfer);
    }

    /// Whether a page is under way or waits.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.job.is_some() || !self.queue.is_empty()
    }

    /// Whether a request or writeback is outstanding for `line`.
    #[inline]
    pub fn awaits(&self, line: LineAddr) -> bool {
        self.job.as_ref().is_some_and(|job| job.awaits(line))
    }

    /// Begins with the next transfer at `now`, unless one is under way. Returns whether it has.
    pub fn start(&mut self, line: Bytes, page: Bytes, now: Time) -> bool {
        if self.job.is_some() {
            return false;
        }
        self.job = self.queue.pop_front().map(|transfer| PageJob::new(transfer, line, page, now));
        self.job.is_some()
    }
}

/// A step of the transfer of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageStep {
    /// The source begins with its next page.
    Begin,
    /// A line has left the source.
    Left,
    /// The source takes a line of its page, by number.
    Line(u32),
    /// The last line of a page is in a frame of its new home, by number.
    End(u32),
}

impl PageStep {
    /// The numbers of lines begin here, and those of frames.
    const LINES: u32 = 2;
    const FRAMES: u32 = 1 << 27;

    /// The step as a number below 2^28. A page has fewer than 2^26 lines, and a node fewer than 2^26 frames.
    pub const fn pack(self) -> u32 {
        match self {
            Self::Begin => 0,
            Self::Left => 1,
            Self::Line(number) => Self::LINES + number,
            Self::End(frame) => Self::FRAMES + frame,
        }
    }

    /// The step that was packed.
    pub const fn unpack(word: u32) -> Self {
        match word {
            0 => Self::Begin,
            1 => Self::Left,
            number if number < Self::FRAMES => Self::Line(number - Self::LINES),
            frame => Self::End(frame - Self::FRAMES),
        }
    }
}

/// The transfers of a node.
#[derive(Clone, Debug, Default)]
pub struct PageTransfers {
    /// Those from this node's memory.
    pub outgoing: PageJobs,
    /// Those into this node's memory, by number of the frame, with the lines still to come.
    incoming: Vec<(u32, Transfer, u32)>,
}

impl PageTransfers {
    /// Whether a page of this node's memory is under way or waits.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.outgoing.is_busy()
    }

    /// Whether the line is being recalled.
    #[inline]
    pub fn awaits(&self, line: LineAddr) -> bool {
        self.outgoing.awaits(line)
    }
    /// A transfer to a frame of this node, by number, has begun: so many lines are to come.
    pub fn expect(&mut self, frame: u32, transfer: Transfer, lines: u32) {
        self.incoming.push((frame, transfer, lines));
    }

    /// A line of a page has come to a frame. Returns whether it is the last.
    pub fn receive(&mut self, frame: u32) -> bool {
        let Some((_, _, left)) = self.incoming.iter_mut().find(|(other, ..)| *other == frame) else { return false };
        *left -= 1;
        *left == 0
    }

    /// The last line of a page is in its frame. Returns the transfer.
    pub fn end(&mut self, frame: u32) -> Option<Transfer> {
        let place = self.incoming.iter().position(|(other, ..)| *other == frame)?;
        Some(self.incoming.swap_remove(place).1)
    }
}

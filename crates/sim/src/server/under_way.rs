//! Lines with work under way at an agent.

use units::LineAddr;

/// Lines with work under way, and the state of the work. Each has its frame ([`crate::part::Cache::frame`]) beside it: every request looks
/// through all of them for those of its set.
#[derive(Clone, Debug)]
pub(super) struct UnderWay<T> {
    lines: Vec<LineAddr>,
    frames: Vec<u64>,
    work: Vec<T>,
    /// The place of the line that was looked for last: the steps of one message look for one line several times.
    latest: usize,
}

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), frames: Vec::new(), work: Vec::new(), latest: 0 }
    }
}

impl<T> UnderWay<T> {
    /// The number of lines.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The work on a line.
    #[inline]
    pub(super) fn get(&mut self, line: LineAddr) -> Option<&T> {
        self.place(line).map(|place| &self.work[place])
    }

    #[inline]
    fn place(&mut self, line: LineAddr) -> Option<usize> {
        if self.lines.get(self.latest) != Some(&line) {
            self.latest = self.lines.iter().position(|&other| other == line)?;
        }
        Some(self.latest)
    }

    /// Work on a line begins.
    pub(super) fn begin(&mut self, line: LineAddr, frame: u64, work: T) {
        self.lines.push(line);
        self.frames.push(frame);
        self.work.push(work);
    }

    /// Work on a line goes on.
    pub(super) fn go_on(&mut self, line: LineAddr, work: T) {
        if let Some(place) = self.place(line) {
            self.work[place] = work;
        }
    }

    /// Work on a line ends.
    pub(super) fn end(&mut self, line: LineAddr) {
        if let Some(place) = self.place(line) {
            self.lines.swap_remove(place);
            self.frames.swap_remove(place);
            self.work.swap_remove(place);
        }
    }

    /// The frames of all lines.
    #[inline]
    pub(super) fn frames(&self) -> impl ExactSizeIterator<Item = u64> {
        self.frames.iter().copied()
    }

    /// All lines with their frames.
    #[inline]
    pub(super) fn lines(&self) -> impl Iterator<Item = (u64, u64)> {
        self.lines.iter().map(|line| line.0).zip(self.frames.iter().copied())
    }

    /// The work on all lines.
    pub(super) fn work_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.work.iter_mut()
    }
}

//! Messages that wait at an agent, for their line or for a tracker, and those that are there to be handled.

use std::collections::VecDeque;

use protocol::server::{Lane, Message};
use units::{LineAddr, Time};

/// A message at its agent, to be handled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) message: Message,
    /// The time at which it is there.
    pub(super) at: Time,
    /// Whether it has waited for its line.
    pub(super) has_waited: bool,
}

impl Arrived {
    /// A message that has not waited for its line.
    pub(super) fn new(message: Message, at: Time) -> Self {
        Self { message, at, has_waited: false }
    }
}

/// Messages to be handled in the present step.
#[derive(Default)]
pub(super) struct Inbox(VecDeque<Arrived>);

impl Inbox {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn push(&mut self, message: Message, at: Time) {
        self.0.push_back(Arrived::new(message, at));
    }

    /// The `next` message that has waited for a line is offered to it, after a step of the line that ends at `out`. All that have waited for
    /// the end of one transaction are there when it ends, one after another until the line is busy again.
    fn offer(&mut self, next: Option<Message>, before: &Arrived, out: Time) {
        let Some(message) = next else { return };
        if before.has_waited {
            self.0.push_front(Arrived { message, ..*before });
        } else {
            self.0.push_back(Arrived { message, at: out, has_waited: true });
        }
    }

    pub(super) fn pop(&mut self) -> Option<Arrived> {
        self.0.pop_front()
    }
}

/// Messages that wait at an agent, each kind in the order in which they arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Parked {
    /// Those whose line has a transaction under way.
    for_line: Vec<Message>,
    /// Requests for which a tracker, or room in tags, is lacking.
    for_tracker: VecDeque<Message>,
}

impl Parked {
    pub(super) fn len(&self) -> usize {
        self.for_line.len() + self.for_tracker.len()
    }

    /// A message waits for its line.
    pub(super) fn wait_for_line(&mut self, message: Message) {
        self.for_line.push(message);
    }

    /// A request waits for a tracker. It has found its line at rest, and so does the next that waits for that line.
    pub(super) fn wait_for_tracker(&mut self, request: &Arrived, inbox: &mut Inbox) {
        self.for_tracker.push_back(request.message);
        if request.has_waited {
            inbox.offer(self.take(request.message.line, |_| true), request, request.at);
        }
    }

    /// Offers a message that waits for a line that `takes` such lanes now, and a request that waits for a tracker if the agent
    /// `has_tracker`, after a step of the line with the message `before` that ends at `out`.
    pub(super) fn offer_again(
        &mut self,
        takes: impl Fn(Lane) -> bool,
        has_tracker: bool,
        (before, out): (&Arrived, Time),
        inbox: &mut Inbox,
    ) {
        inbox.offer(self.take(before.message.line, takes), before, out);
        if has_tracker && let Some(request) = self.for_tracker.pop_front() {
            inbox.push(request, out);
        }
    }

    /// Takes the next message of a line that `takes` such lanes now: snoops come first. Responses never wait.
    #[inline]
    fn take(&mut self, line: LineAddr, takes: impl Fn(Lane) -> bool) -> Option<Message> {
        if self.for_line.is_empty() {
            return None;
        }
        let next = |lane| self.for_line.iter().position(|message| message.line == line && message.kind.lane() == lane);
        let place = [Lane::Snoop, Lane::Request].into_iter().filter(|&lane| takes(lane)).find_map(next)?;
        Some(self.for_line.remove(place))
    }
}

#[cfg(test)]
mod tests {
    use protocol::Agent;
    use protocol::server::MessageKind;
    use units::{CpuId, NodeId};

    use super::*;

    #[test]
    fn snoops_come_first_and_each_in_order() {
        let mut parked = Parked::default();
        let message = |kind, line, cpu| {
            Message::new(kind, LineAddr(line), Agent::Processor(CpuId(cpu)), Agent::Interface(NodeId(0)))
        };
        let all = [
            message(MessageKind::CoreRead, 7, 1),
            message(MessageKind::CoreReadOwn, 8, 2),
            message(MessageKind::SnoopOwn, 7, 3),
            message(MessageKind::CoreUpgrade, 7, 4),
        ];
        all.iter().for_each(|&message| parked.wait_for_line(message));
        assert_eq!(parked.take(LineAddr(7), |_| false), None);
        assert_eq!(parked.take(LineAddr(8), |lane| lane == Lane::Snoop), None);
        for expected in [2, 0, 3] {
            assert_eq!(parked.take(LineAddr(7), |_| true), Some(all[expected]));
        }
        assert_eq!(parked.take(LineAddr(7), |_| true), None);
        assert_eq!(parked.len(), 1);
    }
}

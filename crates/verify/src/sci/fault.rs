//! Planted faults of SCI, each in one rule of the protocol: the checker must find all of them.

use protocol::Version;
use protocol::sci::{
    CacheLine, CacheState, Command, MemoryLine, MemoryState, Operation, Packet, Protocol, Report, Request, Response,
};

use super::loads_and_stores;
use crate::directory::{AtCaches, AtHome, Plant, Planted};
use crate::model::Property;

/// Every fault.
pub fn faults() -> Vec<Planted<Protocol>> {
    let planted = |(name, breaks, plant)| Planted { name, breaks, config: loads_and_stores(3), plant };
    table().into_iter().map(planted).collect()
}

/// Every fault: its name, the property that it violates first, and the fault.
#[rustfmt::skip]
fn table() -> Vec<(&'static str, Property, Plant<Protocol>)> {
    use CacheState as S;
    use Command as C;
    use Plant::{Caches, Home};
    use Property as P;
    vec![
        // Memory returns the old head to a new reader, and does not make the reader the head.
        ("forget-new-head", P::DirectoryAgreement, Home(|_, step| at_memory(step, C::CacheFresh, |line, _, response| if response.report == Report::Fresh { line.head = response.pointer; }))),
        // Memory accepts a change of head from a cache that is no longer the head.
        ("pass-head-blindly", P::ExpectedMessage, Home(|_, step| accept(step, C::PassHead, |line, request| line.head = request.pointer))),
        // Memory grants the right to write fresh copies to a cache that is no longer the head.
        ("write-blindly", P::ExpectedMessage, Home(|_, step| accept(step, C::ListToGone, |line, _| line.state = MemoryState::Gone))),
        // Memory ends a list although a newcomer is about to attach.
        ("end-list-blindly", P::ExpectedMessage, Home(|_, step| accept(step, C::ListToHome, end_list))),
        // Memory ignores the data of a dirty line that returns.
        ("drop-returned-data", P::DirectoryAgreement, Home(|_, step| at_memory(step, C::ListToHome, drop_data))),
        // An old head keeps its state when another cache attaches.
        ("stay-head", P::DirectoryAgreement, Caches(|step| attached(step, |before, line, _| if before.state.is_stable() { line.state = before.state; }))),
        // An old head does not record the element before it.
        ("forget-backward", P::DirectoryAgreement, Caches(|step| attached(step, |_, line, _| line.backward = None))),
        // An element grants the departure of the element before it, and does not record the new element before it.
        ("keep-backward", P::ExpectedMessage, Caches(|step| served(step, &[C::NextMid], |before, line, _, _| line.backward = before.backward))),
        // An element grants the departure of the element behind it, and does not record the new element behind it.
        ("keep-forward", P::DirectoryAgreement, Caches(|step| served(step, &[C::PreviousMid], |before, line, _, _| line.forward = before.forward))),
        // A departing head ignores that it has become the only element.
        ("miss-collapse", P::ExpectedMessage, Caches(|step| served(step, &[C::PreviousTail], |before, line, _, _| if before.state == S::HeadForwarding { line.state = before.state; }))),
        // An element responds to its purge, and keeps its copy.
        ("keep-purged-copy", P::LatestValue, Caches(|step| served(step, &[C::ValidInvalid], |before, line, _, _| if before.state.is_stable() { *line = *before; }))),
        // A purged element reports that it was the last: the head purges the first element behind it, and no other.
        ("purge-first-only", P::LatestValue, Caches(|step| served(step, &[C::FreshInvalid, C::ValidInvalid], claim_last))),
        // A leaving element is purged, and continues to leave as if it had not been.
        ("leave-although-purged", P::ExpectedMessage, Caches(|step| served(step, &[C::ValidInvalid], |before, line, _, _| if !before.state.is_stable() { *line = *before; }))),
        // The tail leaves without a request to the element before it.
        ("leave-tail-silently", P::DirectoryAgreement, Caches(|step| give_up(step, S::TailReturning))),
        // An element in the middle leaves with a request to the element behind it, and none to the element before it.
        ("leave-mid-halfway", P::DirectoryAgreement, Caches(|step| give_up(step, S::MidReturning))),
        // A leaving element NACKs the element behind it too: neighbours NACK each other.
        ("no-tail-priority", P::EventualCompletion, Caches(|step| served(step, &[C::PreviousMid, C::PreviousTail], nack_tail))),
        // A leaving element grants the element before it too: both leave.
        ("head-priority", P::ExpectedMessage, Caches(|step| served(step, &[C::NextMid], grant_head))),
        // A head that has passed the head on NACKs newcomers, and memory NACKs it.
        ("nack-newcomers", P::EventualCompletion, Caches(|step| served(step, C::ALL, nack_newcomer))),
        // A dirty head that leaves makes the next element a fresh head.
        ("forget-dirty", P::DirectoryAgreement, Caches(|step| served(step, &[C::NextDirtyHead], |_, line, _, _| forget_dirty(line)))),
        // A head that attaches another cache sends data older than its own.
        ("supply-old-data", P::LatestValue, Caches(|step| attached(step, |_, _, response| if response.version.is_some() { response.version = Some(Version(0)); }))),
    ]
}

/// Applies a fault in memory to a request with this command.
fn at_memory(
    step: &mut AtHome<'_, Protocol>,
    command: Command,
    fault: impl FnOnce(&mut MemoryLine, &Request, &mut Response),
) {
    if let (Some(Packet::Request(request)), [Packet::Response(response)]) = (step.message, step.sent.as_mut_slice())
        && request.command == command
    {
        fault(step.line, request, response);
    }
}

/// Makes memory do what it should NACK.
fn accept(step: &mut AtHome<'_, Protocol>, command: Command, then: impl FnOnce(&mut MemoryLine, &Request)) {
    at_memory(step, command, |line, request, response| {
        if response.report == Report::Nack {
            then(line, request);
            response.report = Report::Done;
        }
    });
}

fn end_list(line: &mut MemoryLine, request: &Request) {
    *line = MemoryLine { version: request.version.unwrap_or(line.version), ..MemoryLine::default() };
}

fn drop_data(line: &mut MemoryLine, request: &Request, response: &mut Response) {
    if response.report != Report::Nack && request.version.is_some() {
        line.version = Version(0);
    }
}

/// Applies a fault in a cache that has served a request with one of these commands: to its line, which was `before`,
/// and to its response.
fn served(
    step: &mut AtCaches<'_, Protocol>,
    commands: &[Command],
    fault: impl FnOnce(&CacheLine, &mut CacheLine, &Request, &mut Response),
) {
    if let (Some(Packet::Request(request)), [Packet::Response(response)]) = (step.message, step.sent.as_mut_slice())
        && commands.contains(&request.command)
    {
        fault(&step.before[0], &mut step.lines[0], request, response);
    }
}

/// Applies a fault in a cache before which another one has attached itself.
fn attached(step: &mut AtCaches<'_, Protocol>, fault: impl FnOnce(&CacheLine, &mut CacheLine, &mut Response)) {
    served(step, &[Command::PendValid, Command::CopyValid], |before, line, _, response| {
        if matches!(response.report, Report::Last | Report::Linked) {
            fault(before, line, response);
        }
    });
}

fn claim_last(_: &CacheLine, _: &mut CacheLine, _: &Request, response: &mut Response) {
    if response.report == Report::Linked {
        *response = Response { report: Report::Last, pointer: None, ..*response };
    }
}

/// Ends a replacement in this state, before the requests to the neighbours are complete.
fn give_up(step: &mut AtCaches<'_, Protocol>, state: CacheState) {
    let line = &mut step.lines[0];
    let replaces = line.outstanding.is_some_and(|outstanding| outstanding.operation == Operation::Rollout);
    if line.state == state && replaces && !matches!(step.message, Some(Packet::Request(_))) {
        *line = CacheLine::default();
        step.sent.clear();
    }
}

fn nack_tail(before: &CacheLine, line: &mut CacheLine, _: &Request, response: &mut Response) {
    if matches!(before.state, CacheState::MidForwarding | CacheState::HeadForwarding) {
        *line = *before;
        response.report = Report::Nack;
    }
}

fn grant_head(before: &CacheLine, line: &mut CacheLine, request: &Request, response: &mut Response) {
    if matches!(before.state, CacheState::MidReturning | CacheState::TailReturning)
        && before.backward == Some(request.source)
    {
        line.backward = request.pointer;
        response.report = Report::Done;
    }
}

fn nack_newcomer(before: &CacheLine, line: &mut CacheLine, request: &Request, response: &mut Response) {
    if before.state == CacheState::HeadReturning {
        *line = *before;
        *response = Response::to(request, Report::Nack);
    }
}

fn forget_dirty(line: &mut CacheLine) {
    line.state = match line.state {
        CacheState::OnlyDirty => CacheState::OnlyFresh,
        CacheState::HeadDirty => CacheState::HeadFresh,
        other => other,
    };
}

//! Replacements at a caching agent: of a line in the L3, and of an entry of the snoop filter.

use super::{Caching, CachingLine, CachingWork, ClusterState, External, Found, L3Copy, Replaced};
use crate::server::{CachingSite, Design, Message, MessageKind};
use crate::{Agent, Version};

/// Replaces a line in the L3. An inclusive L3 takes cores' copies back first; a victim L3 leaves them to the cores. Dirty
/// data are written back.
#[inline]
pub fn evict_l3(
    line: &mut CachingLine,
    design: &Design,
    site: &CachingSite,
    send: &mut impl FnMut(Message),
) -> Replaced {
    replace(line, design, site, send, External::ReplaceL3)
}

/// Replaces a line's entry in the snoop filter: the cores' copies are invalidated, and the L3 takes dirty data.
#[inline]
pub fn evict_filter(
    line: &mut CachingLine,
    design: &Design,
    site: &CachingSite,
    send: &mut impl FnMut(Message),
) -> Replaced {
    replace(line, design, site, send, External::ReplaceFilter)
}

fn replace(
    line: &mut CachingLine,
    design: &Design,
    site: &CachingSite,
    send: &mut impl FnMut(Message),
    what: External,
) -> Replaced {
    if !line.is_quiet() {
        return Replaced::Busy;
    }
    let agent = Agent::Interface(site.cluster);
    // Replacements are caused by no message of the line.
    let message = &Message::new(MessageKind::CleanEvict, site.line, agent, agent);
    let mut at = Caching { line, design, site, message, send, work: CachingWork::default() };
    let snoops = match what {
        External::ReplaceL3 => at.is_inclusive() && at.line.cores != 0,
        _ => at.line.cores != 0,
    };
    if snoops {
        at.line.external = Some(what);
        at.snoop_cores(at.line.cores, MessageKind::CoreSnoopInvalidate, false);
        return Replaced::Started(at.work);
    }
    if what == External::ReplaceL3 {
        at.drop_l3();
    }
    Replaced::Done(at.work)
}

impl<S: FnMut(Message)> Caching<'_, S> {
    /// Drops the L3's copy. Cores of an inclusive L3 have dropped theirs.
    pub(super) fn drop_l3(&mut self) {
        use ClusterState as C;
        self.line.external = None;
        let found = std::mem::take(&mut self.line.found);
        let dirty = self.line.l3 == L3Copy::Dirty || found == Found::Dirty;
        let version = if found == Found::Dirty { self.line.transit } else { self.line.contents };
        let (state, kept) = (self.line.state, self.line.cores != 0);
        self.line.l3 = L3Copy::None;
        self.line.state = match (kept, dirty) {
            (false, _) => C::Invalid,
            // The next store sends the home a request, which has the writeback then: a cluster that could store at once could write back
            // without end, with nothing to wait for.
            (true, true) => C::Shared,
            (true, false) => state,
        };
        if dirty {
            let kind = if kept { MessageKind::WritebackKeep } else { MessageKind::WritebackInvalid };
            self.write_back(kind, version, !kept && state == C::Exclusive);
        }
    }

    /// Drops the filter's entry: the cores have dropped their copies.
    pub(super) fn drop_filter(&mut self) {
        self.line.external = None;
        if std::mem::take(&mut self.line.found) == Found::Dirty {
            self.fill(L3Copy::Dirty, self.line.transit);
        } else if self.line.l3 == L3Copy::None {
            // Clean data are dropped, without a message to the home.
            self.line.state = ClusterState::Invalid;
        }
    }

    fn write_back(&mut self, kind: MessageKind, version: Version, sole: bool) {
        self.work.l3_read = true;
        self.send_to_agent(Agent::Home(self.site.home), kind, |message| message.with_version(version).with_sole(sole));
    }
}

//! Planted faults: each is a function of what a step of a correct protocol started from and led to.

use protocol::Access;
use protocol::contract::CacheSite;

use super::Explored;
use crate::config::Config;
use crate::model::Property;

/// A fault that can be planted in one rule of a protocol.
pub struct Planted<P: Explored> {
    /// Name.
    pub name: &'static str,
    /// Property that the fault violates in the fewest steps.
    pub breaks: Property,
    /// A small configuration in which the fault is found.
    pub config: Config,
    /// The fault.
    pub plant: Plant<P>,
}

/// A fault.
#[derive(Debug)]
pub enum Plant<P: Explored> {
    /// Caches do or send something else, in any of their steps.
    Caches(fn(&mut AtCaches<'_, P>)),
    /// The home does or sends something else, when it handles a message or reclaims store entries.
    Home(fn(&P, &mut AtHome<'_, P>)),
    /// The home gives this answer to some messages, and does nothing else.
    Refuse(fn(&P::Message) -> Option<P::Message>),
    /// NACKed requests are not retried.
    NoRetry,
    /// The network does not keep the order that the protocol needs.
    NoOrder,
}

impl<P: Explored> Clone for Plant<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Explored> Copy for Plant<P> {}

/// A step at caches.
pub struct AtCaches<'a, P: Explored> {
    /// Location of the line at the first of the caches.
    pub site: CacheSite,
    /// Message handled; `None` if the step is an access, an eviction or a retry.
    pub message: Option<&'a P::Message>,
    /// The line at each of the caches, before.
    pub before: &'a [P::CacheLine],
    /// The line at each of the caches, after.
    pub lines: &'a mut [P::CacheLine],
    /// Messages sent.
    pub sent: &'a mut Vec<P::Message>,
    /// Access performed.
    pub performed: &'a mut Option<Access>,
}

impl<P: Explored> AtCaches<'_, P> {
    /// Whether the step handles such a message.
    pub fn handles(&self, such: impl FnOnce(&P::Message) -> bool) -> bool {
        self.message.is_some_and(such)
    }
}

/// A step at the home.
pub struct AtHome<'a, P: Explored> {
    /// Message handled; `None` if store entries are reclaimed.
    pub message: Option<&'a P::Message>,
    /// The line, before.
    pub before: &'a P::HomeLine,
    /// The store, before.
    pub store_before: &'a P::Store,
    /// The line, after.
    pub line: &'a mut P::HomeLine,
    /// The store, after.
    pub store: &'a mut P::Store,
    /// Messages sent.
    pub sent: &'a mut Vec<P::Message>,
}

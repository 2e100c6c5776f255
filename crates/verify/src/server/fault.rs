//! Planted faults of the protocol of servers, each in one rule: the checker must find all of them.

use protocol::server::{CachingLine, CoreLine, HomeLine, Message};

/// A fault.
#[derive(Clone, Copy)]
pub enum Plant {
    /// A core does or sends something else, in any of its steps.
    Core(fn(&mut AtCore<'_>)),
    /// A caching agent does or sends something else, in any of its steps.
    Agent(fn(&mut AtAgent<'_>)),
    /// The home does or sends something else, in any of its steps.
    Home(fn(&mut AtHome<'_>)),
    /// The home serves requests of a busy line.
    ServeBusy,
    /// These messages do not keep the order that the protocol needs.
    NoOrder(fn(&Message) -> bool),
}

/// A step at a core.
pub struct AtCore<'a> {
    /// Message handled; `None` if the step is an access or an eviction.
    pub message: Option<&'a Message>,
    /// The line, before.
    pub before: &'a CoreLine,
    /// The line, after.
    pub line: &'a mut CoreLine,
    /// Messages sent.
    pub sent: &'a mut Vec<Message>,
}

/// A step at a caching agent.
pub struct AtAgent<'a> {
    /// Message handled; `None` if the step is a replacement.
    pub message: Option<&'a Message>,
    /// The line, before.
    pub before: &'a CachingLine,
    /// The line, after.
    pub line: &'a mut CachingLine,
    /// Messages sent.
    pub sent: &'a mut Vec<Message>,
}

/// A step at the home.
pub struct AtHome<'a> {
    /// Message handled; `None` if the step is a replacement.
    pub message: Option<&'a Message>,
    /// The line, before.
    pub before: &'a HomeLine,
    /// The line, after.
    pub line: &'a mut HomeLine,
    /// Messages sent.
    pub sent: &'a mut Vec<Message>,
}

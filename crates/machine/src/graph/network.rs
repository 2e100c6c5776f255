//! Virtual networks, which keep requests and replies apart.

use std::fmt;

/// The networks that messages travel on, which must not depend on each other: a request may wait for a reply, a reply
/// for nothing. Both use the same routes on an Origin, on separate virtual channels; on FLASH each has a mesh of
/// routers of its own (FLASH dissertation, Appendix A).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum VirtualNetwork {
    /// Requests, forwarded ones included.
    Request,
    /// Replies, and all other messages that their destination can always accept.
    Reply,
}

impl VirtualNetwork {
    /// Both, requests first.
    pub const ALL: [Self; 2] = [Self::Request, Self::Reply];
}

impl fmt::Display for VirtualNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Request => "request",
            Self::Reply => "reply",
        })
    }
}

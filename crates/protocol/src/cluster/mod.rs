//! The protocol between the nodes of a cluster of SMPs: a full-map directory that invalidates, below nodes whose caches
//! are kept coherent by a snooping bus.
//!
//! One kind of node serves two machines: DASH, whose clusters of four processors share a bus (Hexsel and Topham, "The
//! performance of SCI multiprocessor rings", Section 3), and clusters of SMPs with a device on the bus of each (Lai and
//! Falsafi 2000, Sections 2 and 5). The bus is [`crate::snoop`]'s, MESI or MOESI. The agents of this protocol are the
//! [`home()`] of a line and the device of each node, a [`Line`]:
//! - *On the bus*, the device retries transactions for which the node lacks the right ([`crate::snoop::Device`]'s
//!   table), and requests the right from the home. For lines of other nodes, its block cache stands for memory. It
//!   includes every line that the node's caches have (Lai and Falsafi 2000, Section 5): a line that it replaces is
//!   recalled from the caches by a bus transaction.
//! - *The home's own node* is a node like the others. At first it owns every line, so that its processors use local
//!   lines without the directory until another node requests them. Messages between its device and its directory do not
//!   leave the device.
//! - *Interventions*: the home forwards a request to the owning node, whose device takes the line from its caches by a
//!   bus transaction and sends it to the requester, and a report to the home.
//! - *Acknowledgements of invalidations* are collected by the requester, as in DASH. A write waits for them, or, with
//!   [`Protocol::early_grant`], only its node's answers to other nodes do.
//!
//! No message is NACKed. A home that waits for an owner's report leaves further requests of the line and writebacks in
//! its queue ([`HomeOutcome::Busy`]). DASH NACKs them instead; but every node has at most one request and one writeback
//! of a line outstanding, so that the queue is bounded, and no requester can be overtaken for ever.
//!
//! Messages overtake each other without limit. `TRANSITIONS-cluster.md` of this crate lists the transitions.

mod directory;
mod home;
mod line;
mod message;
mod node;
mod table;

pub use directory::{DirectoryState, Entry, MAX_NODES};
pub use home::{HomeOutcome, HomeWork, Transaction, home};
pub use line::{Collection, Intervention, Line, Request, Site};
pub use message::{Lane, Message, MessageKind};
pub use node::NodeOutcome;
pub use table::{HomeCase, NodeCase, TRANSITIONS, home_cases, node_cases};

/// Parameters that all agents share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Protocol {
    /// Early grant: a node may write a line while acknowledgements of its invalidations are outstanding, and only
    /// answers other nodes when all have arrived. Memory is then consistent at releases only, as in DASH (Lenoski et
    /// al., "The directory-based cache coherence protocol for the DASH multiprocessor", ISCA 1990).
    pub early_grant: bool,
}

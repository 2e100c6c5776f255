//! Objects that have counters: the machine, nodes, links, processes, threads.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The kinds of objects, from the whole to its parts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// The whole machine: one object.
    Machine,
    /// A node: memory, and what is on its board.
    Node,
    /// One end of a link: the port of a router, or of a node.
    Link,
    /// A process: an address space.
    Process,
    /// A thread.
    Thread,
}

impl ObjectKind {
    /// All kinds, in order.
    pub const ALL: [Self; 5] = [Self::Machine, Self::Node, Self::Link, Self::Process, Self::Thread];

    /// The word for it in columns, formulas and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Node => "node",
            Self::Link => "link",
            Self::Process => "process",
            Self::Thread => "thread",
        }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ObjectKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("`{text}`: unknown kind of object; accepted: machine, node, link, process, thread"))
    }
}

/// Something that counters belong to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Object {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its number among those of its kind, as long as the trace lasts. A node's is its number; a thread's need not be
    /// the kernel's, which uses numbers again.
    pub key: u64,
    /// Its name in columns and flags: `n1`, `r3:2`, `t4711`.
    pub name: String,
    /// Its full name: `/hw/module/1/slot/n1/node`, or the thread's program and number.
    pub title: String,
    /// The key of the node that it is part of, or always runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u64>,
    /// The key of the process that a thread is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u64>,
    /// The ends of a link: the full names of what it leaves and where it leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<[String; 2]>,
    /// Whether it came to be while the trace was taken, so that what its counters say first was all counted meanwhile.
    #[serde(default)]
    pub newborn: bool,
}

impl Object {
    /// An object that is part of no other and was there before.
    pub fn new(kind: ObjectKind, key: u64, name: impl Into<String>, title: impl Into<String>) -> Self {
        let (name, title) = (name.into(), title.into());
        Self { kind, key, name, title, node: None, process: None, ends: None, newborn: false }
    }

    /// The machine as a whole.
    pub fn machine(title: impl Into<String>) -> Self {
        Self::new(ObjectKind::Machine, 0, "machine", title)
    }

    /// A node by its number.
    pub fn node(number: u64, title: impl Into<String>) -> Self {
        Self::new(ObjectKind::Node, number, format!("n{number}"), title)
    }
}

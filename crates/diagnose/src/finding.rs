//! A finding: a class of fault, what it costs, what it follows from, what would help, and how to try that.

use record::Evidence;
use serde::{Deserialize, Serialize};
use units::{CpuId, NodeId, counted};

/// The classes of faults.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Processors store to different words of one line.
    LineFalseSharing,
    /// Nodes use different lines of one page.
    PageFalseSharing,
    /// Nodes use different pages that are all on one node.
    NodeFalseSharing,
    /// Many processors want what is on one node.
    HotSpot,
    /// Pages are on another node than the one that uses them.
    Misplaced,
    /// Nodes miss again on lines of other nodes' pages that they had.
    RepeatedMisses,
    /// More pages are in use at a time than the translation buffer knows.
    Blocking,
    /// There is more to communicate the more processors there are.
    Communication,
    /// Threads wait for each other's locks.
    Locks,
    /// How threads wait for each other costs more than the wait.
    Synchronisation,
    /// Some threads have more to do than others.
    Imbalance,
    /// One thread works and the others wait.
    Serial,
    /// Threads change processors, and leave what they have in caches and near by behind.
    Migration,
    /// Threads are ready to run and wait for a processor.
    RunQueue,
}

impl Class {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LineFalseSharing => "cache-line false sharing",
            Self::PageFalseSharing => "page-level false sharing",
            Self::NodeFalseSharing => "node-level false sharing",
            Self::HotSpot => "hot spot",
            Self::Misplaced => "misplaced data",
            Self::RepeatedMisses => "repeated remote misses",
            Self::Blocking => "poor blocking",
            Self::Communication => "growing communication",
            Self::Locks => "lock contention",
            Self::Synchronisation => "costly synchronisation",
            Self::Imbalance => "load imbalance",
            Self::Serial => "serial time",
            Self::Migration => "scheduler migration",
            Self::RunQueue => "run-queue wait",
        }
    }

    /// All classes.
    pub const ALL: [Self; 14] = [
        Self::LineFalseSharing,
        Self::PageFalseSharing,
        Self::NodeFalseSharing,
        Self::HotSpot,
        Self::Misplaced,
        Self::RepeatedMisses,
        Self::Blocking,
        Self::Communication,
        Self::Locks,
        Self::Synchronisation,
        Self::Imbalance,
        Self::Serial,
        Self::Migration,
        Self::RunQueue,
    ];

    /// The kinds of evidence of which any one shows faults of this class.
    pub const fn shown_by(self) -> &'static [Evidence] {
        match self {
            Self::LineFalseSharing
            | Self::PageFalseSharing
            | Self::NodeFalseSharing
            | Self::HotSpot
            | Self::RepeatedMisses => &[Evidence::Misses],
            Self::Misplaced => &[Evidence::Misses, Evidence::Touches, Evidence::Residence],
            Self::Blocking => &[Evidence::Translation],
            Self::Communication => &[Evidence::FewerProcessors],
            Self::Locks | Self::Synchronisation => &[Evidence::Locks],
            Self::Imbalance | Self::Serial | Self::RunQueue => &[Evidence::RunQueue],
            Self::Migration => &[Evidence::Moves],
        }
    }
}

/// Words of a line that are to be with one processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Apart {
    /// Address of the line.
    pub line: u64,
    /// Its words of eight bytes, a bit each.
    pub words: u32,
    /// The processor.
    pub cpu: CpuId,
}

/// How the remedy can be tried on a simulated machine.
#[derive(Clone, PartialEq, Debug)]
pub enum Trial {
    /// These pages, by address, are on these nodes.
    Place(Vec<(u64, NodeId)>),
    /// These words are in lines of their own, on pages of their processors.
    Separate(Vec<Apart>),
    /// The machine has another value of a parameter.
    Machine(&'static str, &'static str),
    /// The machine has the mechanisms that this word names ([`Attribution::page_mechanisms`](record::Attribution)).
    System(&'static str),
    /// Threads are where they start for good.
    Pin,
    /// Threads wait for each other otherwise: at barriers or for locks, and of which kind those are.
    Synchronise(&'static str, &'static str),
}

impl Trial {
    /// The trial in words.
    pub fn describe(&self) -> String {
        match self {
            Self::Place(pages) if pages.len() == 1 => "1 page placed on the node that uses it".to_owned(),
            Self::Place(pages) => format!("{} pages placed on the nodes that use them", pages.len()),
            Self::Separate(words) => {
                format!("{} placed on their users' nodes", counted(words.len() as u64, "padded per-thread part"))
            }
            Self::Machine(key, value) => format!("{key} = {value}"),
            Self::System(word) => format!("+{word}"),
            Self::Pin => "threads pinned".to_owned(),
            Self::Synchronise(key, kind) => format!("--{key} {kind}"),
        }
    }
}

/// A fault found in a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The class.
    pub class: Class,
    /// The data that it is about, if it is about some.
    pub object: Option<String>,
    /// The address of the instruction that suffers most, if that is known.
    pub site: Option<u64>,
    /// Its estimated cost: a share of all processors' time.
    pub cost: f64,
    /// Whether only a trial can tell what it costs.
    pub cost_unknown: bool,
    /// A share of the run that no remedy can gain more than, as far as work and all else that takes time stay as they are; none where the
    /// run does not tell.
    pub bound: Option<f64>,
    /// The measurements that it follows from.
    pub evidence: String,
    /// The proposed change.
    pub remedy: String,
    /// How that can be tried.
    pub trial: Option<Trial>,
    /// By what share the run became shorter when it was tried, if it was.
    pub gain: Option<f64>,
}

impl Finding {
    /// Its worth: the gain of the tried remedy, or else the estimated cost.
    pub fn worth(&self) -> f64 {
        self.gain.unwrap_or(self.cost)
    }
}

/// Puts what is worth most first.
pub fn rank(findings: &mut [Finding]) {
    findings.sort_by(|a, b| b.worth().total_cmp(&a.worth()).then_with(|| a.class.cmp(&b.class)));
}

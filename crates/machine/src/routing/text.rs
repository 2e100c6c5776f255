//! Routing tables as text, for printing and loading.
//!
//! Each router has a line, with its name in the hardware graph and then `node:port` for every destination that it
//! routes:
//!
//! ```text
//! # comment
//! /hw/module/1/slot/r1/router 0:5 1:4 2:6 3:6
//! ```

use std::collections::HashMap;
use std::fmt::Write;

use thiserror::Error;
use units::{NodeId, Port, RouterId};

use super::RoutingTable;
use crate::topology::{ROUTER_PORTS, Topology};

/// A fault in the text of a routing table.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{file}:{line}: {text}: {reason}; accepted: {accepted}")]
pub struct TableSyntaxError {
    /// The name of the text.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The faulty part.
    pub text: String,
    /// The fault.
    pub reason: &'static str,
    /// The accepted text.
    pub accepted: String,
}

impl RoutingTable {
    /// The table as text that [`RoutingTable::parse`] reads.
    pub fn to_text(&self, topology: &Topology) -> String {
        let mut text = String::new();
        for router in topology.routers() {
            text.push_str(&router.path());
            for node in topology.nodes() {
                if let Some(port) = self.exit(router.id, node.id) {
                    // Writing to a string is infallible.
                    let _ = write!(text, " {}:{port}", node.id);
                }
            }
            text.push('\n');
        }
        text
    }

    /// Reads a table for `topology`; `file` is the name of the text in messages. A missing entry is an error only for a
    /// packet that needs it.
    ///
    /// # Errors
    /// A line names no router, node or port of `topology`, or gives a destination twice.
    pub fn parse(file: &str, text: &str, topology: &Topology) -> Result<Self, TableSyntaxError> {
        let by_name: HashMap<String, RouterId> =
            topology.routers().iter().map(|router| (router.path(), router.id)).collect();
        let mut entries: HashMap<(RouterId, NodeId), Port> = HashMap::new();
        for (line, content) in (1..).zip(text.lines()) {
            let mut words = content.split('#').next().unwrap_or_default().split_whitespace();
            let Some(name) = words.next() else { continue };
            let error = |text: &str, reason, accepted| TableSyntaxError {
                file: file.into(),
                line,
                text: text.into(),
                reason,
                accepted,
            };
            let Some(router) = by_name.get(name) else {
                let accepted = topology.routers().first().map_or_else(String::new, |router| router.path());
                return Err(error(name, "there is no such router", format!("a router's name such as {accepted}")));
            };
            for word in words {
                let form = || format!("NODE:PORT, node below {}, port 1 to {ROUTER_PORTS}", topology.nodes().len());
                let Some((node, port)) = entry(word, topology.nodes().len()) else {
                    return Err(error(word, "this is not a destination and a port", form()));
                };
                if entries.insert((*router, node), port).is_some() {
                    return Err(error(word, "the destination is given twice for this router", form()));
                }
            }
        }
        let (routers, nodes) = (topology.routers().len(), topology.nodes().len());
        Ok(Self::from_fn(routers, nodes, |router, node| entries.get(&(router, node)).copied()))
    }
}

fn entry(word: &str, nodes: usize) -> Option<(NodeId, Port)> {
    let (node, port) = word.split_once(':')?;
    let (node, port) = (node.parse::<u16>().ok()?, port.parse::<u8>().ok()?);
    let valid = usize::from(node) < nodes && (1..=ROUTER_PORTS).contains(&usize::from(port));
    valid.then_some((NodeId(node), Port(port)))
}

//! Routing tables as text, for printing and loading.
//!
//! Each router has a line, with its name in the hardware graph and then `node:port` for every destination that it
//! routes, or `node:port:class` if the packet takes another class of virtual channels than 0:
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
use crate::graph::{Graph, Router};

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
    pub fn to_text(&self, graph: &Graph) -> String {
        let mut text = String::new();
        for router in graph.routers() {
            text.push_str(&router.path());
            for node in graph.nodes() {
                let Some(port) = self.exit(router.id, node.id) else { continue };
                // Writing to a string is infallible.
                let _ = match self.class(router.id, node.id) {
                    0 => write!(text, " {}:{port}", node.id),
                    class => write!(text, " {}:{port}:{class}", node.id),
                };
            }
            text.push('\n');
        }
        text
    }

    /// Reads a table for `graph`; `file` is the name of the text in messages. A missing entry is an error only for a
    /// packet that needs it.
    ///
    /// # Errors
    /// A line names no router, node or port of `graph`, or gives a destination twice.
    pub fn parse(file: &str, text: &str, graph: &Graph) -> Result<Self, TableSyntaxError> {
        let by_name: HashMap<String, RouterId> =
            graph.routers().iter().map(|router| (router.path(), router.id)).collect();
        let mut entries: HashMap<(RouterId, NodeId), (Port, u8)> = HashMap::new();
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
                let accepted = graph.routers().first().map_or_else(String::new, |router| router.path());
                return Err(error(name, "there is no such router", format!("a router's name such as {accepted}")));
            };
            for word in words {
                let Some((node, exit)) = entry(word, graph) else {
                    return Err(error(word, "this is not a destination and a port", form(graph)));
                };
                if entries.insert((*router, node), exit).is_some() {
                    return Err(error(word, "the destination is given twice for this router", form(graph)));
                }
            }
        }
        let (routers, nodes) = (graph.routers().len(), graph.nodes().len());
        let given = |router, node| entries.get(&(router, node));
        let table = Self::from_fn(routers, nodes, |router, node| given(router, node).map(|&(port, _)| port));
        let has_classes = graph.channel_classes() > 1;
        let class = |router, node| given(router, node).map_or(0, |&(_, class)| class);
        Ok(if has_classes { table.with_classes(class) } else { table })
    }
}

/// The accepted form of an entry.
fn form(graph: &Graph) -> String {
    let (nodes, ports, classes) = (graph.nodes().len(), most_ports(graph), graph.channel_classes());
    let plain = format!("NODE:PORT, node below {nodes}, port 1 to {ports}");
    if classes > 1 { format!("{plain}, or NODE:PORT:CLASS, class 0 to {}", classes - 1) } else { plain }
}

fn most_ports(graph: &Graph) -> usize {
    graph.routers().iter().map(Router::port_count).max().unwrap_or(0)
}

/// The destination of an entry, its port and its class of virtual channels.
fn entry(word: &str, graph: &Graph) -> Option<(NodeId, (Port, u8))> {
    let (node, exit) = word.split_once(':')?;
    let (port, class) = exit.split_once(':').unwrap_or((exit, "0"));
    let (node, port, class) = (node.parse::<u16>().ok()?, port.parse::<u16>().ok()?, class.parse::<u8>().ok()?);
    let valid = usize::from(node) < graph.nodes().len()
        && (1..=most_ports(graph)).contains(&usize::from(port))
        && u32::from(class) < graph.channel_classes();
    valid.then_some((NodeId(node), (Port(port), class)))
}

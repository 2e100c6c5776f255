//! Vector (source) routes as text: for pairs of routers, the routers that a packet passes on its way.
//!
//! Each route has a line, as in the FLASH dissertation's Table A.1: source, destination, and the routers that forward
//! the packet, the source first. Neighbours need no line: they are one link apart.
//!
//! ```text
//! # source -> destination: routers that send the packet on
//! 0 -> 2: 0 1
//! ```

use std::collections::BTreeSet;

use thiserror::Error;
use units::RouterId;

use super::deadlock::find_cycle;
use crate::graph::{Endpoint, Graph, Link, LinkClass};

/// A fault in the text of vector routes.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{file}:{line}: {text}: {reason}; accepted: {accepted}")]
pub struct VectorSyntaxError {
    /// The name of the text.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The line's content.
    pub text: String,
    /// The fault.
    pub reason: String,
    /// The accepted text.
    pub accepted: String,
}

/// Pairs of routers that must reach each other and cannot.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "{file}: there is no route from router {from} to router {to}{}; accepted: a line for each pair of routers without a link",
    also(*.others)
)]
pub struct UnroutedError {
    /// The name of the text.
    pub file: String,
    /// The router where the first of the routes would begin.
    pub from: RouterId,
    /// The router where it would end.
    pub to: RouterId,
    /// How many more pairs have no route.
    pub others: usize,
}

fn also(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => ", nor for another pair".to_owned(),
        _ => format!(", nor for {count} other pairs"),
    }
}

/// Routes between routers, each as the list of all its routers, the first and the last included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VectorRoutes {
    routes: Vec<Vec<RouterId>>,
}

impl VectorRoutes {
    /// Whether a text is of vector routes, and not of tables of routers, whose comments may have arrows.
    pub fn are_in(text: &str) -> bool {
        text.lines().any(|line| content(line).contains("->"))
    }

    /// Reads routes; `file` is the name of the text in messages. On a `machine`, routes are of its routers and follow its links.
    ///
    /// # Errors
    /// A line is not a route, or not one of the machine.
    pub fn parse(file: &str, text: &str, machine: Option<&Graph>) -> Result<Self, VectorSyntaxError> {
        let linked = machine.map(links);
        let mut routes = Vec::new();
        for (line, content) in (1..).zip(text.lines().map(content)) {
            if content.is_empty() {
                continue;
            }
            let error = |(reason, accepted)| VectorSyntaxError {
                file: file.into(),
                line,
                text: content.into(),
                reason,
                accepted,
            };
            let route = route(content).map_err(|reason| error((reason.to_owned(), FORM.to_owned())))?;
            if let (Some(machine), Some(linked)) = (machine, &linked) {
                check(&route, machine, linked).map_err(error)?;
            }
            routes.push(route);
        }
        Ok(Self { routes })
    }

    /// The routes in the order of the text.
    pub fn routes(&self) -> &[Vec<RouterId>] {
        &self.routes
    }

    /// Whether there is a way between all routers with nodes of the `machine`, or without one between all that the routes name.
    /// Neighbours have a link, of the machine or, without one, of a route in whatever direction.
    ///
    /// # Errors
    /// A pair has none. `file` is the name of the text.
    pub fn check_pairs(&self, file: &str, machine: Option<&Graph>) -> Result<(), UnroutedError> {
        let ends: BTreeSet<RouterId> = match machine {
            Some(machine) => machine.nodes().iter().map(|node| node.router).collect(),
            None => self.routes.iter().flatten().copied().collect(),
        };
        let mut joined = machine.map(links).unwrap_or_default();
        for route in &self.routes {
            if machine.is_none() {
                joined.extend(route.windows(2).flat_map(|pair| [(pair[0], pair[1]), (pair[1], pair[0])]));
            }
            joined.insert((route[0], route[route.len() - 1]));
        }
        let pairs = ends.iter().flat_map(|&from| ends.iter().map(move |&to| (from, to)));
        let mut unrouted = pairs.filter(|pair| pair.0 != pair.1 && !joined.contains(pair));
        match unrouted.next() {
            Some((from, to)) => Err(UnroutedError { file: file.into(), from, to, others: unrouted.count() }),
            None => Ok(()),
        }
    }

    /// The cycle of channels (pairs of neighbouring routers) that the routes form; `None` if there is none.
    pub fn find_cycle(&self) -> Option<Vec<(RouterId, RouterId)>> {
        find_cycle(self.routes.iter().map(|route| route.windows(2).map(|pair| (pair[0], pair[1]))))
    }
}

/// The accepted form of a line.
const FORM: &str = "SOURCE -> DESTINATION: SOURCE ROUTER...";

/// The pairs of routers of a machine that have a link, in both orders but where links carry packets one way.
fn links(machine: &Graph) -> BTreeSet<(RouterId, RouterId)> {
    let pair = |link: &Link| match link.ends {
        [Endpoint::Router(from, _), Endpoint::Router(to, _)] => {
            let back = (link.class != LinkClass::Sci).then_some((to, from));
            [Some((from, to)), back]
        }
        _ => [None; 2],
    };
    machine.links().iter().flat_map(pair).flatten().collect()
}

/// Whether a machine has the routers of a route and the links between them. If not, the fault and what is accepted.
fn check(route: &[RouterId], machine: &Graph, linked: &BTreeSet<(RouterId, RouterId)>) -> Result<(), (String, String)> {
    let (count, name) = (machine.routers().len(), machine.name());
    if let Some(unknown) = route.iter().find(|router| router.index() >= count) {
        let accepted =
            format!("routers of {name}, {}", if count > 1 { format!("0 to {}", count - 1) } else { "0".into() });
        return Err((format!("there is no router {unknown}"), accepted));
    }
    match route.windows(2).find(|pair| !linked.contains(&(pair[0], pair[1]))) {
        Some(pair) => {
            let reason = format!("there is no link from router {} to router {}", pair[0], pair[1]);
            Err((reason, format!("links that `ccnuma topology -m {name}` lists")))
        }
        None => Ok(()),
    }
}

/// A line without its comment.
fn content(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

fn route(content: &str) -> Result<Vec<RouterId>, &'static str> {
    let number = |word: &str| word.trim().parse().map(RouterId).map_err(|_| "a router is not a number");
    let (pair, via) = content.split_once(':').ok_or("there is no colon")?;
    let (source, destination) = pair.split_once("->").ok_or("there is no arrow")?;
    let (source, destination) = (number(source)?, number(destination)?);
    let mut route = via.split_whitespace().map(number).collect::<Result<Vec<_>, _>>()?;
    if route.first() != Some(&source) {
        return Err("the first router on the way is not the source");
    }
    route.push(destination);
    let distinct = (1..route.len()).all(|at| !route[..at].contains(&route[at]));
    if distinct { Ok(route) } else { Err("a router is passed twice") }
}

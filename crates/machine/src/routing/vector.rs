//! Vector (source) routes as text: for pairs of routers, the routers that a packet passes on its way.
//!
//! Each route has a line, as in the FLASH dissertation's Table A.1: source, destination, and the routers that forward
//! the packet, the source first. A pair without a line is not routed.
//!
//! ```text
//! # source -> destination: routers that send the packet on
//! 0 -> 2: 0 1
//! ```

use thiserror::Error;
use units::RouterId;

use super::deadlock::find_cycle;

/// A fault in the text of vector routes.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{file}:{line}: {text}: {reason}; accepted: SOURCE -> DESTINATION: SOURCE ROUTER...")]
pub struct VectorSyntaxError {
    /// The name of the text.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The line's content.
    pub text: String,
    /// The fault.
    pub reason: &'static str,
}

/// Routes between routers, each as the list of all its routers, the first and the last included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VectorRoutes {
    routes: Vec<Vec<RouterId>>,
}

impl VectorRoutes {
    /// Reads routes; `file` is the name of the text in messages.
    ///
    /// # Errors
    /// A line is not a route.
    pub fn parse(file: &str, text: &str) -> Result<Self, VectorSyntaxError> {
        let mut routes = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            let error = |reason| VectorSyntaxError { file: file.into(), line, text: content.into(), reason };
            routes.push(route(content).map_err(error)?);
        }
        Ok(Self { routes })
    }

    /// The routes in the order of the text.
    pub fn routes(&self) -> &[Vec<RouterId>] {
        &self.routes
    }

    /// The cycle of channels (pairs of neighbouring routers) that the routes form; `None` if there is none.
    pub fn find_cycle(&self) -> Option<Vec<(RouterId, RouterId)>> {
        find_cycle(self.routes.iter().map(|route| route.windows(2).map(|pair| (pair[0], pair[1]))))
    }
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

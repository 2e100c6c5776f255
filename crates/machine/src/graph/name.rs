//! Names in the hardware graph of nodes and of router ports (Prestor 2001, 3.3.1 and Table 5.5).

use units::{NodeId, Port, RouterId};

use super::{Endpoint, Graph};

/// The reason why a name is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name}: {problem}; accepted: {accepted}")]
pub struct NameError {
    /// The given name.
    pub name: String,
    /// The fault.
    pub problem: String,
    /// The accepted names.
    pub accepted: String,
}

impl Graph {
    /// The name of a router's port: `/hw/module/1/slot/r1/router/6`.
    pub fn port_path(&self, router: RouterId, port: Port) -> String {
        format!("{}/{port}", self.routers()[router.index()].path())
    }

    /// The name of either end of a link, with the port if it is a router's.
    pub fn end_path(&self, end: Endpoint) -> String {
        match end {
            Endpoint::Node(_) => self.path_of(end),
            Endpoint::Router(router, port) => self.port_path(router, port),
        }
    }

    /// The node of `name`: its number, `/hw/nodenum/3`, or its path.
    ///
    /// # Errors
    /// There is no such node.
    pub fn node_named(&self, name: &str) -> Result<NodeId, NameError> {
        let bare = name.strip_prefix("/hw/nodenum/").or_else(|| name.strip_prefix('n')).unwrap_or(name);
        let number = bare.parse().ok().map(NodeId).filter(|node| node.index() < self.nodes().len());
        let by_path = || self.nodes().iter().find(|node| node.path() == name).map(|node| node.id);
        number.or_else(by_path).ok_or_else(|| NameError {
            name: name.to_owned(),
            problem: format!("machine {} has no such node", self.name()),
            accepted: format!("0 to {}, or a path such as {}", self.nodes().len() - 1, self.nodes()[0].path()),
        })
    }

    /// The ports of `name`: `PATH/PORT`, `PATH:PORT` or `PATH/stat/PORT` of a router, `rN:PORT` for router number N, a
    /// router alone for all of its ports, or `NODE-PATH/hub/ni` for the one that a node is connected to.
    ///
    /// # Errors
    /// There is no such port.
    pub fn ports_named(&self, name: &str) -> Result<Vec<(RouterId, Port)>, NameError> {
        let refuse = |problem: String| NameError {
            name: name.to_owned(),
            problem,
            accepted: format!(
                "such as r0:1, {}, or {}/hub/ni",
                self.port_path(RouterId(0), Port(1)),
                self.nodes()[0].path()
            ),
        };
        if let Some(node) = name.strip_suffix("/hub/ni") {
            let node = &self.nodes()[self.node_named(node)?.index()];
            return Ok(vec![(node.router, node.port)]);
        }
        let by_path_alone =
            || name.rsplit_once('/').filter(|(_, port)| port.bytes().all(|digit| digit.is_ascii_digit()));
        let parts = name.rsplit_once("/stat/").or_else(|| name.rsplit_once(':')).or_else(by_path_alone);
        let (router, port) = parts.map_or((name, None), |(router, port)| (router, Some(port)));
        let by_number =
            || router.strip_prefix('r')?.parse::<usize>().ok().filter(|&number| number < self.routers().len());
        let by_path = || self.routers().iter().position(|other| other.path() == router);
        let number = by_number().or_else(by_path);
        let number = number.ok_or_else(|| refuse(format!("machine {} has no router {router}", self.name())))?;
        let ports: Vec<_> = self.routers()[number].ports().map(|(port, _)| port).collect();
        let id = self.routers()[number].id;
        match port {
            None => Ok(ports.into_iter().map(|port| (id, port)).collect()),
            Some(text) => {
                let found = ports.iter().find(|port| port.to_string() == text);
                let all = || ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let found = found.ok_or_else(|| refuse(format!("its connected ports are {}", all())))?;
                Ok(vec![(id, *found)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Topology;

    #[test]
    fn every_part_is_found_by_every_name_of_it() {
        let topology = Topology::new(&crate::load("arctic").unwrap());
        for node in topology.nodes() {
            for name in
                [node.path(), node.id.0.to_string(), format!("/hw/nodenum/{}", node.id.0), format!("n{}", node.id.0)]
            {
                assert_eq!(topology.node_named(&name), Ok(node.id));
            }
            assert_eq!(topology.ports_named(&format!("{}/hub/ni", node.path())), Ok(vec![(node.router, node.port)]));
        }
        for router in topology.routers() {
            let all: Vec<_> = router.ports().map(|(port, _)| (router.id, port)).collect();
            assert_eq!(topology.ports_named(&router.path()), Ok(all));
            for (port, _) in router.ports() {
                let (path, by_number) = (router.path(), format!("r{}:{port}", router.id.0));
                let by_path = ["/", ":", "/stat/"].map(|between| format!("{path}{between}{port}"));
                assert!(by_path.contains(&topology.port_path(router.id, port)));
                for name in by_path.into_iter().chain([by_number]) {
                    assert_eq!(topology.ports_named(&name), Ok(vec![(router.id, port)]));
                }
            }
        }
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is() {
        let topology = Topology::new(&crate::load("lego-oil").unwrap());
        let message = topology.node_named("99").unwrap_err().to_string();
        assert!(message.starts_with("99: machine"), "{message}");
        assert!(message.contains("/hw/module/1/slot/n1/node"), "{message}");
        let message = topology.ports_named("r0:9").unwrap_err().to_string();
        assert!(message.contains("its connected ports are "), "{message}");
        assert!(topology.ports_named("/hw/module/9/slot/r1/router:1").unwrap_err().problem.contains("has no router"));
    }
}

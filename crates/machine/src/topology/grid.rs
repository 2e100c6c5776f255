//! A two-dimensional mesh of routers, without wrap-around.
//!
//! **Parts.** Each router has one or two nodes, at ports 1 and 2; ports 3 and 4 go to the next and the previous column,
//! 5 and 6 to the next and the previous row. Routers are numbered row by row, and nodes fill them in that order. In the
//! hardware graph a router and its nodes are a module. Of twin meshes, one for requests and one for replies, both routers of a
//! place are one part here, which nodes enter by one link: ports 7 to 10 are those of the second mesh.
//!
//! **Routes.** A packet corrects its column first, then its row. The path is shortest. No packet turns from a column's
//! channels back to a row's, and within a row or a column its direction never changes, so that the channels form no cycle
//! (Dally and Seitz 1987).

use units::{NodeId, Port, RouterId};

use super::{Builder, Exit, Topology};
use crate::description::{Description, MeshSpec};
use crate::graph::{Endpoint, LinkClass, RouterPlace, VirtualNetwork};

const NEXT_COLUMN_PORT: Port = Port(3);
const BEFORE_COLUMN_PORT: Port = Port(4);
const NEXT_ROW_PORT: Port = Port(5);
const BEFORE_ROW_PORT: Port = Port(6);
/// Ports of a router with its twin.
const TWIN_PORTS: usize = 10;
/// Ports of the mesh of replies, after those of the mesh of requests.
const PORTS_OF_A_MESH: u16 = 4;

/// The shape that determines wiring and routes.
#[derive(Clone, Copy, Debug)]
struct Shape {
    nodes_per_router: u16,
    columns: u16,
    rows: u16,
}

impl Shape {
    fn router_of(self, node: NodeId) -> u16 {
        node.0 / self.nodes_per_router
    }

    fn node_port(self, node: u16) -> Port {
        Port((node % self.nodes_per_router) + 1)
    }

    /// Column and row of a router.
    fn place(self, router: u16) -> (u16, u16) {
        (router % self.columns, router / self.columns)
    }

    /// The exit port of `router` for packets to `node`.
    fn exit(self, mesh: u16, router: RouterId, node: NodeId) -> Port {
        let ((column, row), (to_column, to_row)) = (self.place(router.0), self.place(self.router_of(node)));
        let port = match (column.cmp(&to_column), row.cmp(&to_row)) {
            (std::cmp::Ordering::Less, _) => NEXT_COLUMN_PORT,
            (std::cmp::Ordering::Greater, _) => BEFORE_COLUMN_PORT,
            (_, std::cmp::Ordering::Less) => NEXT_ROW_PORT,
            (_, std::cmp::Ordering::Greater) => BEFORE_ROW_PORT,
            _ => return self.node_port(node.0),
        };
        of_mesh(mesh, port)
    }
}

/// The port of one of the meshes: 0 of requests or of all messages, 1 of replies.
const fn of_mesh(mesh: u16, port: Port) -> Port {
    Port(port.0 + mesh * PORTS_OF_A_MESH)
}

/// Builds the network of `description`.
///
/// # Panics
/// The description has no mesh, or one of other sides than its routers need, which [`crate::load`] rejects.
pub(super) fn build(description: &Description) -> Topology {
    let spec = &description.topology;
    let Some(mesh) = &description.mesh else { panic!("{} has no [mesh]", description.name) };
    let Some((columns, rows)) = mesh.sides(spec.routers_with_nodes()) else {
        panic!("the mesh of {} does not hold its routers", description.name)
    };
    let (columns, rows) = (columns as u16, rows as u16);
    let shape = Shape { nodes_per_router: spec.nodes_per_router as u16, columns, rows };
    let mut builder = Builder::new(spec.propagation_per_m);
    for router in 0..columns * rows {
        let (column, row) = shape.place(router);
        let place = RouterPlace::Grid { column, row };
        match mesh.twin {
            true => builder.router_with(TWIN_PORTS, place, router + 1, 1),
            false => builder.router(place, router + 1, 1),
        };
    }
    for node in 0..spec.nodes() as u16 {
        let (router, slot) = (shape.router_of(NodeId(node)), node % shape.nodes_per_router + 1);
        builder.node(router + 1, slot as u8, RouterId(router), shape.node_port(node), mesh.node_link);
    }
    for number in 0..=u16::from(mesh.twin) {
        link_neighbours(&mut builder, shape, mesh, number);
    }
    let exit = |network| move |router, node| Some(shape.exit(if mesh.twin { network as u16 } else { 0 }, router, node));
    let (request, reply) = (exit(VirtualNetwork::Request), exit(VirtualNetwork::Reply));
    builder.finish(description, &request, mesh.twin.then_some(&reply as &Exit))
}

fn link_neighbours(builder: &mut Builder, shape: Shape, mesh: &MeshSpec, number: u16) {
    for router in 0..shape.columns * shape.rows {
        let (column, row) = shape.place(router);
        let mut join = |other, out, back| {
            let ends = [(router, out), (other, back)];
            let ends = ends.map(|(end, port)| Endpoint::Router(RouterId(end), of_mesh(number, port)));
            builder.link(ends[0], ends[1], LinkClass::Mesh, mesh.cable);
        };
        if column + 1 < shape.columns {
            join(router + 1, NEXT_COLUMN_PORT, BEFORE_COLUMN_PORT);
        }
        if row + 1 < shape.rows {
            join(router + shape.columns, NEXT_ROW_PORT, BEFORE_ROW_PORT);
        }
    }
}

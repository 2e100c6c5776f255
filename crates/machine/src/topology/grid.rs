//! A two-dimensional mesh of routers, without wrap-around.
//!
//! **Parts.** Each router has one or two nodes, at ports 1 and 2; ports 3 and 4 go to the next and the previous column,
//! 5 and 6 to the next and the previous row. Routers are numbered row by row, and nodes fill them in that order. In the
//! hardware graph a router and its nodes are a module.
//!
//! **Routes.** A packet corrects its column first, then its row. The path is shortest. No packet turns from a column's
//! channels back to a row's, and within a row or a column its direction never changes, so that the channels form no cycle
//! (Dally and Seitz 1987).

use units::{NodeId, Port, RouterId};

use super::{Builder, Topology};
use crate::description::{Description, MeshSpec};
use crate::graph::{Endpoint, LinkClass, RouterPlace};

const NEXT_COLUMN_PORT: Port = Port(3);
const BEFORE_COLUMN_PORT: Port = Port(4);
const NEXT_ROW_PORT: Port = Port(5);
const BEFORE_ROW_PORT: Port = Port(6);

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
    fn exit(self, router: RouterId, node: NodeId) -> Port {
        let ((column, row), (to_column, to_row)) = (self.place(router.0), self.place(self.router_of(node)));
        match (column.cmp(&to_column), row.cmp(&to_row)) {
            (std::cmp::Ordering::Less, _) => NEXT_COLUMN_PORT,
            (std::cmp::Ordering::Greater, _) => BEFORE_COLUMN_PORT,
            (_, std::cmp::Ordering::Less) => NEXT_ROW_PORT,
            (_, std::cmp::Ordering::Greater) => BEFORE_ROW_PORT,
            _ => self.node_port(node.0),
        }
    }
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
        builder.router(RouterPlace::Grid { column, row }, router + 1, 1);
    }
    for node in 0..spec.nodes() as u16 {
        let (router, slot) = (shape.router_of(NodeId(node)), node % shape.nodes_per_router + 1);
        builder.node(router + 1, slot as u8, RouterId(router), shape.node_port(node), mesh.node_link);
    }
    link_neighbours(&mut builder, shape, mesh);
    let exit = |router, node| Some(shape.exit(router, node));
    builder.finish(&description.name, spec, &exit, None)
}

fn link_neighbours(builder: &mut Builder, shape: Shape, mesh: &MeshSpec) {
    for router in 0..shape.columns * shape.rows {
        let (column, row) = shape.place(router);
        let mut join = |other, out, back| {
            let ends = [(router, out), (other, back)].map(|(end, port)| Endpoint::Router(RouterId(end), port));
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

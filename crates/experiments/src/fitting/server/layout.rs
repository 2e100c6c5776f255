//! The on-die network that stands for one that cannot be observed: the parts of the machine, on a network as its family has.

use machine::description::OnDieNetwork;

use super::structure::{Family, Structure};

/// A layout of stops, and what goes with it.
pub(super) struct Laid {
    pub(super) network: OnDieNetwork,
    pub(super) rows: Vec<String>,
    /// Memory controllers of a node.
    pub(super) controllers: u32,
    /// Core clusters of a die.
    pub(super) clusters_per_die: u32,
}

/// Memory controllers of a socket on a mesh or rings.
const CONTROLLERS: u32 = 2;
/// The most cores of a single ring.
const SINGLE_RING: u32 = 10;

/// The layout of a socket.
pub(super) fn lay_out(structure: &Structure) -> Laid {
    let controllers = CONTROLLERS.max(structure.nodes_per_socket).next_multiple_of(structure.nodes_per_socket);
    // A core brings a slice with it; other slices have stops of their own.
    let slices = structure.slices_per_cluster * structure.clusters_per_socket;
    let more = slices.saturating_sub(structure.cores_per_socket);
    let letters = || ["C"].repeat(structure.cores_per_socket as usize).into_iter().chain(["S"].repeat(more as usize));
    let mut laid = match structure.family {
        Family::Zen2 => io_die(structure),
        Family::HaswellEp if structure.nodes_per_socket <= 2 => Laid {
            network: OnDieNetwork::Rings,
            rows: rings(&letters().collect::<Vec<_>>(), structure.cores_per_socket),
            controllers: CONTROLLERS / structure.nodes_per_socket,
            clusters_per_die: 1,
        },
        Family::HaswellEp | Family::SkylakeSp => Laid {
            network: OnDieNetwork::Mesh,
            rows: mesh(&letters().collect::<Vec<_>>(), controllers),
            controllers: controllers / structure.nodes_per_socket,
            clusters_per_die: 1,
        },
    };
    if structure.memory_nodes > 0 {
        // Links to memory nodes are beside the first one to other sockets.
        laid.rows[0] = laid.rows[0].replacen('U', "UX", 1);
    }
    laid
}

/// One ring, or two that bridges join, each with half of the parts and a memory controller.
fn rings(parts: &[&str], cores: u32) -> Vec<String> {
    if cores <= SINGLE_RING || !parts.len().is_multiple_of(2) {
        return vec![format!("U {} {}", parts.join(" "), ["M"; CONTROLLERS as usize].join(" "))];
    }
    let (one, other) = parts.split_at(parts.len() / 2);
    let ring = |parts: &[&str]| {
        let (near, far) = parts.split_at(parts.len() / 2);
        format!("{} B M {} B", near.join(" "), far.join(" "))
    };
    vec![format!("U {}", ring(one)), ring(other)]
}

/// A mesh about as wide as it is high, with links above it, and memory controllers from its left side to its right.
fn mesh(parts: &[&str], controllers: u32) -> Vec<String> {
    let columns = ((parts.len() as f64).sqrt().ceil() as usize).max(1);
    let rows = parts.len().div_ceil(columns);
    let columns = parts.len().div_ceil(rows);
    let part =
        |column: usize, row: usize| parts.get(column * rows + row).map_or(String::new(), |part| (*part).to_owned());
    let mut grid: Vec<Vec<String>> =
        (0..rows).map(|row| (0..columns).map(|column| part(column, row)).collect()).collect();
    for number in 0..controllers as usize {
        let column = number * columns.saturating_sub(1) / (controllers as usize - 1).max(1);
        grid[rows / 2][column].push('M');
    }
    let cell = |cell: &String| if cell.is_empty() { ".".to_owned() } else { cell.clone() };
    let links = (0..columns).map(|column| if column == 0 || column + 1 == columns { "U" } else { "." });
    let mut laid = vec![links.collect::<Vec<_>>().join(" ")];
    laid.extend(grid.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(" ")));
    laid
}

/// Parts of an I/O die, which its nodes share equally: quarters, as on Rome and Genoa.
const QUARTERS: u32 = 4;

/// An I/O die in quarters, each with a memory controller and links, over which clusters are spread.
fn io_die(structure: &Structure) -> Laid {
    let (clusters, nodes) = (structure.clusters_per_socket, structure.nodes_per_socket);
    let parts = if QUARTERS.is_multiple_of(nodes) { QUARTERS } else { nodes };
    let of_part = |part: u32| clusters / parts + u32::from(part < clusters % parts);
    let cell = |part: u32| format!("{}MU", "K".repeat(of_part(part) as usize));
    let columns = if parts == QUARTERS { parts / 2 } else { parts };
    let row = |row: u32| (row * columns..(row + 1) * columns).map(cell).collect::<Vec<_>>().join(" ");
    let in_pairs = clusters.is_multiple_of(parts) && (clusters / parts).is_multiple_of(2);
    Laid {
        network: OnDieNetwork::IoDie,
        rows: (0..parts / columns).map(row).collect(),
        controllers: parts / nodes,
        clusters_per_die: if in_pairs { 2 } else { 1 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meshes_have_every_part_once() {
        for cores in [1, 2, 7, 24, 26, 28, 60] {
            for controllers in [1, 2, 4] {
                let rows = mesh(&vec!["C"; cores], controllers);
                let letters = |letter: char| rows.iter().flat_map(|row| row.chars()).filter(|&c| c == letter).count();
                assert_eq!((letters('C'), letters('M')), (cores, controllers as usize), "{rows:?}");
                let widths: Vec<usize> = rows.iter().map(|row| row.split(' ').count()).collect();
                assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{rows:?}");
            }
        }
    }

    #[test]
    fn dies_have_four_quarters() {
        let laid = |clusters_per_socket: u32, nodes_per_socket: u32| {
            let mut structure = Structure::of_tests();
            (structure.clusters_per_socket, structure.nodes_per_socket) = (clusters_per_socket, nodes_per_socket);
            let laid = io_die(&structure);
            (laid.rows.join("/"), laid.controllers, laid.clusters_per_die)
        };
        assert_eq!(laid(1, 1), ("KMU MU/MU MU".to_owned(), 4, 1));
        assert_eq!(laid(16, 4), ("KKKKMU KKKKMU/KKKKMU KKKKMU".to_owned(), 1, 2));
        assert_eq!(laid(12, 1), ("KKKMU KKKMU/KKKMU KKKMU".to_owned(), 4, 1));
        assert_eq!(laid(3, 3), ("KMU KMU KMU".to_owned(), 1, 1));
    }

    #[test]
    fn large_rings_are_two() {
        assert_eq!(rings(&["C"; 12], 12), ["U C C C B M C C C B", "C C C B M C C C B"]);
        assert_eq!(rings(&["C"; 4], 4), ["U C C C C M M"]);
    }
}

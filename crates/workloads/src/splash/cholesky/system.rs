//! The matrices that can be factored: those of meshes, and those of files.

use crate::matrix::Matrix;

use super::mesh::{Block, FREEDOMS, Mesh};

/// A symmetric positive-definite matrix as a graph of nodes, each of which has some columns of equal structure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum System {
    /// The stiffness of a mesh.
    Mesh(Mesh),
    /// A matrix from a file, a node a row.
    Matrix(&'static Matrix),
}

impl System {
    /// How many nodes there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Mesh(mesh) => mesh.count(),
            Self::Matrix(matrix) => matrix.rows(),
        }
    }

    /// Columns of a node.
    pub fn freedoms(&self) -> usize {
        match self {
            Self::Mesh(_) => FREEDOMS,
            Self::Matrix(_) => 1,
        }
    }

    /// The nodes with which one has elements, in ascending order, without itself.
    pub fn neighbours(&self, node: usize) -> Vec<usize> {
        match self {
            Self::Mesh(mesh) => mesh.neighbours(node),
            Self::Matrix(matrix) => matrix.neighbours(node).to_vec(),
        }
    }

    /// The elements between two nodes that are equal or neighbours; as many of its rows and columns count as nodes have.
    pub fn block(&self, one: usize, other: usize, seed: u64) -> Block {
        match self {
            Self::Mesh(mesh) => mesh.block(one, other, seed),
            Self::Matrix(matrix) => {
                let mut block = Block::default();
                block[0][0] = matrix.element(one, other, seed);
                block
            }
        }
    }
}

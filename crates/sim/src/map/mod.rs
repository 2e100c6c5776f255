//! The address map of a machine: the home and the memory of each line, and the local frames that stand for pages of other
//! nodes.
//!
//! A physical address names its home in its upper bits, so that the home of a line is a shift away ([`LineMap`]). Frames that
//! stand for pages elsewhere are state ([`LocalFrames`]): the frame of a copy near its readers, and the frame that a page is
//! moving to. A page cache (S-COMA) needs the same two directions.

mod lines;
mod local_frames;
mod table;

use units::Bytes;

pub use lines::{LineMap, address_in, node_of};
pub use local_frames::LocalFrames;
pub use table::LineTable;

/// The address map of a machine.
pub struct AddressMap {
    /// The positions of lines.
    pub lines: LineMap,
    /// The frames that stand for pages of other nodes.
    pub frames: LocalFrames,
}

impl AddressMap {
    /// The map of a machine with `nodes` nodes, in which no frame stands for a page of another node.
    pub fn new(nodes: usize, lines: LineMap, page: Bytes) -> Self {
        Self { lines, frames: LocalFrames::new(nodes, lines.line(), page) }
    }
}

//! Tables with an element for each line of memory.

use units::{LineAddr, NodeId};

use super::LineMap;

/// Lines in a chunk of a [`LineTable`]; chunks are made on first access.
const CHUNK_LINES: u64 = 128;

/// An element for every line of memory, made on first access.
pub struct LineTable<T> {
    map: LineMap,
    /// By node and chunk.
    nodes: Vec<Vec<Option<Box<[T]>>>>,
}

impl<T: Copy + Default> LineTable<T> {
    /// A table without lines.
    pub fn new(nodes: usize, map: LineMap) -> Self {
        Self { map, nodes: (0..nodes).map(|_| Vec::new()).collect() }
    }

    /// Extends the table to `lines` lines of the node's memory.
    pub fn extend(&mut self, node: NodeId, lines: u64) {
        self.nodes[node.index()].resize_with(lines.div_ceil(CHUNK_LINES) as usize, || None);
    }

    /// The element of a line.
    ///
    /// # Panics
    /// If no page with this line was allocated, which is a fault of the program.
    #[inline]
    pub fn line(&mut self, line: LineAddr) -> &mut T {
        let offset = self.map.offset(line);
        let chunks = &mut self.nodes[self.map.home(line).index()];
        let Some(chunk) = chunks.get_mut((offset / CHUNK_LINES) as usize) else {
            panic!("{line:?} was referenced but never allocated");
        };
        let chunk = chunk.get_or_insert_with(|| vec![T::default(); CHUNK_LINES as usize].into_boxed_slice());
        &mut chunk[(offset % CHUNK_LINES) as usize]
    }

    /// The elements of a node's lines, as far as their chunks have been accessed.
    pub fn lines(&self, node: NodeId) -> impl Iterator<Item = &T> {
        self.nodes[node.index()].iter().flatten().flatten()
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::super::address_in;
    use super::*;

    #[test]
    fn what_is_kept_of_a_line_stays() {
        let mut table: LineTable<u32> = LineTable::new(2, LineMap::new(Bytes(128)));
        table.extend(NodeId(1), 300);
        let line = |offset: u64| address_in(NodeId(1), offset).line(Bytes(128));
        *table.line(line(299 * 128)) = 5;
        assert_eq!((*table.line(line(299 * 128)), *table.line(line(0))), (5, 0));
    }
}

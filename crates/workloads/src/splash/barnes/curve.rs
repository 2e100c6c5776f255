//! The order of the octants of cells in which bodies are cut into zones: Hilbert's curve, on which those that follow each other are
//! side by side. SPLASH-2's program has tables of it (Singh and others 1995, on costzones).

/// How the curve goes through a cube: the corner that it comes in at, and the axis along which it goes from there to where it leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Curve {
    corner: usize,
    axis: usize,
}

/// The octant that is visited in a step of the curve along the first axis, as bits of axes: Gray's code.
const fn gray(step: usize) -> usize {
    step ^ step >> 1
}

impl Curve {
    /// The octants in order, each with the way of the curve through it (Hamilton, Compact Hilbert Indices, 2006, sections 2.1 to 2.3).
    pub fn octants(self) -> impl DoubleEndedIterator<Item = (usize, Self)> {
        (0..8).map(move |step: usize| {
            let (corner, turn) = match step {
                0 => (0, 0),
                _ => (gray((step - 1) & !1), ((step - 1) | 1).trailing_ones()),
            };
            let within = Self { corner: self.turned(corner), axis: (self.axis + turn as usize + 1) % 3 };
            (self.turned(gray(step)), within)
        })
    }

    /// A corner of the curve along the first axis, in this one.
    fn turned(self, corner: usize) -> usize {
        let by = (self.axis + 1) % 3;
        (corner << by | corner >> (3 - by)) & 7 ^ self.corner
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The cells of a cube of so many levels, in order.
    fn walk(curve: Curve, levels: u32, at: [usize; 3], visit: &mut impl FnMut([usize; 3])) {
        if levels == 0 {
            return visit(at);
        }
        for (octant, within) in curve.octants() {
            walk(within, levels - 1, std::array::from_fn(|axis| 2 * at[axis] + (octant >> axis & 1)), visit);
        }
    }

    #[test]
    fn cells_that_follow_each_other_are_side_by_side() {
        let mut cells: Vec<[usize; 3]> = Vec::new();
        walk(Curve::default(), 4, [0; 3], &mut |cell| cells.push(cell));
        assert_eq!(cells.iter().collect::<HashSet<_>>().len(), 1 << 12);
        for pair in cells.windows(2) {
            let apart: usize = (0..3).map(|axis| pair[0][axis].abs_diff(pair[1][axis])).sum();
            assert_eq!(apart, 1, "{pair:?}");
        }
    }
}

//! Supernodes merged with those above them. Columns of the lower one then hold zeros, and larger blocks have more work for each miss
//! (Ashcraft and Grimes, "The influence of relaxed supernode partitions on the multifrontal method", 1989). SPLASH-2's program
//! merges two where its model of the time on one processor says that it pays.

/// The size of a supernode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub columns: usize,
    /// Rows from the diagonal of its first column on.
    pub rows: usize,
}

/// Operations that a miss costs, as SPLASH-2's program has it.
const MISS: f64 = 4.74;

/// The time of operations on supernodes, in operations, on a cache that holds a square block of so many columns.
#[derive(Clone, Copy)]
struct Model {
    side: f64,
}

impl Model {
    fn time(self, operations: f64, missed: f64) -> f64 {
        (operations + missed * MISS) / (1.0 + MISS / self.side)
    }

    /// How often `columns` columns make the cache go through all of theirs.
    fn passes(self, columns: f64) -> f64 {
        (columns / self.side).ceil()
    }

    /// The time to complete a supernode, to multiply its rows below, and to add the products to those above.
    fn of(self, size: Size) -> f64 {
        let (columns, rows) = (size.columns as f64, size.rows as f64);
        let below = rows - columns;
        let numbers = columns * rows - columns * (columns - 1.0) / 2.0;
        let squares = columns * (columns + 1.0) * (2.0 * columns + 1.0) / 6.0;
        let complete = self.time(squares + columns * columns * below, 2.0 * self.passes(columns) / 3.0 * numbers);
        let products = below * (below + 1.0) / 2.0;
        let missed = self.passes(below) * columns * below + self.passes(columns) * products;
        complete + self.time(2.0 * columns * products, missed) + self.time(0.0, 2.0 * products)
    }
}

/// Merges supernodes, of which each comes behind those below it, with their parents, from the roots down, wherever both together take
/// less time. Returns the groups, each from its lowest supernode up and behind all groups below it. `side` is the side of the square
/// block that the cache holds.
pub fn merge(supernodes: &[Size], parents: &[Option<usize>], side: f64) -> Vec<Vec<usize>> {
    let model = Model { side };
    let mut sizes = supernodes.to_vec();
    // The lowest supernode stands for its group.
    let mut group: Vec<usize> = (0..sizes.len()).collect();
    let mut members: Vec<Vec<usize>> = group.iter().map(|&number| vec![number]).collect();
    for lowest in (0..sizes.len()).rev() {
        while let Some(above) = parent(&members[lowest], parents) {
            let parent = group[above];
            let (own, theirs) = (sizes[lowest], sizes[parent]);
            let both = Size { columns: own.columns + theirs.columns, rows: own.columns + theirs.rows };
            if model.of(own) + model.of(theirs) <= model.of(both) {
                break;
            }
            let upper = std::mem::take(&mut members[parent]);
            upper.iter().for_each(|&member| group[member] = lowest);
            members[lowest].extend(upper);
            sizes[lowest] = both;
        }
    }
    let mut children = vec![Vec::new(); sizes.len()];
    let mut roots = Vec::new();
    for lowest in (0..sizes.len()).filter(|&lowest| group[lowest] == lowest) {
        match parent(&members[lowest], parents) {
            Some(above) => children[group[above]].push(lowest),
            None => roots.push(lowest),
        }
    }
    // Depth first, each before its children, reversed.
    let mut order = Vec::new();
    while let Some(lowest) = roots.pop() {
        order.push(std::mem::take(&mut members[lowest]));
        roots.append(&mut children[lowest]);
    }
    order.reverse();
    order
}

/// The supernode above a group.
fn parent(members: &[usize], parents: &[Option<usize>]) -> Option<usize> {
    members.last().and_then(|&highest| parents[highest])
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn size(columns: usize, rows: usize) -> Size {
        Size { columns, rows }
    }

    /// Chains of narrow supernodes become one; a narrow one with few rows below does not fill a wide parent with zeros.
    #[test]
    fn supernodes_merge_where_it_pays() {
        let chain = [size(2, 6), size(2, 5), size(3, 3)];
        assert_eq!(merge(&chain, &[Some(1), Some(2), None], 45.0), [vec![0, 1, 2]]);
        let wide = [size(10, 11), size(200, 200)];
        assert_eq!(merge(&wide, &[Some(1), None], 45.0), [vec![0], vec![1]]);
    }

    /// Both children come before their parent, whichever has been merged with it.
    #[test]
    fn groups_come_behind_those_below() {
        let sizes = [size(10, 12), size(3, 63), size(30, 60), size(30, 30)];
        let parents = [Some(2), Some(2), Some(3), None];
        let groups = merge(&sizes, &parents, 45.0);
        let at = |number: usize| groups.iter().position(|group| group.contains(&number)).expect("all are there");
        for (number, parent) in parents.into_iter().enumerate() {
            assert!(parent.is_none_or(|parent| at(number) <= at(parent)), "{groups:?}");
        }
        assert_eq!(groups.iter().flatten().count(), sizes.len());
        assert_eq!(at(1), at(2), "{groups:?}");
    }
}

//! Fields: an element for each point of a box.

use crate::parallel::{Array, Element};
use crate::thread::Thread;

/// Elements at the points of a box, in an order in which the last coordinate counts fastest.
#[derive(Debug)]
pub struct Field<'r, R, E> {
    elements: Array<'r, R, E>,
    sides: [usize; 3],
}

impl<R, E> Clone for Field<'_, R, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, E> Copy for Field<'_, R, E> {}

/// Which element of a box of `sides` belongs to a point.
#[inline]
pub fn index(sides: [usize; 3], point: [usize; 3]) -> usize {
    (point[0] * sides[1] + point[1]) * sides[2] + point[2]
}

impl<'r, R, E: Element> Field<'r, R, E> {
    /// A field on a box of `sides`, from word `first` of a region on.
    pub fn new(region: &'r R, first: usize, sides: [usize; 3]) -> Self {
        Self { elements: Array::from(region, first), sides }
    }

    /// Loads the element of a point.
    #[inline]
    pub fn load<T: Thread<Region = R>>(&self, thread: &mut T, point: [usize; 3]) -> E {
        self.elements.load(thread, index(self.sides, point))
    }

    /// Stores the element of a point.
    #[inline]
    pub fn store<T: Thread<Region = R>>(&self, thread: &mut T, point: [usize; 3], element: E) {
        self.elements.store(thread, index(self.sides, point), element);
    }
}

/// A number, and those before and after it in a ring of `count`.
#[inline]
pub fn ring(number: usize, count: usize) -> [usize; 3] {
    let before = if number == 0 { count - 1 } else { number - 1 };
    let after = if number + 1 == count { 0 } else { number + 1 };
    [before, number, after]
}

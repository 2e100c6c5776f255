//! Memory of a crew, and which of its elements are linked into lists.

use std::ptr::NonNull;

use units::Bytes;

use super::Elements;
use super::worker::Courses;
use crate::HostError;
use crate::kernels::list::{self, Order};
use crate::kernels::{Course, Operation};
use crate::memory::{Mapping, Obtained};

/// A mapping and its lists.
#[derive(Debug)]
pub(super) struct Area {
    mapping: Mapping,
    lists: Vec<List>,
}

/// A circular list through elements, and how far along it somebody has come.
#[derive(Clone, Copy, Debug)]
struct List {
    elements: Elements,
    /// A step, counted around the list from its head, and the address of the element there.
    known: (u64, u64),
}

impl Area {
    /// Memory without lists.
    pub(super) fn new(mapping: Mapping) -> Self {
        Self { mapping, lists: Vec::new() }
    }

    /// How large it is.
    pub(super) fn size(&self) -> Bytes {
        self.mapping.size()
    }

    /// Pages and nodes that it really got.
    pub(super) fn obtained(&self) -> &Obtained {
        self.mapping.obtained()
    }

    /// Links elements, which lie in the area.
    pub(super) fn link(&mut self, elements: Elements, order: Order) -> Result<(), HostError> {
        if elements.stride.0 < 16 || !elements.stride.0.is_multiple_of(8) || !elements.offset.0.is_multiple_of(8) {
            let Elements { offset, stride, .. } = elements;
            return Err(HostError::Request(format!(
                "elements of {stride} from {offset} on do not hold two words each"
            )));
        }
        if let Order::PageLocal { page, .. } = order
            && !page.0.is_power_of_two()
        {
            return Err(HostError::Request(format!("a page of {page}; accepted: powers of two")));
        }
        self.lists.retain(|list| !list.elements.overlap(&elements));
        let start = self.at(elements.offset.0);
        // SAFETY: the elements lie in the mapping, which belongs to this area alone; no job runs while it is borrowed.
        unsafe { list::link(start, elements.count, elements.stride, order) };
        self.lists.push(List { elements, known: (0, start.addr().get() as u64) });
        Ok(())
    }

    /// Whether exactly these elements are linked.
    pub(super) fn has_list(&self, elements: Elements) -> bool {
        self.lists.iter().any(|list| list.elements == elements)
    }

    /// Forgets the lists of which `operation` over these elements may write over a pointer.
    pub(super) fn forget_spoilt(&mut self, operation: Operation, elements: Elements) {
        self.lists.retain(|list| !elements.may_spoil(operation, &list.elements));
    }

    /// Sets the first word of the first of these elements, which lie in the area, to zero: a ping-pong begins so.
    pub(super) fn clear_word(&mut self, elements: Elements) {
        let word = self.at(elements.offset.0).cast::<u64>();
        // SAFETY: the element lies in the mapping, which belongs to this area alone; no job runs while it is borrowed.
        unsafe { word.write_unaligned(0) };
    }

    /// Remembers that the step of a list that comes `steps` after step `first` begins at the element at `address`.
    pub(super) fn remember(&mut self, elements: Elements, first: u64, steps: u64, address: u64) {
        if let Some(list) = self.lists.iter_mut().find(|list| list.elements == elements) {
            list.known = ((first % elements.count + steps % elements.count) % elements.count, address);
        }
    }

    /// The course of `steps` steps along a list that begins with step `first`: from where somebody has come before if
    /// that is the place, or from the head.
    pub(super) fn along_list(&self, elements: Elements, first: u64, steps: u64) -> Courses {
        let step = first % elements.count;
        let known = self.lists.iter().find(|list| list.elements == elements).map(|list| list.known);
        let (start, approach) = match known {
            Some((at, address)) if at == step => (NonNull::new(address as *mut u8), 0),
            _ => (None, step),
        };
        let start = start.unwrap_or_else(|| self.at(elements.offset.0));
        Courses { approach, pieces: vec![Course::new(start, elements.count, steps)] }
    }

    /// The courses of `steps` elements of an array that begin with element `first`, to its end, then from its beginning.
    pub(super) fn over_array(&self, elements: Elements, operation: Operation, first: u64, steps: u64) -> Courses {
        let per_step = operation.elements_per_step();
        let skipped = match operation {
            // Windows are drawn from the whole array, and a ping-pong has one element.
            Operation::SignChange { .. } | Operation::PingPong { .. } => 0,
            _ => first % elements.count / per_step * per_step,
        };
        let steps = steps.div_ceil(per_step);
        let tail = (elements.count - skipped) / per_step;
        let course = |from: u64, count: u64, steps: u64| {
            let at = |array: u64| self.at(elements.offset.0 + (array * elements.count + from) * elements.stride.0);
            let (written, read) = operation.arrays();
            let source = |i: usize| read.get(i).map(|&array| at(array));
            Course::new(at(written), count, steps).reading([source(0), source(1)]).seeded(first)
        };
        if skipped == 0 || tail == 0 {
            return Courses { approach: 0, pieces: vec![course(0, elements.count, steps)] };
        }
        let mut pieces = vec![course(skipped, tail * per_step, steps.min(tail))];
        if steps > tail {
            pieces.push(course(0, elements.count, steps - tail));
        }
        Courses { approach: 0, pieces }
    }

    fn at(&self, offset: u64) -> NonNull<u8> {
        debug_assert!(offset < self.size().0);
        // SAFETY: `Crew` has checked that the elements lie in the mapping, so that the offset does.
        unsafe { self.mapping.start().add(offset as usize) }
    }
}

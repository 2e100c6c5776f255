//! A step with its address: what a trace is read in.

use super::shape::Shape;
use crate::event::{Access, Event};

/// A step of a thread: an access with the instructions before it and its site, or an event by itself.
///
/// Instrumented code announces accesses so, and files hold them so. A step is as long as an [`Event`], of which it may stand for three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    shape: Shape,
    address: u64,
}

impl Step {
    #[inline]
    pub(super) fn new(shape: Shape, address: u64) -> Self {
        Self { shape, address }
    }

    /// A step of one event, by the code at `site`: 0 if that is not known.
    pub const fn of(event: Event, site: u64) -> Self {
        let (shape, address) = Shape::event(event, site);
        Self { shape, address }
    }

    /// The instructions before its access, none if it is another event, and the event.
    #[inline]
    pub fn parts(self) -> (u32, Event) {
        let Self { shape, address } = self;
        match shape.kind() {
            Some(kind) => {
                let access = Access { kind, dependent: shape.is_dependent(), bytes: shape.bytes(), address };
                (shape.count(), Event::Access(access))
            }
            None => (0, shape.other(address)),
        }
    }

    /// The site of its event.
    #[inline]
    pub const fn site(self) -> u64 {
        self.shape.site
    }

    /// All its events in order: instructions and the site, as far as there are any, and the event itself. The step before was at `site`.
    pub fn events(self, site: u64) -> impl Iterator<Item = Event> {
        let (instructions, event) = self.parts();
        let count = Some(instructions).filter(|&count| count > 0).map(Event::Instructions);
        let moved = matches!(event, Event::Access(_)) && self.site() != site;
        let site = moved.then(|| Event::Site(self.site()));
        count.into_iter().chain(site).chain([event])
    }
}

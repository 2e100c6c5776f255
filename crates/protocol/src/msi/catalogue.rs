//! The protocols by name, at the sizes of FLASH: what a machine runs and a command line names.
//!
//! A name is `BASE[/VARIANT...]`. The base says how sharers are kept and is a line of the registry below; `N` in it stands for
//! a number. Variants go with every base, in any order, each once: `/IC` clustered invalidation, `/IR` acknowledgement to
//! requester, `/RAC` remote access caches (FLASH dissertation, Sections 5.2.3 and 5.4). The model checker uses the same names
//! for the same protocols at sizes that three caches exhaust.

use std::ops::RangeInclusive;

use thiserror::Error;

use super::{Clustering, CoarseVector, DynamicPointer, Hybrid, LimitedPointer, Overflow, SharingSet, Site, Variant};

/// The sizes that a protocol is built for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Nodes of the machine: 1 to [`Site::MAX_NODES`].
    pub nodes: u16,
    /// Links in every home's link store, 1 or more (dynamic pointer allocation).
    pub links: u32,
    /// Long vectors in every home's store, 1 or more (hybrid).
    pub vectors: u32,
}

/// What a name stands for, besides the sharing set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The name as it is usually written: variants in order, a number that goes without saying left out.
    pub name: String,
    /// The base, as the registry spells it: `cv=N/LB`.
    pub base: &'static str,
    /// The number in the base, given or usual; 0 if it has none.
    pub number: u16,
    /// What the base is, in a few words.
    pub description: &'static str,
    /// How invalidations and acknowledgements go.
    pub variant: Variant,
    /// Whether nodes have a remote access cache.
    pub remote_access_cache: bool,
}

/// What is done with a protocol once its sharing set, a type of its own, is known.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Takes the protocol.
    fn visit<S: SharingSet>(self, set: S, named: Named) -> Self::Output;
}

/// A name that stands for no protocol.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("there is no protocol {name}{}; accepted: {accepted}", did_you_mean(*nearest))]
pub struct UnknownProtocol {
    /// The name.
    pub name: String,
    /// The accepted names, in words.
    pub accepted: String,
    /// The name that it is most like, if it is like any.
    pub nearest: Option<&'static str>,
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(", did you mean {name}?"))
}

/// A line of the registry.
struct Base {
    /// The words of its name, `N` for a number.
    spelling: &'static str,
    /// The numbers that `N` can stand for.
    numbers: RangeInclusive<u16>,
    /// The number that is meant where none is given.
    usual: Option<u16>,
    description: &'static str,
    /// Names of protocols with this base that are worth listing.
    names: &'static [&'static str],
}

impl Base {
    /// The protocol of this name, if it has this base.
    fn parse(&self, name: &str) -> Option<Named> {
        let mut words = name.split('/');
        let (mut number, mut canonical) = (0, Vec::new());
        for own in self.spelling.split('/') {
            let word = words.next()?;
            let Some(stem) = own.strip_suffix("=N") else {
                canonical.push((word == own).then(|| own.to_owned())?);
                continue;
            };
            number = match word.strip_prefix(stem)? {
                "" => self.usual?,
                // Digits only: "+2" is a number too, but not a name.
                given => given.strip_prefix('=').filter(|digits| !digits.starts_with('+'))?.parse().ok()?,
            };
            if !self.numbers.contains(&number) {
                return None;
            }
            canonical.push(if self.usual == Some(number) { stem.to_owned() } else { format!("{stem}={number}") });
        }
        let (mut variant, mut remote_access_cache) = (Variant::default(), false);
        for word in words {
            let twice = match word {
                "IC" => variant.clustering.replace(Clustering::FLASH).is_some(),
                "IR" => std::mem::replace(&mut variant.acknowledge_requester, true),
                "RAC" => std::mem::replace(&mut remote_access_cache, true),
                _ => return None,
            };
            if twice {
                return None;
            }
        }
        let given =
            [("IC", variant.clustering.is_some()), ("IR", variant.acknowledge_requester), ("RAC", remote_access_cache)];
        canonical.extend(given.into_iter().filter(|&(_, given)| given).map(|(word, _)| word.to_owned()));
        let Self { spelling: base, description, .. } = *self;
        Some(Named { name: canonical.join("/"), base, number, description, variant, remote_access_cache })
    }

    /// How its name is written, for an error message.
    fn accepted(&self) -> String {
        let (least, most) = (self.numbers.start(), self.numbers.end());
        match self.usual {
            _ if *most == 0 => self.spelling.to_owned(),
            None => format!("{} (N from {least} to {most})", self.spelling),
            Some(usual) => format!("{} (N from {least} to {most}, {usual} if =N is left out)", self.spelling),
        }
    }
}

/// Spelling, numbers, usual number, description, names to list, and the sharing set for sizes and a number: a line each.
macro_rules! registry {
    ($($spelling:literal, $numbers:expr, $usual:expr, $description:literal, $names:expr, |$sizes:pat_param, $number:pat_param| $set:expr;)*) => {
        const BASES: &[Base] = &[$(
            Base { spelling: $spelling, numbers: $numbers, usual: $usual, description: $description, names: &$names },
        )*];

        /// Finds the protocol of this name and hands it to `visitor`.
        ///
        /// # Errors
        /// [`UnknownProtocol`] if there is none.
        pub fn resolve<V: Visitor>(name: &str, sizes: Sizes, visitor: V) -> Result<V::Output, UnknownProtocol> {
            debug_assert!((1..=Site::MAX_NODES).contains(&sizes.nodes) && sizes.links > 0 && sizes.vectors > 0);
            let mut bases = BASES.iter();
            $(
                if let Some(named) = bases.next().and_then(|base| base.parse(name)) {
                    let (number, build) = (named.number, |$sizes: Sizes, $number: u16| $set);
                    return Ok(visitor.visit(build(sizes, number), named));
                }
            )*
            Err(unknown(name))
        }
    };
}

/// No number.
const NONE: RangeInclusive<u16> = 0..=0;
/// Nodes that a bit can stand for.
const NODES: RangeInclusive<u16> = 1..=Site::MAX_NODES;
/// Pointers that a header can have.
const POINTERS: RangeInclusive<u16> = 1..=LimitedPointer::MOST as u16;
/// Pointers where no number is given: as many as the hybrid's header has room for (Figure 5.4).
const USUAL_POINTERS: Option<u16> = Some(Hybrid::MOST_POINTERS as u16);

#[rustfmt::skip]
registry! {
    "bit-vector", NONE, None, "a bit a node (CV=1)", ["bit-vector", "bit-vector/IC", "bit-vector/IR"], |_, _| CoarseVector::BIT_VECTOR;
    "bit-vector/RH", NONE, None, "a bit a node, cleared by replacement hints", ["bit-vector/RH"], |_, _| CoarseVector::PRECISE_BIT_VECTOR;
    "cv=N", NODES, None, "a bit for N nodes", ["cv=2", "cv=4"], |_, number| CoarseVector::coarse(number);
    "cv=N/LB", NODES, None, "a bit for N nodes, one for the home's processor", ["cv=2/LB"], |_, number| CoarseVector::coarse_with_local_bit(number);
    "broadcast", NONE, None, "a bit for all nodes (CV=P)", ["broadcast"], |sizes, _| CoarseVector::broadcast(sizes.nodes);
    "limited-pointer=N", POINTERS, USUAL_POINTERS, "N pointers, a sharer too many displaces the first", ["limited-pointer"], |_, number| pointers(number, Overflow::Evict);
    "limited-pointer=N/B", POINTERS, USUAL_POINTERS, "N pointers, broadcast from a sharer too many on", ["limited-pointer/B"], |_, number| pointers(number, Overflow::Broadcast);
    "dynamic-pointer", NONE, None, "lists in a link store, hints, limited search, reclamation", ["dynamic-pointer", "dynamic-pointer/IR", "dynamic-pointer/RAC"], |sizes, _| DynamicPointer { links: sizes.links, search: DynamicPointer::FLASH_SEARCH };
    "hybrid", NONE, None, "header formats by number and place of sharers, a store of vectors", ["hybrid", "hybrid/IC", "hybrid/IR", "hybrid/RAC"], |sizes, _| Hybrid::flash(sizes.nodes, sizes.vectors);
}

/// The seven protocols that the FLASH dissertation compares, in the order of its Table 5.1.
pub const TABLE_5_1: [&str; 7] =
    ["cv=2", "cv=2/LB", "dynamic-pointer", "hybrid", "hybrid/IC", "hybrid/IR", "hybrid/RAC"];

/// What `name` stands for.
///
/// # Errors
/// [`UnknownProtocol`] if it stands for no protocol.
pub fn named(name: &str) -> Result<Named, UnknownProtocol> {
    BASES.iter().find_map(|base| base.parse(name)).ok_or_else(|| unknown(name))
}

/// The names worth listing: every base, and the variants that the FLASH dissertation or the model checker has of it.
pub fn names() -> impl Iterator<Item = &'static str> {
    BASES.iter().flat_map(|base| base.names).copied()
}

fn pointers(number: u16, overflow: Overflow) -> LimitedPointer {
    // No number beyond `LimitedPointer::MOST`, a byte, is accepted.
    LimitedPointer { pointers: number as u8, overflow }
}

#[cold]
fn unknown(name: &str) -> UnknownProtocol {
    let bases = BASES.iter().map(Base::accepted).collect::<Vec<_>>().join(", ");
    let nearest = input::nearest(name, names());
    UnknownProtocol { name: name.to_owned(), accepted: format!("{bases}; with /IC, /IR, /RAC in addition"), nearest }
}

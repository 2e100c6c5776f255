//! Registry of the protocols by name, at the sizes of FLASH: machine files and command lines use these names.
//!
//! A name is `BASE[/VARIANT...]`. The base selects the sharing set and is a line of the registry below; `N` in it
//! stands for a number. Variants combine with every base, in any order, each at most once: `/IC` clustered
//! invalidation, `/IR` acknowledgement to requester, `/RAC` remote access caches (FLASH dissertation, Sections 5.2.3
//! and 5.4). The model checker uses the same names for the same protocols, at sizes that three caches exhaust.

use std::ops::RangeInclusive;

use thiserror::Error;

use super::{
    Clustering, CoarseVector, DynamicPointer, Hybrid, LimitedPointer, Overflow, SharingSet, Site, VECTOR_BITS, Variant,
};

/// Sizes of a protocol's structures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Nodes of the machine: 1 to [`Site::MAX_NODES`].
    pub nodes: u16,
    /// Links in each home's link store, 1 or more (dynamic pointer allocation).
    pub links: u32,
    /// Long vectors in each home's store, 1 or more (hybrid).
    pub vectors: u32,
}

/// Protocol that a name selects, apart from its sharing set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// Canonical name: variants in order, a default number omitted.
    pub name: String,
    /// Base, as the registry spells it: `cv=N/LB`.
    pub base: &'static str,
    /// Number in the base, given or default; 0 if the base has none.
    pub number: u16,
    /// Short description of the base.
    pub description: &'static str,
    /// Variant of invalidation and acknowledgement.
    pub variant: Variant,
    /// Whether nodes have a remote access cache.
    pub remote_access_cache: bool,
}

/// A generic operation on a protocol, called with its sharing set, which is a type of its own.
pub trait Visitor {
    /// Result of the operation.
    type Output;

    /// Performs the operation.
    fn visit<S: SharingSet>(self, set: S, named: Named) -> Self::Output;
}

/// Error for a name that selects no protocol.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("there is no protocol {name}{}; accepted: {accepted}", did_you_mean(*nearest))]
pub struct UnknownProtocol {
    /// Name given.
    pub name: String,
    /// Accepted names, in words.
    pub accepted: String,
    /// Most similar accepted name, if any is similar.
    pub nearest: Option<&'static str>,
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(", did you mean {name}?"))
}

/// A line of the registry.
struct Base {
    /// Spelling of the base, `N` for a number.
    spelling: &'static str,
    /// Accepted values of `N`.
    numbers: RangeInclusive<u16>,
    /// Value of `N` if none is given.
    default: Option<u16>,
    description: &'static str,
    /// Names with this base that are worth listing.
    names: &'static [&'static str],
}

impl Base {
    /// Parses a name; `None` if it does not have this base.
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
                "" => self.default?,
                // Digits only: "+2" parses as a number, but is not a name.
                given => given.strip_prefix('=').filter(|digits| !digits.starts_with('+'))?.parse().ok()?,
            };
            if !self.numbers.contains(&number) {
                return None;
            }
            canonical.push(if self.default == Some(number) { stem.to_owned() } else { format!("{stem}={number}") });
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

    /// Accepted spelling of the base, for an error message.
    fn accepted(&self) -> String {
        let (least, most) = (self.numbers.start(), self.numbers.end());
        match self.default {
            _ if *most == 0 => self.spelling.to_owned(),
            None => format!("{} (N from {least} to {most})", self.spelling),
            Some(default) => format!("{} (N from {least} to {most}, {default} if =N is left out)", self.spelling),
        }
    }
}

/// Registry lines: spelling, numbers, default number, description, names to list, and the sharing set built from sizes
/// and a number.
macro_rules! registry {
    ($($spelling:literal, $numbers:expr, $default:expr, $description:literal, $names:expr, |$sizes:pat_param, $number:pat_param| $set:expr;)*) => {
        const BASES: &[Base] = &[$(
            Base { spelling: $spelling, numbers: $numbers, default: $default, description: $description, names: &$names },
        )*];

        /// Finds the protocol of this name and passes it to `visitor`.
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

/// Range of a base without a number.
const NONE: RangeInclusive<u16> = 0..=0;
/// Range of nodes per bit.
const NODES: RangeInclusive<u16> = 1..=Site::MAX_NODES;
/// Range of pointers per header.
const POINTERS: RangeInclusive<u16> = 1..=LimitedPointer::MOST as u16;
/// Default number of pointers: the capacity of the hybrid's header (Figure 5.4).
const DEFAULT_POINTERS: Option<u16> = Some(Hybrid::MOST_POINTERS as u16);

#[rustfmt::skip]
registry! {
    "bit-vector", NONE, None, "a bit a node (CV=1)", ["bit-vector", "bit-vector/IC", "bit-vector/IR"], |_, _| CoarseVector::BIT_VECTOR;
    "bit-vector/RH", NONE, None, "a bit a node, cleared by replacement hints", ["bit-vector/RH"], |_, _| CoarseVector::PRECISE_BIT_VECTOR;
    "cv=N", NODES, None, "a bit for N nodes", ["cv=2", "cv=4"], |_, number| CoarseVector::coarse(number);
    "cv=N/LB", NODES, None, "a bit for N nodes, one for the home's processor", ["cv=2/LB"], |_, number| CoarseVector::coarse_with_local_bit(number);
    "broadcast", NONE, None, "a bit for all nodes (CV=P)", ["broadcast"], |sizes, _| CoarseVector::broadcast(sizes.nodes);
    "limited-pointer=N", POINTERS, DEFAULT_POINTERS, "N pointers, a sharer too many displaces the first", ["limited-pointer"], |_, number| pointers(number, Overflow::Evict);
    "limited-pointer=N/B", POINTERS, DEFAULT_POINTERS, "N pointers, broadcast from a sharer too many on", ["limited-pointer/B"], |_, number| pointers(number, Overflow::Broadcast);
    "dynamic-pointer", NONE, None, "lists in a link store, hints, limited search, reclamation", ["dynamic-pointer", "dynamic-pointer/IR", "dynamic-pointer/RAC"], |sizes, _| DynamicPointer { links: sizes.links, search: DynamicPointer::FLASH_SEARCH };
    "hybrid", NONE, None, "header formats by number and place of sharers, a store of vectors", ["hybrid", "hybrid/IC", "hybrid/IR", "hybrid/RAC"], |sizes, _| Hybrid::flash(sizes.nodes, sizes.vectors);
}

/// The seven protocols that the FLASH dissertation compares, in the order of its Table 5.1.
pub const TABLE_5_1: [&str; 7] =
    ["cv=2", "cv=2/LB", "dynamic-pointer", "hybrid", "hybrid/IC", "hybrid/IR", "hybrid/RAC"];

/// The protocol that `name` stands for.
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
    // `number` fits in a byte: no number beyond `LimitedPointer::MOST` is accepted.
    LimitedPointer { pointers: number as u8, overflow }
}

/// Most nodes of a machine on which a protocol runs, by its sharing set and its variant.
struct Capacity;

impl Visitor for Capacity {
    type Output = u16;

    fn visit<S: SharingSet>(self, set: S, named: Named) -> u16 {
        set.most_nodes().min(named.variant.most_nodes())
    }
}

/// Most nodes of a machine on which the protocol of this name runs.
///
/// # Errors
/// [`UnknownProtocol`] if there is none.
pub fn most_nodes(name: &str) -> Result<u16, UnknownProtocol> {
    // The structures in memory are of any size; only the bits of a vector limit the nodes.
    resolve(name, Sizes { nodes: Site::MAX_NODES, links: 1, vectors: 1 }, Capacity)
}

/// The protocols for machines of `nodes` nodes: the finest coarse vectors, and those of [`names`].
pub fn names_for(nodes: u16) -> Vec<String> {
    let coarseness = nodes.div_ceil(VECTOR_BITS).max(1);
    let coarse = [format!("cv={coarseness}"), format!("cv={coarseness}/LB")];
    let listed = names().map(str::to_owned).filter(|name| !coarse.contains(name));
    let runs = |name: &String| most_nodes(name).is_ok_and(|most| nodes <= most);
    coarse.iter().cloned().chain(listed).filter(runs).collect()
}

#[cold]
fn unknown(name: &str) -> UnknownProtocol {
    let bases = BASES.iter().map(Base::accepted).collect::<Vec<_>>().join(", ");
    let nearest = input::nearest(name, names());
    UnknownProtocol { name: name.to_owned(), accepted: format!("{bases}; with /IC, /IR, /RAC in addition"), nearest }
}

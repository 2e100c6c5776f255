//! The parameters of a machine, one line each: name in memory, key with its unit, accepted values.
//!
//! A new parameter is one line here (with its documentation) and one line in the machine files.

mod bus;
mod cache;
mod cluster;
mod controller;
mod latency;
mod network;
mod node;
mod os;
mod scheduler;
mod sci;
mod server;

use super::DescriptionError;
use super::layer::{KeyRule, Resolver, Writer};

pub use bus::{BanksSpec, BusSpec};
pub use cache::{Fill, Inclusion, L1PortSpec, L1Spec, L2Spec, L3Spec, Replacement, WritePolicy};
pub use cache::{MOST_OTHERS_MB_PER_S, MOST_WAYS, PrefetchKind, PrefetchSpec};
pub use cluster::{ClusterSpec, DeviceCache, MissCountersSpec, PageCacheSpec};
pub use controller::{ControllerKind, ControllerSpec, DirectorySpec, HandlerSpec, HubSpec, IdealProtocol, MagicSpec};
pub use latency::LatencySpec;
pub use network::{
    CrossbarSpec, DoubleMeshSpec, HypercubeSpec, IdealNetworkSpec, LinkSpec, MOST_PROCESSORS, MOST_VIRTUAL_CHANNELS,
    MeshSpec, RingSpec, RouterBypass, RouterSpec, TopologyKind, TopologySpec,
};
pub use node::{Frames, MemorySpec, ProcessorModel, ProcessorSpec, Refill, SysadSpec, TlbSpec};
pub use node::{MOST_HARDWARE_THREADS, MOST_MISSES, MOST_TRANSLATIONS};
pub use os::{DomainTopology, OsSpec, PlacementKind, ThreadOrder};
pub use scheduler::SchedulerSpec;
pub use sci::{PassTransmission, SciRingSpec, SciSpec};
pub use server::{
    Forwarding, HomeKind, HomeSpec, MOST_SOCKETS, MemoryLinkSpec, OnDieNetwork, ServerSpec, SliceKind, SliceSpec,
    SocketLinkSpec,
};

/// One table of a description.
pub(crate) trait Section: Sized {
    /// The table's name.
    const TABLE: &'static str;
    /// The rules of the table's keys, `table.key`.
    fn rules() -> Vec<KeyRule>;
    /// The table's values from the resolved keys.
    fn read(resolver: &Resolver) -> Result<Self, DescriptionError>;
    /// Writes the table with every key.
    fn write(&self, writer: &mut Writer<'_>);
}

/// Declares a table: its structure, and the code that reads, checks and writes it. A key with `or` has a default, with which
/// it is not written.
macro_rules! section {
    ($(#[$doc:meta])* $name:ident in $table:literal {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $key:literal, $kind:expr $(, or $default:expr)?;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* #[doc = concat!("\n\nKey `", $table, ".", $key, "`.")] pub $field: $type,)*
        }

        impl $crate::description::spec::Section for $name {
            const TABLE: &'static str = $table;

            fn rules() -> Vec<$crate::description::layer::KeyRule> {
                vec![$($crate::description::layer::KeyRule::new(concat!($table, ".", $key), &$kind)),*]
            }

            fn read(
                resolver: &$crate::description::layer::Resolver,
            ) -> Result<Self, $crate::description::DescriptionError> {
                Ok(Self {
                    $($field: $crate::description::spec::section!(
                        @read resolver, concat!($table, ".", $key), &$kind $(, $default)?
                    )?,)*
                })
            }

            fn write(&self, writer: &mut $crate::description::layer::Writer<'_>) {
                use $crate::description::kind::Kind;
                writer.table($table);
                $($crate::description::spec::section!(@if self.$field $(, $default)? => {
                    writer.value($table, $key, &$kind.write(&self.$field))
                });)*
            }
        }
    };
    (@read $resolver:ident, $key:expr, $kind:expr) => { $resolver.value($key, $kind) };
    (@read $resolver:ident, $key:expr, $kind:expr, $default:expr) => { $resolver.value_or($key, $kind, $default) };
    (@if $value:expr => $write:block) => { $write };
    (@if $value:expr, $default:expr => $write:block) => { if $value != $default $write };
}

use section;

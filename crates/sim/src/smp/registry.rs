//! Protocols of snooping buses by name: the built-in one, and those that a program registers.

use std::sync::{Mutex, PoisonError};

use machine::description::Description;
use protocol::contract::Bus;
use protocol::snoop;

use super::Smp;
use crate::simulated::Simulated;
use crate::system::System;
use crate::unloaded::{self, UnloadedRead};
use crate::{Options, SimError};

/// A machine on a bus, with a protocol that is known by name.
#[derive(Clone, Copy)]
struct Named {
    name: &'static str,
    machine: Machine,
    unloaded: fn(&Description) -> Result<Vec<UnloadedRead>, SimError>,
}

/// The machine of a description, with empty caches.
type Machine = fn(&Description, Options) -> Result<Box<dyn Simulated>, SimError>;

impl Named {
    const fn new<B: Bus>(name: &'static str) -> Self {
        Self {
            name,
            machine: |description, options| Ok(Box::new(System::<Smp<B>>::new(description, options)?)),
            unloaded: unloaded::reads::<Smp<B>>,
        }
    }
}

const BUILT_IN: &[Named] = &[Named::new::<snoop::Protocol>("moesi"), Named::new::<snoop::Mesi>("mesi")];

static REGISTERED: Mutex<Vec<Named>> = Mutex::new(Vec::new());

/// Makes a protocol available to machines on a snooping bus, as `bus.protocol = "name"`, in this program.
pub fn register_bus<B: Bus>(name: &'static str) {
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    registered.retain(|other| other.name != name);
    registered.push(Named::new::<B>(name));
}

/// The protocol that `description` names.
fn named(description: &Description) -> Result<Named, SimError> {
    let bus = SimError::table(description.bus.as_ref(), description, "snooping-bus")?;
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let all = || BUILT_IN.iter().chain(registered.iter());
    all().find(|other| other.name == bus.protocol).copied().ok_or_else(|| SimError::Unsupported {
        key: "bus.protocol",
        value: bus.protocol.clone(),
        accepted: all().map(|other| other.name).collect::<Vec<_>>().join(", ").into(),
    })
}

/// The machine of `description`, with empty caches.
///
/// # Errors
/// No protocol has this name; or as [`System::new`].
pub(crate) fn machine(description: &Description, options: Options) -> Result<Box<dyn Simulated>, SimError> {
    (named(description)?.machine)(description, options)
}

/// The machine's latencies when nothing else happens.
///
/// # Errors
/// As [`machine`].
pub(crate) fn unloaded(description: &Description) -> Result<Vec<UnloadedRead>, SimError> {
    (named(description)?.unloaded)(description)
}

//! Planted faults of bus protocols: each is a function of one part of a transaction.

use protocol::contract::Bus;

use super::Beyond;
use crate::config::Config;
use crate::model::Property;

/// A fault that can be planted in one rule of a bus protocol.
pub struct PlantedBus<B: Bus, O: Beyond<B>> {
    /// Name.
    pub name: &'static str,
    /// Property that the fault violates in the fewest steps.
    pub breaks: Property,
    /// A small configuration in which the fault is found.
    pub config: Config,
    /// The fault.
    pub plant: BusPlant<B, O>,
}

/// A fault. Each has what a correct protocol does, and returns or leaves something else.
pub enum BusPlant<B: Bus, O: Beyond<B>> {
    /// A cache has begun an access or an eviction.
    Start(fn(&mut B::CacheLine)),
    /// A cache replies to a command.
    Reply(fn(&B::CacheLine, B::Reply) -> B::Reply),
    /// A cache applies a transaction; first the line before.
    Observe(fn(&B::CacheLine, &mut B::CacheLine, B::Command)),
    /// Memory is not written in these transactions.
    DropMemoryWrite(fn(B::Command) -> bool),
    /// The further participant requests the bus.
    RequestBeyond(fn(B::Command) -> B::Command),
    /// The further participant replies to a command.
    ReplyBeyond(fn(&mut O, B::Command, B::Reply) -> B::Reply),
}

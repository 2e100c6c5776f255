//! Registry of the protocols that can be explored, by name.

use crate::config::ConfigError;
use crate::entry::Protocol;
use crate::{cluster, moesi, msi, origin, sci, server};

/// Families of protocols; a new one is a line here. A static: models and explorers would be compiled in each crate that a constant of
/// functions is used in.
static FAMILIES: &[&[Protocol]] =
    &[&[origin::PROTOCOL], msi::PROTOCOLS, &[sci::PROTOCOL], moesi::PROTOCOLS, cluster::PROTOCOLS, server::PROTOCOLS];

/// Every protocol.
pub fn protocols() -> impl Iterator<Item = &'static Protocol> {
    FAMILIES.iter().copied().flatten()
}

/// Finds the protocol of this name.
///
/// # Errors
/// [`ConfigError::UnknownProtocol`] if there is none.
pub fn protocol(name: &str) -> Result<Protocol, ConfigError> {
    protocols().find(|protocol| protocol.name == name).copied().ok_or_else(|| {
        let accepted = protocols().map(|protocol| protocol.name).collect::<Vec<_>>().join(", ");
        ConfigError::UnknownProtocol { name: name.to_owned(), accepted }
    })
}

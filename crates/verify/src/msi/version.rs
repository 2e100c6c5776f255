//! Contents of a line relative to the last store, so that the state space is finite although stores never end.
//!
//! The protocol never reads contents, and the properties depend only on whether they are those of the last store. The
//! last store being `LATEST`, a store performed on it creates [`JUST_STORED`], which exists only within a step: then
//! everything is renumbered.

use protocol::Version;
use protocol::msi::SharingSet;

use super::state::{MAX_CACHES, State};

/// Contents older than the last store.
pub const STALE: Version = Version(0);
/// Contents of the last store.
pub const LATEST: Version = Version(1);
/// Contents that a store on the last contents creates.
pub const JUST_STORED: Version = Version(2);

/// Renumbers the contents of `line` after a store by `node`.
pub fn renumber<S: SharingSet>(state: &mut State<S>, line: usize, node: usize) {
    for other in 0..MAX_CACHES {
        state.caches[line][other].version = if other == node { LATEST } else { STALE };
    }
    state.homes[line].memory = STALE;
    state.map_messages(|message| if message.line.index() == line { message.with_version(STALE) } else { message });
}

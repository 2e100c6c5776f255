//! Contents of a line relative to the last store, so that the state space is finite although stores never end.
//!
//! The protocol never looks at contents, and the only question asked of them is whether they are those of the last
//! store. The last store being `LATEST`, a store performed on it makes [`JUST_STORED`], which lives only until the step is
//! over: then everything is renumbered.

use protocol::Version;
use protocol::msi::SharingSet;

use super::state::{MAX_CACHES, State};

/// Contents older than the last store.
pub const STALE: Version = Version(0);
/// The last store's contents.
pub const LATEST: Version = Version(1);
/// What a store on the last contents makes.
pub const JUST_STORED: Version = Version(2);

/// Renumbers the contents of `line` after a store by `node`.
pub fn renumber<S: SharingSet>(state: &mut State<S>, line: usize, node: usize) {
    for other in 0..MAX_CACHES {
        state.caches[line][other].version = if other == node { LATEST } else { STALE };
    }
    state.homes[line].memory = STALE;
    state.map_messages(|message| if message.line.index() == line { message.with_version(STALE) } else { message });
}

//! Contents of a line relative to the last store, so that the state space is finite although stores never end.
//!
//! The protocol never reads contents, and the properties depend only on whether they are those of the last store. One
//! number therefore stands for the last contents, and one for all older ones, which need not be distinguished. A third
//! stands for data in flight to an uncached read: they were the last contents when they were sent, and the read may
//! return them although a store has been performed since. The last store being `LATEST`, a store performed on it
//! creates [`JUST_STORED`], which exists only within a step: then everything is renumbered.

use protocol::Version;

use super::packed::{MAX_CACHES, State, cache, entry, kind, message, reads_uncached};

/// Contents older than the last store.
pub const STALE: Version = Version(0);
/// Contents of the last store.
pub const LATEST: Version = Version(1);
/// Contents that a store on the last contents creates.
pub const JUST_STORED: Version = Version(2);
/// Last contents at the time when they were sent to an uncached read that is still outstanding.
pub const OVERTAKEN: Version = Version(3);

/// Renumbers the contents of `line` after a store by `cpu`.
pub fn renumber(state: &mut State, line: usize, cpu: usize) {
    let uncached: [bool; MAX_CACHES] = std::array::from_fn(|other| reads_uncached(state.cache(line, other)));
    for (other, &uncached) in uncached.iter().enumerate() {
        let word = state.cache_mut(line, other);
        let version = if other == cpu { LATEST } else { aged(Version(cache::VERSION.get(*word)), uncached) };
        *word = cache::VERSION.set(*word, version.0);
    }
    state.entries[line] = entry::MEMORY.set(state.entries[line], STALE.0);
    state.map_messages(|word| {
        if message::LINE.get(word) as usize != line || !kind(word).carries_data() {
            return word;
        }
        let requester = message::REQUESTER.get(word) as usize;
        let answers_uncached = message::TO.get(word) == message::TO_PROCESSOR && uncached[requester];
        let version = aged(Version(message::VERSION.get(word)), answers_uncached);
        message::VERSION.set(word, version.0)
    });
}

fn aged(version: Version, uncached: bool) -> Version {
    match version {
        LATEST if uncached => OVERTAKEN,
        LATEST => STALE,
        other => other,
    }
}

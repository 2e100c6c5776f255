//! Description of a state of the MSI model in one line, for traces.

use std::fmt::Write;

use protocol::Version;
use protocol::msi::{Agent, CacheLine, Collection, DirectoryState, Msi as Copy, Place, SharingSet};

use super::Msi;
use super::state::{HomeLine, State, unpack_message};
use super::version::LATEST;

impl<S: SharingSet> Msi<S> {
    /// Description of the state in one line: caches, directory and memory, messages in flight.
    pub(super) fn describe_state(&self, state: &State<S>) -> String {
        let mut text = String::new();
        for line in 0..self.lines() {
            if self.lines() > 1 {
                let _infallible = write!(text, "line {line}: ");
            }
            for node in 0..self.caches() {
                text += &describe_cache(&state.caches[line][node]);
                text += " | ";
            }
            text += &self.describe_home(&state.homes[line], &state.store);
            text += " | ";
        }
        let messages = state.messages().iter().map(|&word| {
            let message = unpack_message(word);
            match message.to {
                Agent::Home(_) => format!("{}>home", message.kind.mnemonic()),
                Agent::Node(node) => format!("{}>{node:?}", message.kind.mnemonic()),
            }
        });
        text + &messages.collect::<Vec<_>>().join(" ")
    }

    fn describe_home(&self, home: &HomeLine<S::Header>, store: &S::Store) -> String {
        use DirectoryState as D;
        let mut text = home.entry.state.mnemonic().to_owned();
        let _infallible = match home.entry.state {
            D::Clean => Ok(()),
            D::Dirty { owner } | D::Collecting { owner, .. } => write!(text, " {owner:?}"),
            D::Forwarded { owner, requester, .. } => write!(text, " {owner:?}>{requester:?}"),
            D::Invalidating { requester, acknowledgements, .. } => {
                write!(text, " for {requester:?} INVAL_ACK:{acknowledgements}")
            }
            D::Evicting { acknowledgements } => write!(text, " INVAL_ACK:{acknowledgements}"),
        };
        let mut sharers = Vec::new();
        let form = self.set.snapshot(&self.context.site, &home.entry.sharers, store, |node| sharers.push(node));
        let _infallible = write!(text, " {sharers:?}");
        if form > 0 {
            let _infallible = write!(text, "/{form}");
        }
        format!("{text} memory{}", age(home.memory))
    }
}

fn describe_cache(line: &CacheLine) -> String {
    let mut text = match line.state {
        Copy::Invalid => "I".to_owned(),
        Copy::Shared => format!("S{}", age(line.version)),
        Copy::Dirty => format!("D{}", age(line.version)),
    };
    if line.place == Place::RemoteAccessCache {
        text += " in RAC";
    }
    if let Some(request) = line.request {
        text += " ";
        text += request.kind.mnemonic();
        if request.nacked {
            text += " NACKed";
        }
        if request.invalidated {
            text += " invalidated";
        }
    }
    if line.collection != Collection::IDLE {
        let _infallible = write!(text, " collects {}", line.collection.balance);
    }
    if let Some(relay) = line.relay {
        let _infallible = write!(text, " relays {}", relay.acknowledgements);
    }
    text
}

fn age(version: Version) -> &'static str {
    if version == LATEST { "" } else { " stale" }
}

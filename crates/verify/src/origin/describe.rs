//! Description of a state of the Origin model in one line, for traces.

use std::fmt::Write;

use protocol::origin::{CacheLine, DirectoryState, HomeAnswer, Mesi, OwnerAnswer, Pending};
use protocol::{Agent, Version};

use super::Origin;
use super::packed::{State, unpack_cache, unpack_entry, unpack_message};
use super::version::{LATEST, OVERTAKEN};

impl Origin {
    /// Description of the state in one line: caches, directory and memory, messages in flight.
    pub(super) fn describe_state(&self, state: &State) -> String {
        let mut text = String::new();
        for line in 0..self.lines() {
            if self.lines() > 1 {
                let _infallible = write!(text, "line {line}: ");
            }
            for cpu in 0..self.caches() {
                text += &describe_cache(&unpack_cache(state.cache(line, cpu)));
                text += " | ";
            }
            text += &describe_entry(state.entries[line]);
            text += " | ";
        }
        let messages = state.messages().iter().map(|&word| {
            let message = unpack_message(word);
            let to = match message.to {
                Agent::Home(_) => "home".to_owned(),
                Agent::Processor(cpu) => format!("{cpu:?}"),
                Agent::Interface(node) => format!("{node:?}"),
                Agent::Sharers => "sharers".to_owned(),
            };
            format!("{}>{to}", message.kind.mnemonic())
        });
        text + &messages.collect::<Vec<_>>().join(" ")
    }
}

fn describe_cache(line: &CacheLine) -> String {
    let mut text = match line.state {
        Mesi::Invalid => "I".to_owned(),
        Mesi::Shared => format!("S{}", age(line.version)),
        Mesi::Exclusive => format!("E{}", age(line.version)),
        Mesi::Modified => format!("M{}", age(line.version)),
    };
    match line.pending {
        Pending::None => {}
        Pending::Request(request) => {
            text += " ";
            text += request.kind.mnemonic();
            if request.nacked {
                text += " NACKed";
            }
            if request.home != HomeAnswer::Awaited {
                let _infallible = write!(text, " home:{:?}", request.home);
            }
            if request.owner != OwnerAnswer::None {
                let _infallible = write!(text, " owner:{:?}", request.owner);
            }
            if request.acknowledgements != 0 {
                let _infallible = write!(text, " IVACK:{}", request.acknowledgements);
            }
            if request.invalidated {
                text += " invalidated";
            }
            if request.deferred.is_some() {
                text += " defers an intervention";
            }
        }
        Pending::Writeback { .. } => text += " WB",
        Pending::StaleIntervention => text += " waits for the crossed intervention",
        Pending::Intervention(_) => text += " defers an intervention",
    }
    text
}

fn describe_entry(word: u32) -> String {
    let (entry, memory) = unpack_entry(word);
    let mut text = entry.state.mnemonic().to_owned();
    let _infallible = match entry.state {
        DirectoryState::Unowned | DirectoryState::Poisoned => Ok(()),
        DirectoryState::Shared => write!(text, " {:?}", entry.sharers),
        DirectoryState::Exclusive | DirectoryState::Wait => write!(text, " {:?}", entry.owner),
        DirectoryState::BusyShared | DirectoryState::BusyExclusive => {
            write!(text, " {:?}>{:?}", entry.former, entry.owner)
        }
    };
    if entry.priority > 0 {
        let _infallible = write!(text, " priority {}", entry.priority);
    }
    format!("{text} memory{}", age(memory))
}

fn age(version: Version) -> &'static str {
    match version {
        LATEST => "",
        OVERTAKEN => " overtaken",
        _ => " stale",
    }
}

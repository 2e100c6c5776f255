//! Words in a machine's name for settings of its firmware (`snoop=early`, `snc=2`, `nps=4`, `prefetch=off`), and their refusals: by
//! the word that was typed, the reason why the machine lacks the setting, and the words that it accepts.

use machine::description::{Entry, HomeKind, OnDieNetwork, Origin};
use machine::{Description, DescriptionError, Resolved};
use protocol::server::MAX_EARLY_CLUSTERS;

use crate::variant::{CLUSTERS, DIVISIONS, NODES, PREFETCH, SEPARATOR, SNOOP, SNOOPS, assembled};

/// Most nodes of a socket that a description can have.
const MOST_NODES: u32 = 8;
/// A machine with settings of firmware, for those that have none.
const EXAMPLE: &str = "a server, such as xeon-e5-2699v3-2s";

/// Early snoops of more core clusters than the protocol has room for, which the simulator refuses by other keys.
pub(crate) fn with_room_for_early_snoops(machine: Resolved, changes: &[&str]) -> Result<Resolved, DescriptionError> {
    let kind = machine.description.home.as_ref().map(|home| home.kind);
    let early = kind == Some(HomeKind::EarlySnoop) && changes.iter().any(|change| value_of(change, SNOOP).is_some());
    let clusters = machine.description.server.as_ref().map_or(0, |server| server.sockets * server.clusters_per_socket);
    if !early || clusters <= u32::from(MAX_EARLY_CLUSTERS) {
        return Ok(machine);
    }
    let reason =
        format!("early snoops are for at most {MAX_EARLY_CLUSTERS} core clusters, and this machine has {clusters}");
    Err(machine.refused("home.kind", SNOOPS[1].1, reason, quoted(SNOOPS[0].1)))
}

/// The `error` of the machine `base` with `changes`, by the word that causes it if one does.
pub(crate) fn in_words(base: &str, changes: &[&str], error: DescriptionError) -> DescriptionError {
    let Ok(machine) = machine::load(base) else { return error };
    let words: Vec<&str> = changes.iter().copied().filter(|change| word_of(change).is_some()).collect();
    if assembled(base, &joined(base, &words), &words).is_ok() {
        return error;
    }
    let others = |place: usize| [&changes[..place], &changes[place + 1..]].concat();
    let causes = |place: &usize| {
        let without = assembled(base, &joined(base, &others(*place)), &others(*place));
        word_of(changes[*place]).is_some() && without.err().is_none_or(|other| other.to_string() != error.to_string())
    };
    match (0..changes.len()).rev().find(causes) {
        Some(place) => refused(&machine, base, changes[place], &others(place), error),
        None => error,
    }
}

/// The refusal of a word beside other changes.
fn refused(
    machine: &Description,
    base: &str,
    change: &str,
    others: &[&str],
    error: DescriptionError,
) -> DescriptionError {
    let is_accepted = |candidate: &String| {
        let changes = [others, &[candidate.as_str()]].concat();
        assembled(base, &joined(base, &changes), &changes).is_ok()
    };
    let word = word_of(change).unwrap_or(change);
    let mut accepted: Vec<String> = candidates(word).into_iter().filter(is_accepted).collect();
    if accepted.is_empty() {
        // The state of prefetchers is accepted, without effect, where there are none.
        let words = [SNOOP, NODES, CLUSTERS].into_iter().flat_map(candidates);
        let divisions = DIVISIONS.iter().map(|(division, ..)| (*division).to_owned());
        accepted = words.chain(divisions).filter(is_accepted).collect();
    }
    let accepted = if accepted.is_empty() { EXAMPLE.to_owned() } else { accepted.join(", ") };
    let value = change.split_once('=').map_or("", |(_, value)| value).to_owned();
    let entry = Entry { at: Origin { file: base.to_owned(), line: None, comment: None }, key: word.to_owned(), value };
    DescriptionError::Impossible { entry: Box::new(entry), reason: reason(machine, change, error), accepted }
}

/// The reason for which a machine lacks what a word asks for.
fn reason(machine: &Description, change: &str, error: DescriptionError) -> String {
    let number = [NODES, CLUSTERS].into_iter().find_map(|word| value_of(change, word));
    if value_of(change, PREFETCH).is_some() {
        return "it is neither on nor off".to_owned();
    }
    let Some(server) = &machine.server else { return format!("{} is not a server", machine.name) };
    if value_of(change, SNOOP).is_some_and(|mode| SNOOPS.iter().all(|(known, _)| *known != mode)) {
        return "there is no such mode of homes".to_owned();
    }
    if number.is_some_and(|number| number.parse::<u32>().is_err()) {
        return "not a whole number".to_owned();
    }
    if is_like_division(change) && !DIVISIONS.iter().any(|(division, ..)| *division == change) {
        return "there is no such division of sockets".to_owned();
    }
    let divides = value_of(change, NODES).is_some();
    if !divides && value_of(change, SNOOP).is_none() && server.network == OnDieNetwork::IoDie {
        let clusters = server.clusters_per_socket;
        return format!(
            "a socket of {} always has {clusters} core clusters, each with a cache of its own",
            machine.name
        );
    }
    match error {
        DescriptionError::Impossible { entry, .. } if divides && entry.key == "home.at_slice" => {
            format!("the nodes of a socket of {} are core clusters, which {CLUSTERS}= divides", machine.name)
        }
        DescriptionError::Impossible { reason, .. } => reason,
        other => other.to_string(),
    }
}

/// The word of a change by words; none for one by a table's key.
fn word_of(change: &str) -> Option<&str> {
    let word = change.split_once('=').map_or(change, |(word, _)| word);
    (is_like_division(change) || [SNOOP, NODES, CLUSTERS, PREFETCH].contains(&word) && word != change).then_some(word)
}

/// Whether a change is the word for a division of sockets, or is meant as one: `snc4`, `nps2`.
fn is_like_division(change: &str) -> bool {
    let is_numbered = |word| {
        let number = change.strip_prefix(word).unwrap_or_default();
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    };
    [NODES, CLUSTERS].into_iter().any(is_numbered) || DIVISIONS.iter().any(|(division, ..)| *division == change)
}

/// The value of a change by `word`.
fn value_of<'a>(change: &'a str, word: &str) -> Option<&'a str> {
    change.split_once('=').filter(|(known, _)| *known == word).map(|(_, value)| value)
}

/// Every change by `word` that some machine may accept.
fn candidates(word: &str) -> Vec<String> {
    let numbers = || (1..=MOST_NODES).map(|number| number.to_string()).collect();
    let values: Vec<String> = match word {
        SNOOP => SNOOPS.iter().map(|(mode, _)| (*mode).to_owned()).collect(),
        NODES | CLUSTERS => numbers(),
        PREFETCH => vec!["on".to_owned(), "off".to_owned()],
        _ => Vec::new(),
    };
    values.into_iter().map(|value| format!("{word}={value}")).collect()
}

fn joined(base: &str, changes: &[&str]) -> String {
    changes.iter().fold(base.to_owned(), |name, change| format!("{name}{SEPARATOR}{change}"))
}

fn quoted(word: &str) -> String {
    format!("{word:?}")
}

#[cfg(test)]
mod tests {
    use crate::variant::load;

    fn message(name: &str) -> String {
        load(name).expect_err(name).to_string()
    }

    #[test]
    fn settings_that_a_machine_lacks_are_refused_by_the_words_for_them() {
        for (name, said, accepted) in [
            ("epyc-7702-2s+snoop=early", "snoop = early: early snoops are for at most 2 core clusters", "snoop=home"),
            (
                "epyc-7702-2s+snc=2",
                "snc = 2: a socket of epyc-7702-2s always has 16",
                "snoop=home, nps=1, nps=2, nps=4",
            ),
            ("epyc-7702-2s+snc2", "snc2: a socket", "snoop=home, nps=1, nps=2, nps=4"),
            ("epyc-7702-2s+nps=3", "nps = 3: 64 cores do not make 3 equal nodes", "nps=1, nps=2, nps=4"),
            ("epyc-7702-2s+nps=many", "nps = many: not a whole number", "nps=1, nps=2, nps=4"),
            ("xeon-8180-2s+nps=2", "nps = 2: the nodes of a socket of xeon-8180-2s are core clusters", "nps=1"),
            ("xeon-8180-2s+snc=3", "snc = 3: 28 cores do not make 3 equal core clusters", "snc=1, snc=2"),
            ("xeon-8180-2s+snc2+snoop=early", "snoop = early: early snoops are for at most 2", "snoop=home"),
            ("xeon-e5-2699v3-2s+snoop=late", "snoop = late: there is no such mode", "snoop=home, snoop=early"),
            ("xeon-8180-2s+prefetch=maybe", "prefetch = maybe: it is neither", "prefetch=on, prefetch=off"),
            (
                "xeon-8180-2s+snc4",
                "snc4: there is no such division of sockets",
                "snoop=home, snoop=early, nps=1, snc=1, snc=2, snc2, cod",
            ),
            ("arctic+cod", "cod: arctic is not a server", "a server, such as xeon-e5-2699v3-2s"),
            ("arctic+snoop=home", "snoop = home: arctic is not a server", "a server, such as xeon-e5-2699v3-2s"),
        ] {
            let message = message(name);
            assert!(message.starts_with(said) && message.ends_with(&format!("; accepted: {accepted}")), "{message}");
        }
    }

    #[test]
    fn what_no_word_causes_is_refused_as_before() {
        let plain = message("xeon-8180-2s+l2.ways=none");
        assert_eq!(message("xeon-8180-2s+snc2+l2.ways=none"), plain);
        assert!(message("xeon-8180-2s+snc2+server.nodes_per_socket=4").starts_with("server.nodes_per_socket = 4"));
        assert!(load("xeon-e5-2699v3-2s+snoop=early+cod").is_ok(), "of several modes the last");
        assert!(message("nowhere+snc=2").contains("unknown machine"));
    }
}

//! Where this run's records come from: this software, and of what is measured this computer, now.

use std::sync::LazyLock;

use git_version::git_version;
use host::discovery::{Inventory, KernelFiles};
use profile::lines::{rfc3339, unix_now};
use record::Provenance;
use trace::Preamble;

/// The commit that this was built from; empty without a repository.
const COMMIT: &str =
    git_version!(args = ["--always", "--abbrev=12", "--dirty=-modified", "--exclude=*"], fallback = "");

/// The version of this software.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The platform that this was built for.
const TARGET: &str = env!("CCNUMA_TARGET");

/// The text of `--version` after the name: version, commit and target.
pub fn version() -> &'static str {
    static LINE: LazyLock<String> = LazyLock::new(|| {
        let commit = if COMMIT.is_empty() { String::new() } else { format!("commit {COMMIT}, ") };
        format!("{VERSION} ({commit}{TARGET})")
    });
    &LINE
}

/// Provenance of records that tell nothing of this computer.
pub fn of_software() -> Provenance {
    Provenance::of_software(VERSION, Some(COMMIT).filter(|commit| !commit.is_empty()))
}

/// The version and commit of this software, as keys of runs have them.
pub fn commit() -> String {
    commit_of(&of_software())
}

/// The version and commit that a record tells.
pub fn commit_of(provenance: &Provenance) -> String {
    format!("{} {}", provenance.version, provenance.commit.as_deref().unwrap_or_default())
}

/// The same as [`commit`]; where no commit tells what this was built from, with a hash of the command itself.
pub fn build() -> String {
    let commit = commit();
    if !COMMIT.is_empty() && !COMMIT.ends_with("-modified") {
        return commit;
    }
    let content = std::env::current_exe().and_then(|command| experiments::content_digest(&command));
    content.map_or(commit.clone(), |content| format!("{commit} {content}"))
}

/// Provenance of measurements on this computer from now on.
pub fn of_host(inventory: &Inventory) -> Provenance {
    let told = |name: &str| profile::linux::told(&inventory.files, name);
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    Provenance {
        host: told("hostname"),
        host_processor: inventory.processor.model.clone(),
        host_kernel: told("osrelease"),
        date: Some(rfc3339(unix_now())),
        command: Some(quoted(&words)),
        ..of_software()
    }
}

/// The same of a computer that is examined for nothing else.
///
/// # Errors
/// When it cannot be examined.
pub fn of_this_computer() -> Result<Provenance, host::HostError> {
    Inventory::discover(&KernelFiles::live()).map(|inventory| of_host(&inventory))
}

/// Provenance of the records of a trace: of the computer on which it was taken, unless it is simulated.
pub fn of_trace(preamble: &Preamble) -> Provenance {
    if preamble.simulated {
        return of_software();
    }
    let (host, kernel) = profile::linux::of_title(&preamble.machine).unzip();
    Provenance {
        host,
        host_processor: preamble.processor.clone(),
        host_kernel: kernel,
        date: (preamble.started_unix_ns > 0).then(|| rfc3339(preamble.started_unix_ns)),
        command: Some(quoted(&preamble.command)).filter(|command| !command.is_empty()),
        ..of_software()
    }
}

/// Words as a shell takes them.
pub fn quoted(words: &[String]) -> String {
    // No word of a command line has a byte of zero in it.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

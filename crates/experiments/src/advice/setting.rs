//! A setting that can be tried: a dimension, what it changes of the simulated machine, and how it is got on a real one.

use execution::Relocation;

/// The aspect of machine or program that a setting changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Dimension {
    /// The nodes of the program's pages.
    Placement,
    /// A mode of the machine, which its firmware sets.
    MemoryMode,
    /// Hardware prefetchers.
    Prefetchers,
    /// The processors of the program's threads.
    Threads,
}

impl Dimension {
    /// All, in the order in which they are tried.
    pub const ALL: [Self; 4] = [Self::Placement, Self::MemoryMode, Self::Prefetchers, Self::Threads];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Placement => "placement",
            Self::MemoryMode => "memory-mode",
            Self::Prefetchers => "prefetchers",
            Self::Threads => "threads",
        }
    }
}

/// The means by which a setting is got.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Means {
    /// Settings of the firmware or the operating system, made before the program starts.
    pub before: Option<String>,
    /// Variables of the environment.
    pub environment: Option<String>,
    /// The words before the program's own: a command, and its flags.
    pub launcher: Vec<String>,
    /// Changes in the program.
    pub program: Option<String>,
}

/// The flag of `numactl` that binds threads to nodes.
pub(super) const BOUND: &str = "--cpunodebind=";

/// A setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The aspect that it changes.
    pub dimension: Dimension,
    /// In words.
    pub label: String,
    /// Changes of the machine, as they stand behind its name ([`crate::variant`]).
    pub changes: Vec<String>,
    /// Pages that are elsewhere than the machine would place them.
    pub relocation: Relocation,
    /// How it is got.
    pub means: Means,
}

impl Setting {
    /// One that is no more than changes of the machine.
    pub(super) fn of(dimension: Dimension, label: impl Into<String>, changes: &[&str], means: Means) -> Self {
        let changes = changes.iter().map(|&change| change.to_owned()).collect();
        Self { dimension, label: label.into(), changes, relocation: Relocation::default(), means }
    }
}

/// The command line that gets all of `settings` for the program that is started by `command`, after what is to be set before. `bound`
/// binds threads to their nodes on the machine with these settings, which may be divided otherwise than the present one.
pub fn command_of(settings: &[&Setting], bound: Option<&str>, command: &str) -> String {
    // Threads that an order gives processors of their own need no nodes.
    let bound = bound.filter(|_| settings.iter().all(|setting| setting.dimension != Dimension::Threads));
    let mut before: Vec<&str> = settings.iter().filter_map(|setting| setting.means.before.as_deref()).collect();
    before.extend(settings.iter().filter_map(|setting| setting.means.program.as_deref()));
    let mut words: Vec<&str> = settings.iter().filter_map(|setting| setting.means.environment.as_deref()).collect();
    let launchers = settings.iter().flat_map(|setting| &setting.means.launcher).map(String::as_str);
    words.extend(launchers.filter_map(|word| if word.starts_with(BOUND) { bound } else { Some(word) }));
    if words.is_empty() && !before.is_empty() {
        return before.join("; ");
    }
    words.push(command);
    let line = words.join(" ");
    before.push(&line);
    before.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_together_make_one_command_line() {
        let means = |before: &str, environment: &str, launcher: &[&str]| Means {
            before: Some(before.to_owned()).filter(|text| !text.is_empty()),
            environment: Some(environment.to_owned()).filter(|text| !text.is_empty()),
            launcher: launcher.iter().map(|&word| word.to_owned()).collect(),
            program: None,
        };
        let bound = ["numactl", "--cpunodebind=0", "--membind=0"];
        let placed = Setting::of(Dimension::Placement, "", &[], means("", "", &bound));
        let mode = Setting::of(Dimension::MemoryMode, "", &[], means("BIOS: SNC on", "", &[]));
        let threads = Setting::of(Dimension::Threads, "", &[], means("", "OMP_PROC_BIND=spread", &[]));
        let on = |node: &'static str| Some(node);
        let alone = command_of(&[&placed], on("--cpunodebind=0"), "./fft -p4");
        assert_eq!(alone, "numactl --cpunodebind=0 --membind=0 ./fft -p4");
        assert_eq!(command_of(&[&mode], on("--cpunodebind=0-1"), "./fft"), "BIOS: SNC on");
        // Where the machine is divided otherwise, the threads are on other nodes.
        let divided = command_of(&[&placed, &mode], on("--cpunodebind=0-1"), "./fft");
        assert_eq!(divided, "BIOS: SNC on; numactl --cpunodebind=0-1 --membind=0 ./fft");
        let together = command_of(&[&placed, &mode, &threads], on("--cpunodebind=0-1"), "./fft");
        assert_eq!(together, "BIOS: SNC on; OMP_PROC_BIND=spread numactl --membind=0 ./fft");
    }
}

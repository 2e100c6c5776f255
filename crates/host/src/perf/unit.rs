//! Performance monitoring units as sysfs announces them: names, events, and how they are encoded
//! (Documentation/ABI/testing/sysfs-bus-event_source-devices-*).

use units::CpuId;

use crate::discovery::{KernelFiles, parse_list};

/// How the kernel is asked for an event: the type and the four configuration words of `perf_event_attr`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EventCode {
    /// The type: a monitoring unit's, or one of the kernel's.
    pub kind: u32,
    /// `config`, `config1`, `config2`, `config3`.
    pub config: [u64; 4],
}

impl EventCode {
    /// Whether the kernel counts it in memory, and it needs none of the processor's counters.
    pub fn is_software(&self) -> bool {
        self.kind == perf_event_open_sys::bindings::PERF_TYPE_SOFTWARE
    }
}

/// An event that a monitoring unit announces by name.
#[derive(Clone, PartialEq, Debug)]
pub struct UnitEvent {
    /// Its name: `cas_count_read`.
    pub name: String,
    /// How the kernel is asked for it.
    pub code: EventCode,
    /// Value of one count, in `unit`; 1 if nothing is said.
    pub scale: f64,
    /// The unit of scaled counts: `MiB`; empty for events.
    pub unit: String,
}

/// A performance monitoring unit: of the cores, of a memory controller, of a link.
#[derive(Clone, PartialEq, Debug)]
pub struct MonitoringUnit {
    /// Its name: `cpu`, `uncore_imc_0`.
    pub name: String,
    /// Its type in an [`EventCode`].
    pub kind: u32,
    /// For units that are not a core's: the CPUs on which their events are to be opened, one for each socket or node.
    pub cpus: Option<Vec<CpuId>>,
    /// The events that it announces, by name.
    pub events: Vec<UnitEvent>,
    /// Events that it announces and that could not be understood, with the reason.
    pub problems: Vec<String>,
    formats: Vec<Format>,
}

/// Where in the configuration words a term goes: `config1:0-7,21`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Format {
    name: String,
    word: usize,
    /// First and last bit of each range, the low bits of the value first.
    ranges: Vec<(u32, u32)>,
}

const FOLDER: &str = "sys/bus/event_source/devices";

/// The units that the kernel announces, by name; none if it has no events.
pub fn monitoring_units(files: &KernelFiles) -> Vec<MonitoringUnit> {
    names(files, FOLDER).into_iter().filter_map(|name| MonitoringUnit::read(files, name)).collect()
}

/// The names in a folder, sorted; none if it cannot be listed.
fn names(files: &KernelFiles, folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(files.path(folder)) else { return Vec::new() };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

impl MonitoringUnit {
    fn read(files: &KernelFiles, name: String) -> Option<Self> {
        let folder = format!("{FOLDER}/{name}");
        let text = |file: &str| files.text(&format!("{folder}/{file}")).ok().flatten();
        let kind = text("type")?.trim().parse().ok()?;
        let cpus = text("cpumask").and_then(|list| parse_list(&list).ok());
        let cpus = cpus.map(|cpus| cpus.into_iter().map(CpuId).collect());
        let format = |term: &String| Format::parse(term, &text(&format!("format/{term}"))?);
        let formats = names(files, &format!("{folder}/format")).iter().filter_map(format).collect();
        let mut unit = Self { name, kind, cpus, events: Vec::new(), problems: Vec::new(), formats };
        for event in names(files, &format!("{folder}/events")) {
            // Beside an event lie its unit, its scale, and what it is for a thread, a core, or a snapshot.
            if event.contains('.')
                && [".unit", ".scale", ".snapshot", ".per-pkg"].iter().any(|end| event.ends_with(end))
            {
                continue;
            }
            let about = |end: &str| text(&format!("events/{event}.{end}")).map(|text| text.trim().to_owned());
            let scale = about("scale").and_then(|scale| scale.parse().ok()).unwrap_or(1.0);
            let terms = text(&format!("events/{event}")).unwrap_or_default();
            match unit.encode(&terms) {
                Ok(code) => {
                    let unit_name = about("unit").unwrap_or_default();
                    unit.events.push(UnitEvent { name: event.clone(), code, scale, unit: unit_name });
                }
                Err(problem) => unit.problems.push(format!("{}/{event}/: {problem}", unit.name)),
            }
        }
        Some(unit)
    }

    /// The code of an event in the unit's own terms, such as `event=0x04,umask=0x03`, or by its name.
    ///
    /// # Errors
    /// The fault in the terms, and the terms that are accepted.
    pub fn encode(&self, terms: &str) -> Result<EventCode, String> {
        let mut code = EventCode { kind: self.kind, config: [0; 4] };
        for term in terms.trim().split(',').map(str::trim).filter(|term| !term.is_empty()) {
            let (name, value) = term.split_once('=').unwrap_or((term, "1"));
            if let Some(event) = self.events.iter().find(|event| event.name == term) {
                (0..code.config.len()).for_each(|word| code.config[word] |= event.code.config[word]);
                continue;
            }
            // A placeholder, as in `event=0x1,socket=?`, is for the user to fill in.
            let value = number(value).ok_or_else(|| format!("`{term}`: `{value}` is not a number"))?;
            if let Some(word) = ["config", "config1", "config2", "config3"].iter().position(|word| *word == name) {
                code.config[word] |= value;
                continue;
            }
            let format = self.formats.iter().find(|format| format.name == name).ok_or_else(|| {
                let known: Vec<&str> = self.formats.iter().map(|format| format.name.as_str()).collect();
                format!("`{name}` is no term of {}; accepted: {}", self.name, known.join(" "))
            })?;
            format.place(value, &mut code.config).map_err(|problem| format!("`{term}`: {problem}"))?;
        }
        Ok(code)
    }

    /// The unit without the number of its instance: `uncore_imc` of `uncore_imc_0`.
    pub fn family(&self) -> &str {
        let stem = self.name.trim_end_matches(|c: char| c.is_ascii_digit());
        match stem.len() < self.name.len() {
            true => stem.trim_end_matches('_'),
            false => &self.name,
        }
    }
}

impl Format {
    fn parse(name: &str, text: &str) -> Option<Self> {
        let (word, bits) = text.trim().split_once(':')?;
        let word = match word {
            "config" => 0,
            "config1" => 1,
            "config2" => 2,
            "config3" => 3,
            _ => return None,
        };
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (first <= last && last < 64).then_some((first, last))
        };
        let ranges = bits.split(',').map(range).collect::<Option<Vec<_>>>()?;
        Some(Self { name: name.to_owned(), word, ranges })
    }

    /// Puts a value into its bits.
    fn place(&self, mut value: u64, config: &mut [u64; 4]) -> Result<(), String> {
        let whole = value;
        for &(first, last) in &self.ranges {
            let width = last - first + 1;
            let mask = u64::MAX >> (64 - width);
            config[self.word] |= (value & mask) << first;
            value = if width == 64 { 0 } else { value >> width };
        }
        match value {
            0 => Ok(()),
            _ => {
                let bits: u32 = self.ranges.iter().map(|(first, last)| last - first + 1).sum();
                Err(format!("{whole:#x} does not fit into {bits} bits"))
            }
        }
    }
}

fn number(text: &str) -> Option<u64> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    hexadecimal.map_or_else(|| text.parse().ok(), |digits| u64::from_str_radix(digits, 16).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn computer(files: &[(&str, &str)]) -> (tempfile::TempDir, KernelFiles) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(FOLDER).join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let files = KernelFiles::at(root.path());
        (root, files)
    }

    #[test]
    fn units_are_read_with_their_events_and_where_to_count_them() {
        let (_root, files) = computer(&[
            ("uncore_imc_0/type", "13\n"),
            ("uncore_imc_0/cpumask", "0,28\n"),
            ("uncore_imc_0/format/event", "config:0-7\n"),
            ("uncore_imc_0/format/umask", "config:8-15\n"),
            ("uncore_imc_0/format/split", "config1:0-3,32-35\n"),
            ("uncore_imc_0/events/cas_count_read", "event=0x04,umask=0x03\n"),
            ("uncore_imc_0/events/cas_count_read.scale", "6.103515625e-5\n"),
            ("uncore_imc_0/events/cas_count_read.unit", "MiB\n"),
            ("uncore_imc_0/events/odd", "event=?,umask=1\n"),
            ("software/type", "1\n"),
            ("broken/type", "x\n"),
        ]);
        let units = monitoring_units(&files);
        assert_eq!(units.iter().map(|unit| unit.name.as_str()).collect::<Vec<_>>(), ["software", "uncore_imc_0"]);
        let memory = &units[1];
        assert_eq!((memory.family(), memory.cpus.clone()), ("uncore_imc", Some(vec![CpuId(0), CpuId(28)])));
        let event = &memory.events[0];
        assert_eq!((event.code, event.unit.as_str()), (EventCode { kind: 13, config: [0x304, 0, 0, 0] }, "MiB"));
        assert!(event.scale > 6e-5 && event.scale < 6.2e-5);
        assert_eq!(memory.problems, ["uncore_imc_0/odd/: `event=?`: `?` is not a number"]);
        assert_eq!(memory.encode("split=0xab").unwrap().config, [0, 0xa_0000_000b, 0, 0]);
        assert_eq!(memory.encode("cas_count_read,config2=5").unwrap().config, [0x304, 0, 5, 0]);
        assert!(memory.encode("split=0x1ab").unwrap_err().contains("does not fit into 8 bits"));
        assert!(memory.encode("edge=1").unwrap_err().contains("accepted: event split umask"));
    }

    proptest! {
        #[test]
        fn any_text_is_encoded_or_refused(format in "(config[123]?:)?[0-9,:-]{0,12}", terms in "[a-z=0-9x,?]{0,20}") {
            let (_root, files) = computer(&[("u/type", "7"), ("u/format/a", &format), ("u/events/e", &terms)]);
            let unit = &monitoring_units(&files)[0];
            prop_assert_eq!(unit.events.len() + unit.problems.len(), 1);
        }
    }
}

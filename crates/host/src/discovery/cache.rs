//! Caches as the kernel lists them, each once with the CPUs that share it.

use std::fmt;

use units::{Bytes, CpuId};

use super::cpu::Cpu;
use super::files::Reader;
use super::note::Note;

/// Kinds of caches, by their contents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CacheKind {
    /// Data.
    Data,
    /// Instructions.
    Instruction,
    /// Both.
    Unified,
}

impl fmt::Display for CacheKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Data => "data",
            Self::Instruction => "instructions",
            Self::Unified => "unified",
        })
    }
}

/// A cache. What firmware does not tell is absent. All of it is announced, not measured: a virtual machine may announce
/// what it likes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    /// Its level, from 1.
    pub level: u8,
    /// Its kind.
    pub kind: CacheKind,
    /// Its size.
    pub size: Option<Bytes>,
    /// The size of a line.
    pub line: Option<Bytes>,
    /// How many places a line can go to; none also if fully associative.
    pub ways: Option<u32>,
    /// The number of sets.
    pub sets: Option<u32>,
    /// The online CPUs that use it, ascending.
    pub shared_by: Vec<CpuId>,
}

/// The caches of all online CPUs, by level, kind and first CPU.
pub(super) fn discover(reader: &mut Reader<'_>, cpus: &[Cpu]) -> Vec<Cache> {
    let mut caches: Vec<Cache> = Vec::new();
    let mut without = Vec::new();
    for cpu in cpus.iter().filter(|cpu| cpu.online) {
        let folder = format!("sys/devices/system/cpu/cpu{}/cache", cpu.id);
        let mut seen = false;
        for index in reader.numbered(&folder, "index") {
            let Some(cache) = examine(reader, &format!("{folder}/index{index}"), cpu.id) else { continue };
            seen = true;
            if !caches.contains(&cache) {
                caches.push(cache);
            }
        }
        if !seen {
            without.push(cpu.id);
        }
    }
    if !without.is_empty() {
        reader.notes.push(Note::NoCaches { cpus: without });
    }
    caches.sort_by_key(|cache| (cache.level, cache.kind, cache.shared_by.first().copied()));
    caches
}

/// One `index` folder (Documentation/ABI/testing/sysfs-devices-system-cpu); none if it does not even tell level and kind.
fn examine(reader: &mut Reader<'_>, folder: &str, cpu: CpuId) -> Option<Cache> {
    let level = reader.number(&format!("{folder}/level"))?;
    let kind = match reader.text(&format!("{folder}/type"))?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        "Unified" => CacheKind::Unified,
        other => {
            let problem = format!("`{other}` is none of Data, Instruction, Unified");
            reader.misunderstood(&format!("{folder}/type"), problem);
            return None;
        }
    };
    let size = reader.text(&format!("{folder}/size")).and_then(|text| {
        let size = parse_size(&text);
        if size.is_none() {
            reader.misunderstood(&format!("{folder}/size"), "not a size such as 48K".to_owned());
        }
        size
    });
    let mut positive = |name: &str| reader.number(&format!("{folder}/{name}")).filter(|&number: &u32| number > 0);
    let (line, ways, sets) =
        (positive("coherency_line_size"), positive("ways_of_associativity"), positive("number_of_sets"));
    let mut shared_by = reader.cpus(&format!("{folder}/shared_cpu_list")).unwrap_or_default();
    if let Err(place) = shared_by.binary_search(&cpu) {
        shared_by.insert(place, cpu);
    }
    Some(Cache {
        level,
        kind,
        size: size.filter(|size| size.0 > 0),
        line: line.map(|line| Bytes(line.into())),
        ways,
        sets,
        shared_by,
    })
}

/// A size as cache folders print it: a number of bytes, or with K, M or G after it.
fn parse_size(text: &str) -> Option<Bytes> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_caches() {
        assert_eq!(parse_size("48K"), Some(Bytes::from_kib(48)));
        assert_eq!(parse_size("2M"), Some(Bytes::from_mib(2)));
        assert_eq!(parse_size("512"), Some(Bytes(512)));
        for wrong in ["", "K", "4KK", "4 K", "-1K", "99999999999999999999", "18446744073709551615K"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }
}

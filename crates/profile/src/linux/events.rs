//! Events of CPUs, memory controllers and links, by node: all that any monitoring unit counts for whoever runs.

use std::collections::BTreeMap;

use host::discovery::{Inventory, KernelFiles};
use host::perf::{
    EventCode, EventGroup, MonitoringUnit, Scope, hardware_events, monitoring_units, paranoia, software_events,
};
use trace::{Blind, Counter, Object, ObjectKind, SourceDescription};
use units::CpuId;

use super::{Clock, nodes};
use crate::{CounterSource, Reading};

/// Why an event that was asked for is not counted.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// There is no such monitoring unit.
    #[error("event {event}: there is no monitoring unit `{unit}` here; accepted: UNIT/EVENT/ with one of {accepted}")]
    Unit {
        /// The event that was asked for.
        event: String,
        /// The unit in it.
        unit: String,
        /// The units that there are.
        accepted: String,
    },
    /// The unit has no such event.
    #[error("event {event}: {problem}; the unit's events by name: {accepted}")]
    Terms {
        /// The event that was asked for.
        event: String,
        /// The problem with the event.
        problem: String,
        /// The events that the unit announces.
        accepted: String,
    },
    /// It is there and cannot be counted.
    #[error("event {event}: {reason}")]
    Refused {
        /// The event that was asked for.
        event: String,
        /// The kernel's reason, and what to do.
        reason: String,
    },
}

/// Units that count what goes over links between sockets.
const LINKS: &[&str] = &["upi", "qpi", "xgmi", "ccix", "cxl", "c2c", "nvlink"];
/// Units that count accesses to memory: what they announce is counted without being asked for.
const MEMORY: &[&str] = &["imc", "umc", "ddr", "dmc", "cha_clockticks", "mcf", "nest_mc"];
/// Events of families of units that announce none: AMD's memory controllers, whose column accesses for reads and for writes its
/// manuals number (Processor Programming Reference of family 19h, UMC performance monitor events).
const UNANNOUNCED: &[(&str, &str)] = &[("amd_umc", "event=0x0a,rdwrmask=0x1"), ("amd_umc", "event=0x0a,rdwrmask=0x2")];
/// The most events that are counted of a family of units without being asked for.
const MOST_OF_A_FAMILY: usize = 8;

/// Reading a CPU's counters interrupts it, and wakes it if it sleeps: for faults and switches alone, which need no sample of
/// their own to be told apart, no more often than this, in nanoseconds.
const INTERRUPT_NS: u64 = 50_000_000;

/// A counter that is a sum over open events.
struct Sum {
    /// Where its reading goes.
    place: usize,
    /// Group and number of the event in it.
    events: Vec<(usize, usize)>,
}

/// All events that are counted by node or link.
pub(super) struct NodeEvents {
    counters: Vec<Counter>,
    objects: Vec<Object>,
    description: SourceDescription,
    constants: Vec<(String, f64)>,
    clock: Clock,
    groups: Vec<EventGroup>,
    sums: Vec<Sum>,
    answers: Vec<Option<host::perf::GroupReading>>,
    /// Whether all that is counted is what the kernel counts in memory.
    software_only: bool,
}

/// A counter that is to be opened, and where.
struct Request {
    counter: Counter,
    /// For each object by its place: the codes and the CPUs to open them on.
    on: Vec<(usize, EventCode, CpuId)>,
    /// Whether the user asked for it by name.
    asked: Option<String>,
}

/// A counter, and for each object by its place the groups that count for it and its number in each.
type Opened = (Counter, Vec<(usize, Vec<(usize, usize)>)>);

impl NodeEvents {
    pub(super) fn new(
        files: &KernelFiles,
        inventory: &Inventory,
        asked: &[String],
        clock: Clock,
    ) -> Result<Self, EventError> {
        let units = monitoring_units(files);
        let mut objects = nodes::objects(inventory);
        let mut requests = general(inventory);
        let mut constants = Vec::new();
        let mut chosen: Vec<(String, Option<String>)> = by_default(&units);
        chosen.extend(asked.iter().map(|event| (event.clone(), Some(event.clone()))));
        for (event, asked) in chosen {
            requests.extend(of_units(&event, asked, &units, inventory, &mut objects, &mut constants)?);
        }
        let mut source = Self {
            counters: Vec::new(),
            objects,
            description: SourceDescription { name: "events, by node and link".to_owned(), ..Default::default() },
            constants,
            clock,
            groups: Vec::new(),
            sums: Vec::new(),
            answers: Vec::new(),
            software_only: true,
        };
        source.open(requests, paranoia(files))?;
        source.describe_units(&units);
        source.keep_what_counts();
        Ok(source)
    }

    /// Opens what can be opened, and notes what cannot.
    fn open(&mut self, requests: Vec<Request>, paranoia: Option<i32>) -> Result<(), EventError> {
        let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut opened: Vec<Opened> = Vec::new();
        let mut software = BTreeMap::new();
        for request in requests {
            let mut by_object: Vec<(usize, Vec<(usize, usize)>)> = Vec::new();
            let mut failed = None;
            for (object, code, cpu) in request.on {
                match self.open_one(&mut software, code, cpu) {
                    Ok(member) => match by_object.iter_mut().find(|(known, _)| *known == object) {
                        Some((_, members)) => members.push(member),
                        None => by_object.push((object, vec![member])),
                    },
                    Err(error) => failed = Some(why(&error, paranoia)),
                }
            }
            match (failed, request.asked) {
                (Some(reason), Some(event)) => return Err(EventError::Refused { event, reason }),
                (Some(reason), None) => refused.entry(reason).or_default().push(request.counter.name.clone()),
                (None, _) => {}
            }
            if !by_object.is_empty() {
                opened.push((request.counter, by_object));
            }
        }
        self.place(opened);
        for (reason, names) in refused {
            let (why, advice) = reason.split_once("; ").unwrap_or((&reason, ""));
            self.description.blind.push(Blind::new(names.join(", "), why, advice));
        }
        Ok(())
    }

    /// Opens an event on a CPU; its group, and its number in it. What the kernel counts in memory takes no register of the
    /// processor's, so all of a CPU is one group: every reading of another CPU's interrupts it. An event of the processor is
    /// alone in its group: what does not fit beside others is counted in turns, not never.
    fn open_one(
        &mut self,
        software: &mut BTreeMap<CpuId, usize>,
        code: EventCode,
        cpu: CpuId,
    ) -> std::io::Result<(usize, usize)> {
        let known = software.get(&cpu).copied().filter(|&group| code.is_software() && self.groups[group].has_room());
        if let Some(group) = known {
            return Ok((group, self.groups[group].join(&code, Scope::Cpu(cpu), false)?));
        }
        self.groups.push(EventGroup::open_with(&[code], Scope::Cpu(cpu), false)?);
        let group = self.groups.len() - 1;
        match code.is_software() {
            true => drop(software.insert(cpu, group)),
            false => self.software_only = false,
        }
        Ok((group, 0))
    }

    /// Gives every counter its place among the readings.
    fn place(&mut self, opened: Vec<Opened>) {
        self.counters = opened.iter().map(|(counter, _)| counter.clone()).collect();
        let layout = crate::Readings::new(&self.counters);
        let mut start = 0;
        for (object, found) in self.objects.iter().enumerate() {
            let of_kind = opened.iter().filter(|(counter, _)| counter.of == found.kind).enumerate();
            for (i, (_, by_object)) in of_kind {
                if let Some((_, events)) = by_object.iter().find(|(known, _)| *known == object) {
                    self.sums.push(Sum { place: start + i, events: events.clone() });
                }
            }
            start += layout.of_kind(found.kind);
        }
        self.answers = vec![None; self.groups.len()];
    }

    /// Objects of which nothing is counted after all are left out.
    fn keep_what_counts(&mut self) {
        if self.counters.is_empty() {
            self.objects.clear();
        }
    }

    fn describe_units(&mut self, units: &[MonitoringUnit]) {
        let names = |kind| {
            let of_kind = self.counters.iter().filter(move |counter| counter.of == kind);
            of_kind.map(|counter| counter.name.clone()).collect::<Vec<_>>().join(", ")
        };
        for (kind, noun) in [(ObjectKind::Node, "node"), (ObjectKind::Link, "link")] {
            let names = names(kind);
            if !names.is_empty() {
                self.description.sees.push(format!("by {noun}, all programs: {names}"));
            }
        }
        let has = |words: &[&str]| units.iter().any(|unit| words.iter().any(|word| unit.name.contains(word)));
        if !has(MEMORY) {
            let why = "no memory-controller PMU";
            let advice = "resctrl may provide memory bandwidth; virtual machines usually have neither";
            self.description.blind.push(Blind::new("memory traffic by node", why, advice));
        }
        if !has(LINKS) {
            let why = "no socket-interconnect PMU";
            self.description.blind.push(Blind::new("interconnect traffic", why, ""));
        }
        self.description.blind.extend(silent(units));
        for problem in units.iter().flat_map(|unit| &unit.problems) {
            let why = "needs user-supplied values";
            self.description.blind.push(Blind::new(problem.clone(), why, "give the event with its values: --event"));
        }
    }
}

/// Events of the CPUs of each node that have the same name everywhere.
fn general(inventory: &Inventory) -> Vec<Request> {
    let place = |node| inventory.nodes.iter().position(|known| Some(known.id) == node);
    let events = software_events().into_iter().chain(hardware_events());
    let request = |event: host::perf::NamedEvent| {
        let online = inventory.cpus.iter().filter(|cpu| cpu.online);
        let on = online.filter_map(|cpu| Some((place(cpu.node)?, event.code, cpu.id))).collect();
        let what = format!("{} (CPUs of the node)", event.what);
        let counter = Counter::count(ObjectKind::Node, event.name, event.unit, &what).in_turns();
        Request { counter, on, asked: None }
    };
    // Time on a CPU is counted for threads; of a CPU it is nothing but time.
    events.filter(|event| event.name != "task_clock").map(request).collect()
}

/// Events of memory controllers and links that are counted without being asked for, by family of units.
fn by_default(units: &[MonitoringUnit]) -> Vec<(String, Option<String>)> {
    let events = families(units).into_iter().flat_map(|(family, unit)| {
        let announced = unit.events.iter().map(|event| event.name.as_str());
        let terms = announced.take(MOST_OF_A_FAMILY).chain(unannounced(unit));
        terms.map(move |terms| (format!("{family}/{terms}/"), None))
    });
    events.collect()
}

/// The events of a unit that announces none, where they are known and it takes their terms.
fn unannounced(unit: &MonitoringUnit) -> impl Iterator<Item = &str> {
    let of_unit = UNANNOUNCED
        .iter()
        .filter(|(family, terms)| unit.events.is_empty() && *family == unit.family() && unit.encode(terms).is_ok());
    of_unit.map(|(_, terms)| *terms)
}

/// Families of units of memory controllers and links, with one of each.
fn families(units: &[MonitoringUnit]) -> Vec<(&str, &MonitoringUnit)> {
    let mut families: Vec<(&str, &MonitoringUnit)> = Vec::new();
    for unit in units.iter().filter(|unit| unit.cpus.is_some()) {
        let wanted = MEMORY.iter().chain(LINKS).any(|word| unit.name.contains(word));
        if wanted && !families.iter().any(|(family, _)| *family == unit.family()) {
            families.push((unit.family(), unit));
        }
    }
    families
}

/// Units of memory controllers and links of which nothing is counted, because nobody says what they can count.
fn silent(units: &[MonitoringUnit]) -> Vec<Blind> {
    let is_silent = |(_, unit): &(&str, &MonitoringUnit)| unit.events.is_empty() && unannounced(unit).next().is_none();
    let blind = |(family, _): (&str, &MonitoringUnit)| {
        let advice = format!("--event {family}/event=NUMBER/, with a number from the processor's manual");
        Blind::new(format!("events of {family}"), "the kernel names no event of this unit", advice)
    };
    families(units).into_iter().filter(is_silent).map(blind).collect()
}

/// An event of all units of a family, on the nodes or links that they belong to.
fn of_units(
    event: &str,
    asked: Option<String>,
    units: &[MonitoringUnit],
    inventory: &Inventory,
    objects: &mut Vec<Object>,
    constants: &mut Vec<(String, f64)>,
) -> Result<Option<Request>, EventError> {
    let (family, terms) = event.trim_end_matches('/').split_once('/').unwrap_or((event, ""));
    let members: Vec<&MonitoringUnit> =
        units.iter().filter(|unit| unit.name == family || unit.family() == family).collect();
    let Some(first) = members.first() else {
        let accepted = units.iter().map(MonitoringUnit::family).collect::<std::collections::BTreeSet<_>>();
        let accepted = accepted.into_iter().collect::<Vec<_>>().join(" ");
        return Err(EventError::Unit { event: event.to_owned(), unit: family.to_owned(), accepted });
    };
    let link = LINKS.iter().any(|word| family.contains(word));
    let kind = if link { ObjectKind::Link } else { ObjectKind::Node };
    let name = Counter::name_from(&format!("{family}_{terms}"));
    let announced = first.events.iter().find(|event| event.name == terms);
    if let Some(announced) = announced
        && announced.scale != 1.0
    {
        constants.push((format!("scale.{name}"), announced.scale));
    }
    let scaled = announced.filter(|event| !event.unit.is_empty());
    let scaled = scaled.map(|event| format!(", each {} {}", event.scale, event.unit)).unwrap_or_default();
    let counter =
        Counter::count(kind, &name, "", &format!("{family}/{terms}/ of the monitoring unit{scaled}")).in_turns();
    let mut on = Vec::new();
    for unit in members {
        let code = unit.encode(terms).map_err(|problem| {
            let names: Vec<&str> = unit.events.iter().map(|event| event.name.as_str()).collect();
            EventError::Terms { event: event.to_owned(), problem, accepted: names.join(" ") }
        })?;
        let everywhere = || inventory.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
        for cpu in unit.cpus.clone().unwrap_or_else(everywhere) {
            let Some(node) = inventory.node_of(cpu) else { continue };
            let object = match link {
                true => link_object(objects, unit, node),
                false => {
                    objects.iter().position(|object| object.kind == ObjectKind::Node && object.key == u64::from(node.0))
                }
            };
            on.extend(object.map(|object| (object, code, cpu)));
        }
    }
    Ok(Some(Request { counter, on, asked }))
}

/// The link that a unit counts for, at the node of the CPU that reads it; made if it is not there yet.
fn link_object(objects: &mut Vec<Object>, unit: &MonitoringUnit, node: units::NodeId) -> Option<usize> {
    let name = format!("n{node}:{}", unit.name.trim_start_matches("uncore_"));
    let known = objects.iter().position(|object| object.name == name);
    Some(known.unwrap_or_else(|| {
        let title = format!("/sys/bus/event_source/devices/{} at node {node}", unit.name);
        let object = Object::new(ObjectKind::Link, objects.len() as u64, name, title);
        objects.push(Object { node: Some(u64::from(node.0)), ..object });
        objects.len() - 1
    }))
}

/// Why the kernel does not count, and after a semicolon what to do.
pub(super) fn why(error: &std::io::Error, paranoia: Option<i32>) -> String {
    match error.raw_os_error() {
        Some(code) if code == ERRORS.0 || code == ERRORS.1 => format!(
            "not permitted (kernel.perf_event_paranoid is {}); requires sysctl kernel.perf_event_paranoid=0 or \
             CAP_PERFMON",
            paranoia.map_or("unknown".to_owned(), |level| level.to_string())
        ),
        Some(code) if ERRORS.2.contains(&code) => {
            "no such counter, or hidden by the hypervisor; use bare metal or a virtual machine with a PMU".to_owned()
        }
        Some(code) if code == ERRORS.3 => "the kernel does not support perf_event_open".to_owned(),
        _ => format!("kernel error: {error}"),
    }
}

/// `EACCES` and `EPERM`; `ENOENT`, `ENODEV`, `EOPNOTSUPP`, `EINVAL`; `ENOSYS`: the same numbers on every Linux that we run on.
const ERRORS: (i32, i32, [i32; 4], i32) = (13, 1, [2, 19, 95, 22], 38);

impl CounterSource for NodeEvents {
    fn describe(&self) -> SourceDescription {
        self.description.clone()
    }

    fn counters(&self) -> &[Counter] {
        &self.counters
    }

    fn objects(&self) -> &[Object] {
        &self.objects
    }

    fn constants(&self) -> Vec<(String, f64)> {
        self.constants.clone()
    }

    fn pace_ns(&self) -> u64 {
        if self.software_only { INTERRUPT_NS } else { 0 }
    }

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn read(&mut self, readings: &mut [Reading]) {
        readings.fill(Reading::MISSING);
        for (answer, group) in self.answers.iter_mut().zip(&self.groups) {
            *answer = group.read().ok();
        }
        for sum in &self.sums {
            let mut reading = Reading::in_turns(0, 0, 0);
            for &(group, event) in &sum.events {
                let Some(answer) = &self.answers[group] else { continue };
                reading.raw = reading.raw.wrapping_add(answer.counts()[event]);
                reading.enabled_ns += answer.enabled_ns;
                reading.running_ns += answer.running_ns;
            }
            readings[sum.place] = reading;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(files: &[(&str, &str)]) -> Vec<MonitoringUnit> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join("sys/bus/event_source/devices").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        monitoring_units(&KernelFiles::at(root.path()))
    }

    #[test]
    fn memory_controllers_are_counted_whether_they_announce_events_or_not() {
        let units = units(&[
            ("uncore_imc_0/type", "13"),
            ("uncore_imc_0/cpumask", "0"),
            ("uncore_imc_0/format/event", "config:0-7"),
            ("uncore_imc_0/events/cas_count_read", "event=4"),
            ("amd_umc_0/type", "14"),
            ("amd_umc_0/cpumask", "0"),
            ("amd_umc_0/format/event", "config:0-7"),
            ("amd_umc_0/format/rdwrmask", "config:8-9"),
            ("amd_umc_1/type", "15"),
            ("amd_umc_1/cpumask", "0"),
            ("uncore_upi_0/type", "16"),
            ("uncore_upi_0/cpumask", "0"),
            ("uncore_cbox_0/type", "17"),
            ("uncore_cbox_0/cpumask", "0"),
        ]);
        let counted: Vec<String> = by_default(&units).into_iter().map(|(event, _)| event).collect();
        let expected =
            ["amd_umc/event=0x0a,rdwrmask=0x1/", "amd_umc/event=0x0a,rdwrmask=0x2/", "uncore_imc/cas_count_read/"];
        assert_eq!(counted, expected);
        // Events that occur in the formulas of the metrics of AMD's controllers.
        let names = counted.iter().map(|event| Counter::name_from(event.trim_end_matches('/')));
        let names: Vec<String> = names.collect();
        for name in &names {
            let formula = trace::metric::built_in().into_iter().any(|metric| metric.formula.contains(name.as_str()));
            assert!(formula, "{name}");
        }
        let silent: Vec<String> = silent(&units).into_iter().map(|blind| blind.what).collect();
        assert_eq!(silent, ["events of uncore_upi"]);
    }
}

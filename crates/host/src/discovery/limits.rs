//! Limits of the process: CPUs and nodes by affinity and cpuset, memory and CPU time by cgroup and resource limits.

use units::{Bytes, CpuId, NodeId};

use super::cpu::Cpu;
use super::files::Reader;
use super::node::{Node, amount};
use super::note::Note;

/// Limits of the process.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// The CPUs that its threads may run on: affinity and cpuset together.
    pub cpus: Vec<CpuId>,
    /// The nodes that its memory may lie on.
    pub nodes: Vec<NodeId>,
    /// The limits of its control group.
    pub cgroup: Cgroup,
    /// How much address space it may have (`RLIMIT_AS`); none if unlimited.
    pub address_space: Option<Bytes>,
    /// How much private writable memory it may have (`RLIMIT_DATA`); none if unlimited.
    pub data: Option<Bytes>,
    /// How much memory it may lock (`RLIMIT_MEMLOCK`); none if unlimited.
    pub locked: Option<Bytes>,
}

/// The limits of a control group and of those around it, each the narrowest.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cgroup {
    /// The version of the hierarchy that holds the memory controller; none if there is none.
    pub version: Option<u8>,
    /// The group's path.
    pub path: String,
    /// How much memory it may use.
    pub memory: Option<Bytes>,
    /// How much of that limit is left, page cache counted as free.
    pub memory_left: Option<Bytes>,
    /// How many CPUs' worth of time it may use.
    pub cpu_quota: Option<f64>,
    /// The nodes that its memory may lie on.
    pub nodes: Option<Vec<NodeId>>,
    /// The CPUs that it may use.
    pub cpus: Option<Vec<CpuId>>,
}

/// Examines the limits, and notes those that keep anything from us.
pub(super) fn discover(reader: &mut Reader<'_>, cpus: &[Cpu], nodes: &[Node]) -> Limits {
    let status = reader.text("proc/self/status").unwrap_or_default();
    let line = |name: &str| {
        let mut pairs = status.lines().filter_map(|line| line.split_once(':'));
        let (_, list) = pairs.find(|(key, _)| *key == name)?;
        super::list::parse_list(list).ok()
    };
    let online: Vec<CpuId> = cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let with_memory: Vec<NodeId> = nodes.iter().filter(|node| node.memory.0 > 0).map(|node| node.id).collect();
    let cgroup = cgroup(reader);
    let mut allowed = online.clone();
    for set in [line("Cpus_allowed_list").map(|list| list.into_iter().map(CpuId).collect()), cgroup.cpus.clone()] {
        retain(&mut allowed, set);
    }
    let mut memory = with_memory.clone();
    for set in [line("Mems_allowed_list").map(|list| list.into_iter().map(NodeId).collect()), cgroup.nodes.clone()] {
        retain(&mut memory, set);
    }
    let forbidden: Vec<CpuId> = online.into_iter().filter(|cpu| !allowed.contains(cpu)).collect();
    if !forbidden.is_empty() {
        reader.notes.push(Note::ForbiddenCpus { cpus: forbidden });
    }
    let forbidden: Vec<NodeId> = with_memory.into_iter().filter(|node| !memory.contains(node)).collect();
    if !forbidden.is_empty() {
        reader.notes.push(Note::ForbiddenNodes { nodes: forbidden });
    }
    if let Some(quota) = cgroup.cpu_quota.filter(|&quota| quota < allowed.len() as f64) {
        reader.notes.push(Note::CpuQuota { millicpus: (quota * 1e3).round() as u64 });
    }
    let resources = reader.text("proc/self/limits").unwrap_or_default();
    let soft = |name: &str| soft_limit(&resources, name);
    Limits {
        cpus: allowed,
        nodes: memory,
        cgroup,
        address_space: soft("Max address space"),
        data: soft("Max data size"),
        locked: soft("Max locked memory"),
    }
}

/// Keeps what is in the set too. An empty set is how a controller that is not in use looks: it restricts nothing.
fn retain<T: PartialEq>(kept: &mut Vec<T>, set: Option<Vec<T>>) {
    if let Some(set) = set.filter(|set| !set.is_empty()) {
        kept.retain(|item| set.contains(item));
    }
}

/// The soft limit in a line of `/proc/self/limits`; none if unlimited or not there.
fn soft_limit(text: &str, name: &str) -> Option<Bytes> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok().map(Bytes)
}

/// Where a controller's hierarchy is mounted, and the group's folder in it.
struct Place {
    version: u8,
    mount: String,
    group: String,
}

impl Place {
    /// The folders from the group up to the mount point.
    fn folders(&self) -> Vec<String> {
        let mut group = self.group.trim_matches('/');
        let mut folders = Vec::new();
        while !group.is_empty() {
            folders.push(format!("{}/{group}", self.mount));
            group = group.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
        folders.push(self.mount.clone());
        folders
    }
}

/// Finds the group for a controller: version 1 if that has it, else version 2 (cgroups(7)).
fn place(reader: &mut Reader<'_>, controller: &str) -> Option<Place> {
    let groups = reader.text("proc/self/cgroup")?;
    let mounts = reader.text("proc/self/mountinfo")?;
    let parts = |line: &str| {
        let mut fields = line.splitn(3, ':').map(str::to_owned);
        Some((fields.next()?, fields.next()?, fields.next()?))
    };
    let lines: Vec<_> = groups.lines().filter_map(parts).collect();
    let named = |list: &str| list.split(',').any(|name| name == controller);
    let first = lines.iter().find(|(_, controllers, _)| named(controllers));
    let (version, kind, group) = match first {
        Some((_, _, group)) => (1, "cgroup", group),
        None => (2, "cgroup2", &lines.iter().find(|(id, controllers, _)| id == "0" && controllers.is_empty())?.2),
    };
    // ID PARENT DEVICE ROOT MOUNT OPTIONS ... - KIND SOURCE SUPER-OPTIONS, proc_pid_mountinfo(5).
    let (root, mount) = mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let (mut left, mut right) = (left.split(' ').skip(3), right.split(' '));
        let right_kind = right.next() == Some(kind) && (version == 2 || named(right.nth(1)?));
        right_kind.then_some((left.next()?, left.next()?))
    })?;
    // A container sees its own group as the root of the mount.
    let inside = if root == "/" { group.as_str() } else { group.strip_prefix(root).unwrap_or("") };
    Some(Place { version, mount: mount.trim_start_matches('/').to_owned(), group: inside.to_owned() })
}

fn cgroup(reader: &mut Reader<'_>) -> Cgroup {
    let mut found = Cgroup::default();
    if let Some(place) = place(reader, "memory") {
        found.version = Some(place.version);
        found.path = place.group.clone();
        memory_limit(reader, &place, &mut found);
    } else {
        reader.notes.push(Note::NoCgroup);
    }
    if let Some(place) = place(reader, "cpu") {
        found.cpu_quota =
            place.folders().iter().filter_map(|folder| quota(reader, folder, place.version)).reduce(f64::min);
    }
    if let Some(place) = place(reader, "cpuset") {
        // The innermost group that has the controller tells what is in effect there.
        let (mems, cpus) = match place.version {
            1 => ("cpuset.effective_mems", "cpuset.effective_cpus"),
            _ => ("cpuset.mems.effective", "cpuset.cpus.effective"),
        };
        let folders = place.folders();
        found.nodes = folders.iter().find_map(|folder| reader.nodes(&format!("{folder}/{mems}")));
        found.cpus = folders.iter().find_map(|folder| reader.cpus(&format!("{folder}/{cpus}")));
    }
    found
}

/// The narrowest memory limit from the group up, and the least that any of them leaves.
fn memory_limit(reader: &mut Reader<'_>, place: &Place, found: &mut Cgroup) {
    // Version 1 writes a number near 2^63 for no limit.
    const NO_LIMIT: u64 = 1 << 62;
    let (limits, usage, cache): (&[&str], _, &[&str]) = match place.version {
        1 => (&["memory.limit_in_bytes"], "memory.usage_in_bytes", &["total_inactive_file", "total_active_file"]),
        _ => (&["memory.max", "memory.high"], "memory.current", &["inactive_file", "active_file"]),
    };
    for folder in place.folders() {
        for name in limits {
            let Some(text) = reader.text(&format!("{folder}/{name}")).filter(|text| text != "max") else { continue };
            let Some(limit) = text.parse().ok().filter(|&limit: &u64| limit < NO_LIMIT) else { continue };
            let used: u64 = reader.number(&format!("{folder}/{usage}")).unwrap_or(0);
            let statistics = reader.text(&format!("{folder}/memory.stat")).unwrap_or_default();
            let reclaimable: u64 = cache.iter().filter_map(|name| statistic(&statistics, name)).sum();
            let left = limit.saturating_sub(used.saturating_sub(reclaimable));
            let narrower = |old: Option<Bytes>, new: u64| Some(old.map_or(Bytes(new), |old| old.min(Bytes(new))));
            found.memory = narrower(found.memory, limit);
            found.memory_left = narrower(found.memory_left, left);
        }
    }
}

fn statistic(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// CPUs' worth of time in each period; none if unlimited.
fn quota(reader: &mut Reader<'_>, folder: &str, version: u8) -> Option<f64> {
    let (quota, period): (f64, f64) = if version == 1 {
        let quota = reader.text(&format!("{folder}/cpu.cfs_quota_us"))?.parse().ok()?;
        (quota, reader.number(&format!("{folder}/cpu.cfs_period_us"))?)
    } else {
        let text = reader.text(&format!("{folder}/cpu.max"))?;
        let (quota, period) = text.split_once(' ')?;
        (quota.parse().ok()?, period.parse().ok()?)
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// How much memory the group leaves now, for a check before memory is taken.
pub(crate) fn memory_left(files: &super::KernelFiles) -> Option<Bytes> {
    cgroup(&mut Reader::new(files)).memory_left
}

/// How much memory the kernel thinks can be taken without swapping (`MemAvailable`).
pub(crate) fn available(files: &super::KernelFiles) -> Option<Bytes> {
    amount(&files.text("proc/meminfo").ok()??, "MemAvailable")
}

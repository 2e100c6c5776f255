//! The first process of the emulated machine of `tests/emulated/four_nodes`: uses every node and reports each outcome in a line.
//!
//! Lines are `KEY: TEXT` on the console. What they should say, the test knows; nothing is decided here.

mod forbid;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use host::HostError;
use host::discovery::{Inventory, KernelFiles};
use host::memory::{Mapping, PageKind};
use host::threads;
use units::{Bytes, CpuId, NodeId};

/// The argument with which this program is started again inside a control group.
const RESTRICTED: &str = "restricted";
/// The argument with which it is started again on a single CPU.
const AFFINE: &str = "affine";
/// The argument with which it is started again to be forbidden the kernel's NUMA calls.
const FORBIDDEN: &str = "forbidden";
/// The argument with which it is started again to be diagnosed.
const TOUCHING: &str = "touching";
/// The argument with which it is started again to be watched by somebody without a privilege.
const BUSY: &str = "busy";
/// The user without a privilege: nobody.
const NOBODY: u32 = 65534;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(RESTRICTED) => restricted(),
        Some(AFFINE) => affine(),
        Some(FORBIDDEN) => forbidden(),
        Some(TOUCHING) => touching(),
        Some(BUSY) => busy(),
        _ => init(),
    }
}

/// Everything, then off.
fn init() {
    mount("proc", "/proc");
    mount("sysfs", "/sys");
    mount("cgroup2", "/sys/fs/cgroup");
    println!("booted: {}", fs::read_to_string("/proc/version").unwrap_or_default().trim());
    let inventory = discovered();
    placements(&inventory);
    parts(&inventory);
    migrations(&inventory);
    refusals(&inventory);
    pins(&inventory);
    again_restricted();
    again(Command::new("/init").arg(AFFINE), "affine");
    again(Command::new("/init").arg(FORBIDDEN), "forbidden");
    command(&["topology", "--json"], "topology");
    command(&["bench", "--home", "3", "--local", "2", "--lines", "512", "lmbench-read", "--json"], "bench");
    command(&["diagnose", "--json", "--", "/init", TOUCHING], "diagnose");
    records_for_a_fit();
    unprivileged();
    println!("finished: all");
    power_off();
}

fn discovered() -> Arc<Inventory> {
    Arc::new(Inventory::discover(&KernelFiles::live()).expect("an inventory of the emulated machine"))
}

/// Records for a description of this machine: few samples of small lists, which take long enough under emulation.
fn records_for_a_fit() {
    const RECORDS: &str = "/fit.jsonl";
    let few = ["--iterations", "1", "--lines", "64", "--array", "256"];
    command(&[&["bench", "--suite", "fit", "--json=/fit.jsonl"][..], &few].concat(), "measured");
    fs::read_to_string(RECORDS).unwrap_or_default().lines().for_each(|line| println!("fit {line}"));
}

/// Some megabytes of each kind on each node.
fn placements(inventory: &Arc<Inventory>) {
    for node in &inventory.nodes {
        for kind in ["base", "thp", "2M"] {
            let pages: PageKind = kind.parse().expect("a kind");
            let outcome = Mapping::on_node(inventory, node.id, Bytes::from_mib(4), pages);
            println!("place {kind} {}: {}", node.id, told(outcome.map(|mapping| census(&mapping))));
        }
    }
}

/// Nodes and pages as the mapping reports them, and as a count of its pages finds them.
fn census(mapping: &Mapping) -> String {
    let places = mapping.nodes_of_pages().expect("the kernel tells");
    let mut nodes: Vec<_> = places.iter().map(|page| page.node).collect();
    let count = nodes.len();
    nodes.dedup();
    format!("{} | {count} pages on {nodes:?}", mapping.obtained())
}

fn parts(inventory: &Arc<Inventory>) {
    let mib = Bytes::from_mib;
    let parts = [(NodeId(2), mib(2)), (NodeId(0), mib(1)), (NodeId(3), mib(3))];
    println!("parts: {}", told(Mapping::across(inventory, &parts, PageKind::Base).map(|mapping| census(&mapping))));
}

/// Fills memory, moves it, and compares.
fn migrations(inventory: &Arc<Inventory>) {
    for (kind, from, to) in [("base", 0, 2), ("thp", 1, 3), ("2M", 1, 2)] {
        let pages: PageKind = kind.parse().expect("a kind");
        let outcome = Mapping::on_node(inventory, NodeId(from), Bytes::from_mib(4), pages).and_then(|mut mapping| {
            write(&mapping);
            let moved = mapping.migrate(NodeId(to))?;
            let kept = if intact(&mapping) { "contents intact" } else { "CONTENTS LOST" };
            let stayed = moved.stayed.len();
            Ok(format!("{} there, {} moved, {stayed} stayed, {kept} | {}", moved.there, moved.moved, census(&mapping)))
        });
        println!("migrate {kind} {from} {to}: {}", told(outcome));
    }
}

fn write(mapping: &Mapping) {
    for offset in 0..mapping.size().0 as usize {
        // SAFETY: within the mapping, which is writable and known to this function alone.
        unsafe { mapping.start().add(offset).write(pattern(offset)) };
    }
}

fn intact(mapping: &Mapping) -> bool {
    // SAFETY: as above.
    (0..mapping.size().0 as usize).all(|offset| unsafe { mapping.start().add(offset).read() } == pattern(offset))
}

/// A byte that tells pages apart.
fn pattern(offset: usize) -> u8 {
    (offset ^ (offset >> 12)) as u8
}

/// Requests that must not be fulfilled.
fn refusals(inventory: &Arc<Inventory>) {
    let mib = Bytes::from_mib;
    let requests = [
        ("no such node", NodeId(9), mib(1), "base"),
        ("more than the node", NodeId(1), mib(400), "base"),
        ("pool too small", NodeId(2), mib(64), "2M"),
        ("no pool on the node", NodeId(3), mib(2), "2M"),
        ("no such page size", NodeId(0), mib(2), "8M"),
    ];
    for (name, node, size, kind) in requests {
        let outcome = Mapping::on_node(inventory, node, size, kind.parse().expect("a kind"));
        println!("refuse {name}: {}", told(outcome.map(|mapping| census(&mapping))));
    }
}

/// Pins a thread to each CPU, and to some that cannot be had.
fn pins(inventory: &Inventory) {
    for cpu in [0, 1, 2, 3, 4, 5, 6, 99].map(CpuId) {
        let pinned = std::thread::scope(|scope| {
            let pin = || threads::pin(cpu, inventory).map(|()| threads::current_cpu());
            scope.spawn(pin).join().expect("the thread ends")
        });
        println!("pin {cpu}: {}", told(pinned.map(|(cpu, node)| format!("on CPU {cpu} of node {node}"))));
    }
}

/// Starts this program in a control group of CPUs 2-3, memory of node 1, 48 MiB and half a CPU's time.
fn again_restricted() {
    const GROUP: &str = "/sys/fs/cgroup/small";
    let set = |file: &str, value: &str| {
        if let Err(error) = fs::write(file, value) {
            println!("control group: {file}: {error}");
        }
    };
    set("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset +memory +cpu");
    if let Err(error) = fs::create_dir(GROUP) {
        println!("control group: {GROUP}: {error}");
    }
    for (file, value) in
        [("cpuset.cpus", "2-3"), ("cpuset.mems", "1"), ("memory.max", "50331648"), ("cpu.max", "50000 100000")]
    {
        set(&format!("{GROUP}/{file}"), value);
    }
    let mut command = Command::new("/init");
    command.arg(RESTRICTED);
    // SAFETY: between fork and exec the child only writes a file by system calls, with names that exist already.
    unsafe { command.pre_exec(|| fs::write("/sys/fs/cgroup/small/cgroup.procs", "0")) };
    again(&mut command, "restricted");
}

/// Limits, placement and pinning of a program in the control group.
fn restricted() {
    let inventory = discovered();
    let limits = &inventory.limits;
    println!("limits: CPUs {:?} nodes {:?} cgroup {:?}", limits.cpus, limits.nodes, limits.cgroup);
    for (name, node, size) in [("ours", 1, 4), ("theirs", 2, 4), ("too much", 1, 96)] {
        let outcome = Mapping::on_node(&inventory, NodeId(node), Bytes::from_mib(size), PageKind::Base);
        println!("place {name}: {}", told(outcome.map(|mapping| census(&mapping))));
    }
    println!("pin 0: {}", told(threads::pin(CpuId(0), &inventory).map(|()| "pinned")));
    println!("pin 3: {}", told(threads::pin(CpuId(3), &inventory).map(|()| "pinned")));
}

/// Limits and pinning of a program that was started with a single CPU to run on.
fn affine() {
    threads::set_affinity(&[CpuId(4)]).expect("CPU 4 is there");
    let inventory = discovered();
    println!("limits: CPUs {:?} nodes {:?}", inventory.limits.cpus, inventory.limits.nodes);
    println!("pin 0: {}", told(threads::pin(CpuId(0), &inventory).map(|()| "pinned")));
}

/// Placement where a container's profile forbids the call that locates pages, and then the one that places them, too.
fn forbidden() {
    let inventory = discovered();
    for (name, call) in [("unasked", libc::SYS_move_pages), ("unplaced", libc::SYS_mbind)] {
        forbid::forbid(&[call]).expect("the kernel has seccomp filters");
        let outcome = Mapping::on_node(&inventory, NodeId(2), Bytes::from_mib(2), PageKind::Base);
        println!("{name}: {}", told(outcome.map(|mapping| mapping.obtained().to_string())));
    }
}

/// Has one thread touch memory that threads of other nodes then use for some time. None of its own node does: a processor that is emulated
/// for long at a time is the first at all pages that the kernel lets fault again, and would hide the others.
fn touching() {
    const WORDS: usize = (8 << 20) / 8;
    // Emulated, looking for threads takes long, and is done once a second. The kernel must see pages used from several nodes.
    const LONG: Duration = Duration::from_secs(8);
    // On a busy computer those who look get a smaller part of that time than those who are looked at.
    const PASSES: usize = 150;
    threads::set_affinity(&[CpuId(0)]).expect("CPU 0 is there");
    let memory: Vec<u64> = (0..WORDS as u64).collect();
    std::thread::scope(|scope| {
        for cpu in [2, 4].map(CpuId) {
            let memory = &memory;
            scope.spawn(move || {
                threads::set_affinity(&[cpu]).expect("the CPU is there");
                let start = Instant::now();
                let mut passes = 0;
                while start.elapsed() < LONG || passes < PASSES {
                    std::hint::black_box(memory.iter().sum::<u64>());
                    passes += 1;
                }
            });
        }
    });
}

/// Keeps two threads of two nodes at work for long enough to be seen.
fn busy() {
    std::thread::scope(|scope| {
        for cpu in [0, 2].map(CpuId) {
            scope.spawn(move || {
                threads::set_affinity(&[cpu]).expect("the CPU is there");
                let start = Instant::now();
                while start.elapsed() < Duration::from_secs(3) {
                    std::hint::black_box((0..100_000_u64).sum::<u64>());
                }
            });
        }
    });
}

/// Everything that watches, as somebody without a privilege where the kernel lets nobody else count anything.
fn unprivileged() {
    const ANYBODYS: &str = "/tmp";
    if let Err(error) = fs::write("/proc/sys/kernel/perf_event_paranoid", "3") {
        println!("perf_event_paranoid: {error}");
    }
    let open =
        fs::create_dir_all(ANYBODYS).and_then(|()| fs::set_permissions(ANYBODYS, fs::Permissions::from_mode(0o1777)));
    if let Err(error) = open {
        println!("{ANYBODYS}: {error}");
    }
    let watches: [(&str, &[&str]); 5] = [
        ("list", &["sar", "--list"]),
        ("run", &["run", "-s", "100ms", "--", "/init", BUSY]),
        ("sar", &["sar", "500ms", "3"]),
        ("diagnose", &["diagnose", "--", "/init", BUSY]),
        ("first", &["sar", "500ms", "1", "--rtprio=9"]),
    ];
    for (name, arguments) in watches {
        let mut command = Command::new("/ccnuma");
        command.args(arguments).current_dir(ANYBODYS).uid(NOBODY).gid(NOBODY);
        again(&mut command, &format!("unprivileged {name}"));
    }
}

/// Runs `ccnuma`.
fn command(arguments: &[&str], key: &str) {
    again(Command::new("/ccnuma").args(arguments), key);
}

/// Runs a program and passes on what it prints, each line after `key`.
fn again(command: &mut Command, key: &str) {
    match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            for text in [output.stdout, output.stderr] {
                String::from_utf8_lossy(&text).lines().for_each(|line| println!("{key} {line}"));
            }
            println!("{key} status: {}", output.status);
        }
        Err(error) => println!("{key} status: {error}"),
    }
}

/// An outcome as one line.
fn told<T: std::fmt::Display>(outcome: Result<T, HostError>) -> String {
    outcome.map_or_else(|error| format!("refused: {error}"), |text| format!("ok: {text}"))
}

fn mount(kind: &str, place: &str) {
    let result = fs::create_dir_all(place).and_then(|()| {
        let (kind, place) = (std::ffi::CString::new(kind)?, std::ffi::CString::new(place)?);
        // SAFETY: strings that end in a zero byte, and no data for the file system.
        let failed = unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) } != 0;
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    });
    if let Err(error) = result {
        println!("mount: {kind} on {place}: {error}");
    }
}

/// Ends the emulated machine: a restart, which QEMU was told not to carry out.
fn power_off() {
    // SAFETY: takes a number. Nothing is left to be written anywhere.
    unsafe { libc::reboot(libc::RB_AUTOBOOT) };
}

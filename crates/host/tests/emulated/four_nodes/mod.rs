//! A kernel with four NUMA nodes, emulated: what is discovered is what QEMU was told, memory lies and moves where it was
//! asked to, and what cannot be had is refused.
//!
//! Needs QEMU and a Linux kernel image; says so and tests nothing where they are missing.

mod emulator;
mod initramfs;

use std::collections::BTreeMap;
use std::time::Duration;

use emulator::Emulator;
use serde_json::Value;

const NODES: usize = 4;
/// Memory of each node, in mebibytes.
const NODE_MIB: u64 = 256;
/// The CPUs of each node; the last has none.
const CPUS: [&[u64]; NODES] = [&[0, 1], &[2, 3], &[4, 5], &[]];
/// The SLIT.
const DISTANCES: [[u64; NODES]; NODES] = [[10, 21, 31, 24], [21, 10, 21, 28], [31, 21, 10, 28], [24, 28, 28, 10]];
/// The HMAT's latency in nanoseconds and bandwidth in MiB/s from the nodes with CPUs to each node.
const LATENCY_NS: [[u64; NODES]; 3] = [[100, 150, 200, 300], [150, 100, 150, 350], [200, 150, 100, 400]];
const BANDWIDTH_MIB_S: [[u64; NODES]; 3] =
    [[20_000, 9_000, 6_000, 5_000], [9_000, 20_000, 9_000, 4_000], [6_000, 9_000, 20_000, 3_000]];
/// Pages of 2 MiB in each node's pool.
const POOL: [u64; NODES] = [2, 4, 2, 0];

/// QEMU's arguments for the machine above.
fn machine() -> Vec<String> {
    let mut arguments = vec!["-machine".to_owned(), "q35,hmat=on".to_owned()];
    let mut add = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
    add("-m", format!("{}M", NODES as u64 * NODE_MIB));
    add("-smp", "6,sockets=3,cores=1,threads=2".to_owned());
    for (node, cpus) in CPUS.iter().enumerate() {
        add("-object", format!("memory-backend-ram,id=memory{node},size={NODE_MIB}M"));
        let initiator = if cpus.is_empty() { 0 } else { node };
        let cpus: String = cpus.iter().map(|cpu| format!(",cpus={cpu}")).collect();
        add("-numa", format!("node,nodeid={node},memdev=memory{node},initiator={initiator}{cpus}"));
    }
    for (from, line) in DISTANCES.iter().enumerate() {
        for (to, distance) in line.iter().enumerate() {
            add("-numa", format!("dist,src={from},dst={to},val={distance}"));
        }
    }
    for (from, line) in LATENCY_NS.iter().enumerate() {
        for (to, latency) in line.iter().enumerate() {
            let way = format!("hmat-lb,initiator={from},target={to},hierarchy=memory");
            add("-numa", format!("{way},data-type=access-latency,latency={latency}"));
            add("-numa", format!("{way},data-type=access-bandwidth,bandwidth={}M", BANDWIDTH_MIB_S[from][to]));
        }
    }
    add("-numa", "hmat-cache,node-id=3,size=64M,level=1,associativity=direct,policy=write-back,line=64".to_owned());
    arguments
}

/// The console's lines by what stands before the first `: `, each with what stands behind.
struct Console {
    text: String,
    lines: BTreeMap<String, Vec<String>>,
}

impl Console {
    fn new(text: String) -> Self {
        let mut lines = BTreeMap::<String, Vec<String>>::new();
        for line in text.lines() {
            if let Some((key, value)) = line.trim().split_once(": ") {
                lines.entry(key.to_owned()).or_default().push(value.to_owned());
            }
        }
        Self { text, lines }
    }

    /// The line of this key.
    fn line(&self, key: &str) -> &str {
        let found = self.lines.get(key).and_then(|values| values.first());
        found.unwrap_or_else(|| panic!("no line `{key}: `; the console says:\n{}", self.text))
    }

    /// Asserts that the line of this key has all these parts.
    fn says(&self, key: &str, parts: &[&str]) {
        let line = self.line(key);
        for part in parts {
            assert!(line.contains(part), "`{key}: {line}` lacks `{part}`; the console says:\n{}", self.text);
        }
    }

    /// The rows of `ccnuma topology --json` of one part.
    fn rows(&self, part: &str) -> Vec<Value> {
        self.records("topology {").into_iter().filter(|row| row["part"] == part).collect()
    }

    /// The objects in lines that start with this, the brace included.
    fn records(&self, start: &str) -> Vec<Value> {
        let lines = self.text.lines().filter_map(|line| line.trim().strip_prefix(start));
        let rows = lines.map(|line| {
            serde_json::from_str::<Value>(&format!("{{{line}")).unwrap_or_else(|error| panic!("{{{line}: {error}"))
        });
        rows.collect()
    }
}

#[test]
fn four_nodes_are_discovered_used_and_refused_as_they_should_be() {
    let emulator = match Emulator::find() {
        Ok(emulator) => emulator,
        Err(missing) => return eprintln!("SKIPPED: no machine with four nodes was emulated: {missing}"),
    };
    let pools: Vec<String> = POOL.iter().enumerate().map(|(node, pages)| format!("{node}:{pages}")).collect();
    let words = format!("hugepagesz=2M hugepages={} transparent_hugepage=madvise", pools.join(","));
    let console = Console::new(emulator.boot(&machine(), &words, "booted: ", Duration::from_secs(1500)));
    assert_eq!(console.line("finished"), "all");
    discovery(&console);
    placement(&console);
    migration(&console);
    refusal(&console);
    pinning(&console);
    restriction(&console);
    measurement(&console);
    diagnosis(&console);
    description(&console);
    unprivileged(&console);
}

/// `ccnuma topology` tells what QEMU was told.
fn discovery(console: &Console) {
    console.says("topology status", &["exit status: 0"]);
    let nodes = console.rows("node");
    assert_eq!(nodes.len(), NODES, "{}", console.text);
    for (node, row) in nodes.iter().enumerate() {
        assert_eq!(row["cpus"], Value::from(CPUS[node]), "{row}");
        let memory = row["size_kib"].as_u64().expect("a size") >> 10;
        assert!(memory <= NODE_MIB && memory > NODE_MIB * 3 / 4, "{row}");
        let kind = if CPUS[node].is_empty() { "memory only" } else { "CPUs and memory" };
        assert_eq!(row["class"], kind);
    }
    let distances: Vec<u64> = console.rows("distance").iter().filter_map(|row| row["distance"].as_u64()).collect();
    assert_eq!(distances, DISTANCES.concat());
    // Threads of a core are siblings, each core is a socket of its own.
    let cores = console.rows("core");
    let threads: Vec<&Value> = cores.iter().map(|row| &row["cpus"]).collect();
    assert_eq!(threads, CPUS[..3].iter().map(|cpus| Value::from(*cpus)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    let access = console.rows("access");
    for (to, from) in [(0, 0), (1, 1), (2, 2), (3, 0)] {
        let (at, target) = (format!("node{from}"), format!("node{to}"));
        let row = access.iter().find(|row| row["at"] == *at && row["to"] == *target);
        let row = row.unwrap_or_else(|| panic!("no figures from {at} to {target}: {access:?}"));
        assert_eq!(row["read_ns"], LATENCY_NS[from][to], "{row}");
        assert_eq!(row["write_ns"], LATENCY_NS[from][to], "{row}");
        assert_eq!(row["read_mib_s"], BANDWIDTH_MIB_S[from][to], "{row}");
    }
    let side = console.rows("sidecache");
    assert_eq!(
        (side.len(), &side[0]["size_kib"], &side[0]["line_bytes"]),
        (1, &Value::from(64 << 10), &Value::from(64))
    );
    assert_eq!((&side[0]["to"], &side[0]["class"]), (&Value::from("node3"), &Value::from("direct-mapped, write-back")));
    let mut rows = console.rows("pages");
    rows.retain(|row| row["class"] == "pool" && row["size_kib"] == 2048);
    let pools: Vec<&Value> = rows.iter().map(|row| &row["pages"]).collect();
    assert_eq!(pools, POOL);
}

/// Every page is where it was asked to be, of the kind that was asked for, or was refused.
fn placement(console: &Console) {
    for (node, pages) in POOL.into_iter().enumerate() {
        let on = format!("on node {node} (");
        let base = format!("place base {node}");
        console.says(&base, &["ok: pages of 4 KiB", &on, "move_pages: 1024 of 1024 pages", &format!("[Ok(n{node})]")]);
        let transparent = format!("place thp {node}");
        console.says(&transparent, &["ok: pages of 2 MiB", &on, "1024 pages on", &format!("[Ok(n{node})]")]);
        let pool = format!("place 2M {node}");
        match pages {
            0 => console.says(
                &pool,
                &["refused: 4 MiB in 2M pages on node 3", "echo 2 > /sys/devices/system/node/node3/hugepages"],
            ),
            _ => {
                console.says(&pool, &["ok: pages of 2 MiB", &on, "move_pages: 2 of 2 pages", &format!("[Ok(n{node})]")])
            }
        }
    }
    console.says("parts", &["ok: pages of 4 KiB on nodes 0 2 3", "1536 pages on [Ok(n2), Ok(n0), Ok(n3)]"]);
}

/// Memory moves whole, and keeps what was written in it.
fn migration(console: &Console) {
    for (key, counts, to) in [
        ("migrate base 0 2", "0 there, 1024 moved, 0 stayed, contents intact", 2),
        ("migrate thp 1 3", "0 there, 1024 moved, 0 stayed, contents intact", 3),
        ("migrate 2M 1 2", "0 there, 2 moved, 0 stayed, contents intact", 2),
    ] {
        console.says(key, &["ok: ", counts, &format!("pages on [Ok(n{to})]")]);
    }
}

/// Requests that cannot be met are refused with the reason and with requests that can.
fn refusal(console: &Console) {
    console.says("refuse no such node", &["refused: memory of node 9", "no such node", "accepted: nodes 0-3"]);
    console.says("refuse more than the node", &["refused: 400 MiB in base pages on node 1", "the node has"]);
    console.says("refuse pool too small", &["refused: ", "32 pages are needed", "root adds pages with: echo 32 >"]);
    console.says("refuse no pool on the node", &["refused: ", "1 page is needed", "node3/hugepages"]);
    console.says("refuse no such page size", &["refused: ", "no pool of such pages", "2M"]);
}

/// Threads run where they are pinned; CPUs that are not there are refused.
fn pinning(console: &Console) {
    for cpu in 0..6 {
        console.says(&format!("pin {cpu}"), &[&format!("ok: on CPU {cpu} of node {}", cpu / 2)]);
    }
    for cpu in [6, 99] {
        console.says(&format!("pin {cpu}"), &["refused: ", "no such CPU", "accepted: CPUs 0-5"]);
    }
}

/// Inside a control group, under an affinity and without the NUMA calls, only what they leave is offered.
fn restriction(console: &Console) {
    console.says("restricted status", &["exit status: 0"]);
    console.says("restricted limits", &["CPUs [cpu2, cpu3] nodes [n1]", "memory: Some(Bytes(50331648))", "Some(0.5)"]);
    console.says("restricted place ours", &["ok: pages of 4 KiB on node 1"]);
    console.says("restricted place theirs", &["refused: ", "not in this process's cpuset", "accepted: nodes 1"]);
    console.says("restricted place too much", &["refused: ", "cgroup limit 48 MiB"]);
    console.says("restricted pin 0", &["refused: ", "not in this process's affinity mask", "accepted: CPUs 2-3"]);
    console.says("restricted pin 3", &["ok: pinned"]);
    console.says("affine limits", &["CPUs [cpu4] nodes [n0, n1, n2, n3]"]);
    let counted = "numa_maps: 512 of 512 pages, counted together (move_pages: Operation not permitted";
    console.says("forbidden unasked", &["ok: pages of 4 KiB on node 2", counted]);
    console.says("forbidden unplaced", &["refused: ", "mbind: Operation not permitted", "--cap-add SYS_NICE"]);
    console.says("affine pin 0", &["refused: ", "accepted: CPUs 4"]);
}

/// `ccnuma bench` measures from a CPU of one node the memory of another; under emulation, the time itself means nothing.
fn measurement(console: &Console) {
    console.says("bench status", &["exit status: 0"]);
    let records = console.records("bench {");
    let [computer, record] = &records[..] else { panic!("{}", console.text) };
    assert_eq!(computer["record"], "computer");
    assert_eq!((&record["home"], &record["local"]), (&Value::from(3), &Value::from(2)));
    assert_eq!((&record["pages_asked"], &record["pages_obtained"]), (&Value::from("base"), &Value::from("4 KiB")));
    assert!(record["median"].as_f64().is_some_and(|median| median > 0.0), "{record}");
}

/// Memory that one thread touched first and threads of two other nodes use is told of.
fn diagnosis(console: &Console) {
    console.says("diagnose status", &["exit status: 0"]);
    let found = console.records("diagnose {");
    let misplaced = found.iter().find(|finding| finding["class"] == "misplaced data");
    let evidence = misplaced.and_then(|finding| finding["evidence"].as_str()).unwrap_or_default();
    assert!(
        evidence.contains("first touched by") || evidence.contains("only other nodes were seen"),
        "{found:?}; {}",
        console.text
    );
}

/// Records measured for a fit describe a server of these nodes, cores and threads, which is loaded, set beside the measurements,
/// and runs a program, here.
fn description(console: &Console) {
    console.says("measured status", &["exit status: 0"]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let records: Vec<&str> = console.text.lines().filter_map(|line| line.trim().strip_prefix("fit ")).collect();
    std::fs::write(folder.path().join("guest.jsonl"), records.join("\n") + "\n").expect("room for records");
    let ran = |words: &str, accepted: &[i32]| {
        let mut command = std::process::Command::new(emulator::command());
        let output = command.args(words.split(' ')).current_dir(folder.path()).output().expect("it starts");
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code();
        assert!(code.is_some_and(|code| accepted.contains(&code)), "ccnuma {words}: {code:?}\n{complaints}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // Under emulation times are not those of any memory, so that the model need not confirm them.
    ran("fit guest.jsonl --machine-out guest.toml", &[0, 1]);
    let parts = ran("topology -m guest.toml --json", &[0]);
    let nodes = parts.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let nodes: Vec<Value> = nodes.filter(|row| row["part"] == "node").collect();
    assert_eq!(nodes.len(), NODES, "{parts}");
    let without = nodes.iter().filter(|row| row["cpus"].as_array().is_none_or(Vec::is_empty)).count();
    assert_eq!(without, 1, "the memory-only node: {parts}");
    let table = ran("bench -m guest.toml --against guest.jsonl", &[0]);
    assert!(table.contains("latencies: median error") && table.contains("bandwidths: median error"), "{table}");
    let run = ran("sim -m guest.toml fft --points 256", &[0]);
    assert!(run.contains("fft"), "{run}");
}

/// Where the kernel counts nothing for users without a privilege (`perf_event_paranoid` of 3, as Debian's kernels know it), what is
/// missing is said, a list of sources has the reasons, and the rest is shown.
fn unprivileged(console: &Console) {
    let unavailable = "unavailable: page_faults, context_switches, cpu_migrations, cycles, ";
    let shown = [
        (
            "list",
            [
                "Available metrics",
                "Unavailable metrics",
                "missing counter",
                "not permitted (kernel.perf_event_paranoid is 3)",
            ],
        ),
        ("run", [unavailable, "/sys/devices/system/node/node2", "init:", "]: "]),
        ("sar", [unavailable, "(reasons: ccnuma sar --list)", " n1 ", "]: 4 ticks"]),
        (
            "diagnose",
            [unavailable, "/init busy", "first touch of pages (page-fault samples)", "load latency by data address"],
        ),
    ];
    for (command, parts) in shown {
        let key = format!("unprivileged {command}");
        console.says(&format!("{key} status"), &["exit status: 0"]);
        // Lines are wrapped at the width of a terminal.
        let lines = console.text.lines().filter_map(|line| line.trim().strip_prefix(&key));
        let said = lines.collect::<Vec<_>>().join("");
        for part in parts {
            assert!(said.contains(part), "{key} lacks `{part}`; {}", console.text);
        }
    }
    console.says("unprivileged first status", &["exit status: 2"]);
    let lines = console.text.lines().filter_map(|line| line.trim().strip_prefix("unprivileged first"));
    let refused = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    assert!(refused.contains("CAP_SYS_NICE") && refused.contains("here 0"), "{}", console.text);
}

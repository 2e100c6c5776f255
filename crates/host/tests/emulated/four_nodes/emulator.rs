//! Everything that it takes to boot the machine: QEMU, a kernel, our programs with their shared libraries.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::initramfs::Initramfs;

/// Names a kernel image, or a folder with one in it or in its `boot`.
pub const KERNEL_VARIABLE: &str = "CCNUMA_TEST_KERNEL";
const QEMU: &str = "qemu-system-x86_64";
/// The first program of an emulated kernel starts in seconds; beside ten builds, in a minute or two.
const FIRST_PROGRAM: Duration = Duration::from_secs(300);
/// Boots before a kernel that hangs is a failure.
const ATTEMPTS: u32 = 3;

/// QEMU and a kernel.
pub struct Emulator {
    kernel: PathBuf,
}

impl Emulator {
    /// Finds both, or says which is missing.
    pub fn find() -> Result<Self, String> {
        if !cfg!(target_arch = "x86_64") {
            return Err("the programs for the emulated x86-64 machine are built on x86-64 only".to_owned());
        }
        let version = Command::new(QEMU).arg("--version").output();
        if !version.is_ok_and(|output| output.status.success()) {
            return Err(format!("{QEMU} is not installed (package qemu-system-x86)"));
        }
        let kernel = kernel().ok_or_else(|| {
            format!(
                "no readable kernel in /boot, and {KERNEL_VARIABLE} names none (package linux-image-amd64, unpacked)"
            )
        })?;
        Ok(Self { kernel })
    }

    /// Boots the kernel with these arguments for QEMU and these words for the kernel, and returns the text of the console, which the
    /// first program begins with `started`. An emulated kernel now and then hangs before its first program: it is booted again then.
    pub fn boot(&self, machine: &[String], words: &str, started: &str, limit: Duration) -> String {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let archive = folder.path().join("initramfs");
        fs::write(&archive, programs()).expect("room for the archive");
        for attempt in 1..=ATTEMPTS {
            // Messages of the kernel are of interest only if it hung before.
            let quiet = if attempt == 1 { "quiet " } else { "" };
            let mut run = Run::begin(self.command(machine, &archive, &format!("{quiet}{words}")));
            if run.ends_within(limit, started) {
                return run.console();
            }
            let console = run.console();
            assert!(!console.contains(started), "not finished after {limit:?}; the console:\n{console}");
            eprintln!(
                "attempt {attempt} of {ATTEMPTS}: no first program after {FIRST_PROGRAM:?}; the console:\n{console}"
            );
        }
        panic!("the kernel never reached its first program; the consoles are above");
    }

    fn command(&self, machine: &[String], archive: &Path, words: &str) -> Command {
        let mut command = Command::new(QEMU);
        // One thread for all processors, so that a kernel that waits for another processor does not wait for a thread of the host.
        // Processors of other vendors, as QEMU makes them, have no SMT siblings.
        // The caches of this model are small, so that the lists of a fit are short.
        command.args(["-accel", "tcg,thread=single", "-cpu", "EPYC,vendor=GenuineIntel", "-nodefaults", "-no-reboot"]);
        command.args(["-display", "none", "-serial", "stdio"]).args(machine);
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(archive);
        command.args(["-append", &format!("console=ttyS0 nokaslr panic=-1 {words}")]);
        command
    }
}

/// A running emulator, and the text of its console and of its complaints up to now.
struct Run {
    child: Child,
    text: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Run {
    fn begin(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("QEMU was there a moment ago");
        let text = Arc::<Mutex<Vec<u8>>>::default();
        let reader = |mut pipe: Box<dyn Read + Send>| {
            let text = Arc::clone(&text);
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(read @ 1..) = pipe.read(&mut bytes) {
                    text.lock().expect("no reader panics").extend(&bytes[..read]);
                }
            })
        };
        let console = reader(Box::new(child.stdout.take().expect("piped")));
        let complaints = reader(Box::new(child.stderr.take().expect("piped")));
        Self { child, text, readers: vec![console, complaints] }
    }

    /// Waits until the emulator ends, but for no longer than `limit`, nor than [`FIRST_PROGRAM`] for the text `started`; it is killed
    /// then. Whether it ended by itself.
    fn ends_within(&mut self, limit: Duration, started: &str) -> bool {
        let begin = Instant::now();
        while self.child.try_wait().expect("our own child").is_none() {
            let hangs = begin.elapsed() > FIRST_PROGRAM && !self.text().contains(started);
            if hangs || begin.elapsed() > limit {
                self.child.kill().expect("our own child");
                self.child.wait().expect("our own child");
                return false;
            }
            thread::sleep(Duration::from_millis(50));
        }
        true
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().expect("no reader panics")).into_owned()
    }

    /// All text, after the emulator has ended.
    fn console(mut self) -> String {
        self.readers.drain(..).for_each(|reader| reader.join().expect("the reader ends"));
        self.text()
    }
}

fn kernel() -> Option<PathBuf> {
    let named = std::env::var_os(KERNEL_VARIABLE).map(PathBuf::from);
    let folders = match named {
        Some(file) if file.is_file() => return Some(file),
        Some(folder) => vec![folder.join("boot"), folder],
        None => vec![PathBuf::from("/boot")],
    };
    let images = |folder: &PathBuf| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let is_image = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.starts_with("vmlinuz-") && fs::File::open(path).is_ok()
        };
        entries.filter(is_image).collect()
    };
    folders.iter().flat_map(images).max()
}

/// The archive to start from: our programs, and the shared libraries that they are linked with.
fn programs() -> Vec<u8> {
    let built = built();
    let programs = [("init", built.join("examples/four_nodes_init")), ("ccnuma", built.join("ccnuma"))];
    let mut archive = Initramfs::default();
    for folder in ["dev", "proc", "sys"] {
        archive.folder(folder);
    }
    archive.device("dev/console", (5, 1));
    archive.device("dev/null", (1, 3));
    let libraries: BTreeSet<PathBuf> = programs.iter().flat_map(|(_, program)| libraries(program)).collect();
    let above = |library: &PathBuf| library.ancestors().skip(1).map(Path::to_owned).collect::<Vec<_>>();
    // In the order of their names, folders come before what is in them.
    for folder in libraries.iter().flat_map(above).collect::<BTreeSet<_>>() {
        if let Some(name) = within(&folder) {
            archive.folder(name);
        }
    }
    for library in &libraries {
        archive.program(within(library).expect("a file"), &read(library));
    }
    for (name, program) in &programs {
        archive.program(name, &stripped(program));
    }
    archive.finish()
}

/// The command that the emulated machine has: it runs here, too.
pub fn command() -> PathBuf {
    built().join("ccnuma")
}

/// The name of what is at a path from the root, in an archive; none for the root.
fn within(path: &Path) -> Option<&str> {
    path.strip_prefix("/").ok()?.to_str().filter(|name| !name.is_empty())
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A program without what only debuggers read: most of it.
fn stripped(program: &Path) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let small = folder.path().join("stripped");
    let done = Command::new("strip").arg("-s").arg("-o").arg(&small).arg(program).status();
    if done.is_ok_and(|status| status.success()) { read(&small) } else { read(program) }
}

/// The shared libraries of a program and its loader, where they are found here and in the emulated machine alike.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().expect("glibc has it");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')))
        .map(PathBuf::from)
        .collect()
}

/// The folder of the programs: those that `cargo test --workspace` built before this test, beside it; where they are missing, since
/// this test is run alone, they are built.
fn built() -> PathBuf {
    let own = std::env::current_exe().expect("it runs");
    let beside = own.ancestors().nth(2).expect("in target/PROFILE/deps").to_owned();
    if beside.join("ccnuma").is_file() && beside.join("examples/four_nodes_init").is_file() {
        return beside;
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("four_nodes");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--package", "ccnuma-host", "--package", "ccnuma", "--example", "four_nodes_init"])
        .args(["--bin", "ccnuma", "--target-dir"])
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs: it runs this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target.join("debug")
}

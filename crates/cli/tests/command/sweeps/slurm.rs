//! A sweep as a job array of Slurm: a real one, of one node, which the test starts with a configuration of its own.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{RUNS, STUDY, finished, folder, results, same, sweep};

/// How long its daemons may take to be ready, and an array to end, on a computer that does much else.
const PATIENCE: Duration = Duration::from_secs(300);

/// A Slurm that ends with this.
struct Slurm {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _gone = daemon.kill();
            let _dead = daemon.wait();
        }
    }
}

impl Slurm {
    /// Starts munged, slurmctld and slurmd. The reason if they cannot be had here.
    fn start() -> Result<Self, String> {
        for program in ["munged", "slurmctld", "slurmd", "sbatch"] {
            let found = ["/usr/sbin", "/usr/bin"].iter().any(|folder| Path::new(folder).join(program).exists());
            if !found {
                return Err(format!("{program} is not installed (.ci/run installs slurm-wlm and munge)"));
            }
        }
        let user = Command::new("id").arg("-u").output().map_err(|error| error.to_string())?;
        if user.stdout != b"0\n" {
            return Err("slurmd wants to be root".to_owned());
        }
        let folder = tempfile::tempdir().expect("a folder");
        let mut slurm = Self { folder, daemons: Vec::new() };
        slurm.configure();
        let munge = |name: &str| slurm.path(&format!("munge/{name}"));
        let flags = ["key-file", "pid-file", "log-file", "seed-file"].map(|flag| format!("--{flag}={}", munge(flag)));
        let socket = format!("--socket={}", slurm.path("munge.sock"));
        slurm.daemon("munged", &[&["--foreground".to_owned(), "--force".into(), socket][..], &flags[..]].concat());
        slurm.until("munged", |slurm| Path::new(&slurm.path("munge.sock")).exists())?;
        slurm.daemon("slurmctld", &["-D".to_owned()]);
        slurm.daemon("slurmd", &["-D".to_owned()]);
        slurm.until("slurmd", |slurm| slurm.told("sinfo", &["--noheader", "--format=%t"]).trim() == "idle")?;
        Ok(slurm)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn configure(&self) {
        for name in ["munge", "state", "spool"] {
            fs::create_dir(self.path(name)).expect("made");
        }
        fs::set_permissions(self.folder.path(), fs::Permissions::from_mode(0o755)).expect("set");
        fs::set_permissions(self.path("munge"), fs::Permissions::from_mode(0o700)).expect("set");
        // Its own, which protects nothing.
        fs::write(self.path("munge/key-file"), [0x5a; 1024]).expect("written");
        fs::set_permissions(self.path("munge/key-file"), fs::Permissions::from_mode(0o600)).expect("set");
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let host = host.trim().split('.').next().unwrap_or_default();
        let ports = [0, 0].map(|port| TcpListener::bind(("127.0.0.1", port)).expect("a port"));
        let ports = ports.each_ref().map(|port| port.local_addr().expect("an address").port());
        let at = |name: &str| self.path(name);
        let configuration = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={}\nCredType=cred/munge\nStateSaveLocation={}\nSlurmdSpoolDir={}\nSlurmctldPidFile={}\n\
             SlurmdPidFile={}\nSlurmctldLogFile={}\nSlurmdLogFile={}\nSlurmctldPort={}\nSlurmdPort={}\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nSchedulerType=sched/builtin\nReturnToService=2\nMpiDefault=none\n\
             AccountingStorageType=accounting_storage/none\nJobAcctGatherType=jobacct_gather/none\n\
             JobCompType=jobcomp/none\nNodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4\n",
            at("munge.sock"),
            at("state"),
            at("spool"),
            at("slurmctld.pid"),
            at("slurmd.pid"),
            at("slurmctld.log"),
            at("slurmd.log"),
            ports[0],
            ports[1],
        );
        fs::write(at("slurm.conf"), configuration).expect("written");
        // No job here is confined; the plugin that looks for least is that of the first version.
        fs::write(at("cgroup.conf"), "CgroupPlugin=cgroup/v1\n").expect("written");
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path("slurm.conf")).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.stdin(Stdio::null());
        command
    }

    fn daemon(&mut self, program: &str, words: &[String]) {
        let said = fs::File::create(self.path(&format!("{program}.said"))).expect("written");
        let mut command = self.command(program);
        command.args(words).stdout(said.try_clone().expect("a file")).stderr(said);
        self.daemons.push(command.spawn().expect("it starts"));
    }

    /// The output of a command.
    fn told(&self, program: &str, words: &[&str]) -> String {
        let output = self.command(program).args(words).output().expect("it starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until it is so; the end of what a daemon says if it is never so.
    fn until(&mut self, daemon: &str, is_so: impl Fn(&Self) -> bool) -> Result<(), String> {
        let begin = Instant::now();
        while !is_so(self) {
            let ended = self.daemons.last_mut().and_then(|last| last.try_wait().expect("a status")).is_some();
            if ended || begin.elapsed() > PATIENCE {
                let said = fs::read_to_string(self.path(&format!("{daemon}.said"))).unwrap_or_default();
                return Err(format!("{daemon} does not start here: {}", said.lines().last().unwrap_or_default()));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Submits an array of the sweep in `folder`; its number.
    fn submit(&self, folder: &Path, flags: &[&str]) -> String {
        let line = format!("exec '{}' sweep study.toml -j 1 --shard slurm", env!("CARGO_BIN_EXE_ccnuma"));
        let mut command = self.command("sbatch");
        command.args(["--parsable", "--array=3-9:3", "--output=task-%a.said"]).args(flags);
        command.arg(format!("--wrap={line}")).current_dir(folder);
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "sbatch: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

#[test]
fn a_job_array_whose_tasks_are_killed_gives_the_same_bytes() {
    let slurm = match Slurm::start() {
        Ok(slurm) => slurm,
        Err(reason) => {
            eprintln!("SKIPPED: no Slurm: {reason}");
            return;
        }
    };
    let alone = folder(STUDY);
    sweep(alone.path(), "");
    let expected = results(alone.path());
    let array = folder(STUDY);
    for runs in [3, 12] {
        let job = slurm.submit(array.path(), &[]);
        let begin = Instant::now();
        while finished(array.path()) < runs {
            assert!(begin.elapsed() < PATIENCE, "{}", slurm.told("squeue", &[]));
            std::thread::sleep(Duration::from_millis(2));
        }
        slurm.told("scancel", &["--full", "--signal=KILL", &job]);
        while !slurm.told("squeue", &["--noheader"]).trim().is_empty() {
            assert!(begin.elapsed() < PATIENCE, "{}", slurm.told("squeue", &[]));
            // Tasks that had not begun.
            slurm.told("scancel", &["--full", "--signal=KILL", &job]);
            slurm.told("scancel", &["--state=PENDING", &job]);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    assert!(finished(array.path()) < RUNS, "nothing was left to be killed");
    slurm.submit(array.path(), &["--wait"]);
    assert_eq!(finished(array.path()), RUNS);
    same(&results(array.path()), &expected, "by Slurm, killed twice");
    let last = [3, 6, 9].map(|task| fs::read_to_string(array.path().join(format!("task-{task}.said"))).expect("said"));
    assert!(last.iter().any(|said| said.contains(&expected.table)), "no task printed the table: {last:?}");
}

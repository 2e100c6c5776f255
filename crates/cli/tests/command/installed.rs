//! The command as it is installed: a copy of one file, away from where it was built, its manual pages, completions and version.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use tempfile::TempDir;

/// A copy of the command alone in a folder, which is its user's home, too.
struct Installed {
    folder: TempDir,
}

impl Installed {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::copy(env!("CARGO_BIN_EXE_ccnuma"), folder.path().join("ccnuma")).expect("copied");
        let installed = Self { folder };
        // Until then, a process that another test starts may have the copy open for writing.
        while installed.command(&["--version"]).output().is_err_and(|e| e.kind() == ErrorKind::ExecutableFileBusy) {
            std::thread::sleep(Duration::from_millis(5));
        }
        installed
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("it starts")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.path().join("ccnuma"));
        command.args(words).current_dir(self.path()).env("HOME", self.path());
        command.env_remove("CCNUMA_RUNTIME").env_remove("XDG_CACHE_HOME");
        command
    }

    /// Its output, which must end well.
    fn printed(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The runtimes in the user's cache.
    fn runtimes(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.path().join(".cache/ccnuma")).into_iter().flatten().flatten();
        let files = folders.map(|folder| folder.path().join(frontend::wrapped::LIBRARY));
        files.filter(|file| file.is_file()).collect()
    }
}

#[test]
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
fn a_copied_command_has_its_runtime_in_it() {
    if Command::new("gcc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: gcc is not installed");
        return;
    }
    let installed = Installed::new();
    let source = "#include <stdio.h>\nint main(void) { puts(\"it runs\"); return 0; }\n";
    fs::write(installed.path().join("it.c"), source).expect("written");
    installed.printed(&["cc", "-O1", "it.c", "-o", "it"]);
    let runtimes = installed.runtimes();
    assert_eq!(runtimes.len(), 1, "{runtimes:?}");
    let simulation = ["sim", "-m", "flash-4p", "--", "./it"];
    assert!(installed.printed(&simulation).starts_with("it runs\n"));
    // A cache may be emptied at any time: programs that were linked before run all the same.
    for broken in [None, Some("no library")] {
        fs::remove_dir_all(installed.path().join(".cache")).expect("removed");
        if let Some(text) = broken {
            fs::create_dir_all(runtimes[0].parent().expect("a folder")).expect("made");
            fs::write(&runtimes[0], text).expect("written");
        }
        assert!(installed.printed(&simulation).starts_with("it runs\n"));
        assert_eq!(installed.runtimes(), runtimes);
    }
}

#[test]
fn a_runtime_that_is_named_has_to_be_there() {
    let installed = Installed::new();
    let output = installed.command(&["cc", "it.c"]).env("CCNUMA_RUNTIME", "/nowhere").output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr).replace("\n  ", " ");
    assert_eq!(output.status.code(), Some(2), "{errors}");
    for part in ["CCNUMA_RUNTIME /nowhere", "accepted: ", frontend::wrapped::LIBRARY] {
        assert!(errors.contains(part), "no {part} in {errors}");
    }
}

#[test]
fn the_version_tells_release_commit_and_target() {
    let printed = Installed::new().printed(&["--version"]);
    let rest = printed.strip_prefix(concat!("ccnuma ", env!("CARGO_PKG_VERSION"), " (")).expect("the release");
    let rest = rest.strip_suffix(")\n").expect("one line");
    let target = rest.rsplit(", ").next().expect("a word");
    assert!(target.starts_with(std::env::consts::ARCH) && target.contains("linux"), "{printed}");
    // Sources without a repository have no commit.
    let commit = rest.strip_prefix("commit ").map_or("", |rest| rest.split([',', '-']).next().unwrap_or_default());
    assert!(rest == target || commit.len() >= 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{printed}");
}

#[test]
fn every_subcommand_has_a_manual_page_with_its_flags_and_examples() {
    let installed = Installed::new();
    let printed = installed.printed(&["man", "man1"]);
    let page = |name: &str| fs::read_to_string(installed.path().join("man1").join(name)).expect("a page");
    let help = installed.printed(&["--help"]);
    let listed = help.split_once("Commands:\n").expect("a list").1.split_once("\n\n").expect("it ends").0;
    // Texts that go on in another line are further in than names.
    let lines = listed.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names: Vec<&str> = lines.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help").collect();
    assert!(names.len() >= 18, "{names:?}");
    for name in &names {
        let text = page(&format!("ccnuma-{name}.1"));
        assert!(text.contains(".SH SYNOPSIS") && text.contains("written by ccnuma "), "{name}: {text}");
        assert!(printed.contains(&format!("man1/ccnuma-{name}.1\n")), "{printed}");
    }
    let bench = page("ccnuma-bench.1");
    for part in ["\\-\\-suite", "EXAMPLES AND NOTES\"\n.nf\n", "\n  ccnuma bench \\-m arctic \\-\\-suite"] {
        assert!(bench.contains(part), "no {part} in {bench}");
    }
    assert!(page("ccnuma.1").contains("ccnuma\\-bench(1)"));
    // Pages of ours are replaced, and nothing else.
    installed.printed(&["man", "man1"]);
    fs::write(installed.path().join("man1/ccnuma-sim.1"), "mine\n").expect("written");
    let output = installed.run(&["man", "man1"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(page("ccnuma-sim.1"), "mine\n");
}

#[test]
fn shells_complete_subcommands_and_flags() {
    let installed = Installed::new();
    for (shell, parts) in [
        ("bash", ["complete -F _ccnuma", "--suite"]),
        ("zsh", ["#compdef ccnuma", "--suite"]),
        ("fish", ["complete -c ccnuma", "suite"]),
        ("elvish", ["edit:completion:arg-completer[ccnuma]", "--suite"]),
        ("powershell", ["Register-ArgumentCompleter", "--suite"]),
    ] {
        let printed = installed.printed(&["completions", shell]);
        parts.iter().for_each(|part| assert!(printed.contains(part), "{shell}: no {part}"));
    }
    let script = installed.printed(&["completions", "bash"]);
    fs::write(installed.path().join("completions"), script).expect("written");
    let typed = "source ./completions; COMP_WORDS=(ccnuma topol); COMP_CWORD=1; _ccnuma ccnuma topol ccnuma; echo ${COMPREPLY[*]}";
    let completed =
        Command::new("bash").args(["-c", typed]).current_dir(installed.path()).output().expect("bash starts");
    assert_eq!(String::from_utf8_lossy(&completed.stdout), "topology\n", "{completed:?}");
    let output = installed.run(&["completions", "csh"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("fish"));
}

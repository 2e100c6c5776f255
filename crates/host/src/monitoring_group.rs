//! A group of tasks whose memory traffic the processor counts apart from all others'
//! (Documentation/filesystems/resctrl.rst, monitoring groups).
//!
//! Whoever is started by a task of a group is in the group, so a thread that enters one, starts a program and leaves again has the
//! whole program in it from its first instruction on, and nothing else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::discovery::KernelFiles;

/// Where resctrl is mounted.
pub const FOLDER: &str = "sys/fs/resctrl";
/// Prefix of our groups' names, before the number of the process that made them.
const NAME: &str = "ccnuma-";
/// The kernel takes it for the number of the writing thread.
const MYSELF: &str = "0\n";

/// A group of our own. It is gone with its value; one of which the maker was killed goes when the next is made.
#[derive(Debug)]
pub struct MonitoringGroup {
    folder: PathBuf,
    /// The list of tasks that the making thread was in before.
    before: PathBuf,
}

impl MonitoringGroup {
    /// Makes a group under the control group that the calling thread is in, and proves that it can be entered and left.
    ///
    /// # Errors
    /// The kernel's error: `NotFound` where resctrl is not mounted, `EACCES` or `EPERM` to all but root, `ENOSPC` if all numbers
    /// by which the processor tells groups apart are taken, `EBUSY` if those of removed groups are not free yet.
    pub fn create(files: &KernelFiles) -> io::Result<Self> {
        let (control, monitoring) = placed(files);
        let parent = files.path(FOLDER).join(control);
        let groups = parent.join("mon_groups");
        sweep(files, &groups);
        let before = match monitoring.is_empty() {
            true => parent.join("tasks"),
            false => groups.join(monitoring).join("tasks"),
        };
        let folder = groups.join(format!("{NAME}{}", std::process::id()));
        match fs::create_dir(&folder) {
            // A group of an earlier process with our number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_dir(&folder)?;
                fs::create_dir(&folder)?;
            }
            made => made?,
        }
        let group = Self { folder, before };
        group.enter()?;
        group.leave()?;
        Ok(group)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts the calling thread into it, and so whatever that starts until it leaves.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn enter(&self) -> io::Result<()> {
        fs::write(self.folder.join("tasks"), MYSELF)
    }

    /// Puts the calling thread where it was.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn leave(&self) -> io::Result<()> {
        fs::write(&self.before, MYSELF)
    }
}

impl Drop for MonitoringGroup {
    /// Tasks that are still in it go back to the group above.
    fn drop(&mut self) {
        // Whoever unmounted resctrl meanwhile took the group with it.
        let _gone_already = fs::remove_dir(&self.folder);
    }
}

/// The control group that the calling thread is in, by its folder, and the monitoring group in that; empty if it is in none, or if the
/// kernel does not tell.
fn placed(files: &KernelFiles) -> (String, String) {
    let told = files.text("proc/thread-self/cpu_resctrl_groups").ok().flatten().unwrap_or_default();
    let of = |key: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_default().trim().trim_matches('/').to_owned()
    };
    (of("res:"), of("mon:"))
}

/// Removes groups of ours that are empty and whose maker is no more.
fn sweep(files: &KernelFiles, groups: &Path) {
    for entry in fs::read_dir(groups).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        let is_left = maker.is_some_and(|maker| !files.path(format!("proc/{maker}")).exists());
        let is_empty = || fs::read_to_string(entry.path().join("tasks")).is_ok_and(|tasks| tasks.trim().is_empty());
        if is_left && is_empty() {
            // Somebody else may have been faster.
            let _gone_already = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn computer(files: &[(&str, &str)]) -> (tempfile::TempDir, KernelFiles) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let files = KernelFiles::at(root.path());
        (root, files)
    }

    #[test]
    fn a_group_is_made_where_its_maker_is_and_left_for_where_that_was() {
        for (told, parent, before) in [
            ("res:/\nmon:\n", "", "tasks"),
            ("res:/batch\nmon:\n", "batch/", "batch/tasks"),
            ("res:/batch\nmon:night\n", "batch/", "batch/mon_groups/night/tasks"),
        ] {
            let (root, files) = computer(&[
                ("proc/thread-self/cpu_resctrl_groups", told),
                ("sys/fs/resctrl/mon_groups/x", ""),
                ("sys/fs/resctrl/batch/mon_groups/night/tasks", ""),
            ]);
            let group = MonitoringGroup::create(&files).unwrap();
            let folder = root.path().join(FOLDER);
            let expected = folder.join(format!("{parent}mon_groups/{NAME}{}", std::process::id()));
            assert_eq!((group.folder(), &group.before), (expected.as_path(), &folder.join(before)));
            for entered in [expected.join("tasks"), folder.join(before)] {
                assert_eq!(fs::read_to_string(&entered).unwrap(), MYSELF, "{entered:?}");
            }
            // Unlike the kernel, a file system keeps a folder that has something in it.
            fs::remove_file(expected.join("tasks")).unwrap();
            drop(group);
            assert!(!expected.exists() && folder.join("batch/mon_groups/night").exists());
        }
    }

    #[test]
    fn groups_of_the_dead_are_swept_and_no_others() {
        let (root, files) = computer(&[
            ("proc/7/stat", ""),
            ("sys/fs/resctrl/mon_groups/ccnuma-9/tasks", "12\n"),
            ("sys/fs/resctrl/mon_groups/mine/tasks", ""),
        ]);
        let groups = root.path().join(FOLDER).join("mon_groups");
        for name in ["ccnuma-7", "ccnuma-8"] {
            fs::create_dir(groups.join(name)).unwrap();
        }
        // A folder without a list is none of the kernel's groups.
        sweep(&files, &groups);
        assert!(groups.join("ccnuma-8").exists());
        for name in ["ccnuma-7", "ccnuma-8"] {
            fs::write(groups.join(name).join("tasks"), "").unwrap();
        }
        sweep(&files, &groups);
        let told = |name: &str| groups.join(name).exists();
        assert!(told("ccnuma-7") && told("ccnuma-9") && told("mine"));
    }

    #[test]
    fn without_resctrl_there_is_no_group() {
        let (_root, files) = computer(&[]);
        let error = MonitoringGroup::create(&files).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}

//! The processes and threads of a program: all descendants of a process, found in `/proc`.

use std::collections::{HashMap, HashSet};

use host::discovery::KernelFiles;
use host::statistics::task_stat;

/// A thread that was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Found {
    /// Its process.
    pub(super) process: i32,
    /// Its own number; the process's for the first.
    pub(super) thread: i32,
}

/// Finds all threads of the descendants of `ancestor`, which is not one of them.
pub(super) fn descendants(files: &KernelFiles, ancestor: i32) -> Vec<Found> {
    let mut finder = Finder { files, parents: None };
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut open: Vec<i32> =
        threads(files, ancestor).into_iter().flat_map(|thread| finder.children(ancestor, thread)).collect();
    while let Some(process) = open.pop() {
        for thread in threads(files, process) {
            // A process can end and its number be used again while we look; a cycle cannot be, but a loop could.
            let new = Found { process, thread };
            if found.len() < MOST && seen.insert(new) {
                found.push(new);
                open.extend(finder.children(process, thread));
            }
        }
    }
    found.sort_unstable_by_key(|found| (found.process, found.thread));
    found
}

/// The most threads that are followed.
const MOST: usize = 4096;

struct Finder<'a> {
    files: &'a KernelFiles,
    /// The children of each process, where the kernel does not list them by thread.
    parents: Option<HashMap<i32, Vec<i32>>>,
}

impl Finder<'_> {
    /// The processes that a thread started and that are still its process's children.
    fn children(&mut self, process: i32, thread: i32) -> Vec<i32> {
        let list = self.files.text(&format!("proc/{process}/task/{thread}/children"));
        match list {
            Ok(Some(list)) => list.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect(),
            // Without CONFIG_PROC_CHILDREN: whose parent is it? They are all counted as the first thread's.
            _ if thread == process => {
                let files = self.files;
                self.parents.get_or_insert_with(|| parents(files)).get(&process).cloned().unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}

/// The numbers of a process's threads.
fn threads(files: &KernelFiles, process: i32) -> Vec<i32> {
    numbers(files, &format!("proc/{process}/task"))
}

fn numbers(files: &KernelFiles, folder: &str) -> Vec<i32> {
    let entries = std::fs::read_dir(files.path(folder)).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// All processes by their parents.
fn parents(files: &KernelFiles) -> HashMap<i32, Vec<i32>> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for process in numbers(files, "proc") {
        let stat = files.text(&format!("proc/{process}/stat")).ok().flatten();
        if let Some(parent) = stat.and_then(|text| task_stat(&text).map(|stat| stat.parent)) {
            children.entry(parent).or_default().push(process);
        }
    }
    children
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Process 10 is ours; 20 with threads 20 and 21 is its child; 30 is thread 21's, 40 an unrelated one.
    fn computer(list_children: bool) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let tree = [(10, 10, 1, "20 "), (20, 20, 10, ""), (20, 21, 10, "30"), (30, 30, 20, ""), (40, 40, 1, "")];
        for (process, thread, parent, children) in tree {
            let folder = root.path().join(format!("proc/{process}/task/{thread}"));
            std::fs::create_dir_all(&folder).unwrap();
            let zeros = " 0".repeat(48);
            std::fs::write(folder.join("../../stat"), format!("{process} (p) S {parent}{zeros}")).unwrap();
            if list_children {
                std::fs::write(folder.join("children"), children).unwrap();
            }
        }
        root
    }

    #[test]
    fn descendants_are_found_with_their_threads() {
        for list_children in [true, false] {
            let root = computer(list_children);
            let found = descendants(&KernelFiles::at(root.path()), 10);
            let found: Vec<_> = found.iter().map(|found| (found.process, found.thread)).collect();
            assert_eq!(found, [(20, 20), (20, 21), (30, 30)], "children listed: {list_children}");
        }
    }

    #[test]
    fn nobody_has_no_descendants() {
        let root = computer(true);
        assert_eq!(descendants(&KernelFiles::at(root.path()), 99), []);
    }
}

//! Figures of a thread from the kernel: `stat`, `status`, `sched` and `schedstat` in `/proc/PID/task/TID`.

/// A thread's `stat` (proc_pid_stat(5)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskStat<'a> {
    /// The name of the thread, at most 15 bytes of it.
    pub name: &'a str,
    /// `R` running, `S` sleeping, `D` waiting for a device, `Z` ended.
    pub state: char,
    /// The process that it is a child of.
    pub parent: i32,
    /// Page faults served without a device.
    pub minor_faults: u64,
    /// Page faults that waited for a device.
    pub major_faults: u64,
    /// Ticks in the program.
    pub user_ticks: u64,
    /// Ticks in the kernel on its behalf.
    pub system_ticks: u64,
    /// When it began, in ticks since the machine did: with the thread's number a name that is never used again.
    pub started: u64,
    /// The CPU that it is or was last on.
    pub cpu: u16,
}

/// Parses `stat`; none if it is something else.
pub fn task_stat(text: &str) -> Option<TaskStat<'_>> {
    // The name may have blanks and parentheses in it: it ends with the last one.
    let (open, close) = (text.find('(')?, text.rfind(')')?);
    let name = text.get(open + 1..close)?;
    // The first after the name is the third field of the manual's.
    let rest = text.get(close + 1..)?.trim_start();
    let field = |number: usize| rest.split_ascii_whitespace().nth(number - 3);
    let count = |number: usize| field(number)?.parse::<u64>().ok();
    Some(TaskStat {
        name,
        state: field(3)?.chars().next()?,
        parent: field(4)?.parse().ok()?,
        minor_faults: count(10)?,
        major_faults: count(12)?,
        user_ticks: count(14)?,
        system_ticks: count(15)?,
        started: count(22)?,
        cpu: field(39)?.parse().ok()?,
    })
}

/// Counts of a thread's `status` that grow while it runs (proc_pid_status(5)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskStatus {
    /// Times that it gave up its CPU.
    pub voluntary: u64,
    /// Times that the CPU was taken from it.
    pub involuntary: u64,
}

/// Parses `status`; none if it does not tell.
pub fn task_status(text: &str) -> Option<TaskStatus> {
    let find = |name: &str| text.lines().rev().find_map(|line| line.strip_prefix(name))?.trim().parse().ok();
    Some(TaskStatus { voluntary: find("voluntary_ctxt_switches:")?, involuntary: find("nonvoluntary_ctxt_switches:")? })
}

/// Fields of a thread's `sched` about places (kernel/sched/debug.c). Those that a kernel does not print are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskSched {
    /// Times that it was moved to another CPU.
    pub migrations: Option<u64>,
    /// Pages of it that NUMA balancing has moved.
    pub pages_migrated: Option<u64>,
    /// Faults that NUMA balancing has caused to see where it touches memory.
    pub numa_faults: Option<u64>,
    /// The node that NUMA balancing prefers for it.
    pub preferred_node: Option<u64>,
}

/// Parses `sched`; what is not there is none.
pub fn task_sched(text: &str) -> TaskSched {
    let mut found = TaskSched::default();
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let field = match name.trim() {
            "se.nr_migrations" | "nr_migrations" => &mut found.migrations,
            "numa_pages_migrated" => &mut found.pages_migrated,
            "total_numa_faults" => &mut found.numa_faults,
            // -1 while there is none.
            "numa_preferred_nid" => &mut found.preferred_node,
            _ => continue,
        };
        *field = value.trim().parse().ok();
    }
    found
}

/// Times and turns of a thread from its `schedstat` (Documentation/scheduler/sched-stats.rst).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunTimes {
    /// Nanoseconds on a CPU, up to the last tick or switch.
    pub run_ns: u64,
    /// Nanoseconds waiting for a CPU.
    pub wait_ns: u64,
    /// Times that it was given a CPU.
    pub turns: u64,
}

/// Parses `schedstat`; none if it is something else.
pub fn run_times(schedstat: &str) -> Option<RunTimes> {
    let mut numbers = schedstat.split_ascii_whitespace().map(|number| number.parse().ok());
    Some(RunTimes { run_ns: numbers.next()??, wait_ns: numbers.next()??, turns: numbers.next()?? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &str = "30638 (a (b) c) R 30624 30624 31963 0 -1 4194304 101 2 3 4 5 6 7 8 20 0 1 0 4675017 3133440 390 \
        18446744073709551615 94094968238080 94094968257961 140727050212960 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0\n";

    #[test]
    fn a_thread_is_read_whatever_its_name() {
        let stat = task_stat(STAT).unwrap();
        assert_eq!((stat.name, stat.state, stat.parent, stat.cpu), ("a (b) c", 'R', 30624, 5));
        assert_eq!((stat.minor_faults, stat.major_faults, stat.user_ticks, stat.system_ticks), (101, 3, 5, 6));
        assert_eq!(stat.started, 4_675_017);
        let status = "Name:\tx\nThreads:\t1\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(task_status(status), Some(TaskStatus { voluntary: 12, involuntary: 7 }));
        let sched = "cat (2220, #threads: 1)\n---\nse.nr_migrations    :     3\nnuma_preferred_nid  :     -1\n\
            total_numa_faults  : 9\ncurrent_node=0, numa_group_id=0\n";
        let expected =
            TaskSched { migrations: Some(3), pages_migrated: None, numa_faults: Some(9), preferred_node: None };
        assert_eq!(task_sched(sched), expected);
        assert_eq!(run_times("81632 5012 3\n"), Some(RunTimes { run_ns: 81632, wait_ns: 5012, turns: 3 }));
    }

    proptest! {
        #[test]
        fn rubbish_is_nothing_and_no_danger(text in "[ -~\n]{0,120}", cut in 0_usize..250, byte in any::<char>()) {
            let _nothing = (task_stat(&text), task_status(&text), task_sched(&text), run_times(&text));
            let broken: String = STAT.chars().take(cut).chain([byte]).collect();
            let _part = task_stat(&broken);
        }
    }
}

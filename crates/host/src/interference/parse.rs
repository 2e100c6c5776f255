//! The few numbers that are read from the kernel's files around each sample.

/// Nanoseconds that a thread has waited for a processor: the second number of `/proc/thread-self/schedstat`
/// (Documentation/scheduler/sched-stats.rst).
pub(super) fn run_delay(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// How often a thread has been moved to another processor: `nr_migrations` of `/proc/thread-self/sched`.
pub(super) fn migrations(sched: &str) -> Option<u64> {
    let line = sched.lines().find(|line| line.contains("nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Ticks of USER_HZ that a hypervisor gave to others while `cpu` had work: the eighth number of its line in `/proc/stat`
/// (proc(5)).
pub(super) fn stolen(stat: &str, cpu: u16) -> Option<u64> {
    const STEAL: usize = 8;
    let name = format!("cpu{cpu}");
    let mut fields = stat
        .lines()
        .map(|line| line.split_ascii_whitespace())
        .find(|fields| fields.clone().next().is_some_and(|first| first == name))?;
    fields.nth(STEAL)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_where_the_kernel_prints_them() {
        assert_eq!(run_delay("81632 5012 3\n"), Some(5012));
        let sched = "cat (71, #threads: 1)\n---\nse.exec_start   :   1.5\nse.nr_migrations          :        12\nnr_switches : 3\n";
        assert_eq!(migrations(sched), Some(12));
        let stat = "cpu  9 9 9 9 9 9 9 77 0 0\ncpu1 1 2 3 4 5 6 7 8 9 10\ncpu11 1 2 3 4 5 6 7 80 9 10\nintr 1\n";
        assert_eq!(stolen(stat, 1), Some(8));
        assert_eq!(stolen(stat, 11), Some(80));
        assert_eq!(stolen(stat, 2), None);
    }

    #[test]
    fn rubbish_is_no_number() {
        assert_eq!(run_delay(""), None);
        assert_eq!(migrations("nr_migrations"), None);
        assert_eq!(stolen("cpu0 1 2", 0), None);
    }
}

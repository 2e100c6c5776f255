//! Times of CPUs by use: `/proc/stat`.

/// Ticks of a CPU since the machine began (proc_stat(5)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuTimes {
    /// With programs and their kernel work.
    pub busy: u64,
    /// With nothing to do, or waiting for devices.
    pub idle: u64,
    /// Given to others by a hypervisor.
    pub stolen: u64,
}

/// Tells `found` the times of each CPU.
pub fn cpu_times(stat: &str, mut found: impl FnMut(u16, CpuTimes)) {
    // The lines of CPUs come first, that of all of them before the others.
    for line in stat.lines().take_while(|line| line.starts_with("cpu")) {
        let mut words = line.split_ascii_whitespace();
        let Some(Ok(cpu)) = words.next().map(|name| name["cpu".len()..].parse::<u16>()) else { continue };
        // user nice system idle iowait irq softirq steal; what guests had is part of user.
        let mut ticks = [0_u64; 8];
        for (tick, word) in ticks.iter_mut().zip(words) {
            *tick = word.parse().unwrap_or(0);
        }
        let [user, nice, system, idle, waiting, interrupts, soft, stolen] = ticks;
        let busy = [user, nice, system, interrupts, soft].into_iter().fold(0, u64::saturating_add);
        found(cpu, CpuTimes { busy, idle: idle.saturating_add(waiting), stolen });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_cpu_has_its_times() {
        let text = "cpu  9 9 9 9 9 9 9 77 0 0\ncpu1 1 2 3 4 5 6 7 8 9 10\ncpu11 1 0\nintr 1\ncpu3 1 1\n";
        let mut seen = Vec::new();
        cpu_times(text, |cpu, times| seen.push((cpu, times)));
        let first = CpuTimes { busy: 19, idle: 9, stolen: 8 };
        assert_eq!(seen, [(1, first), (11, CpuTimes { busy: 1, idle: 0, stolen: 0 })]);
    }

    proptest! {
        #[test]
        fn any_text_has_some_times(text in "(cpu[0-9 ]{0,9}[ -~]{0,20}\n){0,5}") {
            cpu_times(&text, |_, _| {});
        }
    }
}

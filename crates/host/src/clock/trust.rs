//! Whether the processor's counter can be trusted, by what processor and kernel say about it.

use std::fs;

use units::Hertz;

/// Clock sources that the kernel chooses on x86-64 only when it has found the time stamp counter unusable, or was told to.
const LAST_RESORTS: [&str; 4] = ["hpet", "acpi_pm", "refined-jiffies", "jiffies"];

/// Facts about the counter, from the processor and the kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Whether the counter runs at a constant rate in all states of the processor: CPUID 0x80000007 EDX bit 8, or the
    /// kernel's `constant_tsc` and `nonstop_tsc`. Always so on AArch64.
    pub invariant: bool,
    /// The hypervisor's name, if there is one: an empty one if it does not say.
    pub hypervisor: Option<String>,
    /// The kernel's clock source (`/sys/devices/system/clocksource/clocksource0/current_clocksource`).
    pub clocksource: Option<String>,
    /// Clock sources that the kernel could use; a counter that it found unstable is not among them.
    pub available: Vec<String>,
    /// The rate that the processor or the hypervisor announces: CPUID 0x15, 0x16 or 0x40000010, or CNTFRQ_EL0.
    pub nominal: Option<Hertz>,
}

impl Facts {
    /// Those of this computer.
    pub fn gather() -> Self {
        let read = |file: &str| {
            fs::read_to_string(format!("/sys/devices/system/clocksource/clocksource0/{file}"))
                .ok()
                .map(|text| text.trim().to_owned())
        };
        let mut facts = Self {
            clocksource: read("current_clocksource"),
            available: read("available_clocksource")
                .map(|text| text.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            ..Self::default()
        };
        facts.ask_processor();
        facts
    }

    /// Whether the kernel lets this program read the counter: `prctl(PR_SET_TSC)` can forbid it on x86-64.
    pub fn readable() -> bool {
        let mut mode: libc::c_int = libc::PR_TSC_ENABLE;
        // SAFETY: the kernel writes one integer, where it knows the call; elsewhere the counter cannot be forbidden.
        let asked = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut mode) };
        asked != 0 || mode == libc::PR_TSC_ENABLE
    }

    /// Why the counter must not be used, or nothing.
    pub fn distrust(&self) -> Option<String> {
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return Some("this architecture's counter is not known".to_owned());
        }
        if !self.invariant {
            return Some(match &self.hypervisor {
                Some(_) => "the hypervisor does not guarantee an invariant time stamp counter".to_owned(),
                None => "the time stamp counter is not invariant".to_owned(),
            });
        }
        let current = self.clocksource.as_deref()?;
        let offered = self.available.iter().any(|source| source == "tsc");
        (LAST_RESORTS.contains(&current) && !offered)
            .then(|| format!("the kernel uses {current}: it found the time stamp counter unstable"))
    }

    /// Oddities that are no reason for distrust.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(current) = self.clocksource.as_deref().filter(|current| LAST_RESORTS.contains(current))
            && self.distrust().is_none()
        {
            notes.push(format!("the kernel is configured to use {current}; the time stamp counter is used here"));
        }
        notes
    }

    #[cfg(target_arch = "x86_64")]
    fn ask_processor(&mut self) {
        use std::arch::x86_64::{__cpuid, __get_cpuid_max};
        let (basic, extended) = (__get_cpuid_max(0).0, __get_cpuid_max(0x8000_0000).0);
        let told = extended >= 0x8000_0007 && __cpuid(0x8000_0007).edx & 1 << 8 != 0;
        // The file is read last: the kernel takes its time over one of hundreds of processors.
        self.invariant = told || kernel_knows_better();
        if __cpuid(1).ecx & 1 << 31 != 0 {
            let name = __cpuid(0x4000_0000);
            let bytes: Vec<u8> = [name.ebx, name.ecx, name.edx].iter().flat_map(|word| word.to_le_bytes()).collect();
            self.hypervisor = Some(String::from_utf8_lossy(&bytes).trim_matches('\0').to_owned());
        }
        self.nominal = self.announced(basic);
    }

    /// The counter's rate as the hypervisor (leaf 0x40000010, in kHz) or the processor says: crystal clock and ratio (leaf
    /// 0x15), or else the base frequency in MHz (leaf 0x16), at which the counter of Intel's processors runs.
    #[cfg(target_arch = "x86_64")]
    fn announced(&self, basic: u32) -> Option<Hertz> {
        use std::arch::x86_64::__cpuid;
        if self.hypervisor.is_some() && __cpuid(0x4000_0000).eax >= 0x4000_0010 {
            let khz = __cpuid(0x4000_0010).eax;
            return (khz != 0).then_some(Hertz(f64::from(khz) * 1e3));
        }
        let ratio = (basic >= 0x15).then(|| __cpuid(0x15)).filter(|leaf| leaf.eax != 0 && leaf.ebx != 0)?;
        if ratio.ecx != 0 {
            return Some(Hertz(f64::from(ratio.ecx) * f64::from(ratio.ebx) / f64::from(ratio.eax)));
        }
        let base = (basic >= 0x16).then(|| __cpuid(0x16).eax & 0xffff).filter(|&mhz| mhz != 0)?;
        Some(Hertz::from_mhz(f64::from(base)))
    }

    #[cfg(target_arch = "aarch64")]
    fn ask_processor(&mut self) {
        // The architecture demands a counter of constant rate (Arm ARM, D12.1.2, "the system counter").
        self.invariant = true;
        let rate: u64;
        // SAFETY: Linux lets programs read CNTFRQ_EL0.
        unsafe {
            std::arch::asm!("mrs {rate}, cntfrq_el0", rate = out(reg) rate, options(nostack, nomem));
        }
        self.nominal = (rate > 0).then_some(Hertz(rate as f64));
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn ask_processor(&mut self) {}
}

/// Whether the kernel says that the counter is invariant: it knows processors that do not say so themselves.
#[cfg(target_arch = "x86_64")]
fn kernel_knows_better() -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |flag: &str| text.split_whitespace().any(|word| word == flag);
    has("constant_tsc") && has("nonstop_tsc")
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;

    fn facts(invariant: bool, current: &str, available: &str) -> Facts {
        Facts {
            invariant,
            clocksource: Some(current.to_owned()),
            available: available.split_whitespace().map(str::to_owned).collect(),
            ..Facts::default()
        }
    }

    #[test]
    fn an_invariant_counter_that_the_kernel_offers_is_trusted() {
        for facts in [
            facts(true, "tsc", "tsc hpet acpi_pm"),
            facts(true, "kvm-clock", "kvm-clock tsc acpi_pm"),
            facts(true, "hyperv_clocksource_tsc_page", "hyperv_clocksource_tsc_page acpi_pm"),
            facts(true, "arch_sys_counter", "arch_sys_counter"),
            Facts { invariant: true, ..Facts::default() },
        ] {
            assert_eq!(facts.distrust(), None, "{facts:?}");
            assert!(facts.notes().is_empty());
        }
        let told = facts(true, "hpet", "tsc hpet acpi_pm");
        assert_eq!(told.distrust(), None);
        assert!(told.notes()[0].contains("hpet"));
    }

    #[test]
    fn others_are_not() {
        assert!(facts(false, "tsc", "tsc").distrust().unwrap().contains("not invariant"));
        let guest = Facts { hypervisor: Some("VBoxVBoxVBox".to_owned()), ..facts(false, "acpi_pm", "acpi_pm") };
        assert!(guest.distrust().unwrap().contains("hypervisor"));
        let unstable = facts(true, "hpet", "hpet acpi_pm");
        assert!(unstable.distrust().unwrap().contains("uses hpet"));
    }
}

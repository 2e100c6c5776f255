//! Processors, the hypervisor under the kernel, and the kernel's clock sources.

use std::collections::BTreeSet;

use super::files::Reader;
use super::microarchitecture;
use super::note::Note;

/// The processors of a computer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Processor {
    /// The maker, as the processor or the kernel's number for the maker says.
    pub vendor: Option<String>,
    /// Its name.
    pub model: Option<String>,
    /// The name of its microarchitecture, if its numbers are known.
    pub microarchitecture: Option<String>,
    /// Its features, by the kernel's names (`flags` or `Features` of `/proc/cpuinfo`).
    pub features: BTreeSet<String>,
    /// The hypervisor under the kernel, if one shows.
    pub hypervisor: Option<String>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// Clock sources that the kernel could use.
    pub clock_sources: Vec<String>,
}

/// AArch64 tells numbers instead of names: implementer, part, and what they are (MIDR_EL1; the lists of util-linux's
/// `lscpu-arm.c`).
const ARM_PARTS: &[(u32, u32, &str, &str)] = &[
    (0x41, 0xd03, "Arm", "Cortex-A53"),
    (0x41, 0xd05, "Arm", "Cortex-A55"),
    (0x41, 0xd07, "Arm", "Cortex-A57"),
    (0x41, 0xd08, "Arm", "Cortex-A72"),
    (0x41, 0xd0b, "Arm", "Cortex-A76"),
    (0x41, 0xd0c, "Arm", "Neoverse-N1"),
    (0x41, 0xd40, "Arm", "Neoverse-V1"),
    (0x41, 0xd49, "Arm", "Neoverse-N2"),
    (0x41, 0xd4f, "Arm", "Neoverse-V2"),
    (0x41, 0xd84, "Arm", "Neoverse-V3"),
    (0x41, 0xd8e, "Arm", "Neoverse-N3"),
    (0x43, 0x0a1, "Cavium", "ThunderX"),
    (0x43, 0x0af, "Cavium", "ThunderX2"),
    (0x46, 0x001, "Fujitsu", "A64FX"),
    (0x48, 0xd01, "HiSilicon", "Kunpeng-920"),
    (0x50, 0x000, "APM", "X-Gene"),
    (0xc0, 0xac3, "Ampere", "Ampere-1"),
    (0xc0, 0xac4, "Ampere", "Ampere-1a"),
];

/// Names of virtual machines in their firmware (`/sys/class/dmi/id`): a part of the name, and the hypervisor.
const DMI_NAMES: &[(&str, &str)] = &[
    ("QEMU", "QEMU"),
    ("KVM", "KVM"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google", "Google Compute Engine"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Virtual Machine", "Hyper-V"),
    ("Xen", "Xen"),
    ("OpenStack", "OpenStack"),
    ("Bochs", "Bochs"),
    ("Firecracker", "Firecracker"),
];

/// Clocks that only guests of these hypervisors have.
const GUEST_CLOCKS: &[(&str, &str)] =
    &[("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen"), ("vmware", "VMware")];

/// Examines the processors, and notes what makes their figures doubtful.
pub(super) fn discover(reader: &mut Reader<'_>) -> Processor {
    let text = reader.text("proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
        pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
    };
    let features = field("flags").or_else(|| field("Features")).unwrap_or_default();
    let features: BTreeSet<String> = features.split_whitespace().map(str::to_owned).collect();
    let arm = arm_part(field("CPU implementer").as_deref(), field("CPU part").as_deref());
    const CLOCK: &str = "sys/devices/system/clocksource/clocksource0";
    let clock_source = reader.text(&format!("{CLOCK}/current_clocksource"));
    let sources = reader.text(&format!("{CLOCK}/available_clocksource")).unwrap_or_default();
    let clock_sources: Vec<String> = sources.split_whitespace().map(str::to_owned).collect();
    let hypervisor = hypervisor(reader, &features, &clock_sources);
    if let Some(name) = &hypervisor {
        reader.notes.push(Note::Virtual { hypervisor: name.clone() });
    }
    let by_counter = |source: &str| source == "tsc" || source == "arch_sys_counter" || source == "timebase";
    if let Some(current) = clock_source.as_ref().filter(|source| !by_counter(source)) {
        reader.notes.push(Note::ClockSource { current: current.clone() });
    }
    let numbers = [field("vendor_id"), field("cpu family"), field("model")];
    let microarchitecture = match &numbers {
        [Some(vendor), Some(family), Some(model)] => microarchitecture::name(vendor, family, model).map(str::to_owned),
        _ => arm.as_ref().map(|(_, model)| model.clone()),
    };
    Processor {
        vendor: field("vendor_id").or_else(|| arm.as_ref().map(|(vendor, _)| vendor.clone())),
        microarchitecture,
        model: field("model name").or_else(|| arm.map(|(_, model)| model)),
        features,
        hypervisor,
        clock_source,
        clock_sources,
    }
}

/// Maker and model behind AArch64's numbers; the numbers themselves if they are in no list.
fn arm_part(implementer: Option<&str>, part: Option<&str>) -> Option<(String, String)> {
    let number = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let (implementer, part) = (number(implementer?)?, number(part?)?);
    let known = ARM_PARTS.iter().find(|entry| (entry.0, entry.1) == (implementer, part));
    Some(known.map_or_else(
        || (format!("implementer {implementer:#x}"), format!("part {part:#x}")),
        |&(_, _, vendor, model)| (vendor.to_owned(), model.to_owned()),
    ))
}

/// The hypervisor's name, if anything shows that there is one.
fn hypervisor(reader: &mut Reader<'_>, features: &BTreeSet<String>, clocks: &[String]) -> Option<String> {
    let firmware: Vec<String> = ["sys_vendor", "product_name", "bios_vendor"]
        .iter()
        .filter_map(|name| reader.text(&format!("sys/class/dmi/id/{name}")))
        .collect();
    let named = DMI_NAMES.iter().find(|(part, _)| firmware.iter().any(|text| text.contains(part)));
    let clock = GUEST_CLOCKS.iter().find(|(prefix, _)| clocks.iter().any(|clock| clock.starts_with(prefix)));
    // Metal instances of clouds carry the cloud's name too: on x86-64 the processor's own flag decides.
    let x86 = features.contains("tsc") || features.contains("fpu");
    let metal = firmware.iter().any(|text| text.contains(".metal"));
    let told = reader.text("sys/hypervisor/type").filter(|name| !name.is_empty() && name != "none");
    let shown = features.contains("hypervisor") || clock.is_some() || told.is_some() || (!x86 && named.is_some());
    if !shown || metal {
        return None;
    }
    let known = named.or(clock).map(|(_, name)| (*name).to_owned());
    Some(known.or(told).unwrap_or_else(|| "of unknown make".to_owned()))
}

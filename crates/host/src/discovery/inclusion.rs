//! Which caches have every line of those inside them, as the processor announces.

/// Whether the data cache of each level is inclusive, by CPUID leaf 4 (Intel SDM 2A, CPUID, EDX bit 1 of leaf 04H) or 0x8000001D
/// (AMD APM 3, likewise), of the processor that this runs on. Empty where nothing is announced.
pub fn announced_inclusion() -> Vec<(u8, bool)> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__cpuid, __cpuid_count, __get_cpuid_max};
        /// The topology extensions of AMD, which announce leaf 0x8000001D.
        const TOPOLOGY_EXTENSIONS: u32 = 1 << 22;
        /// Caches of a processor, generously.
        const MOST: u32 = 16;
        let extended = __get_cpuid_max(0x8000_0000).0;
        let amd = extended >= 0x8000_001d && __cpuid(0x8000_0001).ecx & TOPOLOGY_EXTENSIONS != 0;
        let leaf = if amd { 0x8000_001d } else { 4 };
        if !amd && __get_cpuid_max(0).0 < leaf {
            return Vec::new();
        }
        let described = (0..MOST).map(|number| __cpuid_count(leaf, number)).take_while(|told| told.eax & 0x1f != 0);
        let of_data = described.filter(|told| matches!(told.eax & 0x1f, 1 | 3));
        of_data.map(|told| ((told.eax >> 5 & 7) as u8, told.edx & 2 != 0)).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_announced_once_from_the_innermost() {
        let levels: Vec<u8> = announced_inclusion().iter().map(|&(level, _)| level).collect();
        assert!(levels.is_sorted_by(|one, next| one < next) && levels.iter().all(|level| *level >= 1), "{levels:?}");
    }
}

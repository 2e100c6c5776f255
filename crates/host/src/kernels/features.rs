//! Processor features beyond the baseline of the architecture, as far as the kernels use them.

/// An architecture that kernels are generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// AMD64, Intel 64.
    X86_64,
    /// The 64-bit Arm architecture.
    AArch64,
}

impl Architecture {
    /// The one this program runs on; nothing if there are no kernels for it.
    pub const NATIVE: Option<Self> = if cfg!(target_arch = "x86_64") {
        Some(Self::X86_64)
    } else if cfg!(target_arch = "aarch64") {
        Some(Self::AArch64)
    } else {
        None
    };
}

/// Instructions beyond the baseline of the architecture. Those of the other architecture are false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features {
    /// CLFLUSHOPT: flushes that need not wait for one another (x86-64).
    pub clflushopt: bool,
    /// PREFETCHW: prefetch for writing (x86-64). AArch64 always has PRFM PSTL1KEEP.
    pub prefetchw: bool,
    /// AVX2: 32-byte vectors (x86-64).
    pub avx2: bool,
    /// The large system extension: atomic instructions instead of exclusive loads and stores (AArch64).
    pub lse: bool,
}

impl Features {
    /// Bytes that one access of the kernels' STREAM loops moves: a vector register, or a pair of them.
    pub fn vector_bytes(self) -> u64 {
        match Architecture::NATIVE {
            Some(Architecture::AArch64) => 32,
            _ if self.avx2 => 32,
            _ => 16,
        }
    }

    /// Those of the processor that this runs on, which its kernel lets programs use.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{__cpuid, __cpuid_count, __get_cpuid_max};
            let structured = if __get_cpuid_max(0).0 >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
            let extended = if __get_cpuid_max(0x8000_0000).0 >= 0x8000_0001 { __cpuid(0x8000_0001).ecx } else { 0 };
            Self {
                clflushopt: structured & 1 << 23 != 0,
                prefetchw: extended & 1 << 8 != 0,
                avx2: std::arch::is_x86_feature_detected!("avx2"),
                lse: false,
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            Self { lse: std::arch::is_aarch64_feature_detected!("lse"), ..Self::default() }
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            Self::default()
        }
    }
}

//! Where the pages of an address space lie: `/proc/PID/numa_maps` (numa_maps(5) in numa(7)).

/// Memory of an address space on each node, in KiB.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeMemory {
    /// By node, KiB.
    pub kib: Vec<u64>,
    /// The part of that in huge pages, by node, KiB.
    pub huge_kib: Vec<u64>,
}

/// Adds up `numa_maps`. Pages count with the size that their line tells; one that tells none has base pages of `page_kib`.
pub fn numa_maps(text: &str, page_kib: u64, memory: &mut NodeMemory) {
    memory.kib.fill(0);
    memory.huge_kib.fill(0);
    for line in text.lines() {
        let size = line.split_ascii_whitespace().find_map(|word| word.strip_prefix("kernelpagesize_kB="));
        let size: u64 = size.and_then(|size| size.parse().ok()).unwrap_or(page_kib);
        for word in line.split_ascii_whitespace() {
            let Some((node, pages)) = word.strip_prefix('N').and_then(|word| word.split_once('=')) else { continue };
            let (Ok(node), Ok(pages)) = (node.parse::<u16>(), pages.parse::<u64>()) else { continue };
            // Nodes that are not online have no memory.
            if let Some(total) = memory.kib.get_mut(usize::from(node)) {
                *total = total.saturating_add(pages.saturating_mul(size));
                if size > page_kib
                    && let Some(huge) = memory.huge_kib.get_mut(usize::from(node))
                {
                    *huge = huge.saturating_add(pages.saturating_mul(size));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pages_count_with_their_size() {
        let text = "55fb9cbe6000 default file=/usr/bin/cat mapped=2 N0=2 kernelpagesize_kB=4\n\
            7f0000000000 bind:1 file=/anon_hugepage\\040(deleted) huge anon=10 dirty=10 N1=10 kernelpagesize_kB=2048\n\
            7f1000000000 interleave:0-1 anon=4 N0=1 N1=3 N9=7 kernelpagesize_kB=4\n\
            7f2000000000 default stack N1=2\n";
        let mut memory = NodeMemory { kib: vec![9; 2], huge_kib: vec![9; 2] };
        numa_maps(text, 4, &mut memory);
        assert_eq!(memory, NodeMemory { kib: vec![12, 20480 + 12 + 8], huge_kib: vec![0, 20480] });
    }

    proptest! {
        #[test]
        fn rubbish_adds_nothing_dangerous(text in "[N0-9=a-z_B \n]{0,200}") {
            numa_maps(&text, 4, &mut NodeMemory { kib: vec![0; 3], huge_kib: vec![0; 3] });
        }
    }
}

//! Whether memory fits, before the first page is touched: the node, the computer, the cgroup, the pool of huge pages.

use units::{Bytes, NodeId};

use super::PageKind;
use crate::HostError;
use crate::discovery::node::amount;
use crate::discovery::{Inventory, KernelFiles, NodePool, Note, limits};

/// Refuses `size` on `node` unless the node has that much to give; `total` is what the whole request takes.
pub(super) fn check(
    inventory: &Inventory,
    node: NodeId,
    size: Bytes,
    total: Bytes,
    pages: PageKind,
) -> Result<(), HostError> {
    let refuse = |problem: String, advice: String| {
        Err(HostError::Placement { node, size, pages: pages.to_string(), problem, advice })
    };
    if let PageKind::Huge(page) = pages {
        return in_pool(inventory, node, size, page).or_else(|(problem, advice)| refuse(problem, advice));
    }
    let files = &inventory.files;
    // A single node's room is the computer's; and where the nodes' figures do not add up, they are worth nothing.
    let told =
        inventory.nodes.len() > 1 && !inventory.notes.iter().any(|note| matches!(note, Note::MemoryDiffers { .. }));
    let room = told.then(|| on_node(files, node, inventory.page_size)).flatten();
    if let Some(room) = room.filter(|&room| size > room) {
        let problem = format!("the node has {} MiB available", room.0 >> 20);
        return refuse(problem, "request less, or free memory there".to_owned());
    }
    if let Some(room) = limits::available(files).filter(|&room| total > room) {
        let problem = format!("{} MiB available, {} MiB requested", room.0 >> 20, total.0 >> 20);
        return refuse(problem, "request less, or free memory".to_owned());
    }
    if let Some(left) = limits::memory_left(files).filter(|&left| total > left) {
        let limit = inventory.limits.cgroup.memory.unwrap_or(left);
        let problem = format!("cgroup limit {} MiB, {} MiB left", limit.0 >> 20, left.0 >> 20);
        return refuse(problem, "request less, or raise the limit (memory.max; the container's --memory)".to_owned());
    }
    Ok(())
}

/// Problem and advice if the node's share of the pool has not enough free pages.
fn in_pool(inventory: &Inventory, node: NodeId, size: Bytes, page: Bytes) -> Result<(), (String, String)> {
    // As it is now, not as it was at discovery.
    let now = inventory.pools_now();
    let Some(pool) = now.iter().find(|pool| pool.size == page) else {
        let sizes: Vec<String> = now.iter().map(|pool| PageKind::Huge(pool.size).to_string()).collect();
        let has = if sizes.is_empty() { "none".to_owned() } else { sizes.join(" ") };
        let problem = format!("the kernel has no pool of such pages; it has {has}");
        return Err((problem, "accepted: base, thp, and the sizes that it has".to_owned()));
    };
    let needed = size.0 / page.0;
    let whole = NodePool { node, total: pool.total, free: pool.free };
    let share = pool.nodes.iter().find(|share| share.node == node).copied().unwrap_or(whole);
    let unpromised = pool.free.saturating_sub(pool.reserved);
    if share.free >= needed && unpromised >= needed {
        return Ok(());
    }
    let pages_are = if needed == 1 { "page is" } else { "pages are" };
    let problem = format!(
        "{needed} {pages_are} needed, the node's pool has {} of which {} are free ({unpromised} on all nodes together)",
        share.total, share.free
    );
    let folder = format!("hugepages/hugepages-{}kB/nr_hugepages", page.0 >> 10);
    let file = match pool.nodes.is_empty() {
        true => format!("/sys/kernel/mm/{folder}"),
        false => format!("/sys/devices/system/node/node{node}/{folder}"),
    };
    let more = share.total + needed.saturating_sub(share.free.min(unpromised));
    Err((problem, format!("root adds pages with: echo {more} > {file}")))
}

/// How much memory a node can give without swapping: free pages and page cache, less the reserve that the kernel keeps in
/// each zone (its own estimate of `MemAvailable`, `si_mem_available` in mm/show_mem.c, for one node). None if not told.
fn on_node(files: &KernelFiles, node: NodeId, page: Bytes) -> Option<Bytes> {
    let text = files.text(&format!("sys/devices/system/node/node{node}/meminfo")).ok()??;
    let of = |name: &str| amount(&text, name).unwrap_or_default().0;
    let cache = of("Active(file)") + of("Inactive(file)") + of("SReclaimable");
    let zones = files.text("proc/zoneinfo").ok().flatten().unwrap_or_default();
    let reserve = reserved_pages(&zones, node) * page.0;
    // Half of the page cache at most: some of it is in use, as the kernel's estimate has it.
    Some(Bytes((amount(&text, "MemFree")?.0 + cache / 2).saturating_sub(reserve)))
}

/// The pages of a node that the kernel does not give to programs: in each zone the high watermark and what is kept for
/// requests that can use no other zone (`calculate_totalreserve_pages` in mm/page_alloc.c).
fn reserved_pages(zoneinfo: &str, node: NodeId) -> u64 {
    let mut reserved = 0;
    let (mut ours, mut high, mut managed) = (false, 0_u64, 0_u64);
    for line in zoneinfo.lines() {
        if let Some(rest) = line.strip_prefix("Node ") {
            ours = rest.split(',').next().is_some_and(|number| number.trim() == node.to_string());
            continue;
        }
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("high"), Some(value)) => high = value.parse().unwrap_or(0),
            (Some("managed"), Some(value)) => managed = value.parse().unwrap_or(0),
            (Some("protection:"), Some(_)) if ours => {
                let list = line.split_once('(').map_or("", |(_, list)| list.trim_end_matches(')'));
                let kept = list.split(',').filter_map(|word| word.trim().parse::<u64>().ok()).max().unwrap_or(0);
                reserved += managed.min(high + kept);
            }
            _ => {}
        }
    }
    reserved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_of_a_node() {
        let zone = |node: u8, name: &str, high: u64, managed: u64, protection: &str| {
            format!(
                "Node {node}, zone {name:>8}\n  pages free     9\n        min      2\n        low      3\n        high     \
                 {high}\n        managed  {managed}\n        protection: ({protection})\n"
            )
        };
        let text = zone(0, "DMA", 5, 3840, "0, 2961, 24000, 24000")
            + &zone(0, "DMA32", 700, 758_000, "0, 0, 21000, 21000")
            + &zone(1, "Normal", 900, 500_000, "0, 0, 0, 0");
        assert_eq!(reserved_pages(&text, NodeId(0)), 3840 + 21_700);
        assert_eq!(reserved_pages(&text, NodeId(1)), 900);
        assert_eq!(reserved_pages("", NodeId(1)), 0);
    }
}

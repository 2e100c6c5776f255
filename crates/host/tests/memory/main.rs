//! Memory on this computer: placed, verified, moved, refused.

#[path = "../../examples/four_nodes_init/forbid.rs"]
mod forbid;
mod over;

use std::sync::Arc;

use host::discovery::{Inventory, KernelFiles};
use host::memory::{Mapping, PageKind, Verification};
use host::{HostError, threads};
use units::{Bytes, CpuId, NodeId};

fn inventory() -> Arc<Inventory> {
    Arc::new(Inventory::discover(&KernelFiles::live()).expect("this computer has CPUs"))
}

fn first_node(inventory: &Inventory) -> NodeId {
    *inventory.usable_nodes().first().expect("a node with memory")
}

/// Reads and writes all of it, by words.
fn fill_and_sum(mapping: &Mapping) -> u64 {
    let words = mapping.size().0 as usize / 8;
    // SAFETY: the mapping is that long, aligned to pages, zeroed, and known to this function alone.
    let memory = unsafe { std::slice::from_raw_parts_mut(mapping.start().cast::<u64>().as_ptr(), words) };
    assert!(memory.iter().all(|&word| word == 0), "new memory is zero");
    for (number, word) in memory.iter_mut().enumerate() {
        *word = number as u64;
    }
    memory.iter().sum()
}

#[test]
fn base_pages_are_base_pages_on_the_node_that_was_asked_for() {
    let inventory = inventory();
    let node = first_node(&inventory);
    let mapping = Mapping::on_node(&inventory, node, Bytes(5 * 1024 * 1024 + 1), PageKind::Base).expect("5 MiB");
    let size = mapping.size().0;
    assert!(size > 5 * 1024 * 1024 && size.is_multiple_of(inventory.page_size.0));
    let obtained = mapping.obtained();
    assert_eq!(obtained.pages.keys().collect::<Vec<_>>(), [&inventory.page_size]);
    assert_eq!(obtained.nodes.get(&node), Some(&mapping.size()));
    assert!(obtained.as_asked());
    let pages = size / inventory.page_size.0;
    if matches!(obtained.verified, Verification::MovePages { .. }) {
        assert_eq!(obtained.verified.to_string(), format!("move_pages: {pages} of {pages} pages"));
        let places = mapping.nodes_of_pages().expect("as before");
        assert_eq!(places.len() as u64, pages);
        assert!(places.iter().all(|page| page.node == Ok(node)));
    }
    assert_eq!(fill_and_sum(&mapping), (0..size / 8).sum::<u64>());
}

#[test]
fn transparent_huge_pages_are_reported_or_refused() {
    let inventory = inventory();
    let node = first_node(&inventory);
    let huge = inventory.transparent.size;
    match Mapping::on_node(&inventory, node, Bytes(4 * huge.0), PageKind::Transparent) {
        Ok(mapping) => {
            let got = mapping.obtained().pages[&huge];
            assert!(got.0 > 0 && mapping.start().addr().get().is_multiple_of(huge.0 as usize));
            assert_eq!(mapping.obtained().as_asked(), got == mapping.size());
            assert_eq!(mapping.exactly().is_ok(), got == Bytes(4 * huge.0));
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("thp"), "{text}");
        }
    }
}

#[test]
fn an_empty_pool_is_refused_with_what_would_fill_it() {
    let inventory = inventory();
    let node = first_node(&inventory);
    let Some(pool) = inventory.huge_pages.first() else { return };
    let size = Bytes((pool.total + 1) * pool.size.0);
    let refused = Mapping::on_node(&inventory, node, size, PageKind::Huge(pool.size)).expect_err("more than there is");
    let text = refused.to_string();
    let file = format!("hugepages-{}kB/nr_hugepages", pool.size.0 >> 10);
    let needed =
        if pool.total == 0 { "1 page is needed".to_owned() } else { format!("{} pages are needed", pool.total + 1) };
    assert!(text.contains(&file) && text.contains(&needed), "{text}");
}

#[test]
fn page_sizes_that_do_not_exist_are_refused_with_those_that_do() {
    let inventory = inventory();
    let refused = Mapping::on_node(&inventory, first_node(&inventory), Bytes(1), PageKind::Huge(Bytes::from_kib(8)));
    let text = refused.expect_err("no processor has them").to_string();
    assert!(text.contains("8K") && text.contains("accepted: base, thp"), "{text}");
}

#[test]
fn base_pages_can_be_asked_for_by_their_size() {
    let inventory = inventory();
    let asked = PageKind::Huge(inventory.page_size);
    let mapping = Mapping::on_node(&inventory, first_node(&inventory), Bytes(1), asked).expect("a page");
    assert_eq!(mapping.size(), inventory.page_size);
    assert_eq!(mapping.obtained().page_mix(), inventory.page_size.to_string());
}

#[test]
fn memory_that_is_there_already_is_not_moved() {
    let inventory = inventory();
    let node = first_node(&inventory);
    let mut mapping = Mapping::on_node(&inventory, node, Bytes::from_mib(1), PageKind::Base).expect("1 MiB");
    let outcome = mapping.migrate(node).expect("nothing to do");
    assert_eq!((outcome.moved, outcome.stayed.len()), (0, 0));
    assert_eq!(outcome.there * inventory.page_size.0, mapping.size().0);
    let refused = mapping.migrate(NodeId(999)).expect_err("no such node");
    assert!(refused.to_string().contains("no such node"), "{refused}");
}

#[test]
fn nodes_that_do_not_exist_are_refused_with_those_that_do() {
    let inventory = inventory();
    let refused = Mapping::on_node(&inventory, NodeId(999), Bytes(1), PageKind::Base).expect_err("no such node");
    assert!(matches!(refused, HostError::Node { node: NodeId(999), .. }), "{refused}");
    assert!(refused.to_string().contains("no such node; accepted: nodes 0"), "{refused}");
}

#[test]
fn more_memory_than_there_is_is_refused_before_it_is_touched() {
    let inventory = inventory();
    let node = first_node(&inventory);
    // The node's own figure can be smaller than what it really has: see the note on memory that does not add up.
    let text = inventory.files.text("proc/meminfo").expect("readable").expect("there");
    let total =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let size = Bytes::from_kib(total.expect("a total") + 65_536);
    let refused = Mapping::on_node(&inventory, node, size, PageKind::Base).expect_err("more than there is");
    assert!(refused.to_string().contains("MiB"), "{refused}");
    assert!(matches!(refused, HostError::Placement { .. }), "{refused}");
    let absurd = Mapping::on_node(&inventory, node, Bytes(u64::MAX), PageKind::Base);
    assert!(absurd.is_err());
}

#[test]
fn parts_are_whole_pages() {
    let inventory = inventory();
    let node = first_node(&inventory);
    let page = inventory.page_size;
    for size in [0, page.0 + 1] {
        let refused = Mapping::across(&inventory, &[(node, page), (node, Bytes(size))], PageKind::Base);
        assert!(matches!(refused, Err(HostError::Request(_))), "{size}");
    }
    assert!(matches!(Mapping::across(&inventory, &[], PageKind::Base), Err(HostError::Request(_))));
    let both =
        Mapping::across(&inventory, &[(node, page), (node, Bytes(3 * page.0))], PageKind::Base).expect("4 pages");
    assert_eq!(both.size(), Bytes(4 * page.0));
    assert_eq!(both.obtained().nodes.get(&node), Some(&both.size()));
}

#[test]
fn threads_run_where_they_are_pinned() {
    let inventory = inventory();
    std::thread::scope(|scope| {
        for cpu in inventory.usable_cpus() {
            let inventory = &inventory;
            scope.spawn(move || {
                threads::pin(cpu, inventory).expect("a usable CPU");
                let (found, node) = threads::current_cpu();
                assert_eq!(found, cpu);
                assert_eq!(inventory.node_of(cpu), Some(node));
            });
        }
    });
    let refused = threads::pin(CpuId(u16::MAX), &inventory).expect_err("no such CPU");
    assert!(refused.to_string().contains("CPU 65535 cannot be used: no such CPU; accepted: CPUs"), "{refused}");
}

/// A thread under the profile of a container that forbids the NUMA calls.
#[test]
fn where_placement_is_forbidden_a_single_node_still_serves() {
    let inventory = inventory();
    let node = first_node(&inventory);
    let outcome = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            forbid::forbid(&[libc::SYS_mbind, libc::SYS_move_pages]).expect("the kernel has seccomp filters");
            Mapping::on_node(&inventory, node, Bytes::from_mib(1), PageKind::Base)
        });
        thread.join().expect("the thread ends")
    });
    match outcome {
        Ok(mapping) => {
            assert_eq!(inventory.usable_nodes().len(), 1);
            let text = mapping.obtained().to_string();
            assert!(text.contains("there is only one node (not asked: Operation not permitted"), "{text}");
        }
        Err(error) => {
            assert!(inventory.usable_nodes().len() > 1, "{error}");
            assert!(error.to_string().contains("--cap-add SYS_NICE"), "{error}");
        }
    }
}

//! The levels of the hierarchy in words, from the latencies over areas of growing size.

use fit::caches::{LEVEL, ListLevel, levels_of_lists};
use record::Record;
use units::Bytes;

use super::list::List;

/// A sentence for each kind of pages: which areas still fit a level, and what a load in it takes. Sizes are those measured,
/// whatever a machine announces.
pub fn levels_in_words(records: &[Record]) -> Vec<String> {
    let mut kinds: Vec<&Option<String>> = Vec::new();
    for record in records.iter().filter(|record| List::of_record(record).is_some()) {
        if !kinds.contains(&&record.conditions.pages_asked) {
            kinds.push(&record.conditions.pages_asked);
        }
    }
    let sentence = |kind: &Option<String>| {
        let of_kind = records.iter().filter(|record| record.conditions.pages_asked == *kind);
        let of_kind: Vec<Record> = of_kind.cloned().collect();
        let lists: Vec<(Bytes, f64)> =
            List::dense(&of_kind).into_iter().map(|(_, list)| (list.extent, list.ns)).collect();
        let levels = levels_of_lists(&lists, None);
        let mut words: Vec<String> = levels.iter().map(level).collect();
        // Lists that take as long as another level lie beyond the last one that was found, which is not memory then.
        if let Some((last, its_words)) = levels.last().zip(words.last_mut())
            && let Some(&(largest, ns)) = lists.last().filter(|(_, ns)| *ns > LEVEL * last.ns)
        {
            *its_words = format!(
                "a level at {:.1} ns; slower beyond, {largest} at {ns:.1} ns: too few lists to tell more",
                last.ns
            );
        }
        (levels.len() > 1).then(|| {
            format!(
                "cache levels by the least samples ({} pages): {}",
                kind.as_deref().unwrap_or("its"),
                words.join("; ")
            )
        })
    };
    kinds.into_iter().filter_map(sentence).collect()
}

fn level(level: &ListLevel) -> String {
    match level.size {
        Some(size) => format!("{} (less than {}) at {:.1} ns", Bytes(size.held), Bytes(size.exceeded), level.ns),
        None => format!("memory from {:.1} ns", level.ns),
    }
}

#[cfg(test)]
mod tests {
    use bench::{Placement, Plan, SimulatedPlatform, State, Suite, SuiteScope};
    use units::{CpuId, NodeId};

    use super::*;

    /// On a machine whose caches are known, as `ccnuma bench --suite hierarchy` measures it.
    #[test]
    fn the_caches_of_a_described_machine_are_found() {
        let description = machine::load("origin2000-r10k-195-2p").expect("a description");
        let mut platform = SimulatedPlatform::new(description.clone(), sim::Options::default()).expect("simulable");
        let settings = bench::Settings { iterations: 1, array: Bytes::from_mib(16), ..bench::Settings::simulated() };
        let plans = Suite::Hierarchy.plans(bench::Platform::layout(&platform), &SuiteScope::whole(settings));
        let run = |plan: &Plan| plan.run(&mut platform).expect("a measurement").record;
        let plans: Vec<Plan> = plans.expect("a suite");
        assert_eq!(plans[0].placement, Placement::new(NodeId(0), CpuId(0), None));
        assert!(plans.iter().all(|plan| plan.state == State::Uown));
        let records: Vec<Record> = plans.iter().map(run).collect();
        let words = levels_in_words(&records);
        assert_eq!(words.len(), 1, "{words:?}");
        let first = Bytes(description.l1.size.0).to_string();
        assert!(words[0].contains(&format!("pages): {first} (less than 48 KiB) at ")), "{words:?}");
        assert!(words[0].matches(" (less than ").count() >= 2 && words[0].contains("; memory from "), "{words:?}");
        // The last lists alone lie beyond the secondary cache, too few to be a level: it is not called memory.
        let cut: Vec<Record> =
            records.into_iter().filter(|record| record.parameters.array < Some(Bytes::from_mib(8))).collect();
        let words = levels_in_words(&cut);
        assert!(!words[0].contains("memory") && words[0].contains("; slower beyond, 6 MiB at "), "{words:?}");
    }
}

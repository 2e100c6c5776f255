//! Values that fits should find, as far as a machine description holds them as values of their own. Latencies of whole paths are
//! computed by whoever simulates the machine, from the parts that it simulates.

use machine::Description;
use units::{Bytes, Duration};

/// For how long a line that is read holds the memory, in nanoseconds, its share of the refreshes included.
pub fn memory_occupancy(description: &Description) -> Option<f64> {
    let (memory, cycle) = (&description.memory, ns(description.hub.as_ref()?.clock.period()));
    let refreshing = cycle * f64::from(memory.refresh_cycles) / ns(memory.refresh_interval);
    Some(cycle * f64::from(memory.line_cycles) / (1.0 - refreshing))
}

/// Cost of a translation miss, in nanoseconds.
pub fn translation_miss(description: &Description) -> f64 {
    ns(description.tlb.miss)
}

/// The memory that one entry of the translation buffer covers.
pub fn translation_page(description: &Description) -> Bytes {
    Bytes(description.tlb.page.0 * u64::from(description.tlb.pages_per_entry))
}

/// The memory that the whole translation buffer covers: the larger of its levels.
pub fn translation_reach(description: &Description) -> Bytes {
    let entries = description.tlb.entries.max(description.tlb.second_entries);
    Bytes(translation_page(description).0 * u64::from(entries))
}

fn ns(duration: Duration) -> f64 {
    duration.as_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_near_what_was_published() {
        let arctic = machine::load("arctic").expect("built in");
        assert!((translation_miss(&arctic) - 300.0).abs() < 1e-6);
        assert_eq!(translation_reach(&arctic), Bytes::from_mib(2));
        // Prestor 2001: the memory bandwidth of section 4.3.1 is about 620 MB/s.
        let bandwidth = 128.0 / memory_occupancy(&arctic).expect("a Hub") * 1e3;
        assert!((bandwidth / 620.0 - 1.0).abs() < 0.05, "{bandwidth}");
    }

    #[test]
    fn the_occupancy_of_a_hub_is_not_made_up_for_another_controller() {
        assert_eq!(memory_occupancy(&machine::load("flash-4p").expect("a built-in family")), None);
    }
}

//! Faults that keep a program from being faster, from where it lost time.
//!
//! The classes of faults are those of the FLASH dissertation (sections 2.3 and 6): cache lines, pages and nodes that are shared
//! falsely, hot spots, misplaced data, poor blocking, communication that grows with the machine, locks, imbalance, serial time.
//! Beside those, on machines that could keep, move or copy pages, data with which that helps ([`Class::RepeatedMisses`]); where
//! an operating system shares processors out: threads that wait for one ([`Class::RunQueue`]). Every rule follows from a
//! mechanism and knows no program. What a rule finds is an estimate; whoever can run the program again tries what the finding
//! proposes ([`Trial`]), and what that gains decides ([`rank`]).

mod finding;
mod rules;
mod sight;
mod survey;

pub use finding::{Apart, Class, Finding, Trial, rank};
pub use rules::synchronising::choice;
pub use sight::Sight;
pub use survey::{LineUse, Survey, User};

use record::Attribution;

/// Findings that cost less than this share of a run's processor time are not told.
pub const WORTH_TELLING: f64 = 0.01;

/// Faults that keep a program from being faster, by their cost, dearest first. `fewer` is the same program, with the same data,
/// on fewer processors, if such a run is to be compared with: without, nothing is said about what grows.
pub fn diagnose(run: &Attribution, fewer: Option<&Attribution>) -> Vec<Finding> {
    let mut survey = Survey::new(run);
    let mut findings = rules::lines::false_sharing(&mut survey);
    findings.extend(rules::pages::placement(&survey));
    findings.extend(rules::repeated::misses(&survey));
    findings.extend(rules::touched::placement(&survey));
    findings.extend(rules::touched::residence(&survey));
    findings.extend(rules::nodes::hot_spots(&survey));
    findings.extend(rules::blocking::translation(&survey));
    findings.extend(rules::waiting::locks(&survey));
    findings.extend(rules::waiting::imbalance(&survey));
    findings.extend(rules::scheduling::migration(&survey));
    findings.extend(rules::scheduling::run_queue(&survey));
    findings.extend(fewer.and_then(|fewer| rules::growth::communication(&survey, &Survey::new(fewer))));
    for finding in &mut findings {
        finding.cost = finding.bound.map_or(finding.cost, |bound| finding.cost.min(bound));
    }
    findings.retain(|finding| finding.cost >= WORTH_TELLING || finding.cost_unknown);
    rank(&mut findings);
    findings
}

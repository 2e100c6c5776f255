//! Each rule on what shows its mechanism, and on what looks like it and is not.

use std::collections::BTreeMap;

use diagnose::{Class, Finding, Sight, Trial, diagnose};
use record::{Attribution, DataObject, Evidence, LineLoss, Losses, PageHome, ThreadTime};
use units::{CpuId, NodeId};

const LINE: u64 = 128;
const PAGE: u64 = 1024;
const TIME: f64 = 1e6;

/// A run of so many threads, each on a node of its own, that keep busy for the time that is given for each.
fn run(busy: &[f64]) -> Attribution {
    let thread = |(number, busy): (usize, &f64)| ThreadTime {
        cpu: CpuId(number as u16),
        node: NodeId(number as u16),
        time_ns: TIME,
        spent_ns: BTreeMap::from([("busy".to_owned(), *busy), ("barrier".to_owned(), TIME - busy)]),
        migrations: 0,
        node_moves: 0,
        title: None,
    };
    Attribution {
        program: "test".into(),
        machine: "machine".into(),
        time_ns: TIME,
        line_bytes: LINE,
        page_bytes: PAGE,
        threads: busy.iter().enumerate().map(thread).collect(),
        objects: vec![DataObject { name: "data".into(), start: 0, bytes: 64 * PAGE, site: None }],
        utilisation_pct: vec![10.0; busy.len()],
        ..Attribution::default()
    }
}

fn even() -> Attribution {
    run(&[TIME / 2.0; 4])
}

/// A processor loses `ns` at a line in `count` misses.
fn lose(run: &mut Attribution, cpu: u16, at: u64, of: impl Fn(&'static str) -> (u64, f64), words: (u32, u32)) {
    let page = at - at % PAGE;
    if run.page_at(page).is_none() {
        run.pages.push(PageHome { start: page, home: Some(NodeId(0)), toucher: Some(CpuId(0)) });
        run.pages.sort_by_key(|page| page.start);
    }
    run.losses.push(LineLoss {
        cpu: CpuId(cpu),
        site: 0,
        line: Some(at),
        count: Losses::from_names(|name| of(name).0),
        stalled_ns: Losses::from_names(|name| of(name).1),
        interventions: 0,
        invalidations: 0,
        read: words.0,
        written: words.1,
    });
}

fn only(what: &'static str, count: u64, ns: f64) -> impl Fn(&'static str) -> (u64, f64) {
    move |name| if name == what { (count, ns) } else { (0, 0.0) }
}

fn found(run: &Attribution) -> Vec<Finding> {
    diagnose(run, None)
}

fn classes(run: &Attribution) -> Vec<Class> {
    found(run).iter().map(|finding| finding.class).collect()
}

#[test]
fn processors_that_store_to_words_of_their_own_share_a_line_falsely() {
    let mut run = even();
    for cpu in 0..4 {
        lose(&mut run, cpu, 0, only("false-sharing", 100, TIME / 10.0), (1 << cpu, 1 << cpu));
    }
    let found = found(&run);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].class, found[0].object.as_deref()), (Class::LineFalseSharing, Some("data")));
    assert!((found[0].cost - 0.1).abs() < 1e-9);
    let Some(Trial::Separate(pieces)) = &found[0].trial else { panic!("{:?}", found[0].trial) };
    assert_eq!(
        pieces.iter().map(|piece| (piece.cpu.0, piece.words)).collect::<Vec<_>>(),
        [(0, 1), (1, 2), (2, 4), (3, 8)]
    );
}

#[test]
fn a_line_that_one_processor_stores_to_is_told_as_that() {
    let mut run = even();
    lose(&mut run, 0, 0, only("false-sharing", 100, TIME / 10.0), (0, 1));
    for cpu in 1..4 {
        lose(&mut run, cpu, 0, only("false-sharing", 100, TIME / 10.0), (1 << cpu, 0));
    }
    let found = found(&run);
    let told = &found[0].evidence;
    assert!(told.contains("; one processor writes words of a line while others read other words of it"), "{told}");
}

#[test]
fn processors_that_need_what_others_store_share_truly() {
    let mut run = even();
    for cpu in 0..4 {
        lose(&mut run, cpu, 0, only("true-sharing", 100, TIME / 10.0), (0xf, 1 << cpu));
    }
    assert!(!classes(&run).contains(&Class::LineFalseSharing));
}

#[test]
fn words_that_many_store_to_stay_where_they_are() {
    let mut run = even();
    for cpu in 0..4 {
        lose(&mut run, cpu, 0, only("false-sharing", 100, TIME / 10.0), (0, 1 | 2 << cpu));
    }
    let found = found(&run);
    let Some(Trial::Separate(pieces)) = &found[0].trial else { panic!("{found:?}") };
    assert!(pieces.iter().all(|piece| piece.words & 1 == 0), "{pieces:?}");
}

#[test]
fn pages_that_one_other_node_uses_are_misplaced() {
    let mut run = even();
    // At home on node 0, used by 1 and 2.
    lose(&mut run, 1, 0, only("capacity", 100, TIME / 4.0), (1, 1));
    lose(&mut run, 2, PAGE, only("capacity", 100, TIME / 4.0), (1, 1));
    lose(&mut run, 0, 2 * PAGE, only("capacity", 100, TIME / 8.0), (1, 1));
    let found = found(&run);
    assert_eq!(found.iter().map(|finding| finding.class).collect::<Vec<_>>(), [Class::Misplaced], "{found:?}");
    // A local miss costs half of a remote one: half of it would be saved.
    assert!((found[0].cost - 0.25 / 4.0).abs() < 1e-9, "{}", found[0].cost);
    assert_eq!(found[0].trial, Some(Trial::Place(vec![(0, NodeId(1)), (PAGE, NodeId(2))])));
}

#[test]
fn pages_of_many_that_are_all_on_one_node_share_it_falsely() {
    let mut run = run(&[TIME / 2.0; 6]);
    for cpu in 1..6 {
        lose(&mut run, cpu, u64::from(cpu) * PAGE, only("capacity", 100, TIME / 4.0), (1, 1));
    }
    assert_eq!(classes(&run), [Class::NodeFalseSharing]);
}

#[test]
fn a_page_of_which_nodes_use_different_lines_is_shared_falsely() {
    let mut run = even();
    for cpu in 0..4 {
        let lost = if cpu == 0 { TIME / 8.0 } else { TIME / 4.0 };
        lose(&mut run, cpu, u64::from(cpu) * LINE, only("capacity", 100, lost), (1, 1));
    }
    assert_eq!(classes(&run), [Class::PageFalseSharing]);
}

#[test]
fn a_page_that_all_read_is_nobodys() {
    let mut run = even();
    for (cpu, line) in (0..4).flat_map(|cpu| (0..4).map(move |line| (cpu, line))) {
        lose(&mut run, cpu, line * LINE, only("capacity", 100, TIME / 16.0), (1, 0));
    }
    assert_eq!(classes(&run), []);
}

#[test]
fn one_busy_controller_is_a_hot_spot_if_its_misses_are_dear() {
    let mut run = even();
    run.utilisation_pct = vec![90.0, 5.0, 5.0, 5.0];
    for (cpu, line) in (1..4).flat_map(|cpu| (0..16).map(move |line| (cpu, line))) {
        lose(&mut run, cpu, line * LINE, only("true-sharing", 100, TIME / 64.0), (1, 1));
    }
    run.pages.push(PageHome { start: 4 * PAGE, home: Some(NodeId(3)), toucher: None });
    for cpu in 0..3 {
        lose(&mut run, cpu, 4 * PAGE, only("true-sharing", 100, TIME / 640.0), (1, 1));
    }
    assert_eq!(classes(&run).first(), Some(&Class::HotSpot), "{:?}", found(&run));
    run.utilisation_pct = vec![90.0; 4];
    assert!(!classes(&run).contains(&Class::HotSpot), "all are busy");
}

#[test]
fn repeated_misses_on_remote_pages_name_the_mechanism_that_helps() {
    let mut run = even();
    let pages = |number: u64| PageHome { start: number * PAGE, home: Some(NodeId(0)), toucher: None };
    run.pages = (0..3).map(pages).collect();
    for cpu in 1..4 {
        // All read the first page, and store to the second.
        lose(&mut run, cpu, 0, only("conflict", 100, TIME / 16.0), (1, 0));
        lose(&mut run, cpu, PAGE, only("capacity", 100, TIME / 8.0), (1, 1));
    }
    lose(&mut run, 2, 2 * PAGE, only("capacity", 100, TIME / 4.0), (1, 1));
    let tried = |run: &Attribution| {
        let found = found(run).into_iter().filter(|finding| finding.class == Class::RepeatedMisses);
        found.map(|finding| finding.trial.expect("a mechanism").describe()).collect::<Vec<_>>()
    };
    assert_eq!(tried(&run), [""; 0], "the machine has no such mechanism");
    run.page_mechanisms = ["mig", "rep", "r-numa"].map(str::to_owned).into();
    assert_eq!(tried(&run), ["+r-numa", "+mig", "+rep"]);
    run.page_mechanisms = vec!["mig".to_owned()];
    assert_eq!(tried(&run), ["+mig"]);
}

#[test]
fn refills_are_poor_blocking() {
    let mut run = even();
    lose(&mut run, 0, 0, only("translation", 1000, TIME / 2.0), (1, 0));
    let found = found(&run);
    assert_eq!((found[0].class, found[0].cost), (Class::Blocking, 0.125));
}

#[test]
fn what_many_store_to_and_wait_for_is_a_lock_and_what_one_stores_to_is_a_flag() {
    let mut locks = even();
    for cpu in 0..4 {
        lose(&mut locks, cpu, 0, only("lock", 0, TIME / 10.0), (1, 1));
    }
    assert_eq!(classes(&locks), [Class::Locks]);
    let mut flags = run(&[TIME, 0.0, 0.0, 0.0]);
    lose(&mut flags, 0, 0, only("lock", 0, 0.0), (1, 1));
    for cpu in 1..4 {
        lose(&mut flags, cpu, 0, only("lock", 0, TIME / 10.0), (1, 0));
    }
    assert_eq!(classes(&flags), [Class::Serial]);
}

#[test]
fn work_that_is_spread_unevenly_is_imbalance_and_even_work_is_none() {
    let share = [1.0, 0.9, 0.5, 0.4].map(|share| share * TIME);
    assert_eq!(classes(&run(&share)), [Class::Imbalance]);
    assert_eq!(classes(&even()), []);
}

/// Waits for locks have a bound: the thread that waits least has its work to do, whatever becomes of the waits of the others.
#[test]
fn no_remedy_against_waiting_gains_more_than_who_waits_least() {
    let contended = |least: f64| {
        let mut run = run(&[TIME; 4]);
        for (cpu, waits) in (0..).zip([least, 0.3, 0.3, 0.3]) {
            lose(&mut run, cpu, 0, only("lock", 0, waits * TIME), (1, 1));
        }
        run
    };
    let cost = |run: &Attribution| {
        let found = found(run);
        found.iter().find(|finding| finding.class == Class::Locks).map(|locks| (locks.cost, locks.bound))
    };
    let close = |(cost, bound): (f64, Option<f64>), expected: f64| {
        (cost - expected).abs() < 1e-9 && (bound.unwrap() - expected).abs() < 1e-9
    };
    assert!(cost(&contended(0.1)).is_some_and(|told| close(told, 0.1)), "{:?}", cost(&contended(0.1)));
    // One thread never waits: the run takes as long as that one's work, whatever the locks cost the others.
    assert_eq!(cost(&contended(0.0)), None);
}

/// A thread that makes the others and waits for their end has no part of the work.
#[test]
fn a_thread_that_joins_the_others_does_not_make_their_work_uneven() {
    let joining = |busy: f64, others: [f64; 4]| {
        let mut joined = run(&[&[busy][..], &others].concat().iter().map(|share| share * TIME).collect::<Vec<_>>());
        let spent = [("busy", busy), ("idle", 1.0 - busy)].map(|(name, share)| (name.to_owned(), share * TIME));
        joined.threads[0].spent_ns = BTreeMap::from(spent);
        joined
    };
    for busy in [0.01, 0.3, 0.49] {
        assert_eq!(classes(&joining(busy, [1.0; 4])), [], "{busy}");
        // Uneven work of the others is found all the same.
        assert_eq!(classes(&joining(busy, [0.25, 1.0, 1.0, 1.0])), [Class::Imbalance], "{busy}");
    }
    // A thread that has a part of the work has too little of it; so has one that waits at a barrier, not for the end of others.
    assert_eq!(classes(&joining(0.6, [1.0; 4])), [Class::Imbalance]);
    assert_eq!(classes(&run(&[0.01 * TIME, TIME, TIME, TIME, TIME])), [Class::Imbalance]);
}

/// In each phase another thread has more to do: over the whole run all have the same, and wait all the same.
#[test]
fn imbalance_from_phase_to_phase_is_bounded_by_all_waiting() {
    let found = found(&run(&[0.62, 0.6, 0.6, 0.58].map(|share| share * TIME)));
    let [Finding { class: Class::Imbalance, cost, bound: Some(bound), .. }] = found[..] else { panic!("{found:?}") };
    assert!((cost - 0.02).abs() < 1e-9 && (bound - 0.4).abs() < 1e-9, "{found:?}");
}

#[test]
fn misses_that_multiply_with_processors_are_growing_communication() {
    let of = |threads: u16, each: u64| {
        let mut run = run(&vec![TIME / 2.0; usize::from(threads)]);
        for cpu in 0..threads {
            for line in 0..8 {
                lose(&mut run, cpu, line * LINE, only("true-sharing", each, each as f64 * 1000.0), (1, 0));
            }
        }
        run
    };
    let found = diagnose(&of(8, 50), Some(&of(2, 50)));
    assert_eq!(found[0].class, Class::Communication, "{found:?}");
    // All that is remote, the half of the time that all wait, and the work of three quarters of the threads.
    let few = diagnose(&of(8, 10), Some(&of(2, 10)));
    let remote = 7.0 * 8.0 * 10.0 * 1000.0 / (8.0 * TIME);
    assert!(few[0].bound.is_some_and(|bound| (bound - remote - 0.5 - 0.375).abs() < 1e-9), "{few:?}");
    // As many misses more, but all processors together are no longer at it than the few were.
    let made_up_for = Attribution { time_ns: 4.0 * TIME, ..of(2, 50) };
    let made_up_for = diagnose(&of(8, 50), Some(&made_up_for));
    assert!(made_up_for.iter().all(|finding| finding.class != Class::Communication), "{made_up_for:?}");
    let same = diagnose(&of(8, 50), Some(&of(8, 50)));
    assert!(same.iter().all(|finding| finding.class != Class::Communication), "{same:?}");
}

#[test]
fn threads_that_move_about_are_to_be_pinned() {
    let mut run = even();
    run.threads[1].migrations = 7;
    let found = found(&run);
    assert_eq!((found[0].class, &found[0].trial), (Class::Migration, &Some(Trial::Pin)));
}

/// Threads of a computer with two processors, each of which runs and waits for a processor so long.
fn on_computer(threads: &[(f64, f64)]) -> Attribution {
    let mut run = run(&vec![TIME; threads.len()]);
    run.usable_processors = 2;
    for (thread, (ran, waited)) in run.threads.iter_mut().zip(threads) {
        thread.title = Some(format!("p:{}", 100 + thread.cpu.0));
        thread.node = NodeId(0);
        let idle = (TIME - ran - waited).max(0.0);
        let spent = [("busy", *ran), ("waiting for a CPU", *waited), ("idle", idle)];
        thread.spent_ns = spent.into_iter().map(|(name, ns)| (name.to_owned(), ns)).collect();
    }
    run
}

#[test]
fn threads_that_wait_for_a_processor_are_a_finding_with_its_cost() {
    let run = on_computer(&[(TIME / 3.0, TIME * 0.67); 6]);
    let found = found(&run);
    assert_eq!(found[0].class, Class::RunQueue, "{found:?}");
    assert!((found[0].cost - 0.67).abs() < 1e-9, "{found:?}");
    assert!(found[0].evidence.contains("spent 67.0 % of their time in the run queue"), "{}", found[0].evidence);
    assert!(
        found[0].remedy.contains("at most as many threads as there are usable processors, 2 processors"),
        "{}",
        found[0].remedy
    );
    let few = diagnose(&on_computer(&[(TIME / 2.0, TIME / 2.0); 2]), None);
    assert!(few[0].remedy.contains("reserve the processors"), "two threads on two processors: {few:?}");
    assert_eq!(classes(&on_computer(&[(TIME, 0.005 * TIME); 2])), [], "half a percent is not worth a word");
}

#[test]
fn threads_of_a_computer_that_seldom_change_processors_lose_nothing_by_it() {
    // A millisecond of running each: seven changes are thousands a second.
    let mut run = on_computer(&[(TIME, 0.0); 2]);
    run.threads[1].migrations = 7;
    let often = found(&run);
    assert_eq!((often[0].class, &often[0].trial), (Class::Migration, &None), "{often:?}");
    for thread in &mut run.threads {
        thread.spent_ns.insert("busy".to_owned(), 1e9);
    }
    assert_eq!(classes(&run), [], "seven times in two seconds");
    run.threads[0].node_moves = 1;
    assert_eq!(classes(&run), [Class::Migration], "but to another node");
}

#[test]
fn no_finding_is_claimed_for_what_could_not_be_examined() {
    let everything = Sight::of(&even(), true);
    assert_eq!((everything.limits(), everything.nothing_found().as_str()), (None, "no finding above 1 % of the time"));
    let mut run = on_computer(&[(TIME, 0.0); 2]);
    for (evidence, why) in [(Evidence::Misses, "no precise events"), (Evidence::Locks, "locks do not show")] {
        run.unseen.insert(evidence, why.to_owned());
    }
    let sight = Sight::of(&run, false);
    assert!(sight.nothing_found().starts_with("no finding above 1 % of the time; examined: misplaced data"));
    assert!(sight.nothing_found().contains("run-queue wait"), "{}", sight.nothing_found());
    let limits = sight.limits().expect("some");
    for part in [
        "not examined: cache-line false sharing, page-level false sharing, node-level false sharing, hot spot (no precise events)",
        "growing communication (needs a run on fewer processors)",
        "lock contention, costly synchronisation (locks do not show)",
    ] {
        assert!(limits.contains(part), "{limits}");
    }
    // Any kind of evidence for it is enough, and without all there is none.
    run.unseen.insert(Evidence::Touches, "no faults".to_owned());
    assert!(Sight::of(&run, false).examined.contains(&Class::Misplaced));
    run.unseen.insert(Evidence::Residence, "no maps".to_owned());
    assert!(!Sight::of(&run, false).examined.contains(&Class::Misplaced));
}

#[test]
fn nothing_at_all_is_no_finding() {
    assert_eq!(found(&Attribution::default()), []);
}

/// Whoever comes last to a barrier waits for nobody: what all spend there, the barrier costs.
#[test]
fn dear_barriers_and_locks_are_told_where_others_can_be_had() {
    let dear = run(&[TIME * 0.7, TIME * 0.6, TIME * 0.4]);
    let found = diagnose::choice(&dear, "own", "own");
    assert_eq!((found.len(), found[0].class), (1, Class::Synchronisation));
    assert!((found[0].cost - 0.3).abs() < 1e-9, "the thread that waits least: {}", found[0].cost);
    assert_eq!(found[0].trial, Some(Trial::Synchronise("barrier", "tree")));
    assert!(diagnose::choice(&dear, "tree", "own").is_empty() && diagnose::choice(&dear, "ideal", "own").is_empty());
    // One thread has all the work: the others wait for it, and no barrier is faster.
    assert!(diagnose::choice(&run(&[TIME, 0.1 * TIME, 0.1 * TIME]), "own", "own").is_empty());
    let mut locked = even();
    for thread in &mut locked.threads {
        thread.spent_ns = BTreeMap::from([("busy".to_owned(), TIME / 2.0), ("lock".to_owned(), TIME / 2.0)]);
    }
    let found = diagnose::choice(&locked, "own", "own");
    assert_eq!((found.len(), found[0].cost_unknown), (1, true), "only a run with others tells");
    assert_eq!(found[0].trial, Some(Trial::Synchronise("locks", "queue")));
    assert!(diagnose::choice(&locked, "own", "queue").is_empty());
}

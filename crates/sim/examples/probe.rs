use sim::{Options, Program, Simulator, Thread};
use units::{Bytes, CpuId, NodeId};
fn prog(f: impl FnOnce(&mut Thread<'_>) + 'static) -> Program {
    Box::new(f)
}
fn desc(protocol: &str) -> machine::Description {
    let name = std::env::args().nth(1).unwrap_or("flash-64p".into());
    let mut d = machine::load(&name).unwrap();
    d.directory.as_mut().unwrap().protocol = protocol.into();
    d
}
fn lat(protocol: &str, req: u16, home: u16, owner: Option<u16>) -> f64 {
    let mut s = Simulator::new(&desc(protocol), Options { check_loads: true, ..Options::default() }).unwrap();
    const N: u64 = 512;
    let base = s.allocate(NodeId(home), Bytes(N * 128)).unwrap();
    s.run(vec![(
        CpuId(req),
        prog(move |t| {
            for i in 0..N {
                t.load_dependent(base.offset(i * 128));
            }
            t.drop_caches();
            for i in 0..4 {
                t.load(base.offset(i * 16384));
            }
            t.drain();
        }),
    )])
    .unwrap();
    if let Some(o) = owner {
        s.run(vec![(
            CpuId(o),
            prog(move |t| {
                for i in 4..N {
                    t.store_dependent(base.offset(i * 128));
                    t.drain();
                }
            }),
        )])
        .unwrap();
    }
    let r = s
        .run(vec![(
            CpuId(req),
            prog(move |t| {
                for i in 4..N {
                    t.load_dependent(base.offset(i * 128));
                }
                t.drain();
            }),
        )])
        .unwrap();
    s.check_coherence().unwrap();
    if std::env::var("STATS").is_ok() {
        for n in [req, home, owner.unwrap_or(home)] {
            println!("{n}: {:#?}", s.statistics(NodeId(n)).unwrap());
        }
    }
    let tlb = r[0].counters.translation_misses as f64 * 300.0;
    (r[0].finished.since(r[0].started).as_ns() - tlb) / r[0].counters.secondary_misses as f64 * 0.225
}
fn upgrade(protocol: &str, sharers: usize, seed: u64) -> f64 {
    let mut d = desc(protocol);
    d.processor.outstanding_misses = 1;
    d.processor.outstanding_stores = 1;
    d.processor.outstanding_upgrades = 1;
    let mut s = Simulator::new(&d, Options::default()).unwrap();
    let n: u64 = std::env::var("LINES").map_or(128, |v| v.parse().unwrap());
    #[allow(non_snake_case)]
    let N = n;
    let base = s.allocate(NodeId(0), Bytes(N * 128)).unwrap();
    let mut x = seed * 2 + 1;
    let mut set = Vec::new();
    while set.len() < sharers {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let n = ((x >> 33) % 63 + 1) as u16;
        if !set.contains(&n) {
            set.push(n);
        }
    }
    // one after another, as snbench prepares
    let mut all: Vec<u16> = set.clone();
    all.insert(0, 0);
    for n in all {
        s.run(vec![(
            CpuId(n),
            prog(move |t| {
                for i in 0..N {
                    t.load(base.offset(i * 128));
                }
            }),
        )])
        .unwrap();
    }
    let r = s
        .run(vec![(
            CpuId(0),
            prog(move |t| {
                for i in 0..N {
                    t.store(base.offset(i * 128));
                }
                t.drain();
            }),
        )])
        .unwrap();
    let tlb = r[0].counters.translation_misses as f64 * 300.0;
    (r[0].finished.since(r[0].started).as_ns() - tlb) / N as f64 * 0.225
}
fn main() {
    let what = std::env::args().nth(2).unwrap_or("read".into());
    if what == "read" || what == "all" {
        for p in ["cv=2", "dynamic-pointer", "hybrid"] {
            let max = |f: &dyn Fn(u16) -> f64| [17u16, 33, 49].iter().map(|&h| f(h)).fold(0.0, f64::max);
            println!(
                "{p:16} local {:6.1} remote {:6.1} (meta {:6.1}) - {:6.1}  three-hop {:6.1} - {:6.1} (owner mid {:6.1})",
                lat(p, 0, 0, None),
                lat(p, 0, 1, None),
                lat(p, 0, 5, None),
                max(&|h| lat(p, 0, h, None)),
                lat(p, 0, 1, Some(2)),
                max(&|h| lat(p, 0, h, Some(h + 1))),
                max(&|h| lat(p, 0, h, Some(h ^ 48)))
            );
        }
        println!("paper            local 135 remote 303-483 | 303-489 | 306-483; three 588-720 | 645-720 | 696-909");
    }
    if what == "one" {
        println!("{}", lat(&std::env::args().nth(3).unwrap(), 0, 33, Some(34)));
    }
    if what == "upgrade" || what == "all" {
        for n in [1usize, 2, 3, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 60] {
            let avg = |p: &str| (0..4).map(|s| upgrade(p, n, s)).sum::<f64>() / 4.0;
            println!(
                "{n:3} cv=2 {:8.1} dyn {:8.1} hybrid {:8.1}  bitvec {:8.1}",
                avg("cv=2"),
                avg("dynamic-pointer"),
                avg("hybrid"),
                avg("bit-vector")
            );
        }
    }
}

//! Scratch.
use protocol::Access;
use verify::{Config, Outcome};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let name = &args[1];
    if args.get(2).is_some_and(|arg| arg == "litmus") {
        let protocol = verify::protocol(name).unwrap();
        for litmus in verify::Litmus::every() {
            match protocol.run_litmus(&litmus) {
                Ok(run) => match run.outcome {
                    Outcome::Ok => println!("{name} {} ok {} states {:?}", litmus.name, run.states, run.time),
                    Outcome::Counterexample(trace) => println!("{name} {}: {:?}", litmus.name, trace.violation),
                },
                Err(error) => println!("{name} {}: {error}", litmus.name),
            }
        }
        for litmus in
            verify::Litmus::REORDERED.map(|litmus| verify::Litmus { allowed: verify::Order::Sequential, ..litmus })
        {
            if let Outcome::Counterexample(trace) = protocol.run_litmus(&litmus).unwrap().outcome {
                println!("{name} {} relaxed: {:?}", litmus.name, trace.violation);
            }
        }
        return;
    }
    if args.len() == 2 {
        let protocol = verify::protocol(name).unwrap();
        for fault in (protocol.faults)() {
            let config = Config { mutation: Some(fault.name), state_limit: 3_000_000, ..fault.config.clone() };
            match protocol.run(&config) {
                Ok(run) => match run.outcome {
                    Outcome::Ok => println!("{name} {} NOT FOUND {}", fault.name, run.states),
                    Outcome::Counterexample(trace) if trace.violation.property != fault.breaks => println!(
                        "{name} {}: {:?} instead of {:?} {}",
                        fault.name, trace.violation.property, fault.breaks, trace.violation.detail
                    ),
                    Outcome::Counterexample(_) => println!("{name} {} good", fault.name),
                },
                Err(error) => println!("{name} {}: {error}", fault.name),
            }
        }
        return;
    }
    let (caches, per, lines): (u16, u16, u16) =
        (args[2].parse().unwrap(), args[3].parse().unwrap(), args[4].parse().unwrap());
    let accesses = match args.get(5).map(String::as_str) {
        Some("store") => vec![Access::Store],
        Some("all") => {
            vec![Access::Load, Access::InstructionFetch, Access::Store, Access::WritePrefetch, Access::UncachedRead]
        }
        _ => vec![Access::Load, Access::Store],
    };
    let config = Config { accesses, processors_per_node: per, ..Config::new(caches, lines) };
    let protocol = verify::protocol(name).unwrap();
    match protocol.run(&config) {
        Ok(run) => match run.outcome {
            Outcome::Ok => println!(
                "{name} {caches} {per} {lines}: ok {} states {} transitions depth {} in {:?} {} MB",
                run.states,
                run.transitions,
                run.depth,
                run.time,
                run.memory >> 20
            ),
            Outcome::Counterexample(trace) => {
                println!("{name}: {} states: {:?}", run.states, trace.violation);
                let n = trace.steps.len();
                for (i, step) in trace.steps.iter().enumerate() {
                    println!("  {:3} {:70} {}", i + 1, step.step, if i + 9 > n { step.state.as_str() } else { "" });
                }
            }
        },
        Err(error) => println!("{error}"),
    }
}

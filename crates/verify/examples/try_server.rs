//! Scratch.
use protocol::Access;
use verify::{Config, Outcome};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let name = &args[1];
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

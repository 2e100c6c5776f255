//! Host speed of whole programs: references a host-second on the machines whose speed has a floor.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use experiments::Simulation;
use experiments::variant;
use workloads::{Settings, Workload};

/// Programs with the machines that they run on, on all processors.
const RUNS: [(&str, &str); 6] = [
    ("fft", "arctic"),
    ("radix", "arctic"),
    ("fft", "xeon-8180-2s"),
    ("radix", "xeon-8180-2s"),
    ("ocean", "xeon-8180-2s"),
    ("mp3d", "sci-ring-16p"),
];

/// References that a measured time stands for, so that nanoseconds are fine enough.
const REFERENCES: u64 = 1000;

/// The time of a run by its references, those of initialisation included: the looks of spin loops, which are counted together, are not.
fn programs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("programs");
    group.sample_size(10).throughput(Throughput::Elements(REFERENCES));
    for (program, machine) in RUNS {
        let description = variant::load(machine).expect("a machine");
        let workload = Workload::new(program, &Settings::default()).expect("a program");
        let simulation = Simulation::new(description, workload, None, sim::Options::default()).expect("it fits");
        group.bench_function(format!("{program} on {machine}"), |bencher| {
            bencher.iter_custom(|iterations| {
                // One run has millions of references.
                let run = simulation.run().expect("a run");
                run.took.mul_f64((REFERENCES * iterations) as f64 / run.references as f64)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, programs);
criterion_main!(benches);

//! Time of a sample of ten objects, from registers that cost nothing and from this computer's kernel. The bar is 20
//! microseconds.

use std::hint::black_box;
use std::process::Command;

use criterion::{Criterion, criterion_group, criterion_main};
use host::discovery::{Inventory, KernelFiles};
use profile::linux::{Wanted, sources};
use profile::{CounterSource, Reading, Sampler, Sources};
use trace::{Counter, Object, ObjectKind, Preamble, Register, SourceDescription, TraceWriter};

/// Ten nodes of eight counters each, all of them narrow: what the sampler itself takes.
struct Registers {
    counters: Vec<Counter>,
    objects: Vec<Object>,
    time_ns: u64,
}

impl CounterSource for Registers {
    fn describe(&self) -> SourceDescription {
        SourceDescription::default()
    }
    fn counters(&self) -> &[Counter] {
        &self.counters
    }
    fn objects(&self) -> &[Object] {
        &self.objects
    }
    fn now(&mut self) -> u64 {
        self.time_ns
    }
    fn read(&mut self, readings: &mut [Reading]) {
        self.time_ns += 1_000_000;
        let time = self.time_ns;
        readings.iter_mut().enumerate().for_each(|(i, reading)| *reading = Reading::of((time + i as u64) & 0xf_ffff));
    }
}

fn samples(criterion: &mut Criterion, name: &str, source: &mut dyn CounterSource) {
    let counters = source.counters().to_vec();
    let mut sampler = Sampler::new(&counters, Some(1_000_000));
    let mut writer = TraceWriter::new(std::io::sink(), &Preamble::default(), &counters).expect("a sink");
    sampler.refresh(source, &mut writer).expect("a sink");
    criterion.bench_function(&format!("{name}, {} objects", source.objects().len()), |bencher| {
        bencher.iter(|| sampler.sample(black_box(source), &mut writer).expect("a sink"));
    });
}

fn registers(criterion: &mut Criterion) {
    let counter = |i: usize| {
        let register = Register::Wrapping { width: 20 };
        Counter::with(ObjectKind::Node, &format!("c{i}"), "", "", register).at_most(1e8)
    };
    let objects = (0..10).map(|node| Object::node(node, "")).collect();
    let mut source = Registers { counters: (0..8).map(counter).collect(), objects, time_ns: 0 };
    samples(criterion, "registers", &mut source);
}

/// This computer, read each time, but for what is read every 100 ms at most.
fn kernel(criterion: &mut Criterion) {
    let mut nodes = computer(&Wanted::default());
    samples(criterion, "this computer's nodes and machine", &mut nodes);
    let mut sleepers: Vec<_> =
        (0..5).map(|_| Command::new("sleep").arg("600").spawn().expect("sleep can be run")).collect();
    let mut threads = computer(&Wanted { descendants: true, ..Wanted::default() });
    threads.refresh();
    samples(criterion, "threads and processes besides", &mut threads);
    for sleeper in &mut sleepers {
        sleeper.kill().and_then(|()| sleeper.wait()).expect("a child");
    }
}

fn computer(wanted: &Wanted) -> Sources {
    let files = KernelFiles::live();
    let inventory = Inventory::discover(&files).expect("a computer");
    sources(&files, &inventory, wanted).expect("no events").at_any_cost()
}

criterion_group!(benches, registers, kernel);
criterion_main!(benches);

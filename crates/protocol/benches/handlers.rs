//! Host speed of the MSI home: handlers per second, for every base of the catalogue.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use protocol::Version;
use protocol::msi::catalogue::{Named, Sizes, Visitor, names, resolve};
use protocol::msi::{Agent, Entry, HomeContext, HomeOutcome, Message, MessageKind, SharingSet, Site, Variant, home};
use units::{LineAddr, NodeId};

const HOME: NodeId = NodeId(5);
/// Lines of the home: their entries exceed the host's first-level cache.
const LINES: u64 = 4096;
/// Sharers of a line when it is written: few, as for most writes (FLASH dissertation, Section 5.3.1).
const SHARERS: u16 = 6;
/// Sizes of stores that are never exhausted.
const SIZES: Sizes = Sizes { nodes: 64, links: 16 * LINES as u32, vectors: LINES as u32 };

/// A home whose messages are all answered at once.
struct Machine<S: SharingSet> {
    set: S,
    context: HomeContext,
    store: S::Store,
    entries: Vec<Entry<S::Header>>,
    memory: Version,
    handlers: u64,
}

impl<S: SharingSet> Machine<S> {
    /// Runs one handler and returns the number of acknowledgements that it requires.
    #[inline]
    fn handle(&mut self, line: u64, kind: MessageKind, node: u16) -> u64 {
        let message = Message::new(kind, LineAddr(line), Agent::Home(HOME), NodeId(node));
        let mut acknowledgements = 0;
        let handled = home(
            &self.set,
            &mut self.entries[line as usize],
            &mut self.store,
            &mut self.memory,
            &message,
            &self.context,
            &mut |message, _| acknowledgements += u64::from(black_box(message).kind == MessageKind::Invalidate),
        );
        assert!(matches!(handled, Ok(HomeOutcome::Done(_))), "the stores are large enough");
        self.handlers += 1;
        for _ in 0..acknowledgements {
            self.handle(line, MessageKind::InvalidateAcknowledge, node);
        }
        acknowledgements
    }

    /// Lifetime of a line: some nodes read it, one of them drops it, one writes it, another takes it over and writes it
    /// back.
    fn lifetime(&mut self, line: u64) {
        let sharer = |index: u16| (line as u16).wrapping_mul(29).wrapping_add(index * 11) % SIZES.nodes;
        (0..SHARERS).for_each(|index| {
            self.handle(line, MessageKind::Get, sharer(index));
        });
        if self.set.replacement_hints() {
            self.handle(line, MessageKind::ReplacementHint, sharer(2));
        }
        self.handle(line, MessageKind::Upgrade, sharer(1));
        self.handle(line, MessageKind::GetExclusive, sharer(0));
        self.handle(line, MessageKind::OwnershipTransfer, sharer(0));
        self.handle(line, MessageKind::Writeback, sharer(0));
    }

    fn lifetimes(&mut self) -> u64 {
        self.handlers = 0;
        (0..LINES).for_each(|line| self.lifetime(line));
        self.handlers
    }
}

/// Measurement of one protocol.
struct Measure<'a, 'c>(&'a mut BenchmarkGroup<'c, WallTime>);

impl Visitor for Measure<'_, '_> {
    type Output = ();

    fn visit<S: SharingSet>(self, set: S, named: Named) {
        let context = HomeContext { site: Site { home: HOME, nodes: SIZES.nodes }, variant: named.variant };
        let entries = vec![Entry::default(); LINES as usize];
        let mut machine = Machine { store: set.store(), set, context, entries, memory: Version(0), handlers: 0 };
        let handlers = machine.lifetimes();
        self.0.throughput(Throughput::Elements(handlers));
        self.0.bench_function(named.name, |bencher| bencher.iter(|| machine.lifetimes()));
    }
}

/// Whether a name is a base without variants.
struct IsBase;

impl Visitor for IsBase {
    type Output = bool;

    fn visit<S: SharingSet>(self, _: S, named: Named) -> bool {
        named.variant == Variant::default() && !named.remote_access_cache
    }
}

fn handlers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("home");
    group.sample_size(20);
    for name in names().filter(|name| resolve(name, SIZES, IsBase).unwrap()) {
        resolve(name, SIZES, Measure(&mut group)).unwrap();
    }
    group.finish();
}

criterion_group!(benches, handlers);
criterion_main!(benches);

//! Events come back as they were, few bytes are spent on what a loop does, and no bytes lead the decoder astray.

use proptest::prelude::*;

use super::*;
use crate::event::AccessKind;

fn any_event() -> impl Strategy<Value = Event> {
    let kind = prop_oneof![
        Just(AccessKind::Load),
        Just(AccessKind::Store),
        Just(AccessKind::PrefetchShared),
        Just(AccessKind::PrefetchExclusive)
    ];
    let address = prop_oneof![any::<u64>(), (0..50_u64).prop_map(|place| 0x7000 + 8 * place)];
    let access = (kind, any::<bool>(), prop_oneof![Just(8), any::<u8>()], address);
    prop_oneof![
        4 => access.prop_map(|(kind, dependent, bytes, address)| Event::Access(Access {
            kind,
            dependent,
            bytes,
            address
        })),
        1 => prop_oneof![0..3_u32, any::<u32>()].prop_map(Event::Instructions),
        1 => any::<u32>().prop_map(Event::Work),
        1 => Just(Event::Barrier),
        1 => (any::<u64>(), any::<u32>()).prop_map(|(address, changes)| Event::Await { address, changes }),
        1 => any::<u64>().prop_map(|address| Event::Change { address }),
        1 => any::<bool>().prop_map(Event::Measure),
        1 => prop_oneof![0..3_u64, any::<u64>()].prop_map(Event::Site),
    ]
}

/// A loop around a piece of program, of which parts are left out now and then.
fn any_program() -> impl Strategy<Value = Vec<Event>> {
    let body = proptest::collection::vec((any_event(), -64..64_i64, any::<u8>()), 0..12);
    (body, 0..40_u64).prop_map(|(body, rounds)| {
        let round = |round: u64| {
            let taken =
                body.iter().filter(move |(_, _, rare)| *rare > 200 || !(round + u64::from(*rare)).is_multiple_of(3));
            taken.map(move |&(event, stride, _)| match event {
                Event::Access(access) => {
                    let step = (stride as u64).wrapping_mul(round);
                    Event::Access(Access { address: access.address.wrapping_add(step), ..access })
                }
                other => other,
            })
        };
        (0..rounds).flat_map(round).collect()
    })
}

/// The blocks that an encoder makes of events, one after so many.
fn blocks(events: &[Event], every: usize) -> Vec<(u32, Vec<u8>)> {
    let (mut encoder, mut blocks) = (Encoder::default(), Vec::new());
    for events in events.chunks(every) {
        for &event in events {
            encoder.encode(event);
        }
        encoder.hand_over(|steps, bytes| blocks.push((steps, bytes.to_vec())));
    }
    encoder.finish(|steps, bytes| blocks.push((steps, bytes.to_vec())));
    blocks
}

/// Their events.
fn decoded(blocks: &[(u32, Vec<u8>)]) -> Vec<Event> {
    let (mut decoder, mut all, mut site) = (Decoder::default(), Vec::new(), 0);
    for (steps, bytes) in blocks {
        let mut left = &bytes[..];
        for _ in 0..*steps {
            let step = decoder.next(&mut left).expect("a step");
            all.extend(step.events(site));
            site = step.site();
        }
        assert!(left.is_empty() && decoder.is_between_tokens());
    }
    all
}

fn bytes_of(events: impl Iterator<Item = Event>) -> usize {
    blocks(&events.collect::<Vec<_>>(), usize::MAX).iter().map(|(_, bytes)| bytes.len()).sum()
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        events in proptest::collection::vec(any_event(), 0..200), every in 1..100_usize,
    ) {
        prop_assert_eq!(decoded(&blocks(&events, every)), events);
    }

    #[test]
    fn what_loops_do_is_decoded(events in any_program(), every in 1..300_usize) {
        prop_assert_eq!(decoded(&blocks(&events, every)), events);
    }

    /// Whatever the bytes are, each step comes from them or from the run before it, and a cut leads to no other steps.
    #[test]
    fn bytes_that_are_no_events_end_the_decoding(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..200_usize) {
        let steps = |bytes: &[u8]| {
            let (mut decoder, mut left) = (Decoder::default(), bytes);
            let steps: Vec<Step> = (0..5000).map_while(|_| decoder.next(&mut left)).collect();
            prop_assert!(bytes.ends_with(left));
            Ok(steps)
        };
        let (whole, part) = (steps(&bytes)?, steps(&bytes[..cut.min(bytes.len())])?);
        prop_assert!(whole.starts_with(&part));
    }
}

fn load(address: u64) -> Event {
    Event::Access(Access { kind: AccessKind::Load, dependent: false, bytes: 8, address })
}

fn store(address: u64) -> Event {
    Event::Access(Access { kind: AccessKind::Store, dependent: false, bytes: 8, address })
}

/// As instrumented code announces it: each reference with its site and the instructions before it.
fn statement(place: u64, event: Event) -> [Event; 3] {
    [Event::Instructions(place as u32 % 5 + 1), Event::Site(0x40_1000 + 16 * place), event]
}

#[test]
fn a_loop_over_arrays_takes_a_few_bytes_however_long_it_runs() {
    let round = |index: u64| {
        let events = [load(0x10_0000 + 8 * index), load(0x90_0000 + 24 * index), store(0x200_0000 + 4096 * index)];
        (1..).zip(events).flat_map(|(place, event)| statement(place, event))
    };
    let bytes = |rounds| bytes_of((0..rounds).flat_map(round));
    assert!(bytes(1000) < 100, "{}", bytes(1000));
    assert!(bytes(100_000) <= bytes(1000) + 3, "{}", bytes(100_000));
}

/// Every row costs a token for the step to it and one for the way there.
#[test]
fn nested_loops_take_bytes_by_row_and_not_by_reference() {
    let row = |row: u64| {
        let reference = move |column: u64| statement(1, load((row << 16) + 8 * column));
        (0..512).flat_map(reference).chain(statement(2, store(0x900_0000 + 8 * row)))
    };
    let bytes = bytes_of((0..256).flat_map(row));
    assert!(bytes < 256 * 12, "{bytes} bytes for 256 rows of 512 references");
}

/// Two fields of records in no order: the second is where it is from the first.
#[test]
fn a_field_is_foretold_from_another_of_its_record() {
    let record = |number: u64| number * number % 100_003 * 64;
    let both =
        |number| [statement(1, load(record(number))), statement(2, load(record(number) + 24))].into_iter().flatten();
    let one = |number| statement(1, load(record(number)));
    let (both, one) = (bytes_of((0..10_000).flat_map(both)), bytes_of((0..10_000).flat_map(one)));
    assert!(both < one + one / 10, "{both} bytes for both fields, {one} for one");
}

/// Built-in programs are recorded without sites: what a loop does next follows from what it did.
#[test]
fn a_loop_without_sites_is_foretold() {
    let round = |index: u64| {
        let at = 0x10_0000 + 8 * index;
        [load(at), load(0x90_0000 + 8 * index), Event::Work(3), store(at), Event::Instructions(2), load(at + 8)]
    };
    let bytes = |rounds| bytes_of((0..rounds).flat_map(round));
    assert!(bytes(100_000) <= bytes(1000) + 3, "{} and {}", bytes(1000), bytes(100_000));
}

/// A stencil over several arrays, all of whose loads are alike.
#[test]
fn loads_that_are_alike_are_foretold_by_their_number() {
    let round = |index: u64| {
        let loads = (0..9).map(move |array: u64| load((array << 20) + 8 * index + 16 * (array % 3)));
        loads.chain([Event::Instructions(25), store(0x100_0000 + 8 * index), store(0x110_0000 + 8 * index)])
    };
    let bytes = |rounds| bytes_of((0..rounds).flat_map(round));
    assert!(bytes(100_000) <= bytes(1000) + 3, "{} and {}", bytes(1000), bytes(100_000));
}

#[test]
fn addresses_in_no_order_take_their_differences() {
    let bytes = bytes_of((0..10_000).flat_map(|number: u64| statement(1, load(number * number % 100_003 * 8))));
    assert!(bytes < 45_000, "four bytes and a half each, not {bytes} for ten thousand");
}

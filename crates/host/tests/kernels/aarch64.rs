//! The AArch64 kernels, disassembled by disarm64, hold the instructions they should, and no others.

use host::kernels::{Architecture, Features, Link, Operation, Role, Stores, assemble};
use units::Bytes;

use crate::disassembly::{Listing, texts};

const NEW: Features = Features { clflushopt: false, prefetchw: false, avx2: false, lse: true };
const OLD: Features = Features { lse: false, ..NEW };

fn listing(operation: Operation, stride: u64, features: &Features) -> Listing {
    let code = assemble(Architecture::AArch64, operation, Bytes(stride), features).unwrap();
    let instructions = code
        .chunks(4)
        .map(|bytes| {
            let word = u32::from_le_bytes(bytes.try_into().expect("instructions have four bytes"));
            let instruction = disarm64::decoder::decode(word)
                .unwrap_or_else(|| panic!("{operation:?}: {word:#010x} is no instruction"));
            let text = instruction.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(!text.starts_with("udf"), "{operation:?} holds an instruction that is undefined for good");
            text
        })
        .collect();
    Listing { instructions, clock: "mrs x12, cntvct_el0", touches_elements }
}

/// Elements are reached by the moving registers; the frame by `x0`, the stop flag by `x4`.
fn touches_elements(text: &str) -> bool {
    text.starts_with("sys") || ["[x1", "[x9", "[x12"].iter().any(|base| text.contains(base))
}

/// An offset as the disassembler prints it for pairs.
fn at(base: &str, offset: usize) -> String {
    if offset == 0 { format!("[{base}]") } else { format!("[{base}, #{offset}]") }
}

#[test]
fn dependent_kernels_have_a_load_and_their_additions() {
    for (work, group) in [(0, 32), (1, 32), (7, 32), (29, 32), (64, 15), (256, 3), (4096, 1)] {
        let mut step = texts(["ldr x1, [x1]"]);
        step.extend(vec!["add x1, x1, x7".to_owned(); work as usize]);
        listing(Operation::Walk { work }, 64, &NEW).check(group, 1, 0, |_| step.clone());

        step.splice(0..0, texts(["prfum pstl1keep, [x1]", "str x6, [x1, #0x8]"]));
        listing(Operation::Modify { work }, 64, &NEW).check(group, 1, 0, |_| step.clone());
    }
}

#[test]
fn atomic_kernels_change_word_one_and_then_follow_the_pointer() {
    let follow = "ldr x1, [x1]";
    let step = texts(["add x12, x1, #0x8", "orr x9, xzr, x6", "casal x9, x6, [x12]", follow]);
    listing(Operation::CompareExchange, 64, &NEW).check(8, 1, 0, |_| step.clone());

    let listing = listing(Operation::CompareExchange, 64, &OLD);
    let count = |text: &str| listing.timed().iter().filter(|line| line.starts_with(text)).count();
    assert_eq!((count("ldaxr x9, [x12]"), count("stlxr w10"), count(follow)), (9, 9, 9));
}

#[test]
fn independent_kernels_have_one_access_a_step() {
    let next = "add x1, x1, x5";
    for stride in [64, 1 << 40] {
        let sum = |k: usize| {
            let sum = 9 + k % 3;
            texts(["ldr x12, [x1]", &format!("add x{sum}, x{sum}, x12"), next])
        };
        listing(Operation::Sum, stride, &NEW).check(16, 1, 0, sum);
        for (operation, access) in [
            (Operation::Fill, "str x6, [x1, #0x8]"),
            (Operation::TouchStore, "str x6, [x1, #0x8]"),
            (Operation::TouchLoad, "ldr x9, [x1]"),
            // DC CIVAC: op1 3, CRn 7, CRm 14, op2 1.
            (Operation::Flush, "sys #3, c7, c14, #1, x1"),
        ] {
            listing(operation, stride, &NEW).check(8, 1, 0, |_| texts([access, next]));
        }
        let shared = texts(["prfum pldl1keep, [x1]", "ldr x9, [x1]", next]);
        listing(Operation::TouchShared, stride, &NEW).check(8, 1, 0, |_| shared.clone());
    }
}

#[test]
fn prefetching_kernels_prefetch_each_element_once() {
    for (operation, hint) in
        [(Operation::SumPrefetched { ahead: 8 }, "pldl1keep"), (Operation::SumNonTemporal { ahead: 8 }, "pldl1strm")]
    {
        let listing = listing(operation, 64, &NEW);
        let step = |k: usize| {
            let sum = 9 + k % 3;
            let add = format!("add x{sum}, x{sum}, x12");
            texts([&format!("prfm {hint}, [x1, x15]"), "ldr x12, [x1]", &add, "add x1, x1, x5"])
        };
        // The first elements are prefetched by a loop of their own, the last ones are only loaded.
        listing.check(16, 1, 1 + 17, step);
        assert!(listing.timed().contains(&format!("prfum {hint}, [x16]")));
    }
}

#[test]
fn one_sum_is_unrolled_and_what_reads_and_writes_is_not() {
    let sum = texts(["ldr x12, [x1]", "add x9, x9, x12", "add x1, x1, x5"]);
    listing(Operation::ReadUse, 64, &NEW).check(8, 1, 0, |_| sum.clone());
    let step = texts(["ldr d0, [x1]", "fmul d0, d0, d0", "fsub d0, d0, d31", "str d0, [x1]"]);
    let listing = listing(Operation::ReadModifyWrite, 64, &NEW);
    listing.check(1, 1, 0, |_| step.clone());
    let looped = [step, texts(["add x1, x1, x5", "subs x2, x2, #0x1"])].concat();
    let at = listing.timed().windows(looped.len()).position(|window| window == looped).expect("index and count follow");
    assert!(listing.timed()[at + looped.len()].starts_with("b.ne"), "a branch ends the loop");
}

#[test]
fn streaming_kernels_use_pairs_of_vectors() {
    let line = |step: fn(usize) -> Vec<String>| move |k: usize| [step(k * 64), step(k * 64 + 32)].concat();
    let check = |operation, step: fn(usize) -> Vec<String>| listing(operation, 64, &NEW).check(8, 1, 0, line(step));
    let (plain, past) = (Stores::Plain, Stores::NonTemporal);
    check(Operation::Copy { stores: past }, |o| {
        vec![format!("ldp q0, q1, {}", at("x13", o)), format!("stnp q0, q1, {}", at("x1", o))]
    });
    check(Operation::Scale { stores: plain }, |o| {
        vec![
            format!("ldp q0, q1, {}", at("x13", o)),
            "fmul v0.2d, v0.2d, v31.2d".to_owned(),
            "fmul v1.2d, v1.2d, v31.2d".to_owned(),
            format!("stp q0, q1, {}", at("x1", o)),
        ]
    });
    check(Operation::Triad { stores: plain }, |o| {
        vec![
            format!("ldp q0, q1, {}", at("x13", o)),
            format!("ldp q2, q3, {}", at("x14", o)),
            "fmul v2.2d, v2.2d, v31.2d".to_owned(),
            "fmul v3.2d, v3.2d, v31.2d".to_owned(),
            "fadd v0.2d, v0.2d, v2.2d".to_owned(),
            "fadd v1.2d, v1.2d, v3.2d".to_owned(),
            format!("stp q0, q1, {}", at("x1", o)),
        ]
    });
    listing(Operation::FillNonTemporal, 256, &NEW)
        .check(8, 1, 0, |_| texts(["stnp q31, q31, [x1]", "stnp q31, q31, [x1, #32]", "add x1, x1, x5"]));
}

#[test]
fn windows_are_read_and_written_back_word_by_word() {
    let listing = listing(Operation::SignChange { window: Bytes(2048) }, 2048, &NEW);
    let count = |text: &str| listing.timed().iter().filter(|line| line.starts_with(text)).count();
    assert_eq!((count("ldp x12, x16, [x9"), count("stp x12, x16, [x9")), (4, 4), "the words of a line in pairs");
    assert!(listing.timed().contains(&"movz x17, #0x20, lsl #0x0".to_owned()), "32 lines");
}

#[test]
fn traffic_mixes_reads_and_writes_evenly_and_pauses() {
    let listing = listing(Operation::Traffic { reads: 2, writes: 1, pause: 2 }, 192, &NEW);
    let pause = ["add x1, x1, x5", "add x15, x15, x7", "add x15, x15, x7"];
    let step: Vec<String> = ["ldr x9, [x1]", "ldr x9, [x1]", "str x6, [x1, #0x8]"]
        .iter()
        .flat_map(|access| std::iter::once(*access).chain(pause))
        .map(str::to_owned)
        .collect();
    listing.check(8, 1, 0, |_| step.clone());
}

#[test]
fn both_sides_of_a_ping_pong_exchange_one_word() {
    for (features, text) in [(NEW, "casal x9, x16, [x1]"), (OLD, "stlxr w10, x16, [x1]")] {
        for role in [Role::Leader, Role::Follower] {
            let exchange = listing(Operation::PingPong { role }, 64, &features);
            assert!(exchange.timed().contains(&text.to_owned()));
        }
    }
}

#[test]
fn chains_are_of_one_instruction_and_touch_no_memory() {
    for (link, text) in [(Link::Add, "add x1, x1, x7"), (Link::Check, "eor x1, x1, x7")] {
        listing(Operation::Chain { link }, 0, &NEW).check(16, 1, 0, |_| vec![text.to_owned(); 64]);
    }
}

#[test]
fn the_clock_waits_for_everything_before() {
    let listing = listing(Operation::Fill, 64, &NEW);
    let clocks: Vec<usize> =
        listing.instructions.iter().enumerate().filter(|(_, text)| text.starts_with("mrs")).map(|(i, _)| i).collect();
    for clock in clocks {
        assert_eq!(listing.instructions[clock - 2..clock], texts(["dsb ish", "isb"]));
    }
}

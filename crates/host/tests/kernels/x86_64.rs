//! The x86-64 kernels, disassembled by iced-x86, hold the instructions they should, and no others.

use host::kernels::{Architecture, Features, Link, Operation, Role, Stores, assemble};
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter, MemorySizeOptions, NumberBase};
use units::Bytes;

use crate::disassembly::{Listing, texts};

const NEW: Features = Features { clflushopt: true, prefetchw: true, avx2: true, lse: false };
const OLD: Features = Features { clflushopt: false, prefetchw: false, avx2: false, lse: false };

fn listing(operation: Operation, stride: u64, features: &Features) -> Listing {
    let code = assemble(Architecture::X86_64, operation, Bytes(stride), features).unwrap();
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_number_base(NumberBase::Decimal);
    options.set_decimal_suffix("");
    options.set_space_after_operand_separator(true);
    options.set_memory_size_options(MemorySizeOptions::Never);
    let instructions = Decoder::new(64, &code, DecoderOptions::NONE)
        .iter()
        .map(|instruction| {
            assert!(!instruction.is_invalid(), "{operation:?} holds bytes that are no instruction");
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            text
        })
        .collect();
    Listing { instructions, clock: "rdtsc", touches_elements }
}

/// Elements are reached by the moving registers; the frame by `rdi`, the stop flag by `r9`.
fn touches_elements(text: &str) -> bool {
    !text.starts_with("lea") && ["[rsi", "[r12", "[r13", "[rdx"].iter().any(|base| text.contains(base))
}

/// A displacement as the disassembler prints it.
fn at(base: &str, displacement: u64) -> String {
    if displacement == 0 { format!("[{base}]") } else { format!("[{base}+{displacement}]") }
}

#[test]
fn dependent_kernels_have_a_load_and_their_additions() {
    for (work, group) in [(0, 32), (1, 32), (7, 32), (29, 32), (64, 15), (256, 3), (4096, 1)] {
        let mut step = texts(["mov rsi, [rsi]"]);
        step.extend(vec!["add rsi, r14".to_owned(); work as usize]);
        listing(Operation::Walk { work }, 64, &NEW).check(group, 1, 0, |_| step.clone());

        step.insert(0, "mov [rsi+8], rbx".to_owned());
        listing(Operation::Modify { work }, 64, &OLD).check(group, 1, 0, |_| step.clone());
        step.insert(0, "prefetchw [rsi]".to_owned());
        listing(Operation::Modify { work }, 64, &NEW).check(group, 1, 0, |_| step.clone());
    }
}

#[test]
fn atomic_kernels_lock_word_one_and_then_follow_the_pointer() {
    let step = texts(["mov rax, rbx", "lock cmpxchg [rsi+8], rbx", "mov rsi, [rsi]"]);
    listing(Operation::CompareExchange, 64, &NEW).check(8, 1, 0, |_| step.clone());
}

#[test]
fn independent_kernels_have_one_access_a_step() {
    let sums = ["rax", "rdx", "r11"];
    for stride in [8, 64, 4096] {
        let sum = |k: usize| format!("add {}, {}", sums[k % 3], at("rsi", k as u64 * stride));
        listing(Operation::Sum, stride, &NEW).check(16, 1, 0, |k| vec![sum(k)]);
    }
    let address = |k: usize| at("rsi", k as u64 * 128);
    let store = |k: usize| vec![format!("mov {}, rbx", at("rsi", k as u64 * 128 + 8))];
    listing(Operation::Fill, 128, &NEW).check(8, 1, 0, store);
    listing(Operation::TouchStore, 128, &NEW).check(8, 1, 0, store);
    listing(Operation::TouchLoad, 128, &NEW).check(8, 1, 0, |k| vec![format!("mov rax, {}", address(k))]);
    listing(Operation::TouchShared, 128, &NEW)
        .check(8, 1, 0, |k| vec![format!("prefetcht0 {}", address(k)), format!("mov rax, {}", address(k))]);
    listing(Operation::Flush, 128, &NEW).check(8, 1, 0, |k| vec![format!("clflushopt {}", address(k))]);
    listing(Operation::Flush, 128, &OLD).check(8, 1, 0, |k| vec![format!("clflush {}", address(k))]);
}

#[test]
fn prefetching_kernels_prefetch_each_element_once() {
    let sums = ["rax", "rdx", "r11"];
    for (operation, prefetch) in
        [(Operation::SumPrefetched { ahead: 8 }, "prefetcht0"), (Operation::SumNonTemporal { ahead: 8 }, "prefetchnta")]
    {
        let listing = listing(operation, 64, &NEW);
        let step = |k: usize| {
            let displacement = k as u64 * 64;
            let address = at("rsi+rbp", displacement);
            vec![format!("{prefetch} {address}"), format!("add {}, {}", sums[k % 3], at("rsi", displacement))]
        };
        // The first elements are prefetched by a loop of their own, the last ones are only loaded.
        listing.check(16, 1, 1 + 17, step);
        assert_eq!(listing.timed().iter().filter(|text| text.starts_with(prefetch)).count(), 1 + 17);
    }
}

#[test]
fn one_sum_is_unrolled_and_what_reads_and_writes_is_not() {
    listing(Operation::ReadUse, 64, &NEW).check(8, 1, 0, |k| vec![format!("add rax, {}", at("rsi", k as u64 * 64))]);
    let step = texts(["movsd xmm0, [rsi]", "mulsd xmm0, xmm0", "subsd xmm0, xmm15", "movsd [rsi], xmm0"]);
    let listing = listing(Operation::ReadModifyWrite, 64, &NEW);
    listing.check(1, 1, 0, |_| step.clone());
    let looped = [step, texts(["add rsi, 64", "dec rcx"])].concat();
    let at = listing.timed().windows(looped.len()).position(|window| window == looped).expect("index and count follow");
    assert!(listing.timed()[at + looped.len()].starts_with("jne"), "a branch ends the loop");
}

#[test]
fn streaming_kernels_use_the_widest_vectors_there_are() {
    let wide = |width: u64, step: fn(String, String, String) -> Vec<String>| {
        move |k: usize| {
            (0..64 / width)
                .flat_map(|part| {
                    let displacement = k as u64 * 64 + part * width;
                    step(at("rsi", displacement), at("r12", displacement), at("r13", displacement))
                })
                .collect()
        }
    };
    let plain = Stores::Plain;
    let past = Stores::NonTemporal;
    let check = |operation, features: &Features, step: fn(String, String, String) -> Vec<String>| {
        let width = if features.avx2 { 32 } else { 16 };
        listing(operation, 64, features).check(8, 1, 0, wide(width, step));
    };
    check(Operation::FillNonTemporal, &NEW, |d, _, _| vec![format!("vmovntdq {d}, ymm15")]);
    check(Operation::FillNonTemporal, &OLD, |d, _, _| vec![format!("movntdq {d}, xmm15")]);
    check(Operation::Copy { stores: past }, &NEW, |d, a, _| {
        vec![format!("vmovapd ymm0, {a}"), format!("vmovntdq {d}, ymm0")]
    });
    check(Operation::Scale { stores: plain }, &OLD, |d, a, _| {
        vec![format!("movapd xmm0, {a}"), "mulpd xmm0, xmm15".to_owned(), format!("movapd {d}, xmm0")]
    });
    check(Operation::Add { stores: plain }, &NEW, |d, a, b| {
        vec![format!("vmovapd ymm0, {a}"), format!("vaddpd ymm0, ymm0, {b}"), format!("vmovapd {d}, ymm0")]
    });
    check(Operation::Triad { stores: past }, &NEW, |d, a, b| {
        vec![format!("vmulpd ymm0, ymm15, {b}"), format!("vaddpd ymm0, ymm0, {a}"), format!("vmovntdq {d}, ymm0")]
    });
}

#[test]
fn windows_are_read_and_written_back_word_by_word() {
    let listing = listing(Operation::SignChange { window: Bytes(2048) }, 2048, &NEW);
    let changes: Vec<&String> = listing.timed().iter().filter(|text| text.starts_with("xor [rdx")).collect();
    assert_eq!(changes.len(), 8, "the words of a line: {changes:?}");
    assert!(listing.timed().contains(&"mov eax, 32".to_owned()) || listing.timed().contains(&"mov rax, 32".to_owned()));
}

#[test]
fn traffic_mixes_reads_and_writes_evenly_and_pauses() {
    let listing = listing(Operation::Traffic { reads: 2, writes: 1, pause: 2 }, 192, &NEW);
    let pause = ["add rsi, r10", "add rbp, r14", "add rbp, r14"];
    let step: Vec<String> = ["mov rax, [rsi]", "mov rax, [rsi]", "mov [rsi+8], rbx"]
        .iter()
        .flat_map(|access| std::iter::once(*access).chain(pause))
        .map(str::to_owned)
        .collect();
    listing.check(8, 1, 0, |_| step.clone());
}

#[test]
fn both_sides_of_a_ping_pong_exchange_one_word() {
    for role in [Role::Leader, Role::Follower] {
        let exchange = listing(Operation::PingPong { role }, 64, &NEW);
        assert!(exchange.timed().contains(&"lock cmpxchg [rsi], rbx".to_owned()));
    }
}

#[test]
fn chains_are_of_one_instruction_and_touch_no_memory() {
    for (link, text) in [(Link::Add, "add rsi, r14"), (Link::Check, "xor rsi, r14")] {
        let listing = listing(Operation::Chain { link }, 0, &NEW);
        listing.check(16, 1, 0, |_| vec![text.to_owned(); 64]);
    }
}

#[test]
fn the_clock_waits_for_stores_where_there_are_any() {
    let ends = |operation| {
        let listing = listing(operation, 64, &NEW);
        let clock = listing.instructions.iter().rposition(|text| text == "rdtsc").expect("the clock is read");
        listing.instructions[clock - 2..=clock].to_vec()
    };
    assert_eq!(ends(Operation::Fill), texts(["mfence", "lfence", "rdtsc"]));
    assert_eq!(ends(Operation::Flush), texts(["mfence", "lfence", "rdtsc"]));
    assert_eq!(ends(Operation::Sum)[1..], texts(["lfence", "rdtsc"]));
    assert_ne!(ends(Operation::Sum)[0], "mfence");
}

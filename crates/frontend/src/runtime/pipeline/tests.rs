//! Costs of chains of instructions on an R12000, one block at a time.

use super::*;
use crate::runtime::state::NOTHING_LATE;

/// Where the code of these tests is, and the function that its calls lead to.
const AT: usize = 0x40_0000;
const CALLED: usize = 0x50_0000;

fn pipeline(changes: &[(&str, &str)]) -> Pipeline {
    let machine = machine::description::resolve_changed("origin2000-r12k-300-2p", "changed", "", changes);
    let machine = machine.expect("a machine").description;
    Pipeline::new(Latencies::new(&machine.processor, &machine.latency, &machine.l1))
}

/// A block that issues in `slots` slots; its calls are of `callee`.
fn add(pipeline: &mut Pipeline, code: &[&[u8]], slots: u32, callee: Callee) -> u32 {
    let to = move |target| if target == Target::Code(CALLED) { callee } else { Callee::Program };
    pipeline.add(&code.concat(), AT, slots, to, |_| &[]).0
}

/// A call at so many bytes from the beginning.
fn call(at: usize) -> [u8; 5] {
    let [a, b, c, d] = ((CALLED - AT - at - 5) as u32).to_le_bytes();
    [0xe8, a, b, c, d]
}

/// Slots that a round of `blocks` takes in the long run.
fn round(pipeline: &mut Pipeline, blocks: &[u32]) -> f64 {
    let mut late = NOTHING_LATE;
    let mut rounds = |count: u32| {
        let mut slots = 0;
        for &block in blocks.iter().cycle().take(blocks.len() * count as usize) {
            let passage = pipeline.pass(late, block);
            slots += pipeline.flows[block as usize].slots + passage.stalls;
            late = passage.to;
        }
        slots
    };
    rounds(100);
    f64::from(rounds(1000)) / 1000.0
}

/// The same of one block.
fn alone(code: &[&[u8]], slots: u32) -> f64 {
    let mut pipeline = pipeline(&[]);
    let block = add(&mut pipeline, code, slots, Callee::Reference);
    round(&mut pipeline, &[block])
}

const IMUL_RBX_RBX: &[u8] = &[0x48, 0x0f, 0xaf, 0xdb];
const IMUL_EBX_EBX: &[u8] = &[0x0f, 0xaf, 0xdb];
const ADD_RBX_RBP: &[u8] = &[0x48, 0x01, 0xeb];
const ADD_RBP_8: &[u8] = &[0x48, 0x83, 0xc5, 0x08];
const ADDSD_XMM0_XMM1: &[u8] = &[0xf2, 0x0f, 0x58, 0xc1];
const ADDSD_XMM2_XMM1: &[u8] = &[0xf2, 0x0f, 0x58, 0xd1];
const ADDSD_XMM3_XMM1: &[u8] = &[0xf2, 0x0f, 0x58, 0xd9];
const ADDSD_XMM4_XMM1: &[u8] = &[0xf2, 0x0f, 0x58, 0xe1];
const MULSD_XMM1_XMM1: &[u8] = &[0xf2, 0x0f, 0x59, 0xc9];
const DIVSD_XMM0_XMM1: &[u8] = &[0xf2, 0x0f, 0x5e, 0xc1];
const MOVSD_XMM1_RBP: &[u8] = &[0xf2, 0x0f, 0x10, 0x4d, 0x00];
const MOVSD_XMM0_RSP_8: &[u8] = &[0xf2, 0x0f, 0x10, 0x44, 0x24, 0x08];
const MOVSD_RSP_8_XMM0: &[u8] = &[0xf2, 0x0f, 0x11, 0x44, 0x24, 0x08];
const LEA_RDI_RSP_8: &[u8] = &[0x48, 0x8d, 0x7c, 0x24, 0x08];
const MOV_RBX_RBX: &[u8] = &[0x48, 0x8b, 0x1b];
const JUMP: &[u8] = &[0xeb, 0x00];

#[test]
fn chains_cost_their_latency() {
    assert_eq!(alone(&[IMUL_RBX_RBX, ADD_RBX_RBP, ADD_RBP_8], 3), 4.0 * (10.0 + 1.0));
    assert_eq!(alone(&[IMUL_EBX_EBX], 1), 4.0 * 6.0);
    assert_eq!(alone(&[ADDSD_XMM0_XMM1, ADD_RBP_8], 2), 4.0 * 2.0);
    assert_eq!(alone(&[ADDSD_XMM0_XMM1, ADDSD_XMM0_XMM1], 2), 4.0 * 4.0);
    // A pointer is followed from word to word.
    assert_eq!(alone(&[MOV_RBX_RBX], 1), 4.0 * 2.0);
}

#[test]
fn what_depends_on_nothing_costs_its_issue() {
    assert_eq!(alone(&[MOVSD_XMM1_RBP, MULSD_XMM1_XMM1, ADD_RBP_8], 3), 4.0, "the pointer alone is a chain");
    let four = [ADDSD_XMM0_XMM1, ADDSD_XMM2_XMM1, ADDSD_XMM3_XMM1, ADDSD_XMM4_XMM1];
    let eight = [&four[..], &[JUMP; 4]].concat();
    assert_eq!(alone(&eight, 8), 8.0, "four sums overlap");
    // A register that is cleared is nobody's result: xor ebx, ebx.
    assert_eq!(alone(&[&[0x31, 0xdb], IMUL_EBX_EBX, ADD_RBP_8], 3), 4.0 * 6.0, "the unit does one at a time");
    assert_eq!(alone(&[&[0x31, 0xdb], ADD_RBX_RBP, JUMP, JUMP], 4), 4.0);
}

#[test]
fn a_unit_that_is_not_pipelined_is_waited_for() {
    // movapd xmm0, xmm2: every division has operands of its own.
    let copy: &[u8] = &[0x66, 0x0f, 0x28, 0xc2];
    assert_eq!(alone(&[copy, DIVSD_XMM0_XMM1], 2), 4.0 * 21.0);
    assert_eq!(alone(&[DIVSD_XMM0_XMM1], 1), 4.0 * 21.0);
}

/// Loops that compilers make of several blocks, such as clang's, have their recurrences, too.
#[test]
fn a_chain_goes_through_all_blocks_of_a_loop() {
    let mut pipeline = pipeline(&[]);
    let sum = add(&mut pipeline, &[ADDSD_XMM0_XMM1, JUMP], 2, Callee::Program);
    let next = add(&mut pipeline, &[ADD_RBP_8, JUMP], 2, Callee::Program);
    assert_eq!(round(&mut pipeline, &[sum, next]), 8.0);
    assert_eq!(round(&mut pipeline, &[next, sum, next, next]), 12.0, "three additions are a chain");
}

/// Values kept on the stack across calls of instrumentation were in registers; words that these calls announce are memory.
#[test]
fn words_of_the_stack_are_memory_where_they_are_announced() {
    let kept = [MOVSD_XMM0_RSP_8, ADDSD_XMM0_XMM1, MOVSD_RSP_8_XMM0];
    assert_eq!(alone(&kept, 3), 4.0 * 2.0);
    let instructions = |code: &[&[u8]]| {
        let to = |target| if target == Target::Code(CALLED) { Callee::Reference } else { Callee::Program };
        3 - pipeline(&[]).add(&code.concat(), AT, 3, to, |_| &[]).1
    };
    assert_eq!(instructions(&kept), 1, "the addition");
    // movsd xmm0, [rip + 8]: a constant stays in a register where no calls are; [rbp - 8] may be a variable, as in code without
    // optimisation.
    assert_eq!(instructions(&[&[0xf2, 0x0f, 0x10, 0x05, 8, 0, 0, 0], ADDSD_XMM0_XMM1, ADD_RBP_8]), 2);
    assert_eq!(instructions(&[&[0xf2, 0x0f, 0x10, 0x45, 0xf8], ADDSD_XMM0_XMM1, ADD_RBP_8]), 3);
    let before = LEA_RDI_RSP_8.len();
    let call = call(before);
    let announced = [&[LEA_RDI_RSP_8, &call], &kept[..]].concat();
    assert_eq!(alone(&announced, 3), 4.0 * (2.0 + 3.0), "an addition, and a load of what was stored");
    assert_eq!(instructions(&announced), 3);
}

/// A loop whose sum is put on the stack before the call that its block begins with, as gcc and clang do.
#[test]
fn what_is_moved_before_a_block_begins_is_followed() {
    let to = |target| if target == Target::Code(CALLED) { Callee::Block } else { Callee::Program };
    let store = MOVSD_RSP_8_XMM0.len();
    // movsd [rsp + 8], xmm0; call; movsd xmm0, [rsp + 8]; addsd xmm0, xmm1; jne back
    let body = [MOVSD_XMM0_RSP_8, ADDSD_XMM0_XMM1].concat();
    let back = -((store + 5 + body.len() + 2) as i8) as u8;
    let code = [MOVSD_RSP_8_XMM0, &call(store), &body, &[0x75, back]].concat();
    let mut pipeline = pipeline(&[]);
    let begin = AT + store + 5;
    let (block, kept, _) = pipeline.add(&code[store + 5..], begin, 3, to, |at| &code[at - AT..]);
    assert_eq!(kept, 1, "the load: the store before the next block is not counted with this one");
    assert_eq!(round(&mut pipeline, &[block]), 8.0);
}

/// Words are told apart by where they are, though the stack pointer moves in between: push rbx, imul [rsp], pop.
#[test]
fn words_are_followed_as_the_stack_moves() {
    let code: [&[u8]; 3] = [&[0x53], &[0x48, 0x0f, 0xaf, 0x1c, 0x24], &[0x58]];
    assert_eq!(alone(&code, 3), 4.0 * 10.0);
    // sub rsp, 16; movsd xmm0, [rsp + 24]; addsd; movsd [rsp + 24], xmm0; add rsp, 16
    let load: &[u8] = &[0xf2, 0x0f, 0x10, 0x44, 0x24, 0x18];
    let store: &[u8] = &[0xf2, 0x0f, 0x11, 0x44, 0x24, 0x18];
    let (down, up): (&[u8], &[u8]) = (&[0x48, 0x83, 0xec, 0x10], &[0x48, 0x83, 0xc4, 0x10]);
    let mut pipeline = pipeline(&[]);
    let first = add(&mut pipeline, &[down], 1, Callee::Program);
    let sum = add(&mut pipeline, &[load, ADDSD_XMM0_XMM1, store, up], 4, Callee::Program);
    assert_eq!(round(&mut pipeline, &[first, sum]), 8.0);
}

/// Values that the program's own functions change are there when these have been called.
#[test]
fn calls_of_the_program_end_chains_of_what_they_may_change() {
    let call = call(ADDSD_XMM0_XMM1.len());
    let code = [ADDSD_XMM0_XMM1, &call];
    for (callee, slots) in [(Callee::Program, 3.0), (Callee::Nothing, 8.0)] {
        let mut pipeline = pipeline(&[]);
        let block = add(&mut pipeline, &code, 3, callee);
        assert_eq!(round(&mut pipeline, &[block]), slots, "{callee:?}");
    }
}

/// A window holds so many instructions: what is longer is waited for.
#[test]
fn no_more_overlaps_than_the_window_holds() {
    let slots = |window: &str, work: usize| {
        let mut pipeline = pipeline(&[("processor.instruction_window", window)]);
        let chain = add(&mut pipeline, &[ADDSD_XMM0_XMM1; 40], 40, Callee::Program);
        // add ebp, 8 into registers that nothing waits for.
        let clear: &[u8] = &[0x31, 0xdb];
        let others = add(&mut pipeline, &vec![clear; work], work as u32, Callee::Program);
        // xorpd xmm0, xmm0: the next chain is another.
        let fresh = add(&mut pipeline, &[&[0x66, 0x0f, 0x57, 0xc0]], 1, Callee::Program);
        round(&mut pipeline, &[fresh, chain, others])
    };
    assert_eq!(slots("512", 400), 441.0, "all of the chain overlaps");
    assert!(slots("32", 400) > 441.0 + 100.0, "{}", slots("32", 400));
    assert_eq!(slots("1", 4), 1.0 + 40.0 * 8.0 + 4.0, "nothing overlaps");
}

#[test]
fn latencies_are_the_machines() {
    let mut slow = pipeline(&[("latency.float_add_cycles", "7")]);
    let block = add(&mut slow, &[ADDSD_XMM0_XMM1], 1, Callee::Program);
    assert_eq!(round(&mut slow, &[block]), 28.0);
    let mut narrow = pipeline(&[("processor.issue_width", "1")]);
    let block = add(&mut narrow, &[ADDSD_XMM0_XMM1], 1, Callee::Program);
    assert_eq!(round(&mut narrow, &[block]), 2.0, "a slot is a cycle");
}

#[test]
fn states_that_are_kept_are_the_same_under_other_numbers() {
    let mut pipeline = pipeline(&[]);
    let block = add(&mut pipeline, &[ADDSD_XMM0_XMM1], 1, Callee::Program);
    let first = pipeline.pass(NOTHING_LATE, block);
    let second = pipeline.pass(first.to, block);
    let (mut late, mut none) = (second.to, NOTHING_LATE);
    let before = pipeline.pass(late, block).stalls;
    pipeline.keep([&mut late, &mut none]);
    assert_eq!((pipeline.states.len(), none), (2, NOTHING_LATE));
    assert_eq!(pipeline.pass(late, block).stalls, before);
    assert_eq!(pipeline.pass(NOTHING_LATE, block).stalls, first.stalls);
}

/// Where the values of a block come from; its calls announce references.
fn origins(code: &[&[u8]]) -> Origins {
    let to = |target| if target == Target::Code(CALLED) { Callee::Reference } else { Callee::Program };
    pipeline(&[]).add(&code.concat(), AT, 8, to, |_| &[]).2
}

const RBX: u8 = 3;
const MOV_RDI_RBX: &[u8] = &[0x48, 0x89, 0xdf];
const MOV_RBX_AT_RBX: &[u8] = &[0x48, 0x8b, 0x1b];
const MOV_RAX_AT_RBX: &[u8] = &[0x48, 0x8b, 0x03];

#[test]
fn a_list_comes_from_its_own_elements() {
    // rdi = rbx; announced; rbx = [rbx].
    let list = origins(&[MOV_RDI_RBX, &call(3), MOV_RBX_AT_RBX]);
    let address = Origin::of_place(RBX);
    assert_eq!(list.references, [Referred { site: AT + 8, address }]);
    assert!(list.exits.contains(&(RBX, Origin::of_reference(0))), "{:?}", list.exits);
}

#[test]
fn an_element_comes_from_its_index_and_from_the_array() {
    // rdi = rbx; announced; rax = [rbx]; rdi = rbp + 8 rax; announced; rbx += 8.
    let lea_rdi: &[u8] = &[0x48, 0x8d, 0x7c, 0xc5, 0x00];
    let code = [MOV_RDI_RBX, &call(3), MOV_RAX_AT_RBX, lea_rdi, &call(16), &[0x48, 0x83, 0xc3, 0x08]];
    let found = origins(&code);
    let address = Origin::of_place(5).join(Origin::of_reference(0));
    assert_eq!(found.references[1], Referred { site: AT + 21, address });
    assert!(found.exits.iter().all(|&(place, _)| place != RBX), "an index comes from itself: {:?}", found.exits);
}

#[test]
fn a_word_of_the_stack_keeps_what_it_comes_from() {
    // rdi = rbx; announced; rax = [rbx]; [rsp + 8] = rax; and the other way round.
    let store_rax: &[u8] = &[0x48, 0x89, 0x44, 0x24, 0x08];
    let stored = origins(&[MOV_RDI_RBX, &call(3), MOV_RAX_AT_RBX, store_rax]);
    assert_eq!(stored.words, [(Pointer::Stack, 8)]);
    assert!(stored.exits.contains(&(WORDS, Origin::of_reference(0))), "{:?}", stored.exits);
    let load_rdi: &[u8] = &[0x48, 0x8b, 0x7c, 0x24, 0x08];
    let loaded = origins(&[load_rdi, &call(5)]);
    assert_eq!(
        (&loaded.words[..], loaded.references[0].address),
        (&[(Pointer::Stack, 8)][..], Origin::of_place(WORDS))
    );
}

#[test]
fn a_word_that_is_loaded_twice_is_one_address() {
    // Code that is not optimised: rax = [rbp - 8]; rdi = rax; announced; rax = [rbp - 8]; rax = [rax]; [rbp - 8] = rax.
    let load_word: &[u8] = &[0x48, 0x8b, 0x45, 0xf8];
    let (mov_rdi_rax, load, store_word) =
        (&[0x48, 0x89, 0xc7][..], &[0x48, 0x8b, 0x00][..], &[0x48, 0x89, 0x45, 0xf8][..]);
    let found = origins(&[load_word, mov_rdi_rax, &call(7), load_word, load, store_word]);
    assert_eq!(found.words, [(Pointer::Frame, -8)]);
    assert_eq!(found.references[0].address, Origin::of_place(WORDS));
    assert!(found.exits.contains(&(WORDS, Origin::of_reference(0))), "{:?}", found.exits);
}

#[test]
fn a_load_of_a_word_waits_for_what_was_stored() {
    // rdi = rbp - 8; announced; as clang announces local variables where it does not optimise.
    let lea_rdi: &[u8] = &[0x48, 0x8d, 0x7d, 0xf8];
    let found = origins(&[lea_rdi, &call(4)]);
    assert_eq!(found.words, [(Pointer::Frame, -8)]);
    assert_eq!(found.references[0].address, Origin::of_place(5).join(Origin::of_place(WORDS)));
}

#[test]
fn arguments_come_from_the_caller() {
    // rdi = rbx; announced; rdi = [rbx]; a function of the program's is called; rbx = 0.
    let code = [MOV_RDI_RBX, &call(3), &[0x48, 0x8b, 0x3b], &[0xe8, 0, 0, 0, 0], &[0x31, 0xdb]];
    let found = origins(&code);
    assert!(found.exits.contains(&(7, Origin::of_reference(0))), "{:?}", found.exits);
    assert!(found.exits.iter().all(|&(place, _)| place != RBX && place != 0), "{:?}", found.exits);
}

//! Calls whose number of arguments is known only when they are made, on x86-64 as the System V interface has them.

use std::arch::naked_asm;
use std::ffi::c_void;

/// An outlined region of clang's: the thread's number, a second one, and the region's variables.
pub type Microtask = unsafe extern "C-unwind" fn(*const i32, *const i32, ...);

/// Calls `region` with the two numbers and `count` variables.
///
/// # Safety
/// The region takes so many.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn invoke(
    region: Microtask,
    number: *const i32,
    bound: *const i32,
    count: usize,
    variables: *const *mut c_void,
) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push rbx",
        ".cfi_offset rbx, -24",
        "push rbx",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov r10, rcx",
        "mov r11, r8",
        // Those beyond the fourth go on the stack, the last first; an odd number of them would leave it unaligned.
        "mov rbx, r10",
        "sub rbx, 4",
        "jle 3f",
        "test rbx, 1",
        "jz 2f",
        "sub rsp, 8",
        "2:",
        "push qword ptr [r11 + r10*8 - 8]",
        "dec r10",
        "cmp r10, 4",
        "jg 2b",
        "3:",
        "cmp r10, 0",
        "jle 4f",
        "mov rdx, [r11]",
        "cmp r10, 1",
        "jle 4f",
        "mov rcx, [r11 + 8]",
        "cmp r10, 2",
        "jle 4f",
        "mov r8, [r11 + 16]",
        "cmp r10, 3",
        "jle 4f",
        "mov r9, [r11 + 24]",
        "4:",
        "mov r10, rax",
        "xor eax, eax",
        "call r10",
        "lea rsp, [rbp - 16]",
        "pop rbx",
        "pop rbx",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// Functions that clang calls with a region and its variables, which lie in registers and on the stack: `act` gets them in one row,
/// the first three from `rcx`, `r8` and `r9`, all others from the caller's stack.
macro_rules! variadic {
    ($($name:ident: $act:ident;)*) => {$(
        #[doc = "A region with its variables, one argument each."]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "sub rsp, 32",
                "mov [rsp], rcx",
                "mov [rsp + 8], r8",
                "mov [rsp + 16], r9",
                "mov rcx, rsp",
                "lea r8, [rbp + 16]",
                "call {act}",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                act = sym $act,
            )
        }
    )*};
}

pub(super) use variadic;

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes what a region with one variable was called with.
    unsafe extern "C-unwind" fn note(number: *const i32, bound: *const i32, seen: *mut Vec<usize>) {
        // SAFETY: the test's own.
        unsafe { (*seen).extend([*number as usize, *bound as usize]) };
    }

    macro_rules! region {
        ($name:ident: $($variable:ident)*) => {
            unsafe extern "C-unwind" fn $name(number: *const i32, bound: *const i32, seen: *mut Vec<usize>, $($variable: usize),*) {
                // SAFETY: the test's own.
                unsafe {
                    (*seen).extend([*number as usize, *bound as usize]);
                    (*seen).extend([$($variable),*] as [usize; [$(stringify!($variable)),*].len()]);
                }
            }
        };
    }

    region!(of_three: a b);
    region!(of_four: a b c);
    region!(of_five: a b c d);
    region!(of_six: a b c d e);
    region!(of_twelve: a b c d e f g h i j k);

    #[test]
    fn regions_get_their_variables_in_registers_and_on_the_stack() {
        let regions: [(usize, *const ()); 6] = [
            (1, note as *const ()),
            (3, of_three as *const ()),
            (4, of_four as *const ()),
            (5, of_five as *const ()),
            (6, of_six as *const ()),
            (12, of_twelve as *const ()),
        ];
        for (count, region) in regions {
            let mut seen: Vec<usize> = Vec::new();
            let mut variables = vec![(&raw mut seen).cast::<c_void>()];
            variables.extend((1..count).map(|number| (100 + number) as *mut c_void));
            // SAFETY: the region takes so many arguments.
            unsafe {
                let region = std::mem::transmute::<*const (), Microtask>(region);
                invoke(region, &7, &8, count, variables.as_ptr());
            }
            let expected: Vec<usize> = [7, 8].into_iter().chain((1..count).map(|number| 100 + number)).collect();
            assert_eq!(seen, expected, "{count} variables");
        }
    }
}

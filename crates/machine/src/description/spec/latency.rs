//! How long the processor's operations take: what instructions that depend on others wait for.

use super::section;
use crate::description::kind::cycles;

section! {
    /// Latencies of the processor's operations, from the operands to the result: users' own programs wait for them where one
    /// instruction needs the result of another. An integer load that hits takes `l1.hit_cycles`. Zero is an operation whose result
    /// is there at once.
    LatencySpec in "latency" {
        /// Core cycles of integer operations but for multiplications and divisions.
        integer_cycles: u32 = "integer_cycles", cycles(0, 1000);
        /// Core cycles of an integer multiplication of 32 bits.
        multiply_cycles: u32 = "multiply_cycles", cycles(0, 1000);
        /// Core cycles of an integer multiplication of 64 bits.
        multiply_long_cycles: u32 = "multiply_long_cycles", cycles(0, 1000);
        /// Core cycles of an integer division of 32 bits. The unit is that of multiplications.
        divide_cycles: u32 = "divide_cycles", cycles(0, 1000);
        /// Core cycles of an integer division of 64 bits.
        divide_long_cycles: u32 = "divide_long_cycles", cycles(0, 1000);
        /// Core cycles by which a floating-point load that hits takes longer than an integer one.
        float_load_extra_cycles: u32 = "float_load_extra_cycles", cycles(0, 1000);
        /// Core cycles of a floating-point addition, subtraction or comparison.
        float_add_cycles: u32 = "float_add_cycles", cycles(0, 1000);
        /// Core cycles of a conversion, or of a move between integer and floating-point registers.
        convert_cycles: u32 = "convert_cycles", cycles(0, 1000);
        /// Core cycles of a floating-point multiplication.
        float_multiply_cycles: u32 = "float_multiply_cycles", cycles(0, 1000);
        /// Core cycles of a multiplication and addition in one.
        float_multiply_add_cycles: u32 = "float_multiply_add_cycles", cycles(0, 1000);
        /// Core cycles of a floating-point division of single precision.
        float_divide_single_cycles: u32 = "float_divide_single_cycles", cycles(0, 1000);
        /// Core cycles of a floating-point division of double precision.
        float_divide_double_cycles: u32 = "float_divide_double_cycles", cycles(0, 1000);
        /// Core cycles of a square root of single precision.
        float_sqrt_single_cycles: u32 = "float_sqrt_single_cycles", cycles(0, 1000);
        /// Core cycles of a square root of double precision.
        float_sqrt_double_cycles: u32 = "float_sqrt_double_cycles", cycles(0, 1000);
        /// Core cycles from the result of a floating-point division or square root until its unit begins the next.
        float_divide_recovery_cycles: u32 = "float_divide_recovery_cycles", cycles(0, 1000);
        /// Core cycles from the beginning of one integer multiplication to that of the next; zero where the unit does one at a time.
        multiply_repeat_cycles: u32 = "multiply_repeat_cycles", cycles(0, 1000), or 0;
        /// Core cycles from the beginning of one integer division to that of the next; zero where the unit does one at a time.
        divide_repeat_cycles: u32 = "divide_repeat_cycles", cycles(0, 1000), or 0;
        /// Core cycles from the beginning of one floating-point division or square root to that of the next; zero where the unit does
        /// one at a time.
        float_divide_repeat_cycles: u32 = "float_divide_repeat_cycles", cycles(0, 1000), or 0;
        /// Core cycles of an indivisible change of a word whose line is held, before which nothing later begins.
        locked_cycles: u32 = "locked_cycles", cycles(0, 1000), or 0;
    }
}

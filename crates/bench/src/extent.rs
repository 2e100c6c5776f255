//! Extents of experiments: elements of arrays, chunks of regions, lines in play; and which of them are possible.

use units::Bytes;

use crate::{Layout, PlanError};

/// The elements of the arrays of strided loops are double words.
pub(crate) const WORD: Bytes = Bytes(8);
/// Lines of a chunk of a mapped region that are loaded: all over it, at random.
pub(crate) const LINES_OF_CHUNK: u64 = 512;
/// Lines of a sample of `ping-pong`: where the home of a line is within a socket, and so how far it travels, depends on its
/// address, by 15 % either way on a mesh of some dozen cores.
pub(crate) const LINES_IN_PLAY: u64 = 16;

/// Checks a stride over the double words of an array.
///
/// # Errors
/// When the stride is not a multiple of a double word, or exceeds the array.
pub(crate) fn check_stride(array: Bytes, stride: Bytes) -> Result<(), PlanError> {
    if stride.0 == 0 || !stride.0.is_multiple_of(WORD.0) || stride > array {
        let accepted = format!("a multiple of {WORD} up to the array size of {array}");
        return Err(PlanError::new("--stride", stride.0.to_string(), "no stride over double words", accepted));
    }
    Ok(())
}

/// Checks the chunks of an array that is mapped.
///
/// # Errors
/// When there is no whole chunk, or a chunk has not room for the lines that are loaded.
pub(crate) fn check_chunks(array: Bytes, chunk: Bytes, layout: &Layout) -> Result<(), PlanError> {
    let least = Bytes(LINES_OF_CHUNK * 2 * layout.line.0);
    if chunk < least || chunk > array {
        let accepted = format!("{least} up to the array of {array}");
        return Err(PlanError::new("--chunk", chunk.to_string(), "no chunks of the array", accepted));
    }
    Ok(())
}

/// From one loaded line of a chunk to the next: a line less than its share of the chunk, which may be a power of two, so that the
/// lines are of all sets of a cache.
pub(crate) fn chunk_stride(chunk: Bytes, line: Bytes) -> Bytes {
    Bytes((chunk.0 / LINES_OF_CHUNK / line.0 - 1) * line.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stride_beyond_the_array_is_refused() {
        let error = check_stride(Bytes(1024), Bytes(2048)).expect_err("two elements do not fit");
        assert!(error.to_string().starts_with("--stride 2048: "), "{error}");
    }
}

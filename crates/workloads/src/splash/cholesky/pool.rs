//! Memory of a thread as the allocator of SPLASH-2's program gives it: requests are rounded up to a power of two and carved from the end
//! of large chunks, each behind a header. Where numbers lie decides which of them displace each other from a cache.

/// Bytes of a word.
const WORD: usize = 8;
/// Words of the header in front of every piece: its size and its home, of 32 bits each.
const HEADER: usize = 1;
/// Words of the largest request that is rounded up to a power of two: 32 Kbytes.
const LARGEST_ROUNDED: usize = (32 << 10) / WORD;
/// Words of a chunk, at least: 256 Kbytes.
const CHUNK: usize = (256 << 10) / WORD;
/// Sizes of pieces that are kept by size, as powers of two of words.
const SIZES: usize = LARGEST_ROUNDED.ilog2() as usize + 1;

/// What a thread has been given and not used yet.
#[derive(Clone, Default)]
pub struct Pool {
    /// The latest chunk comes first: its first word, and how many words are left at its beginning.
    chunks: Vec<(usize, usize)>,
    /// First words of pieces that were left of chunks, by size.
    pieces: [Vec<usize>; SIZES],
}

impl Pool {
    /// The first of `words` words. More memory begins at word `end` of the region, which grows.
    pub fn allocate(&mut self, words: usize, end: &mut usize, page_words: usize) -> usize {
        let size = if words > LARGEST_ROUNDED { words } else { words.max(1).next_power_of_two() };
        if size <= LARGEST_ROUNDED
            && let Some(first) = self.pieces[size.ilog2() as usize].pop()
        {
            return first;
        }
        let needed = size + HEADER;
        let place = self.chunks.iter().position(|&(_, left)| left >= needed).unwrap_or_else(|| {
            let chunk = needed.max(CHUNK).next_multiple_of(page_words);
            self.chunks.insert(0, (*end, chunk));
            *end += chunk;
            0
        });
        let (first, left) = self.chunks[place];
        let left = left - needed;
        if left > LARGEST_ROUNDED {
            self.chunks[place].1 = left;
        } else {
            self.chunks.remove(place);
            if left > HEADER {
                self.pieces[(left - HEADER).ilog2() as usize].push(first + HEADER);
            }
        }
        first + left + HEADER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_from_the_end_of_chunks_and_do_not_overlap() {
        let (mut pool, mut end) = (Pool::default(), 1000 * 512);
        assert_eq!(pool.allocate(1000, &mut end, 512), 1000 * 512 + CHUNK - 1024);
        assert_eq!(pool.allocate(1000, &mut end, 512), 1000 * 512 + CHUNK - 2 * 1024 - HEADER);
        let mut taken = vec![false; 4 * CHUNK];
        for words in (1..200).map(|number| number * 37 % 5000 + 1) {
            let first = pool.allocate(words, &mut end, 512);
            for word in first..first + words {
                let at = word - 1000 * 512;
                if at >= taken.len() {
                    taken.resize(2 * at, false);
                }
                assert!(!std::mem::replace(&mut taken[at], true), "word {word} is given twice");
            }
        }
        assert_eq!(end % 512, 0);
    }
}

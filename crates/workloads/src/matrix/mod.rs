//! Sparse symmetric matrices from files, for programs that factor them.

mod market;

use std::fmt;
use std::hash::Hasher;
use std::path::Path;
use std::sync::OnceLock;

use rustc_hash::FxHasher;
use units::Bytes;

pub use market::MatrixError;

use crate::random::Random;

/// The most of a file of a matrix, packed or not.
const MOST: Bytes = Bytes::from_mib(1 << 10);
/// Bits of a digest: numbers of records are exact up to 2^53.
const DIGEST_BITS: u32 = 53;

/// The numbers of a matrix outside of the diagonal, and in it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Values {
    /// The file gives their places alone.
    Pattern,
    /// By row, in the order of its neighbours; the diagonal.
    Real { others: Vec<Vec<f64>>, diagonal: Vec<f64> },
}

/// A sparse symmetric matrix, of which every element of the diagonal is present.
pub struct Matrix {
    name: String,
    /// By row, the other rows with which it has an element, ascending.
    neighbours: Vec<Vec<usize>>,
    values: Values,
    digest: u64,
}

/// Matrices are equal if their digests are.
impl PartialEq for Matrix {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Matrix {}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix({}, {} rows)", self.name, self.rows())
    }
}

/// The matrices that are built in, by name.
static BUILT_IN: [(&str, &[u8], OnceLock<Matrix>); 2] = [
    ("bcsstk14", include_bytes!("../../../../reference/matrices/bcsstk14.mtx.gz"), OnceLock::new()),
    ("bcsstk16", include_bytes!("../../../../reference/matrices/bcsstk16.mtx.gz"), OnceLock::new()),
];

impl Matrix {
    /// The built-in matrix called `name`, or else the one in the file of that name. It is kept as long as the process runs.
    ///
    /// # Errors
    /// When there is neither, or the file is no symmetric matrix in the coordinate format of Matrix Market.
    pub fn named(name: &str) -> Result<&'static Self, MatrixError> {
        if let Some((_, packed, matrix)) = BUILT_IN.iter().find(|(known, ..)| *known == name) {
            return match matrix.get() {
                Some(known) => Ok(known),
                None => {
                    let read = Self::read(name, packed)?;
                    Ok(matrix.get_or_init(|| read))
                }
            };
        }
        let content = input::bytes(Path::new(name), MOST).map_err(|error| MatrixError {
            file: name.to_owned(),
            line: None,
            problem: format!("cannot be read: {error}"),
            accepted: format!("{}, or a file in Matrix Market format, plain or gzip-compressed", Self::names()),
        })?;
        Ok(Box::leak(Box::new(Self::read(name, &content)?)))
    }

    /// The names of the built-in matrices.
    pub fn names() -> String {
        BUILT_IN.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
    }

    /// The matrix in `content`, which errors call `name`: text in the coordinate format of Matrix Market (Boisvert, Pozo and
    /// Remington, NISTIR 5935, 1996), packed by gzip or not.
    ///
    /// # Errors
    /// When it is something else, or a diagonal element is not positive.
    pub fn read(name: &str, content: &[u8]) -> Result<Self, MatrixError> {
        let (neighbours, values) = market::read(name, content, MOST)?;
        let mut matrix = Self { name: name.to_owned(), neighbours, values, digest: 0 };
        matrix.digest = matrix.digest();
        Ok(matrix)
    }

    /// A hash of places and numbers, other than 0.
    fn digest(&self) -> u64 {
        let mut hasher = FxHasher::default();
        for row in &self.neighbours {
            hasher.write_usize(row.len());
            row.iter().for_each(|&column| hasher.write_usize(column));
        }
        if let Values::Real { others, diagonal } = &self.values {
            others.iter().flatten().chain(diagonal).for_each(|value| hasher.write_u64(value.to_bits()));
        }
        (hasher.finish() >> (u64::BITS - DIGEST_BITS)).max(1)
    }

    /// A number that tells it from others in records.
    pub(crate) fn number(&self) -> u64 {
        self.digest
    }

    /// Its name, or that of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Rows and columns.
    pub fn rows(&self) -> usize {
        self.neighbours.len()
    }

    /// The other rows with which a row has an element, ascending.
    pub(crate) fn neighbours(&self, row: usize) -> &[usize] {
        &self.neighbours[row]
    }

    /// The element of a row and another or itself, which is there. Where the file gives places alone, those outside of the
    /// diagonal are drawn between -1.5 and -0.5, and the diagonal exceeds the sum of their magnitudes by 1.
    pub(crate) fn element(&self, row: usize, column: usize, seed: u64) -> f64 {
        match &self.values {
            Values::Pattern if row == column => {
                1.0 - self.neighbours[row].iter().map(|&other| self.drawn(row, other, seed)).sum::<f64>()
            }
            Values::Pattern => self.drawn(row, column, seed),
            Values::Real { diagonal, .. } if row == column => diagonal[row],
            Values::Real { others, .. } => {
                self.neighbours[row].binary_search(&column).map_or(0.0, |place| others[row][place])
            }
        }
    }

    fn drawn(&self, row: usize, column: usize, seed: u64) -> f64 {
        let stream = (self.rows() * (row.min(column) + 1) + row.max(column)) as u64;
        -0.5 - Random::new(seed, stream).unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_matrices_have_their_published_sizes() {
        // Hexsel and Topham, section 2: equations, and non-zeroes outside of the diagonal.
        for (name, rows, elements) in [("bcsstk14", 1806, 30_824), ("bcsstk16", 4884, 142_747)] {
            let matrix = Matrix::named(name).expect("it is built in");
            let both: usize = (0..matrix.rows()).map(|row| matrix.neighbours(row).len()).sum();
            assert_eq!((matrix.rows(), both), (rows, 2 * elements), "{name}");
            assert!(std::ptr::eq(matrix, Matrix::named(name).expect("it still is")));
        }
    }

    #[test]
    fn patterns_have_numbers_that_are_symmetrical_and_dominated_by_the_diagonal() {
        let text = b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 5\n1 1\n2 1\n2 2\n3 2\n3 3\n";
        let matrix = Matrix::read("m", text).expect("a matrix");
        assert_eq!(matrix.neighbours(1), [0, 2]);
        assert_eq!(matrix.element(1, 0, 4), matrix.element(0, 1, 4));
        let sum = matrix.element(1, 0, 4) + matrix.element(1, 2, 4);
        assert_eq!(matrix.element(1, 1, 4), 1.0 - sum);
        assert_ne!(matrix.number(), Matrix::named("bcsstk14").expect("it is built in").number());
    }
}

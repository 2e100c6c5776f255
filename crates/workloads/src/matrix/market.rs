//! The coordinate format of Matrix Market.

use std::io::{BufRead, BufReader, Read};

use flate2::read::MultiGzDecoder;
use thiserror::Error;
use units::Bytes;

use super::Values;

/// The first bytes of a file packed by gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The most rows, and elements.
const MOST_ROWS: usize = 1 << 22;
const MOST_ELEMENTS: usize = 1 << 28;
/// Room for elements that is made before they are read.
const ROOM: usize = 1 << 20;

const HEADER: &str = "%%MatrixMarket matrix coordinate real|integer|pattern symmetric";

/// A file that is no matrix to be factored.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("--matrix {file}{}: {problem}; accepted: {accepted}", .line.map_or_else(String::new, |line| format!(", line {line}")))]
pub struct MatrixError {
    /// The file.
    pub file: String,
    /// The line, from 1, if one is at fault.
    pub line: Option<usize>,
    /// The problem.
    pub problem: String,
    /// Accepted input.
    pub accepted: String,
}

/// By row, the other rows with which it has an element, and the numbers.
type Content = (Vec<Vec<usize>>, Values);

/// The lines of a file, numbered.
struct Lines<'a> {
    file: &'a str,
    text: Box<dyn BufRead + 'a>,
    line: String,
    number: usize,
}

impl Lines<'_> {
    fn wrong(&self, problem: impl Into<String>, accepted: impl Into<String>) -> MatrixError {
        let (file, problem, accepted) = (self.file.to_owned(), problem.into(), accepted.into());
        MatrixError { file, line: Some(self.number), problem, accepted }
    }

    /// The next line that is neither a comment nor empty, without spaces around it; none at the end.
    fn next(&mut self, comments: bool) -> Result<Option<&str>, MatrixError> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = self
                .text
                .read_line(&mut self.line)
                .map_err(|error| self.wrong(format!("cannot be read: {error}"), "text, plain or gzip-compressed"))?;
            if read == 0 {
                return Ok(None);
            }
            let line = self.line.trim();
            if !(line.is_empty() || comments && line.starts_with('%')) {
                return Ok(Some(self.line.trim()));
            }
        }
    }
}

/// A number of a line.
fn number<T: std::str::FromStr>(word: Option<&str>) -> Option<T> {
    word?.parse().ok()
}

/// Reads a matrix from `content`, which is at most `most` when unpacked.
///
/// # Errors
/// When it is no symmetric matrix in this format, or a diagonal element is not positive.
pub fn read(file: &str, content: &[u8], most: Bytes) -> Result<Content, MatrixError> {
    let text: Box<dyn BufRead + '_> = if content.starts_with(&GZIP) {
        Box::new(BufReader::new(MultiGzDecoder::new(content).take(most.0)))
    } else {
        Box::new(content)
    };
    let mut lines = Lines { file, text, line: String::new(), number: 0 };
    let is_pattern = header(&mut lines)?;
    let (rows, count) = sizes(&mut lines)?;
    let mut elements: Vec<(usize, usize, f64)> = Vec::with_capacity(count.min(ROOM));
    let mut diagonal = vec![None; rows];
    for read in 0..count {
        let line = lines.next(true)?.map(str::to_owned);
        let Some(line) = line else {
            return Err(lines.wrong(format!("the file ends after {read} elements"), format!("{count} elements")));
        };
        let (row, column, value) = element(&lines, &line, rows, is_pattern)?;
        if row != column {
            elements.extend([(row, column, value), (column, row, value)]);
        } else if !is_pattern && value <= 0.0 {
            return Err(
                lines.wrong(format!("the diagonal element {value} is not positive"), "a positive-definite matrix")
            );
        } else if diagonal[row].replace(value).is_some() {
            return Err(lines.wrong(twice(row, column), "each element once"));
        }
    }
    if lines.next(true)?.is_some() {
        return Err(lines.wrong("a line more than there are elements", format!("{count} elements")));
    }
    if let Some(row) = diagonal.iter().position(Option::is_none).filter(|_| !is_pattern) {
        let problem = format!("row {} has no diagonal element", row + 1);
        return Err(MatrixError { line: None, ..lines.wrong(problem, "a positive-definite matrix") });
    }
    elements.sort_unstable_by_key(|&(row, column, _)| (row, column));
    if let Some([one, _]) = elements.array_windows().find(|[one, other]| (one.0, one.1) == (other.0, other.1)) {
        return Err(MatrixError { line: None, ..lines.wrong(twice(one.0, one.1), "each element once") });
    }
    let (mut neighbours, mut others) = (vec![Vec::new(); rows], vec![Vec::new(); rows]);
    for (row, column, value) in elements {
        neighbours[row].push(column);
        others[row].push(value);
    }
    if is_pattern {
        return Ok((neighbours, Values::Pattern));
    }
    Ok((neighbours, Values::Real { others, diagonal: diagonal.into_iter().flatten().collect() }))
}

fn twice(row: usize, column: usize) -> String {
    format!("element ({}, {}) occurs twice", row + 1, column + 1)
}

/// Reads the header. Returns whether the file has places alone.
fn header(lines: &mut Lines<'_>) -> Result<bool, MatrixError> {
    let words: Vec<String> =
        lines.next(false)?.unwrap_or_default().split_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["%%matrixmarket", "matrix", "coordinate", field @ ("real" | "integer" | "pattern"), "symmetric"] => {
            Ok(field == "pattern")
        }
        _ => Err(lines.wrong("not the header of a symmetric sparse matrix", HEADER)),
    }
}

/// Reads the line of sizes: rows, and elements.
fn sizes(lines: &mut Lines<'_>) -> Result<(usize, usize), MatrixError> {
    let line = lines.next(true)?.unwrap_or_default().to_owned();
    let mut words = line.split_whitespace();
    let [rows, columns, count] = std::array::from_fn(|_| number::<usize>(words.next()));
    match (rows, columns, count, words.next()) {
        (Some(rows), Some(columns), Some(count), None)
            if rows == columns && (1..=MOST_ROWS).contains(&rows) && count <= MOST_ELEMENTS =>
        {
            Ok((rows, count))
        }
        _ => {
            let accepted = format!("rows, as many columns, elements: up to {MOST_ROWS} and {MOST_ELEMENTS}");
            Err(lines.wrong(format!("{line:?} gives no sizes of a square matrix"), accepted))
        }
    }
}

/// The element of a line: its row and column, counted from 0, and its value; 0 in a file of places alone.
fn element(lines: &Lines<'_>, line: &str, rows: usize, is_pattern: bool) -> Result<(usize, usize, f64), MatrixError> {
    let mut words = line.split_whitespace();
    let [row, column] = std::array::from_fn(|_| number::<usize>(words.next()).filter(|at| (1..=rows).contains(at)));
    let value = if is_pattern { Some(0.0) } else { number::<f64>(words.next()).filter(|value| value.is_finite()) };
    match (row, column, value, words.next()) {
        (Some(row), Some(column), Some(value), None) => Ok((row - 1, column - 1, value)),
        _ => {
            let value = if is_pattern { "" } else { ", and a finite number" };
            Err(lines.wrong(format!("{line:?} is no element"), format!("row and column from 1 to {rows}{value}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::random::Random;

    const MOST: Bytes = Bytes::from_mib(1);

    fn parse(text: &str) -> Result<Content, String> {
        read("m.mtx", text.as_bytes(), MOST).map_err(|error| error.to_string())
    }

    const REAL: &str = "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n\n";

    #[test]
    fn numbers_stand_with_both_rows() {
        let (neighbours, values) = parse(&format!("{REAL}2 2 3\n1 1 4\n2 1 -1.5\n2 2 4e0\n")).expect("a matrix");
        assert_eq!(neighbours, [vec![1], vec![0]]);
        assert_eq!(values, Values::Real { others: vec![vec![-1.5]; 2], diagonal: vec![4.0; 2] });
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let cases = [
            ("", "line 1: not the header of a symmetric sparse matrix"),
            ("%%MatrixMarket matrix array real symmetric\n", "accepted: %%MatrixMarket matrix coordinate"),
            ("%%MatrixMarket matrix coordinate real general\n", "line 1"),
            (&format!("{REAL}2 3 1\n"), "line 4: \"2 3 1\" gives no sizes"),
            (&format!("{REAL}0 0 0\n"), "accepted: rows, as many columns"),
            (&format!("{REAL}2 2 2\n1 1 1\n"), "line 6: the file ends after 1 elements; accepted: 2 elements"),
            (&format!("{REAL}1 1 1\n1 1 1\n1 1 1\n"), "line 6: a line more"),
            (&format!("{REAL}2 2 1\n3 1 1\n"), "line 5: \"3 1 1\" is no element; accepted: row and column from 1 to 2"),
            (&format!("{REAL}2 2 1\n2 1 inf\n"), "a finite number"),
            (&format!("{REAL}2 2 1\n2 1\n"), "is no element"),
            (&format!("{REAL}1 1 1\n1 1 -2\n"), "line 5: the diagonal element -2 is not positive"),
            (&format!("{REAL}2 2 1\n1 1 2\n"), "row 2 has no diagonal element"),
            (&format!("{REAL}1 1 2\n1 1 2\n1 1 2\n"), "line 6: element (1, 1) occurs twice"),
            (&format!("{REAL}2 2 4\n1 1 2\n2 2 2\n2 1 1\n1 2 1\n"), "element (1, 2) occurs twice"),
        ];
        for (text, expected) in cases {
            let error = parse(text).expect_err(text);
            assert!(error.starts_with("--matrix m.mtx") && error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn packed_files_are_read_and_torn_ones_refused() {
        let text = format!("{REAL}1 1 1\n1 1 2\n");
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(text.as_bytes()).expect("packed");
        let packed = packed.finish().expect("packed");
        assert_eq!(read("m", &packed, MOST), read("m", text.as_bytes(), MOST));
        let torn = read("m", &packed[..packed.len() - 9], MOST).expect_err("torn").to_string();
        assert!(torn.contains("cannot be read"), "{torn}");
    }

    /// Whatever is done to a file, it is a symmetric matrix or refused with a line or a row.
    #[test]
    fn spoilt_files_never_give_a_matrix_that_is_none() {
        let text = format!("{REAL}4 4 6\n1 1 4\n2 1 -1\n2 2 4\n3 3 5\n4 3 2\n4 4 9\n");
        let (mut good, mut refused) = (0, 0);
        for round in 0..20_000 {
            let mut random = Random::new(7, round);
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=random.below(3) {
                // Nothing is left to spoil after all was removed.
                let at = random.below(bytes.len().max(1));
                if bytes.is_empty() {
                    continue;
                }
                match random.below(3) {
                    0 => bytes[at] = b" 0123456789.-e%\n\xff"[random.below(17)],
                    1 => drop(bytes.remove(at)),
                    _ => bytes.truncate(at + 1),
                }
            }
            match read("m", &bytes, MOST) {
                Ok((neighbours, values)) => {
                    good += 1;
                    assert!(
                        matches!(values, Values::Real { ref diagonal, .. } if diagonal.iter().all(|&value| value > 0.0))
                    );
                    for (row, others) in neighbours.iter().enumerate() {
                        assert!(others.is_sorted() && others.iter().all(|&other| neighbours[other].contains(&row)));
                    }
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.line.is_some() || error.problem.contains("row"), "{error}");
                }
            }
        }
        assert!(good > 100 && refused > 100, "{good} {refused}");
    }
}

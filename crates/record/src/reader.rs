//! Reading back what [`RecordWriter`](crate::RecordWriter) wrote as JSON lines.

use std::io::{self, BufRead};

use serde::de::DeserializeOwned;

/// Why records cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The source failed.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A line is no such record.
    #[error("line {line} is no such record: {reason}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: serde_json::Error,
    },
}

/// The records of a source, a line each. A last line without an end is what an interrupted writer left, and is left out.
///
/// # Errors
/// When the source fails, or a whole line is no such record.
pub fn read_rows<R: DeserializeOwned>(mut source: impl BufRead) -> Result<Vec<R>, ReadError> {
    let (mut rows, mut text) = (Vec::new(), String::new());
    for line in 1.. {
        text.clear();
        source.read_line(&mut text)?;
        if !text.ends_with('\n') {
            break;
        }
        rows.push(serde_json::from_str(&text).map_err(|reason| ReadError::Line { line, reason })?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, RecordWriter, SimulationRow};

    fn written(count: u64) -> (Vec<SimulationRow>, Vec<u8>) {
        let row = |seed: u64| SimulationRow { seed, time_ns: 0.1 + 0.7 * seed as f64, ..SimulationRow::default() };
        let (rows, mut bytes) = ((0..count).map(row).collect::<Vec<_>>(), Vec::new());
        let mut writer = RecordWriter::new(Format::JsonLines, &mut bytes);
        rows.iter().for_each(|row| writer.write(row).expect("memory takes all"));
        drop(writer);
        (rows, bytes)
    }

    #[test]
    fn what_was_written_is_read_to_the_last_bit() {
        let (rows, bytes) = written(100);
        assert_eq!(read_rows::<SimulationRow>(bytes.as_slice()).expect("rows"), rows);
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_a_wrong_one_named() {
        let (rows, mut bytes) = written(3);
        bytes.truncate(bytes.len() - 1);
        assert_eq!(read_rows::<SimulationRow>(bytes.as_slice()).expect("rows"), rows[..2]);
        let error = read_rows::<SimulationRow>("\n".as_bytes()).expect_err("no record").to_string();
        assert!(error.starts_with("line 1 is no such record"), "{error}");
    }
}

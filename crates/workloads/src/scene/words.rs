//! The words of a scene's files, with the lines on which they stand.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use thiserror::Error;

/// A file that is no scene.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("--scene {file}{}: {problem}; accepted: {accepted}", .line.map_or_else(String::new, |line| format!(", line {line}")))]
pub struct SceneError {
    /// The file.
    pub file: String,
    /// The line, from 1, if one is at fault.
    pub line: Option<usize>,
    /// The problem.
    pub problem: String,
    /// Accepted input.
    pub accepted: String,
}

/// The words of a text, which spaces and ends of lines divide.
pub(super) struct Words<'a> {
    file: &'a str,
    rest: &'a str,
    /// The line of the latest word, from 1.
    line: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, rest: text, line: 1 }
    }

    /// An error on the line of the latest word.
    pub(super) fn wrong(&self, problem: impl Into<String>, accepted: impl Into<String>) -> SceneError {
        SceneError {
            file: self.file.to_owned(),
            line: Some(self.line),
            problem: problem.into(),
            accepted: accepted.into(),
        }
    }

    /// The line of the latest word.
    pub(super) const fn line(&self) -> usize {
        self.line
    }

    fn skip(&mut self, bytes: usize) -> &'a str {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.line += skipped.bytes().filter(|&byte| byte == b'\n').count();
        self.rest = rest;
        skipped
    }

    /// The next word; none at the end.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        let start = self.rest.len() - self.rest.trim_start().len();
        self.skip(start);
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        (end > 0).then(|| self.skip(end))
    }

    /// Skips a comment: what stands between a `#` at the start of the text and the next one.
    ///
    /// # Errors
    /// The comment does not end.
    pub(super) fn skip_comment(&mut self) -> Result<(), SceneError> {
        let Some(comment) = self.rest.strip_prefix('#') else { return Ok(()) };
        let end = comment.find('#').ok_or_else(|| self.wrong("the comment has no end", "a # at its end"))?;
        self.skip(end + 2);
        Ok(())
    }

    /// The next word, which is `what`.
    ///
    /// # Errors
    /// The text ends before it.
    pub(super) fn word(&mut self, what: &str) -> Result<&'a str, SceneError> {
        self.next().ok_or_else(|| self.wrong(format!("it ends before {what}"), what))
    }

    /// The next word, which is `what`, as a number.
    ///
    /// # Errors
    /// There is none, or it is not among the `accepted`.
    pub(super) fn number<T>(&mut self, what: &str, accepted: RangeInclusive<T>) -> Result<T, SceneError>
    where
        T: FromStr + PartialOrd + fmt::Display,
    {
        let word = self.word(what)?;
        let number = word.parse().ok().filter(|number| accepted.contains(number));
        let in_words = || format!("{what}, {} to {}", accepted.start(), accepted.end());
        number.ok_or_else(|| self.wrong(format!("`{}` is not {what}", word.escape_debug()), in_words()))
    }

    /// The next words, which are the numbers of `what`, of any size that a scene can have.
    ///
    /// # Errors
    /// As [`Self::number`].
    pub(super) fn numbers<const N: usize>(&mut self, what: &str) -> Result<[f64; N], SceneError> {
        let mut numbers = [0.0; N];
        numbers.iter_mut().try_for_each(|number| {
            *number = self.number(what, -LARGEST..=LARGEST)?;
            Ok(())
        })?;
        Ok(numbers)
    }

    /// The next words as a colour.
    ///
    /// # Errors
    /// As [`Self::number`].
    pub(super) fn colour(&mut self, what: &str) -> Result<[f64; 3], SceneError> {
        let mut colour = [0.0; 3];
        colour.iter_mut().try_for_each(|part| {
            *part = self.number(what, 0.0..=1.0)?;
            Ok(())
        })?;
        Ok(colour)
    }
}

/// The largest coordinate: SPLASH-2 takes 1e32 for the end of a list.
const LARGEST: f64 = 1e30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_lines() {
        let mut words = Words::new("f", "# a\n comment # eye\n\n 1 2.5\tend");
        words.skip_comment().expect("it ends");
        assert_eq!((words.next(), words.line()), (Some("eye"), 2));
        assert_eq!(words.numbers("a place"), Ok([1.0, 2.5]));
        let error = words.number("an angle", 0.0..=100.0).expect_err("no number");
        assert_eq!(error.to_string(), "--scene f, line 4: `end` is not an angle; accepted: an angle, 0 to 100");
        assert_eq!(words.word("more").map_err(|error| error.line), Err(Some(4)));
        assert!(Words::new("f", "#x").skip_comment().is_err());
    }
}

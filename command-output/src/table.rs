//! Values and columns of the tables that tools print.

use crate::found::shown;
use crate::log::glog;
use crate::printed::is_numeric;
use crate::{ParseError, Printed};

/// Parses `text` in `line` as a number that the tool rounded to its last digit.
///
/// # Errors
/// Returns an error if `text` is not a finite, non-negative number.
pub fn number(text: &str, line: &str) -> Result<Printed, ParseError> {
    Printed::rounded(text).ok_or_else(|| ParseError::number(text, line))
}

/// Parses `text` in `line` as a whole number.
///
/// # Errors
/// Returns an error if `text` is not a whole number.
pub fn whole_number(text: &str, line: &str) -> Result<u64, ParseError> {
    text.parse().map_err(|_| ParseError::number(text, line))
}

/// Whether `line` may contain a part of a table row with `columns` columns: it starts with a number, or at least half as
/// many of its words are numbers as a row has columns. A line of a library may contain many whole numbers, but it does not
/// start with one. Therefore, such a line contains a part of a row if it starts with two numbers, or if so many numbers are
/// at its end and at least two of them are decimal fractions.
pub fn is_row_like(line: &str, columns: usize) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let needed = columns.div_ceil(2).max(3);
    if is_library_line(line) {
        let last = words.iter().rev().take_while(|word| is_numeric(word));
        let last: Vec<&&str> = last.collect();
        let fractions = last.iter().filter(|word| word.contains('.')).count();
        let starts_with_row = words.len() > 2 && words[..2].iter().all(|word| is_numeric(word));
        return starts_with_row || (last.len() >= needed && fractions >= 2);
    }
    let starts_with_number = words.first().is_some_and(|word| is_numeric(word));
    starts_with_number || words.iter().filter(|word| is_numeric(word)).count() >= needed
}

/// Whether a library or the runtime of a tool printed `line`, in the format of its log: NCCL, UCX, libfabric, or glog.
pub fn is_library_line(line: &str) -> bool {
    line.contains(" NCCL ")
        || line.contains(" UCX  ")
        || line.starts_with("libfabric:")
        || glog::read(line).is_some()
}

/// Number of decimals of `text`; 0 if it has none.
pub fn decimals(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// Columns of a header: the known names that it contains, from left to right. Names may contain spaces.
pub struct Columns {
    /// Position of the first character and name of each column.
    columns: Vec<(usize, &'static str)>,
}

impl Columns {
    /// Finds `known` names in `header`. A name that is part of a longer known name does not match within it.
    ///
    /// # Errors
    /// Returns an error if an unknown column follows the first known one, because it would shift the columns after it.
    pub fn find(header: &str, known: &[&'static str]) -> Result<Self, ParseError> {
        let mut by_length = known.to_vec();
        by_length.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let mut rest = header.to_owned();
        let mut found = Vec::new();
        for name in by_length {
            while let Some(at) = rest.find(name) {
                found.push((at, name));
                rest.replace_range(at..at + name.len(), &" ".repeat(name.len()));
            }
        }
        found.sort_unstable();
        // Text before the first column is a log prefix or the name of a test.
        let unknown = found.first().map_or("", |(first, _)| &rest[*first..]);
        if !unknown.trim().is_empty() {
            return Err(ParseError::UnknownColumn {
                text: shown(&unknown.split_whitespace().collect::<Vec<_>>().join(" ")),
                header: shown(header),
            });
        }
        Ok(Self { columns: found })
    }

    /// Position of the column with one of `names`.
    pub fn position(&self, names: &[&str]) -> Option<usize> {
        self.names().position(|name| names.contains(&name))
    }

    /// Names, from left to right.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|(_, name)| *name)
    }

    /// Positions of the first characters, from left to right.
    pub fn starts(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|(start, _)| *start)
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_in_the_order_of_the_header() {
        let header = " #bytes     BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]";
        let known = [
            "MsgRate[Mpps]",
            "#bytes",
            "BW average[MB/sec]",
            "BW peak[MB/sec]",
            "t_avg[usec]",
        ];
        let columns = Columns::find(header, &known).unwrap();
        assert_eq!(columns.position(&["BW average[MB/sec]"]), Some(2));
        assert_eq!(columns.position(&["t_avg[usec]"]), None);
        assert_eq!(columns.len(), 4);
        let unknown = header.replace("BW peak", "Jitter[us]   BW peak");
        let error = Columns::find(&unknown, &known).err().unwrap();
        assert!(error.to_string().contains("`Jitter[us]`"), "{error}");
    }

    #[test]
    fn numbers_must_be_finite_and_not_negative() {
        assert_eq!(number("1.5", "").unwrap().value, 1.5);
        for text in ["-1", "nan", "inf", "1,5", ""] {
            assert!(number(text, "the line").is_err(), "{text}");
        }
        assert_eq!(whole_number("20", ""), Ok(20));
        assert!(whole_number("2.0", "").is_err());
    }
}

//! Values and columns of the tables that tools print.

use crate::{ParseError, Printed};

/// Parses `text` in `line` as a number that the tool rounded to its last digit.
///
/// # Errors
/// Returns an error if `text` is not a finite, non-negative number.
pub fn number(text: &str, line: &str) -> Result<Printed, ParseError> {
    Printed::rounded(text).ok_or_else(|| ParseError::Number {
        text: text.to_owned(),
        line: line.trim().chars().take(200).collect(),
    })
}

/// Parses `text` in `line` as a whole number.
///
/// # Errors
/// Returns an error if `text` is not a whole number.
pub fn whole_number(text: &str, line: &str) -> Result<u64, ParseError> {
    text.parse().map_err(|_| ParseError::Number {
        text: text.to_owned(),
        line: line.trim().chars().take(200).collect(),
    })
}

/// Whether the first word of `line` is a whole number, like the size at the start of a table row.
pub fn starts_with_whole_number(line: &str) -> bool {
    let first = line.split_whitespace().next();
    first.is_some_and(|word| word.parse::<u64>().is_ok())
}

/// Columns of a header: the known names that it contains, from left to right. Names may contain spaces.
pub struct Columns {
    names: Vec<&'static str>,
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
                text: unknown.split_whitespace().collect::<Vec<_>>().join(" "),
                header: header.trim().to_owned(),
            });
        }
        Ok(Self {
            names: found.into_iter().map(|(_, name)| name).collect(),
        })
    }

    /// Position of the column with one of `names`.
    pub fn position(&self, names: &[&str]) -> Option<usize> {
        self.names.iter().position(|name| names.contains(name))
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.names.len()
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

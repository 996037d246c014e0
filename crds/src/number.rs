//! Whole numbers on a command line. Performs no I/O.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use snafu::Snafu;

/// Error parsing a whole number: which values are accepted.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
#[snafu(display("use a whole number from {min} to {max}"))]
pub struct NumberError {
    /// Smallest accepted number.
    min: String,
    /// Largest accepted number.
    max: String,
}

/// Returns a parser of whole numbers in `range`, for one argument of a command line.
pub fn whole_number<T: FromStr + PartialOrd + Display>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, NumberError> + Clone
where
    RangeInclusive<T>: Clone,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| NumberError {
            min: range.start().to_string(),
            max: range.end().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_numbers_in_the_range() {
        let rounds = whole_number(1..=60_u32);
        assert_eq!(rounds("1"), Ok(1));
        assert_eq!(rounds("60"), Ok(60));
        for text in ["0", "61", "-1", "1.5", "abc", "", " 5", "99999999999999999999"] {
            let error = rounds(text).unwrap_err().to_string();
            assert_eq!(error, "use a whole number from 1 to 60", "{text:?}");
        }
    }
}

//! Numbers that a tool printed, with everything that their digits tell about the number before printing.

/// Largest exponent of ten that a printed number may have. Larger ones occur only in damaged text.
const MAX_EXPONENT: i32 = 30;

/// Number that a tool printed, and the range of the number before printing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// Printed number. 0 if the number is below the resolution of the tool, which is then the only information.
    pub value: f64,
    /// Smallest number that the tool prints like this.
    pub least: f64,
    /// Largest number that the tool prints like this. It is finite; [`f64::MAX`] if there is no upper limit.
    pub most: f64,
}

impl Printed {
    /// Parses a number that the tool rounds to its last printed digit, as `printf` does: the number before printing
    /// differs from it by at most half a unit of that digit. Accepts decimal fractions and exponents, such as `1.5e+03`.
    /// `%g` omits zeros at the end, so the range of a number that was printed with it may be larger than necessary.
    ///
    /// Returns `None` if `text` is not such a number, or is negative.
    pub fn rounded(text: &str) -> Option<Self> {
        let (value, unit) = parse(text)?;
        Some(Self {
            value,
            least: (value - unit / 2.0).max(0.0),
            most: value + unit / 2.0,
        })
    }

    /// Parses a number whose other digits the tool cuts off: the number before printing is at least the printed number,
    /// and less than one unit of the last digit above it.
    ///
    /// Returns `None` if `text` is not a number, or is negative.
    pub fn truncated(text: &str) -> Option<Self> {
        let (value, unit) = parse(text)?;
        Some(Self {
            value,
            least: value,
            most: value + unit,
        })
    }

    /// A quantity about which the tool's output contains no more than that it cannot be measured, such as a rate that
    /// was printed as `inf` because the elapsed time is below the resolution.
    pub const UNRESOLVED: Self = Self {
        value: 0.0,
        least: 0.0,
        most: f64::MAX,
    };

    /// Converts the number to a unit of which it contains `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            least: self.least * factor,
            most: (self.most * factor).min(f64::MAX),
        }
    }

    /// Creates a number that is known exactly.
    pub fn exact(value: f64) -> Self {
        Self {
            value,
            least: value,
            most: value,
        }
    }

    /// The product of two numbers, with the range that follows from theirs.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self {
            value: self.value * other.value,
            least: self.least * other.least,
            most: (self.most * other.most).min(f64::MAX),
        }
    }

    /// The sum of two numbers, with the range that follows from theirs.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            least: self.least + other.least,
            most: (self.most + other.most).min(f64::MAX),
        }
    }

    /// Whether both can be the same number. `slack` is the relative difference that is allowed in addition, for numbers
    /// that the tool computes from values that it rounds or averages differently.
    pub fn agrees(self, other: Self, slack: f64) -> bool {
        let reaches = |least: f64, most: f64| least <= most * (1.0 + slack);
        reaches(self.least, other.most) && reaches(other.least, self.most)
    }

    /// Whether the tool printed 0, so that only an upper limit is known.
    pub fn is_below_resolution(&self) -> bool {
        self.value == 0.0
    }

    /// The printed number; `None` if it is below the resolution of the tool.
    pub fn above_resolution(&self) -> Option<f64> {
        Some(self.value).filter(|value| *value > 0.0)
    }
}

/// Parses a number, and returns it with the value of one unit of its last digit. Unlike [`str::parse`], this accepts only
/// the forms that `printf` prints: no sign, no `1.` or `.5`, no leading zero, no name such as `inf`.
fn parse(text: &str) -> Option<(f64, f64)> {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        None => (text, 0),
        Some((number, exponent)) => (number, parse_exponent(exponent)?),
    };
    let (whole, fraction) = match number.split_once('.') {
        None => (number, ""),
        Some((_, "")) => return None,
        Some(parts) => parts,
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
    if whole.is_empty() || has_leading_zero || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let decimals = i32::try_from(fraction.len()).ok()?;
    let unit = 10_f64.powi(exponent - decimals);
    let value: f64 = text.parse().ok()?;
    (value.is_finite() && decimals <= MAX_EXPONENT).then_some((value, unit))
}

/// Parses the exponent of a number, such as `+03`.
fn parse_exponent(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let exponent: i32 = text.parse().ok().filter(|_| is_number)?;
    (exponent.abs() <= MAX_EXPONENT).then_some(exponent)
}

/// Whether `word` is a number, possibly with a sign or a suffix, or a text that a tool prints instead of a number.
pub fn is_numeric(word: &str) -> bool {
    if is_not_finite(word) {
        return true;
    }
    let word = word
        .trim_start_matches(['=', '+', '-'])
        .trim_end_matches([',', '}']);
    let word = word.strip_suffix(['s', 'k', 'm', 'g', 'b', '%']).unwrap_or(word);
    word == "N/A"
        || (!word.is_empty() && word.starts_with(|first: char| first.is_ascii_digit()) && {
            word.bytes()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'e' | b'+' | b'-'))
        })
}

/// Whether `word` is what `printf` prints for an infinite value or a value that is not a number.
pub fn is_not_finite(word: &str) -> bool {
    let word = word
        .trim_start_matches(['+', '-'])
        .trim_end_matches([',', '}'])
        .to_ascii_lowercase();
    matches!(word.as_str(), "inf" | "nan" | "infinity")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> (f64, f64, f64) {
        let printed = Printed::rounded(text).unwrap();
        let digits = |value: f64| (value * 1e9).round() / 1e9;
        (printed.value, digits(printed.least), digits(printed.most))
    }

    #[test]
    fn a_rounded_number_is_known_to_half_a_unit_of_its_last_digit() {
        assert_eq!(range("1.25"), (1.25, 1.245, 1.255));
        assert_eq!(range("1024"), (1024.0, 1023.5, 1024.5));
        assert_eq!(range("0.00"), (0.0, 0.0, 0.005));
        assert_eq!(range("1.5e+03"), (1500.0, 1450.0, 1550.0));
        assert_eq!(range("2e-05"), (0.00002, 0.000015, 0.000025));
        assert!(Printed::rounded("0.00").unwrap().is_below_resolution());
        assert_eq!(Printed::rounded("0.01").unwrap().above_resolution(), Some(0.01));
    }

    #[test]
    fn a_truncated_number_is_known_to_one_unit_of_its_last_digit() {
        let printed = Printed::truncated("1.3").unwrap();
        assert_eq!((printed.value, printed.least), (1.3, 1.3));
        assert!((printed.most - 1.4).abs() < 1e-12);
    }

    #[test]
    fn the_range_is_converted_with_the_unit() {
        let printed = Printed::rounded("0.5").unwrap().scaled(1e3);
        assert_eq!(
            (printed.value, printed.least, printed.most),
            (500.0, 450.0, 550.0)
        );
        assert_eq!(Printed::UNRESOLVED.scaled(1e9).most, f64::MAX);
    }

    #[test]
    fn products_agree_within_their_ranges() {
        let printed = |text| Printed::rounded(text).unwrap();
        let product = printed("42.74").times(printed("1.50"));
        assert!(product.agrees(Printed::exact(64.0), 0.0));
        assert!(!product.agrees(Printed::exact(65.0), 0.0));
        assert!(product.agrees(Printed::exact(65.0), 0.02));
        assert!(
            printed("0.00")
                .times(printed("3"))
                .agrees(Printed::exact(0.01), 0.0)
        );
    }

    #[test]
    fn only_printed_forms_are_numbers() {
        for text in [
            "", "-1", "+1", "nan", "inf", "1,5", ".5", "5.", "01", "00.5", "1e", "1e+", "1e99", "0x10",
            "1_0", "1.5.2",
        ] {
            assert_eq!(Printed::rounded(text), None, "{text}");
        }
    }
}

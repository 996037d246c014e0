//! Parses Kubernetes quantities such as `2`, `1930m`, `1.5`, `24586100Ki` and `12e6`. Performs no I/O.

/// Suffixes and their factors, in thousandths.
const SUFFIXES: [(&str, u128); 15] = [
    ("", 1_000),
    ("m", 1),
    ("k", 1_000_000),
    ("M", 1_000_000_000),
    ("G", 1_000_000_000_000),
    ("T", 1_000_000_000_000_000),
    ("P", 1_000_000_000_000_000_000),
    ("E", 1_000_000_000_000_000_000_000),
    ("Ki", 1_000 << 10),
    ("Mi", 1_000 << 20),
    ("Gi", 1_000 << 30),
    ("Ti", 1_000 << 40),
    ("Pi", 1_000 << 50),
    ("Ei", 1_000 << 60),
    ("n", 0),
];
/// Maximum number of digits. Realistic quantities have fewer.
const MAX_DIGITS: usize = 18;

/// Returns the quantity in thousandths, rounded down and limited to [`u64::MAX`]; `None` if `text` is not a quantity.
pub(super) fn millis(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{part}");
    if digits.len() > MAX_DIGITS {
        return None;
    }
    let digits: u128 = digits.parse().ok()?;
    let factor = factor(suffix)?;
    let divisor = 10_u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let millis = digits.checked_mul(factor)? / divisor;
    Some(u64::try_from(millis).unwrap_or(u64::MAX))
}

fn factor(suffix: &str) -> Option<u128> {
    let known = SUFFIXES.iter().find(|(known, _)| *known == suffix);
    let exponent = || suffix.strip_prefix(['e', 'E'])?.parse().ok();
    match known {
        Some((_, factor)) => Some(*factor),
        None => 1_000_u128.checked_mul(10_u128.checked_pow(exponent()?)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_quantities() {
        assert_eq!(millis("2"), Some(2000));
        assert_eq!(millis("1930m"), Some(1930));
        assert_eq!(millis("1.5"), Some(1500));
        assert_eq!(millis("24586100Ki"), Some(24_586_100 * 1024 * 1000));
        assert_eq!(millis("5Gi"), Some((5 << 30) * 1000));
        assert_eq!(millis("12e6"), Some(12_000_000_000));
        assert_eq!(millis("0"), Some(0));
        assert_eq!(millis("100E"), Some(u64::MAX));
    }

    #[test]
    fn rejects_invalid_quantities() {
        for text in ["", "x", "1x", "1.2.3", "-1", "99999999999999999999", "1e99"] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}

//! Finds what a size or a duration with another notation means, such as `64KB`, `1.5Ki` or `10 sec`. Performs no I/O.

/// Maximum number of digits after the decimal point.
const MAX_DECIMALS: usize = 9;

/// Other names of a unit, in lowercase, and the suffixes with their factors that it can stand for.
pub(super) type Alias = (&'static [&'static str], &'static [(&'static str, u64)]);

/// Other names of the units of sizes. People write `KB` for 1000 and for 1024 bytes.
pub(super) const SIZE_ALIASES: [Alias; 9] = [
    (&["", "b", "byte", "bytes"], &[("", 1)]),
    (&["k", "kb"], &[("k", 1_000), ("Ki", 1 << 10)]),
    (&["m", "mb"], &[("M", 1_000_000), ("Mi", 1 << 20)]),
    (&["g", "gb"], &[("G", 1_000_000_000), ("Gi", 1 << 30)]),
    (&["t", "tb"], &[("T", 1_000_000_000_000), ("Ti", 1 << 40)]),
    (&["ki", "kib"], &[("Ki", 1 << 10)]),
    (&["mi", "mib"], &[("Mi", 1 << 20)]),
    (&["gi", "gib"], &[("Gi", 1 << 30)]),
    (&["ti", "tib"], &[("Ti", 1 << 40)]),
];

/// Other names of the units of durations. A number without a unit is most likely a number of seconds or milliseconds.
pub(super) const DURATION_ALIASES: [Alias; 7] = [
    (&[""], &[("s", 1_000_000_000), ("ms", 1_000_000)]),
    (&["ns", "nsec", "nanosecond", "nanoseconds"], &[("ns", 1)]),
    (
        &["us", "usec", "µs", "μs", "microsecond", "microseconds"],
        &[("us", 1_000)],
    ),
    (
        &["ms", "msec", "millisecond", "milliseconds"],
        &[("ms", 1_000_000)],
    ),
    (
        &["s", "sec", "secs", "second", "seconds"],
        &[("s", 1_000_000_000)],
    ),
    (
        &["m", "min", "mins", "minute", "minutes"],
        &[("m", 60_000_000_000)],
    ),
    (&["h", "hr", "hrs", "hour", "hours"], &[("h", 3_600_000_000_000)]),
];

/// Returns the valid forms of `text`, most likely first; none if it is not a number with a unit. A number with decimals
/// is written in the largest of the `suffixes` in which it is a whole number.
pub(super) fn valid_forms(text: &str, aliases: &[Alias], suffixes: &[(&str, u64)]) -> Vec<String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number = number.replace('_', "");
    let unit = unit.trim().to_lowercase();
    let Some((_, meanings)) = aliases.iter().find(|(names, _)| names.contains(&unit.as_str())) else {
        return Vec::new();
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((&number, ""));
    let decimals = decimals.trim_end_matches('0');
    let whole = match whole.trim_start_matches('0') {
        "" if whole.is_empty() => "",
        "" => "0",
        digits => digits,
    };
    if decimals.is_empty() && !whole.is_empty() {
        let forms = meanings.iter().map(|(suffix, _)| format!("{whole}{suffix}"));
        return forms.collect();
    }
    let forms = meanings
        .iter()
        .filter_map(|(_, factor)| with_decimals(whole, decimals, *factor, suffixes));
    forms.collect()
}

/// A number with decimals times a factor, in the largest suffix in which it is a whole number.
fn with_decimals(whole: &str, decimals: &str, factor: u64, suffixes: &[(&str, u64)]) -> Option<String> {
    if decimals.is_empty() || decimals.len() > MAX_DECIMALS {
        return None;
    }
    let digits: u128 = format!("{whole}{decimals}").parse().ok()?;
    let scale = 10_u128.pow(u32::try_from(decimals.len()).ok()?);
    let product = digits.checked_mul(factor.into())?;
    if !product.is_multiple_of(scale) {
        return None;
    }
    let value = u64::try_from(product / scale).ok()?;
    let mut fitting = suffixes
        .iter()
        .filter(|(_, factor)| value.is_multiple_of(*factor));
    let (suffix, factor) = fitting.by_ref().max_by_key(|(_, factor)| *factor)?;
    Some(format!("{}{suffix}", value / factor))
}

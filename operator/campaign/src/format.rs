//! Formats numbers with their units and other values for human readers, and shortens text. Performs no I/O.

use crds::assignment::ScenarioAssignment;
use crds::printable::printable_on_one_line;
use crds::v1alpha1::MemoryKind;

/// Kinds of memory that the two sides of a scenario use, for example `Heap`, `Heap, target Cuda` or `Heap and Cuda`.
pub fn memory_kinds(scenario: &ScenarioAssignment) -> String {
    // The payload of calls and footprints need not be in memory that a transport uses.
    if scenario.workload.gpu().is_some() {
        return format!("{:?}", MemoryKind::Cuda);
    }
    if let Some((second, _)) = scenario.workload.second_memory() {
        return format!("{:?} and {second:?}", scenario.memory);
    }
    match scenario.memory_kinds() {
        [kind, target] if kind == target => format!("{kind:?}"),
        [initiator, target] => format!("{initiator:?}, target {target:?}"),
    }
}

/// Formats a count with its noun: `1 leg`, `2 legs`, `3 processes`.
pub fn pluralized(count: u64, noun: &str) -> String {
    let plural = if count == 1 {
        ""
    } else if noun.ends_with('s') {
        "es"
    } else {
        "s"
    };
    format!("{count} {noun}{plural}")
}

/// Formats a time in nanoseconds: `412 ns`, `4.13 us`, `58.2 ms`, `1.23 s`.
pub fn nanos(nanos: f64) -> String {
    nanos_printed(nanos, 0.0)
}

/// Formats a time in nanoseconds that is known only to a multiple of `resolution` nanoseconds, without more digits.
pub fn nanos_printed(nanos: f64, resolution: f64) -> String {
    scale_to_unit(nanos, resolution, &["ns", "us", "ms", "s"])
}

/// Formats a duration in nanoseconds, rounded up to whole seconds: `58 s`, `2 min 5 s`, `1 h 23 min`.
pub fn duration(nanos: u64) -> String {
    let seconds = nanos.div_ceil(1_000_000_000);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Formats a rate in bytes per second with decimal prefixes, as is usual for links: `1.21 GB/s`.
pub fn bytes_per_second(rate: f64) -> String {
    bytes_per_second_printed(rate, 0.0)
}

/// Formats a rate in bytes per second that is known only to a multiple of `resolution` bytes per second, without more
/// digits.
pub fn bytes_per_second_printed(rate: f64, resolution: f64) -> String {
    scale_to_unit(rate, resolution, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"])
}

/// Formats a byte count with decimal prefixes: `412 MB`.
pub fn bytes(bytes: u64) -> String {
    scale_to_unit(bytes as f64, 0.0, &["B", "kB", "MB", "GB", "TB", "PB"])
}

/// Formats a rate in operations per second: `123 k/s`.
pub fn per_second(rate: f64) -> String {
    scale_to_unit(rate, 0.0, &["/s", "k/s", "M/s", "G/s"])
}

/// Formats a message or transfer size, with a binary prefix if that is exact: `64 B`, `32 KiB`, `1000 B`.
pub fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let exact = units
        .into_iter()
        .find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    match exact {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} B"),
    }
}

/// Formats a ratio with at most two decimals, and fewer for large ratios: `1.25`, `12.5`, `1254`.
pub fn ratio(ratio: f64) -> String {
    let digits = fraction_digits(ratio);
    format!("{ratio:.digits$}")
}

/// Formats a percentage change with its sign: `-6.2 %`.
pub fn percent(percent: f64) -> String {
    // Rounding and adding 0.0 turns values that would print as -0.0 into +0.0.
    let rounded = (percent * 10.0).round() / 10.0 + 0.0;
    match rounded.abs() < 1000.0 {
        true => format!("{rounded:+.1} %"),
        false => format!("{rounded:+.0} %"),
    }
}

/// Formats an interval of percentage changes: `[-7.9, -4.4]`.
pub fn interval(low: f64, high: f64) -> String {
    let end = |value: f64| percent(value).trim_end_matches(" %").to_owned();
    format!("[{}, {}]", end(low), end(high))
}

/// Change in percent from which [`change`] states a factor, and the same change downwards.
const FACTOR_FROM: (f64, f64) = (900.0, -90.0);

/// Formats a change in percent with its interval, if there is one: `-6.2 % [-7.9, -4.4]`. A change by a factor of 10 or
/// more is stated as a factor, because the percentage of a decrease hides its digits: `x 0.0021 [0.0019, 0.0024]`.
pub fn change(percent: f64, interval: Option<(f64, f64)>) -> String {
    if percent < FACTOR_FROM.0 && percent > FACTOR_FROM.1 {
        let interval = interval.map(|(low, high)| format!(" {}", self::interval(low, high)));
        return format!("{}{}", self::percent(percent), interval.unwrap_or_default());
    }
    let factor = |percent: f64| significant(1.0 + percent / 100.0);
    let interval = interval.map(|(low, high)| format!(" [{}, {}]", factor(low), factor(high)));
    format!("x {}{}", factor(percent), interval.unwrap_or_default())
}

/// Formats a value that is not negative with two significant digits, or all digits before the decimal point.
fn significant(value: f64) -> String {
    let magnitude = if value > 0.0 { value.log10().floor() } else { 0.0 };
    let digits = (1.0 - magnitude).clamp(0.0, 12.0) as usize;
    format!("{value:.digits$}")
}

/// Text for a status, a metric or an event, which may quote a spec, a record or a log: escapes the hidden characters of
/// `text`, replaces its line feeds with spaces, because `kubectl describe` prints them, and shortens it to at most `limit`
/// characters; an ellipsis replaces the omitted end.
pub fn clipped(text: &str, limit: usize) -> String {
    let text = printable_on_one_line(text);
    match text.char_indices().nth(limit) {
        None => text,
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Text for a condition, as [`clipped`], but an ellipsis replaces words in the middle: the beginning names the problem, and
/// the last clause or sentence the remedy.
pub fn condensed(text: &str, limit: usize) -> String {
    let text = printable_on_one_line(text);
    let count = text.chars().count();
    if count <= limit {
        return text;
    }
    let (longest_end, shortest_end) = (limit / 2, limit / 8);
    let tail = |chars: usize| {
        let start = text.char_indices().nth(count.saturating_sub(chars));
        text.get(start.map_or(0, |(index, _)| index)..)
            .unwrap_or_default()
    };
    let last = tail(longest_end);
    let clauses = ["; ", ". "]
        .into_iter()
        .flat_map(|separator| last.match_indices(separator));
    let longest_clause = clauses
        .filter_map(|(index, separator)| last.get(index + separator.len()..))
        .filter(|clause| clause.chars().count() >= shortest_end)
        .max_by_key(|clause| clause.len());
    let end = longest_clause.unwrap_or_else(|| {
        let words = tail(limit / 4);
        words
            .split_once(char::is_whitespace)
            .map_or(words, |(_, words)| words)
    });
    let rest = limit.saturating_sub(end.chars().count() + 3);
    let start: String = text.chars().take(rest).collect();
    let start = start
        .rsplit_once(char::is_whitespace)
        .map_or(start.as_str(), |(words, _)| words);
    format!("{} … {end}", start.trim_end())
}

/// Formats `value` with the unit of `units` that suits it; each unit is 1000 times the previous one. `resolution` is 0 if
/// the value is exact. Digits below the resolution are not shown: a larger unit then has them after the decimal point.
fn scale_to_unit(value: f64, resolution: f64, units: &[&str]) -> String {
    let (mut value, mut resolution, mut unit) = (value, resolution, 0);
    // A value that would be rounded to 1000 gets the next unit. Units based on powers of two make a resolution a little
    // larger than a power of ten.
    while (value.abs() >= 999.5 || resolution > 2.0) && unit + 1 < units.len() {
        value /= 1000.0;
        resolution /= 1000.0;
        unit += 1;
    }
    let digits = match unit == 0 && value.fract() == 0.0 {
        true => 0,
        false => fraction_digits(value),
    };
    let known = match resolution > 0.0 {
        true => (-resolution.log10()).round().max(0.0) as usize,
        false => digits,
    };
    let digits = digits.min(known);
    format!(
        "{value:.digits$} {}",
        units.get(unit).copied().unwrap_or_default()
    )
}

/// Number of digits after the decimal point that gives a value of at least 1 at least three significant digits.
fn fraction_digits(value: f64) -> usize {
    match value.abs() {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits_and_a_unit() {
        assert_eq!(nanos(412.0), "412 ns");
        assert_eq!(nanos(4130.0), "4.13 us");
        assert_eq!(nanos(999_600.0), "1.00 ms");
        assert_eq!(nanos(58_240_000.0), "58.2 ms");
        assert_eq!(bytes_per_second(1.2149e9), "1.21 GB/s");
        assert_eq!(bytes(412_300_000), "412 MB");
        assert_eq!(per_second(123_456.0), "123 k/s");
        assert_eq!(
            [ratio(1.0), ratio(12.54), ratio(1254.0)],
            ["1.00", "12.5", "1254"]
        );
    }

    #[test]
    fn digits_below_the_resolution_are_not_shown() {
        let rate = bytes_per_second_printed;
        assert_eq!(rate(40_000.0, 10_000.0), "0.04 MB/s");
        assert_eq!(rate(0.04 * 1_048_576.0, 0.01 * 1_048_576.0), "0.04 MB/s");
        assert_eq!(rate(5_700_000.0, 10_000.0), "5.70 MB/s");
        assert_eq!(rate(300_000_000.0, 100_000_000.0), "0.3 GB/s");
        assert_eq!(
            [
                nanos_printed(11_220.0, 10.0),
                nanos_printed(4000.0, 1000.0),
                nanos_printed(4.0, 1.0)
            ],
            ["11.2 us", "4 us", "4 ns"]
        );
    }

    #[test]
    fn durations_have_at_most_two_units() {
        let seconds = |seconds: u64| duration(seconds * 1_000_000_000);
        assert_eq!(
            [seconds(58), seconds(120), seconds(125)],
            ["58 s", "2 min", "2 min 5 s"]
        );
        assert_eq!([seconds(7200), seconds(5030)], ["2 h", "1 h 23 min"]);
    }

    #[test]
    fn sizes_have_binary_prefixes_if_exact() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1000), "1000 B");
        assert_eq!(size(48 << 10), "48 KiB");
        assert_eq!(size(16 << 20), "16 MiB");
    }

    #[test]
    fn changes_have_a_sign_and_zero_is_positive() {
        assert_eq!(percent(-6.24), "-6.2 %");
        assert_eq!(percent(-0.01), "+0.0 %");
        assert_eq!(percent(1234.6), "+1235 %");
        assert_eq!(interval(-7.94, -4.36), "[-7.9, -4.4]");
    }

    #[test]
    fn large_changes_are_factors() {
        assert_eq!(change(-6.24, Some((-7.94, -4.36))), "-6.2 % [-7.9, -4.4]");
        assert_eq!(
            change(-99.79, Some((-99.81, -99.76))),
            "x 0.0021 [0.0019, 0.0024]"
        );
        assert_eq!(change(1234.6, None), "x 13");
        assert_eq!(change(-100.0, None), "x 0.0");
    }

    #[test]
    fn condensed_texts_keep_whole_words_of_both_ends_and_the_remedy() {
        assert_eq!(condensed("short; fix it", 40), "short; fix it");
        let cause = "é".repeat(30);
        let long = format!("pod a: {cause} {cause} {cause}; raise resources.memory");
        let condensed = |limit| super::condensed(&long, limit);
        assert_eq!(condensed(60), "pod a: … raise resources.memory");
        assert_eq!(condensed(90), format!("pod a: {cause} … raise resources.memory"));
        for limit in [20, 60, 90] {
            assert!(condensed(limit).chars().count() <= limit);
        }
        let words = "one two three four five six seven eight nine ten";
        assert_eq!(super::condensed(words, 30), "one two three four five … ten");
        assert_eq!(super::condensed(&"é".repeat(30), 11), "éééééé … éé");
    }

    #[test]
    fn clipping_counts_characters() {
        assert_eq!(clipped("größer", 6), "größer");
        assert_eq!(clipped("größer als", 6), "größe…");
        assert_eq!(clipped("a\u{1b}b", 9), "a\\u{1b}b");
        assert_eq!(clipped("a\n  State:\tComplete", 20), "a   State: Complete");
        assert_eq!(clipped("a\u{202e}b", 6), "a\\u{2…");
    }
}

//! Sizes and counts with suffixes, as fabtests and fi_pingpong print them.

use crate::row::PrintedSize;

/// Suffixes of sizes, and the powers of 1024 that they mean.
const UNITS: [(char, u64); 3] = [('k', 1 << 10), ('m', 1 << 20), ('g', 1 << 30)];

/// Parses a size such as `64`, `1k`, `1.3m` or `12g`. The programs cut off digits: below 10 units, the size has one decimal
/// unless this is 0, and above it has none (`size_str` in fabtests/common/shared.c and util/pingpong.c). Therefore, `1k`
/// stands for 1024 to 1126 bytes, and `1.3k` for 1332 to 1433 bytes.
pub fn parse(text: &str) -> Option<PrintedSize> {
    let is_whole = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text == "0" || !text.starts_with('0'))
    };
    let Some((suffix, base)) = UNITS.iter().find(|(suffix, _)| text.ends_with(*suffix)) else {
        return is_whole(text)
            .then(|| text.parse().ok().map(PrintedSize::exact))
            .flatten();
    };
    let number = text.strip_suffix(*suffix)?;
    let (whole, tenths) = match number.split_once('.') {
        None => (number, None),
        Some((whole, tenth)) => {
            let is_tenth = tenth.len() == 1 && ("1"..="9").contains(&tenth);
            (whole, Some(tenth.parse::<u64>().ok().filter(|_| is_tenth)?))
        }
    };
    let units: u64 = whole.parse().ok().filter(|_| is_whole(whole))?;
    let is_possible = units >= 1 && (units < 1024 || *suffix == 'g') && (tenths.is_none() || units < 10);
    let first = units.checked_mul(*base).filter(|_| is_possible)?;
    // The rest is the number of bytes above the whole units.
    let start_of = |tenths: u64| (tenths * base).div_ceil(10);
    let (least, end) = match (units < 10, tenths.unwrap_or(0)) {
        (true, tenths) => (start_of(tenths), start_of(tenths + 1)),
        (false, _) => (0, *base),
    };
    Some(PrintedSize {
        bytes: first.checked_add(least)?,
        most: first.checked_add(end - 1)?,
    })
}

/// Prints a size as the programs do.
pub fn text(bytes: u64) -> String {
    let unit = UNITS.iter().rev().find(|(_, base)| bytes >= *base);
    let Some((suffix, base)) = unit else {
        return bytes.to_string();
    };
    let (whole, rest) = (bytes / base, bytes % base);
    match (whole < 10, rest * 10 / base) {
        (true, tenths) if tenths > 0 => format!("{whole}.{tenths}{suffix}"),
        _ => format!("{whole}{suffix}"),
    }
}

/// Parses a count such as `200`, `1k`, `10m` or `1b`. The suffixes are powers of 1000, and the other digits are cut off
/// (`cnt_str` in the same files). Returns the smallest and the largest count.
pub fn count(text: &str) -> Option<(u64, u64)> {
    let units = [('k', 1_000_u64), ('m', 1_000_000), ('b', 1_000_000_000)];
    let found = units.into_iter().find(|(suffix, _)| text.ends_with(*suffix));
    let (number, unit) = match found {
        None => (text, 1),
        Some((suffix, unit)) => (text.strip_suffix(suffix)?, unit),
    };
    let is_whole = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
    let least = number
        .parse::<u64>()
        .ok()
        .filter(|_| is_whole)?
        .checked_mul(unit)?;
    Some((least, least.checked_add(unit - 1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_stands_for_all_sizes_that_are_printed_like_it() {
        let range = |text| parse(text).map(|size| (size.bytes, size.most));
        assert_eq!(range("64"), Some((64, 64)));
        assert_eq!(range("1k"), Some((1024, 1126)));
        assert_eq!(range("1.3k"), Some((1332, 1433)));
        assert_eq!(range("12k"), Some((12 << 10, (13 << 10) - 1)));
        assert_eq!(range("16g"), Some((16 << 30, (17 << 30) - 1)));
        for text in [
            "", "k", "0k", "1.0k", "12.5k", "1.25k", "01", "1024k", "-1", "1.5", "0.671k", "1x",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn every_size_is_in_the_range_of_its_text() {
        let sizes = (1..5000).chain((1..4000).map(|step| step * 4_321_987));
        for bytes in sizes {
            let printed = parse(&text(bytes)).unwrap();
            assert!(printed.matches(bytes), "{bytes}: {printed:?}");
            assert_eq!(text(printed.bytes), text(bytes));
            assert_eq!(text(printed.most), text(bytes));
            assert_ne!(text(printed.most + 1), text(bytes));
        }
    }

    #[test]
    fn counts_are_cut_off() {
        assert_eq!(count("200"), Some((200, 200)));
        assert_eq!(count("20k"), Some((20_000, 20_999)));
        assert_eq!(count("k"), None);
        assert_eq!(count("1.5k"), None);
    }
}

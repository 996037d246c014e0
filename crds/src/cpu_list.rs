//! Lists of CPUs in the format of the kernel, such as `0-3,8`.

use std::collections::BTreeSet;

/// Largest accepted CPU number, so that a range such as `0-4294967295` does not exhaust memory.
const MAX_CPUS: u32 = 65_536;

/// Parses a list such as `0-3,8` into sorted CPU numbers; ignores parts that are not numbers.
pub fn parse(list: &str) -> Vec<u32> {
    let mut cpus = BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            cpus.extend(first..=last.min(MAX_CPUS));
        }
    }
    cpus.into_iter().collect()
}

/// Formats CPU numbers in ascending order as a list such as `0-3,8`.
pub fn format(cpus: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let ranges: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    ranges.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_ranges_and_ignores_other_words() {
        assert_eq!(parse("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(parse(""), Vec::<u32>::new());
        assert_eq!(parse("x,2"), [2]);
    }

    #[test]
    fn a_formatted_list_has_the_same_cpus() {
        for list in ["", "5", "0-3,8", "0,2,4-5", "0-95,192-287"] {
            assert_eq!(format(parse(list)), list);
        }
    }
}

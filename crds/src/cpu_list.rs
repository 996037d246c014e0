//! Lists of CPU numbers in the kernel's format. Performs no I/O.

use std::collections::BTreeSet;

/// Largest accepted CPU number, so that a range such as `0-4294967295` does not exhaust memory.
const MAX_CPUS: u32 = 65_536;

/// Parses a list such as `0-3,8` into sorted CPU numbers; ignores parts that are not numbers.
pub fn parse_list(list: &str) -> Vec<u32> {
    let mut cpus = BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            cpus.extend(first..=last.min(MAX_CPUS));
        }
    }
    cpus.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_ranges_and_ignores_other_text() {
        assert_eq!(parse_list("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(parse_list(""), Vec::<u32>::new());
        assert_eq!(parse_list("x,2"), [2]);
        assert_eq!(parse_list("0-4294967295").len(), 65_537);
    }
}

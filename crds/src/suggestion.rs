//! Suggestions for misspelled names: the nearest known name, if it is near enough. Performs no I/O.

use crate::printable::{character_name, deceptive_character};

/// Programs of the benchmark tools: the start and the end of their names, and the name of the tool in a manifest.
const PROGRAMS: [(&str, &str, &str); 7] = [
    ("fi_", "", "Fabtests"),
    ("ib_", "", "Perftest"),
    ("raw_ethernet_", "", "Perftest"),
    ("ucx_perf", "", "UcxPerftest"),
    ("nixl", "", "Nixlbench"),
    ("transfer_engine", "", "TransferEngineBench"),
    ("", "_perf", "NcclTests"),
];

/// Maximum length of a name for which a suggestion is searched, in characters. The time of a comparison grows with the
/// product of both lengths.
const MAX_CHARS: usize = 128;
/// Minimum length of the start of a name for which the whole name is suggested, in characters.
const MIN_PREFIX_CHARS: usize = 3;
/// Maximum distance of a suggestion from the given name.
const MAX_DISTANCE: usize = 3;

/// Returns the name in `known` that is most similar to `given`, or `None` if no name is similar enough to be meant.
///
/// The distance is the number of inserted, removed, replaced and swapped characters (the optimal string alignment
/// distance), without regard to case. At most one such change for every three characters is allowed, at least one and
/// at most three. If several names are equally near, the first one is returned. If none is near, the only name that starts
/// with `given` is returned, or else the benchmark tool to which a program with the name `given` belongs. A name that
/// equals `given` is not a suggestion.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given_folded = folded(given)?;
    let mut longer = Vec::new();
    let tool = tool_of(given);
    let mut known_tool = None;
    let limit = (given_folded.len() / 3).clamp(1, MAX_DISTANCE);
    let mut best: Option<(usize, &str)> = None;
    for name in known {
        if name == given {
            continue;
        }
        if tool == Some(name) {
            known_tool = Some(name);
        }
        let Some(name_folded) = folded(name) else { continue };
        if given_folded.len() >= MIN_PREFIX_CHARS && name_folded.starts_with(&given_folded) {
            longer.push(name);
        }
        if name_folded.len().abs_diff(given_folded.len()) > limit {
            continue;
        }
        let distance = distance(&given_folded, &name_folded);
        // A name all of whose characters would have to change is not similar.
        if distance <= limit
            && distance < name_folded.len()
            && best.is_none_or(|(smallest, _)| distance < smallest)
        {
            best = Some((distance, name));
        }
    }
    let only_longer = || match longer.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    best.map(|(_, name)| name).or_else(only_longer).or(known_tool)
}

/// Name of the benchmark tool to which a program belongs; `None` if the program is not known.
fn tool_of(program: &str) -> Option<&'static str> {
    let found = PROGRAMS
        .iter()
        .find(|(start, end, _)| program.starts_with(start) && program.ends_with(end));
    found.map(|(_, _, tool)| *tool)
}

/// Returns a sentence such as " Did you mean `tcp`?" that starts with a space, or nothing if no known name is similar to
/// `given`. If `given` contains a character that looks like another one, a sentence before it names the character.
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let deceptive = deceptive_character(given);
    let deceptive = deceptive.map_or_else(String::new, |character| {
        format!(" It contains {}.", character_name(character))
    });
    let meant = nearest(given, known);
    let meant = meant.map_or_else(String::new, |name| format!(" Did you mean `{name}`?"));
    format!("{deceptive}{meant}")
}

/// Characters of `name` in lowercase; `None` if it is empty or longer than [`MAX_CHARS`].
fn folded(name: &str) -> Option<Vec<char>> {
    let folded: Vec<char> = name
        .chars()
        .take(MAX_CHARS + 1)
        .flat_map(char::to_lowercase)
        .collect();
    (1..=MAX_CHARS).contains(&folded.len()).then_some(folded)
}

/// Optimal string alignment distance: the number of insertions, removals, replacements and swaps of adjacent characters
/// (Boytsov, "Indexing methods for approximate dictionary searching", 2011, section 2.2).
fn distance(first: &[char], second: &[char]) -> usize {
    let mut before_previous = vec![0; second.len() + 1];
    let mut previous: Vec<usize> = (0..=second.len()).collect();
    for (row, a) in first.iter().enumerate() {
        let mut current = vec![row + 1; second.len() + 1];
        for (column, b) in second.iter().enumerate() {
            let replaced = previous[column] + usize::from(a != b);
            let mut least = replaced.min(previous[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *a == second[column - 1] && first[row - 1] == *b {
                least = least.min(before_previous[column - 1] + 1);
            }
            current[column + 1] = least;
        }
        before_previous = std::mem::replace(&mut previous, current);
    }
    previous[second.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_the_nearest_name() {
        let providers = ["tcp", "shm", "efa", "verbs;ofi_rxm"];
        assert_eq!(nearest("tpc", providers), Some("tcp"));
        assert_eq!(nearest("verbs", providers), Some("verbs;ofi_rxm"));
        assert_eq!(nearest("lib", ["libfabric", "library"]), None);
        assert_eq!(nearest("TCP", providers), Some("tcp"));
        assert_eq!(nearest("verbs;ofi-rxm", providers), Some("verbs;ofi_rxm"));
        let variables = ["FI_EFA_USE_DEVICE_RDMA", "FI_EFA_USE_HUGE_PAGE", "FI_TCP_NODELAY"];
        assert_eq!(nearest("FI_EFA_USE_DEVICE_RDAM", variables), Some(variables[0]));
        assert_eq!(nearest("FI_TCP_NODELAYY", variables), Some(variables[2]));
        assert_eq!(
            did_you_mean("scenaros", ["spec", "scenarios"]),
            " Did you mean `scenarios`?"
        );
    }

    #[test]
    fn suggests_the_tool_of_a_program() {
        let tools = [
            "NcclTests",
            "Perftest",
            "Fabtests",
            "UcxPerftest",
            "Nixlbench",
            "TransferEngineBench",
        ];
        for (program, tool) in [
            ("fi_pingpong", "Fabtests"),
            ("fi_rma_bw", "Fabtests"),
            ("ib_write_bw", "Perftest"),
            ("all_reduce_perf", "NcclTests"),
            ("sendrecv_perf", "NcclTests"),
            ("ucx_perftest", "UcxPerftest"),
            ("nixlbench", "Nixlbench"),
            ("transfer_engine_bench", "TransferEngineBench"),
        ] {
            assert_eq!(nearest(program, tools), Some(tool), "{program}");
            assert_eq!(nearest(program, ["tcp", "shm"]), None, "{program}");
        }
    }

    #[test]
    fn names_a_character_that_looks_like_another_one() {
        assert_eq!(
            did_you_mean("tran\u{455}fer", ["transfer"]),
            " It contains U+0455 (a Cyrillic letter). Did you mean `transfer`?"
        );
        assert_eq!(
            did_you_mean("\u{435}f\u{430}", ["efa"]),
            " It contains U+0435 (a Cyrillic letter)."
        );
        assert_eq!(
            did_you_mean("tcp\u{200b}", ["tcp"]),
            " It contains U+200B (a zero-width space). Did you mean `tcp`?"
        );
    }

    #[test]
    fn suggests_nothing_if_no_name_is_similar() {
        assert_eq!(nearest("mpi", ["tcp", "shm", "efa"]), None);
        assert_eq!(nearest("x", ["a", "b"]), None);
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest("tcp", ["tcp"]), None);
        assert_eq!(nearest(&"x".repeat(1 << 20), ["tcp", "x"]), None);
        assert_eq!(did_you_mean("base", ["optimized"]), "");
    }

    #[test]
    fn the_distance_is_symmetric_and_counts_single_changes() {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        for (first, second, expected) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "ab", 1),
            ("abc", "xbc", 1),
            ("abc", "xyz", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(
                distance(&chars(first), &chars(second)),
                expected,
                "{first} {second}"
            );
            assert_eq!(
                distance(&chars(second), &chars(first)),
                expected,
                "{second} {first}"
            );
        }
    }
}

//! Damages the golden outputs at random. An import of damaged output has the values of the undamaged output, or fails.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use command_output::Row;
use command_output::import::read;
use crds::v1alpha1::CommandTool;

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("golden/", $name, ".txt"))
    };
}

/// Complete outputs. Whether the rows of the tool contain enough relations to find any changed digit.
const LOGS: [(CommandTool, &str, bool); 9] = [
    (
        CommandTool::NcclTests,
        golden!("published/nccl-tests-all_reduce_perf-2.13"),
        true,
    ),
    (
        CommandTool::Perftest,
        golden!("published/perftest-ib_write_bw-mb"),
        true,
    ),
    (
        CommandTool::Perftest,
        golden!("published/perftest-ib_write_lat"),
        true,
    ),
    (
        CommandTool::Fabtests,
        golden!("made/fi_pingpong-1.17-default"),
        true,
    ),
    (
        CommandTool::Fabtests,
        golden!("published/fabtests-fi_rdm_pingpong"),
        true,
    ),
    (CommandTool::Nixlbench, golden!("published/nixlbench-1.0"), true),
    (
        CommandTool::UcxPerftest,
        golden!("made/ucx_perftest-1.22-tag_lat"),
        true,
    ),
    // These print a bandwidth, but no other value from which it follows.
    (
        CommandTool::UcxPerftest,
        golden!("made/ucx_perftest-1.22-csv"),
        false,
    ),
    (
        CommandTool::TransferEngineBench,
        golden!("made/transfer_engine_bench-0.3.13-write"),
        false,
    ),
];
/// Number of damaged copies of each output and kind of damage.
const COPIES: u64 = 40;

/// Pseudorandom numbers (SplitMix64).
struct Random(u64);

impl Random {
    /// Returns a number below `end`, which must not be 0.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap() % end
    }
}

/// Latency, bandwidth and size of each result. The number of operations is not imported.
fn values(rows: &[Row]) -> Vec<(Option<u64>, Option<f64>, Option<f64>)> {
    let value = |row: &Row| {
        let size = row.size.map(|size| size.bytes);
        (
            size,
            row.latency.map(|value| value.value),
            row.bandwidth.map(|value| value.value),
        )
    };
    rows.iter().map(value).collect()
}

/// Fails if `damaged` has other values than `log`. If `may_lose` is set, whole results may be missing.
fn check(tool: CommandTool, log: &str, damaged: &str, may_lose: bool) {
    let Ok(found) = read(tool, None, damaged.as_bytes()) else {
        return;
    };
    let (found, expected) = (
        values(&found.rows),
        values(&read(tool, None, log.as_bytes()).unwrap().rows),
    );
    let is_subset = found.iter().all(|value| expected.contains(value));
    assert!(
        found == expected || (may_lose && is_subset),
        "{tool:?}: {found:?} instead of {expected:?}\n{damaged}"
    );
}

/// Replaces `count` characters at `at` by `text`. The outputs are ASCII.
fn replaced(log: &str, at: usize, count: usize, text: &str) -> String {
    format!("{}{text}{}", &log[..at], &log[(at + count).min(log.len())..])
}

#[test]
fn lost_added_and_repeated_characters() {
    for (tool, log, is_determined) in LOGS {
        let mut random = Random(7);
        for _ in 0..COPIES {
            let at = random.below(log.len());
            let count = 1 + random.below(4);
            let part = &log[at..(at + count).min(log.len())];
            let added = ["0", "7", " ", "\t", ".", "-", "x", "\u{1b}[0m", "é"][random.below(9)];
            for damaged in [
                replaced(log, at, count, ""),
                replaced(log, at, 0, added),
                replaced(log, at, 0, part),
            ] {
                if is_determined {
                    check(tool, log, &damaged, false);
                } else {
                    // The digits of a value that nothing determines may change, but nothing may panic.
                    drop(read(tool, None, damaged.as_bytes()));
                }
            }
        }
    }
}

#[test]
fn lost_repeated_and_moved_lines() {
    for (tool, log, _) in LOGS {
        let may_lose = matches!(
            tool,
            CommandTool::Fabtests | CommandTool::Nixlbench | CommandTool::Perftest
        );
        let lines: Vec<&str> = log.lines().collect();
        let mut random = Random(11);
        for _ in 0..COPIES {
            let (at, to) = (random.below(lines.len()), random.below(lines.len()));
            let mut changed = lines.clone();
            match random.below(3) {
                0 => drop(changed.remove(at)),
                1 => changed.insert(to, lines[at]),
                _ => {
                    let line = changed.remove(at);
                    changed.insert(to, line);
                }
            }
            let found = read(tool, None, (changed.join("\n") + "\n").as_bytes());
            let Ok(found) = found else { continue };
            let mut found = values(&found.rows);
            let mut expected = values(&read(tool, None, log.as_bytes()).unwrap().rows);
            // Moved rows are in another order.
            let order = |first: &(Option<u64>, _, _), second: &(Option<u64>, _, _)| first.0.cmp(&second.0);
            found.sort_by(order);
            expected.sort_by(order);
            let is_subset = found.iter().all(|value| expected.contains(value));
            assert!(
                found == expected || (may_lose && is_subset),
                "{tool:?}: {changed:#?}"
            );
        }
    }
}

#[test]
fn glued_cut_and_mixed_lines() {
    for (tool, log, is_determined) in LOGS {
        let may_lose = matches!(tool, CommandTool::Fabtests | CommandTool::Nixlbench);
        let mut random = Random(13);
        let breaks: Vec<usize> = log.match_indices('\n').map(|(at, _)| at).collect();
        for _ in 0..COPIES {
            let at = breaks[random.below(breaks.len())];
            let cut = random.below(log.len());
            check(tool, log, &replaced(log, at, 1, ""), may_lose);
            check(tool, log, &replaced(log, at, 1, " "), may_lose);
            check(tool, log, &format!("{}\n", &log[..cut]), may_lose);
            if is_determined {
                check(tool, log, &replaced(log, cut, 0, "\n"), may_lose);
            }
            // Lines of another process in between, from any position on.
            let mut mixed = String::new();
            for (index, line) in log.lines().enumerate() {
                mixed.push_str(line);
                mixed.push('\n');
                if index >= random.below(log.lines().count()) {
                    mixed.push_str(log.lines().nth(random.below(log.lines().count())).unwrap());
                    mixed.push('\n');
                }
            }
            check(tool, log, &mixed, may_lose);
        }
    }
}

#[test]
fn damaged_prefixes() {
    for (tool, log, is_determined) in LOGS.into_iter().filter(|(.., is_determined)| *is_determined) {
        assert!(is_determined);
        let may_lose = matches!(tool, CommandTool::Fabtests | CommandTool::Nixlbench);
        let mut random = Random(17);
        for prefix in [
            "0: ",
            "[1,0]<stdout>:",
            "[12] ",
            "2026-03-04T09:12:00.123456789Z ",
            "node-7: ",
            "nccl-1  | ",
        ] {
            let tagged: String = log.lines().map(|line| format!("{prefix}{line}\n")).collect();
            for _ in 0..COPIES / 4 {
                let at = random.below(tagged.len());
                let count = 1 + random.below(prefix.len() + 2);
                if tagged.is_char_boundary(at) && tagged.is_char_boundary((at + count).min(tagged.len())) {
                    check(tool, log, &replaced(&tagged, at, count, ""), may_lose);
                }
            }
        }
    }
}

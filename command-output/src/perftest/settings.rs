//! Title and settings that perftest prints before its table (`ctx_print_test_info` in perftest_parameters.c).

use crate::ParsedOutput;

/// Settings that can change a result.
const SETTINGS: [&str; 14] = [
    "Number of qps",
    "Transport type",
    "Connection type",
    "Using SRQ",
    "TX depth",
    "RX depth",
    "Post List",
    "Recv Post List",
    "CQ Moderation",
    "Mtu",
    "Link type",
    "Max inline data",
    "Outstand reads",
    "Dual-port",
];
/// Words of the title that name an option instead of the test: with a post list, the same test posts several requests at
/// once.
const OPTION: &str = " Post List ";

/// Whether `text` is a title, such as `RDMA_Write BW Test`.
pub(super) fn is_title(text: &str) -> bool {
    text.ends_with(" Test")
        && !text.contains(':')
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Name of the test in the title `text`, without options.
pub(super) fn title(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replacen(OPTION, " ", 1)
}

/// Reads the settings in `text`, such as `Number of qps   : 1` and `Transport type : IB`. Returns whether the line is one that
/// perftest prints before its table.
pub(super) fn read(text: &str, found: &mut ParsedOutput) -> bool {
    let parts: Vec<&str> = text.split('\t').flat_map(|part| part.split("  ")).collect();
    let joined = parts.join("\n");
    let mut is_setting = false;
    for name in SETTINGS {
        let mut rest = joined.as_str();
        while let Some(at) = rest.find(name) {
            let (before, after) = (&rest[..at], &rest[at + name.len()..]);
            let value = after.trim_start_matches(['\n', ' ']).strip_prefix(':');
            let is_start = before.is_empty() || before.ends_with('\n');
            if let Some(value) = value.filter(|_| is_start) {
                let value = value.trim_start().lines().next().unwrap_or_default();
                found.add_setting(name, value, false);
                is_setting = true;
            }
            rest = after;
        }
    }
    let known = [
        " address:",
        "GID:",
        "GID index",
        "Waiting for client",
        "Test with events.",
        "Post List requested",
        "WARNING: BW peak",
    ];
    is_setting
        || text.starts_with('*')
        || text.split_once(':').is_some_and(|(name, _)| {
            [
                "PCIe relax order",
                "ibv_wr* API",
                "rdma_cm QPs",
                "Data ex. method",
                "CQE Poll Batch",
                "Lock-free",
            ]
            .iter()
            .any(|known| name.trim().starts_with(known))
        })
        || known.iter().any(|known| text.contains(known))
}

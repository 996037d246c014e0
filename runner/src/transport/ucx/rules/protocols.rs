//! Parses the protocols that UCX 1.21 and newer print for `UCX_PROTO_INFO=used`. Performs no I/O.
//!
//! UCX prints one table per endpoint configuration and function, with a prefix before each line:
//!
//! ```text
//! [1795616804.768364] [node:2067:0]   +-------+---------+--------------------+--------+
//! [1795616804.768364] [node:2067:0]   | ucp_context_0 intra-node cfg#0                |
//! [1795616804.768364] [node:2067:0]   | remote memory write by ucp_put* from host memory to host |
//! [1795616804.768364] [node:2067:0]   +-------+---------+--------------------+--------+
//! [1795616804.768364] [node:2067:0]   | Count |  Range  |    Description     | Config |
//! [1795616804.768364] [node:2067:0]   +-------+---------+--------------------+--------+
//! [1795616804.768364] [node:2067:0]   |     9 | 0..8184 | software emulation | tcp/lo |
//! [1795616804.768364] [node:2067:0]   |     0 | 8185..inf | zero-copy        | tcp/lo |
//! [1795616804.768364] [node:2067:0]   +-------+---------+--------------------+--------+
//! ```

use crds::record::ProtocolUse;

/// Text that precedes the function name in a table title. The titles of tables for internal rendezvous messages do not
/// name a function.
const FUNCTION: &str = " by ucp_";

/// Finds the protocols in `printed` that were used at least once. Also returns the lines that do not belong to a table.
///
/// A protocol that occurs in the tables of several endpoints is returned once, with the sum of the counts.
pub(in crate::transport::ucx) fn parse(printed: &str) -> (Vec<ProtocolUse>, Vec<&str>) {
    let mut protocols: Vec<ProtocolUse> = Vec::new();
    let mut others = Vec::new();
    let mut table = None;
    for line in printed.lines() {
        let content = without_prefix(line);
        if is_border(content) {
            continue;
        }
        let Some(cells) = content
            .strip_prefix('|')
            .and_then(|cells| cells.strip_suffix('|'))
        else {
            others.push(line);
            continue;
        };
        let cells: Vec<_> = cells.split('|').map(str::trim).collect();
        match cells.as_slice() {
            // The second title line of a table names the function and the kind of memory.
            [title] => table = function_in(title).map(|function| (function, memory_in(title))),
            [count, range, description, lanes] => {
                let used = table.and_then(|table| parse_row(table, count, range, description, lanes));
                if let Some(protocol) = used {
                    protocol.add_to(&mut protocols);
                }
            }
            _ => others.push(line),
        }
    }
    (protocols, others)
}

/// Removes the time and the process from the start of a line.
fn without_prefix(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        rest = after.trim_start();
    }
    rest
}

fn is_border(line: &str) -> bool {
    line.starts_with("+-") && line.chars().all(|char| matches!(char, '+' | '-'))
}

/// Function name in a table title, such as `ucp_put`.
fn function_in(title: &str) -> Option<&str> {
    let start = title.find(FUNCTION)? + " by ".len();
    let name = &title[start..];
    let end = name.find(|char: char| !char.is_ascii_lowercase() && char != '_');
    Some(&name[..end.unwrap_or(name.len())])
}

/// Kind of local memory in a table title, such as `host` in `from host memory`. If UCX knows the device that holds the
/// memory, the title names it instead of the word `memory`, as in `into cuda/GPU0`.
fn memory_in(title: &str) -> Option<&str> {
    let (_, operation) = title.split_once(FUNCTION)?;
    let mut words = operation
        .split(' ')
        .skip_while(|word| !matches!(*word, "from" | "into"));
    let kind = words.nth(1)?;
    Some(kind.split('/').next().unwrap_or(kind))
}

/// Parses a table row for a function and a kind of memory. Returns `None` for the header, and for a protocol that was
/// not used.
fn parse_row(
    (function, memory): (&str, Option<&str>),
    count: &str,
    range: &str,
    description: &str,
    lanes: &str,
) -> Option<ProtocolUse> {
    let count = count.parse().ok().filter(|count| *count > 0)?;
    let (from, to) = range.split_once("..").unwrap_or((range, range));
    // The `(?)` mark indicates that the range is an estimate.
    let description = description.strip_prefix("(?)").unwrap_or(description).trim();
    Some(ProtocolUse {
        function: function.to_owned(),
        from_bytes: bytes(from)?,
        to_bytes: match to {
            "inf" => None,
            limit => Some(bytes(limit)?),
        },
        memory: memory.map(str::to_owned),
        description: description.to_owned(),
        lanes: lanes.to_owned(),
        count,
        steps: None,
    })
}

/// Parses a size such as `16483`, `8K` or `1M`. The units are powers of 1024.
fn bytes(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let shift = match &size[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        "P" => 50,
        "E" => 60,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of UCX 1.22.0 for `ucx_perftest -t tag_lat -s 65536` and two workers that wrote over TCP.
    const PRINTED: &str = "\
[1795616814.683985] [vm:20769:0]   +-------+---------------+--------------------------------------------+--------+
[1795616814.683985] [vm:20769:0]   | perftest intra-node cfg#0                                                   |
[1795616814.683985] [vm:20769:0]   | tagged message by ucp_tag_send* from host memory                            |
[1795616814.683985] [vm:20769:0]   +-------+---------------+--------------------------------------------+--------+
[1795616814.683985] [vm:20769:0]   | Count |     Range     |                Description                 | Config |
[1795616814.683985] [vm:20769:0]   +-------+---------------+--------------------------------------------+--------+
[1795616814.683985] [vm:20769:0]   |     0 |             0 | eager short                                | tcp/lo |
[1795616814.683985] [vm:20769:0]   |     7 |       1..8K   | eager zero-copy copy-out                   | tcp/lo |
[1795616814.683985] [vm:20769:0]   |  9135 | 8193..273826  | multi-frag eager copy-in copy-out          | tcp/lo |
[1795616814.683985] [vm:20769:0]   |     1 |   273827..inf | (?) rendezvous fragmented copy-in copy-out | tcp/lo |
[1795616814.683985] [vm:20769:0]   +-------+---------------+--------------------------------------------+--------+
[1795616814.683985] [vm:20769:0]   +-------+--------+-------------+----------------------------------+
[1795616814.683985] [vm:20769:0]   | perftest intra-node cfg#1                                       |
[1795616814.683985] [vm:20769:0]   | rendezvous data fetch(tag-rndv) into host memory from host      |
[1795616814.683985] [vm:20769:0]   +-------+--------+-------------+----------------------------------+
[1795616814.683985] [vm:20769:0]   | Count | Range  | Description |              Config              |
[1795616814.683985] [vm:20769:0]   +-------+--------+-------------+----------------------------------+
[1795616814.683985] [vm:20769:0]   |     5 | 0..inf | zero-copy   | cma/memory                       |
[1795616814.683985] [vm:20769:0]   +-------+--------+-------------+----------------------------------+
ucx: a message of the library";

    fn protocol(from_bytes: u64, to_bytes: Option<u64>, description: &str, count: u64) -> ProtocolUse {
        ProtocolUse {
            function: "ucp_tag_send".to_owned(),
            from_bytes,
            to_bytes,
            memory: Some("host".to_owned()),
            description: description.to_owned(),
            lanes: "tcp/lo".to_owned(),
            count,
            steps: None,
        }
    }

    #[test]
    fn finds_the_protocols_that_were_used() {
        let (protocols, others) = parse(PRINTED);
        let expected = [
            protocol(1, Some(8192), "eager zero-copy copy-out", 7),
            protocol(8193, Some(273_826), "multi-frag eager copy-in copy-out", 9135),
            protocol(273_827, None, "rendezvous fragmented copy-in copy-out", 1),
        ];
        assert_eq!(protocols, expected);
        assert_eq!(others, ["ucx: a message of the library"]);
    }

    #[test]
    fn titles_name_the_kind_of_local_memory() {
        for (title, memory) in [
            ("tagged message by ucp_tag_send* from host memory", Some("host")),
            ("tagged message by ucp_tag_send* from cuda/GPU0", Some("cuda")),
            (
                "remote memory write by ucp_put*(fast-completion) from cuda/GPU0 to host",
                Some("cuda"),
            ),
            (
                "remote memory read by ucp_get* into host memory from cuda",
                Some("host"),
            ),
            (
                "active message by ucp_am_send* with reply flag from cuda-managed memory",
                Some("cuda-managed"),
            ),
            ("remote memory write by ucp_put*", None),
            ("perftest intra-node cfg#0", None),
        ] {
            assert_eq!(memory_in(title), memory, "{title}");
        }
        let cuda = PRINTED.replace("from host memory", "from cuda/GPU0  ");
        let both = format!("{PRINTED}\n{cuda}");
        let kinds: Vec<_> = parse(&both).0.into_iter().map(|found| found.memory).collect();
        assert_eq!(
            kinds
                .iter()
                .filter(|kind| kind.as_deref() == Some("cuda"))
                .count(),
            3
        );
        assert_eq!(kinds.len(), 6);
    }

    #[test]
    fn sums_the_counts_of_several_endpoints() {
        let twice = format!("{PRINTED}\n{PRINTED}");
        let (protocols, _) = parse(&twice);
        assert_eq!(protocols.len(), 3);
        assert_eq!(protocols[1].count, 2 * 9135);
    }

    #[test]
    fn finds_nothing_in_other_output() {
        for printed in [
            "",
            "|",
            "||||",
            "| a | b | c | d |",
            "[",
            "+--",
            "| 1 | 0..inf | zero-copy | tcp/lo |",
        ] {
            assert_eq!(parse(printed).0, [], "{printed}");
        }
    }

    #[test]
    fn reads_sizes_with_units() {
        assert_eq!(bytes("16483"), Some(16_483));
        assert_eq!(bytes("3M"), Some(3 << 20));
        for malformed in ["", "K", "1X", "-1", "99999999999999E"] {
            assert_eq!(bytes(malformed), None, "{malformed}");
        }
    }
}

//! Lanes and protocol tables of UCX.
//!
//! With `UCX_PROTO_INFO`, UCX prints a table for each operation (`src/ucp/proto/proto_debug.c`, UCX 1.13 to 1.23). Each
//! row names a range of message sizes in bytes, the protocol and its lanes. With `UCX_PROTO_INFO=used`, the first cell
//! is the number of messages that used the protocol:
//!
//! ```text
//! |       0..8184 | software emulation | tcp/eth0 |
//! | 9 |   0..8184 | software emulation | tcp/eth0 |
//! ```

use crds::record::LogLineKind;

/// Start of the description of a protocol that emulates RMA operations (`UCP_PROTO_RMA_EMULATION_DESC` in
/// `src/ucp/rma/rma.h`).
const EMULATION: &str = "software emulation";

/// A row of a protocol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// What the row shows.
    pub(super) kind: LogLineKind,
    /// Transports of the lanes.
    pub(super) transports: Vec<String>,
    /// Smallest message in bytes.
    pub(super) from_bytes: Option<u64>,
    /// Largest message in bytes; `None` if there is no limit.
    pub(super) to_bytes: Option<u64>,
}

/// Reads `line` as a row of a protocol table. Returns `None` if it is another line, or the row of a protocol that no
/// message used.
pub(super) fn row(line: &str) -> Option<Row> {
    let start = line.find('|')?;
    let cells = line.get(start + 1..)?.trim_end().strip_suffix('|')?;
    let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
    let (range, description, lanes) = match cells.as_slice() {
        [range, description, lanes] => (range, description, lanes),
        [count, range, description, lanes] if count.parse::<u64>().is_ok_and(|count| count > 0) => {
            (range, description, lanes)
        }
        _ => return None,
    };
    let (from, to) = range.split_once("..")?;
    let from_bytes = Some(bytes(from)?);
    let to_bytes = if to == "inf" { None } else { Some(bytes(to)?) };
    // The word `sgl` precedes the description of a list of buffers.
    let is_emulation = description.trim_start_matches("sgl ").starts_with(EMULATION);
    Some(Row {
        kind: if is_emulation {
            LogLineKind::Emulation
        } else {
            LogLineKind::Path
        },
        transports: transports(lanes),
        from_bytes,
        to_bytes,
    })
}

/// Reads a number of bytes, which may have a unit (`K`, `M` or `G`).
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)?.trim_end_matches('B') {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Distinct transports in a text that contains lanes of the form `transport/device`.
pub(super) fn transports(text: &str) -> Vec<String> {
    let words = text.split([' ', ',', '(', ')']);
    let lanes = words.filter_map(|word| word.split_once('/'));
    let mut names: Vec<String> = Vec::new();
    for (name, _) in lanes {
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_a_range_and_the_transports() {
        let found = row("[1.0] [h:1:0]  |   0..8184 | software emulation | tcp/eth0 |").unwrap();
        assert_eq!((found.kind, found.to_bytes), (LogLineKind::Emulation, Some(8184)));
        assert_eq!(found.transports, ["tcp"]);
        let found =
            row("| 3 | 8185..inf | zero-copy | 50% on rc_mlx5/mlx5_0:1 and 50% on tcp/eth0 |").unwrap();
        assert_eq!(
            (found.kind, found.from_bytes, found.to_bytes),
            (LogLineKind::Path, Some(8185), None)
        );
        assert_eq!(found.transports, ["rc_mlx5", "tcp"]);
        assert_eq!(
            row("|   8K..64K | short | tcp/lo |").unwrap().from_bytes,
            Some(8192)
        );
    }

    #[test]
    fn other_lines_and_unused_protocols_are_not_rows() {
        for line in [
            "| 0 | 0..8184 | software emulation | tcp/lo |",
            "| perftest inter-node cfg#0 | remote memory write by ucp_put* from host memory to host |",
            "| Count | Range | Description | Config |",
            "|    Stage     | # iterations | 50.0%ile | average |",
            "+----+----+",
        ] {
            assert_eq!(row(line), None, "{line}");
        }
    }
}

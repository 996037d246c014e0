//! Table of the memory of a host and its consumers.

use campaign::format;

use super::Test;
use crate::report::document::{Column, Detail, Note, Row, Table};

/// Returns the table of a scenario's successful `tests`.
pub(super) fn table(title: String, tests: &[&Test<'_>]) -> Table {
    let bytes = |value: f64| format::bytes(value as u64);
    let rows = tests.iter().filter_map(|test| {
        let footprint = test.cell.footprint.as_ref()?;
        let memory = footprint.memory?;
        let sign = if memory.slope < 0.0 { '-' } else { '+' };
        Some(Row::new([
            test.subject(),
            test.arm.name.clone(),
            footprint.consumers.to_string(),
            bytes(memory.consumer),
            bytes(memory.consumer_rss),
            memory.own_range.map_or_else(|| bytes(memory.own), byte_range),
            bytes(memory.tensor),
            memory.vram.map_or_else(|| "n/a".to_owned(), bytes),
            format!(
                "{} ({:.1} %)",
                bytes(memory.saved_bytes()),
                100.0 * memory.saved_share()
            ),
            bytes(memory.baseline),
            format!("{sign}{}", bytes(memory.slope.abs())),
        ]))
    });
    let columns = Column::all([
        "test",
        "arm",
        "consumers",
        "RAM/consumer",
        "Rss",
        "before",
        "tensor RAM",
        "VRAM",
        "shared (saved)",
        "baseline",
        "slope",
    ]);
    let note = "RAM/consumer is the mean Pss of a consumer with the tensor, and \"before\" is the lowest and the highest Pss \
                of a consumer before the first distribution. The baseline is the Pss of the host before it allocates the \
                tensor, with memory that it has kept from earlier cases. The slope is the change in the total Pss with each \
                distribution. VRAM is the GPU memory of the tensor and of the consumers' CUDA contexts; it is n/a for a \
                tensor in host memory. For a tensor in GPU memory, \"tensor RAM\" is the GPU memory of the tensor alone.";
    Table::new(title, columns, rows).notes([Note::new("", note, Detail::Brief)])
}

/// Formats the `lowest` and the `highest` number of bytes, with a common unit if possible.
fn byte_range((lowest, highest): (f64, f64)) -> String {
    let (low, high) = (format::bytes(lowest as u64), format::bytes(highest as u64));
    if low == high {
        return high;
    }
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((low, unit)), Some((_, same))) if unit == same => format!("{low} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_has_one_unit_if_possible() {
        assert_eq!(byte_range((1.9e6, 2.1e6)), "1.90 to 2.10 MB");
        assert_eq!(byte_range((9e5, 2.1e6)), "900 kB to 2.10 MB");
        assert_eq!(byte_range((2.1e6, 2.1e6)), "2.10 MB");
    }
}

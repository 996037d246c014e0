//! One result of a tool.

use crate::Printed;

/// Result of a tool at one size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Size of a message or transfer; `None` if the tool does not print it.
    pub size: Option<PrintedSize>,
    /// Latency in nanoseconds, as the tool defines it; `None` if the tool does not print it.
    pub latency: Option<Printed>,
    /// Payload bytes per second, as the tool defines them; `None` if the tool does not print them.
    pub bandwidth: Option<Printed>,
    /// Number of messages or transfers; `None` if the tool does not print it.
    pub operations: Option<u64>,
    /// Lower bound of the payload bytes that the tool transferred in at least one direction; `None` if the output does
    /// not contain it.
    pub payload_bytes: Option<u64>,
}

/// Size that a tool printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintedSize {
    /// Smallest size in bytes that the tool prints like this.
    pub bytes: u64,
    /// Largest size in bytes that the tool prints like this.
    pub most: u64,
}

impl PrintedSize {
    /// Creates a size that was printed in bytes, without a suffix.
    pub fn exact(bytes: u64) -> Self {
        Self { bytes, most: bytes }
    }

    /// Whether the tool prints a size of `bytes` like this.
    pub fn matches(self, bytes: u64) -> bool {
        (self.bytes..=self.most).contains(&bytes)
    }
}

impl Row {
    /// Latency in nanoseconds; `None` if the tool does not print it, or it is below the tool's resolution.
    pub fn latency_nanos(&self) -> Option<f64> {
        self.latency?.above_resolution()
    }

    /// Payload bytes per second; `None` if the tool does not print them, or they are below the tool's resolution.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.bandwidth?.above_resolution()
    }

    pub(crate) fn matches_size(&self, size: u64) -> bool {
        self.size.is_none_or(|printed| printed.matches(size))
    }

    pub(crate) fn printed_size(&self) -> Option<String> {
        let text = |size: PrintedSize| match size.bytes == size.most {
            true => size.bytes.to_string(),
            false => format!("{} to {}", size.bytes, size.most),
        };
        self.size.map(text)
    }

    /// Computes the payload bytes from the number of operations and `size`, the exact size in bytes, unless the payload
    /// bytes are already known. They stay unknown if the number of operations is unknown.
    pub(crate) fn with_size(mut self, size: u64) -> Self {
        let moved = || self.operations?.checked_mul(size);
        self.payload_bytes = self.payload_bytes.or_else(moved);
        self
    }
}

/// Upper bound of the payload bytes that the tool reports in one direction in all `rows`, of which the row with `size`
/// contains the result; `None` if a row does not contain it. A rounded size counts as the largest size that it may stand
/// for.
pub fn most_payload(rows: &[Row], size: u64) -> Option<u64> {
    let payload = |row: &Row| {
        let size = match row.size {
            Some(printed) if !row.matches_size(size) => printed.most,
            _ => size,
        };
        row.clone().with_size(size).payload_bytes
    };
    let payloads: Option<Vec<u64>> = rows.iter().map(payload).collect();
    Some(payloads?.into_iter().fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_belong_to_the_largest_payload() {
        let row = |size, operations| Row {
            size: Some(size),
            operations: Some(operations),
            ..Row::default()
        };
        let rounded = PrintedSize {
            bytes: 1000,
            most: 1010,
        };
        let rows = [row(PrintedSize::exact(64), 10), row(rounded, 2)];
        assert_eq!(most_payload(&rows, 64), Some(640 + 2020));
        assert_eq!(most_payload(&[Row::default()], 64), None);
    }

    #[test]
    fn payload_is_the_exact_size_times_the_operations() {
        let row = Row {
            operations: Some(10),
            ..Row::default()
        };
        assert_eq!(row.with_size(64).payload_bytes, Some(640));
        assert_eq!(Row::default().with_size(64).payload_bytes, None);
    }
}

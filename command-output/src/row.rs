//! One result of a tool.

use crate::Printed;

/// Relative difference by which a size with a suffix, such as `1.5k`, may differ from the exact size.
const ROUNDING: f64 = 0.01;

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
    /// Bytes, rounded if the tool printed a suffix.
    pub bytes: u64,
    is_rounded: bool,
}

impl PrintedSize {
    /// Creates a size that was printed in bytes, without a suffix.
    pub fn exact(bytes: u64) -> Self {
        Self {
            bytes,
            is_rounded: false,
        }
    }

    /// Creates a size that was printed with a suffix.
    pub fn from_rounded(bytes: u64) -> Self {
        Self {
            bytes,
            is_rounded: true,
        }
    }

    fn matches(self, bytes: u64) -> bool {
        let difference = self.bytes.abs_diff(bytes) as f64;
        self.bytes == bytes || (self.is_rounded && difference <= bytes as f64 * ROUNDING)
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
        self.size.map(|size| size.bytes.to_string())
    }

    /// Computes the payload bytes from the number of operations and `size`, the exact size in bytes, unless the payload
    /// bytes are already known. They stay unknown if the number of operations is unknown.
    pub(crate) fn with_size(mut self, size: u64) -> Self {
        let moved = || self.operations?.checked_mul(size);
        self.payload_bytes = self.payload_bytes.or_else(moved);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_size_with_a_suffix_may_be_rounded() {
        assert!(PrintedSize::from_rounded(1536).matches(1540));
        assert!(!PrintedSize::from_rounded(1536).matches(1600));
        assert!(!PrintedSize::exact(1536).matches(1540));
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

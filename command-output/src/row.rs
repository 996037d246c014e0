//! One result of a tool.

use std::fmt;

use crate::Printed;

/// Relative error of computations with several rounded floating-point numbers; larger than any that occurs.
const FLOAT_ERROR: f64 = 1e-9;

/// Result of a tool at one size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Size of a message or transfer; `None` if the tool does not print it.
    pub size: Option<PrintedSize>,
    /// Sizes that the other values allow; `None` if the tool prints the size, or no values that determine it.
    pub implied_size: Option<PrintedSize>,
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

    /// Sizes whose product with the messages per second `rate` can be the bytes per second `bandwidth`, both as they were
    /// printed. The rate may include up to `extra` messages without bytes for each message with bytes.
    pub(crate) fn implied(bandwidth: Printed, rate: Printed, extra: f64) -> Self {
        // Conversion saturates, so a rate that may be 0 sets no upper limit.
        let ratio = |bytes: f64, messages: f64| bytes / messages.max(f64::MIN_POSITIVE);
        let least = ratio(bandwidth.least, rate.most) * (1.0 - FLOAT_ERROR);
        let most = ratio(bandwidth.most, rate.least) * (1.0 + extra) * (1.0 + FLOAT_ERROR);
        let (bytes, below) = (least.ceil() as u64, most.floor() as u64);
        // Between numbers that are so precise, there may be no whole number.
        match bytes <= below {
            true => Self { bytes, most: below },
            false => Self {
                bytes: below,
                most: bytes,
            },
        }
    }

    /// The size that is probably meant: the only power of two in the range or, if the range is at most 1 % wide, its middle.
    pub(crate) fn probable(self) -> Option<u64> {
        let Self { bytes, most } = self;
        let mut powers = (0..u64::BITS)
            .map(|exponent| 1_u64 << exponent)
            .filter(|power| self.matches(*power));
        let only = powers.next().filter(|_| powers.next().is_none());
        let width = most.saturating_sub(bytes);
        only.or((width <= most / 100).then_some(bytes + width / 2))
            .filter(|size| *size > 0)
    }

    /// Whether the tool prints a size of `bytes` like this.
    pub fn matches(self, bytes: u64) -> bool {
        (self.bytes..=self.most).contains(&bytes)
    }
}

impl fmt::Display for PrintedSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.bytes, self.most) {
            (bytes, most) if bytes == most => write!(formatter, "{bytes}"),
            (bytes, u64::MAX) => write!(formatter, "at least {bytes}"),
            (0 | 1, most) => write!(formatter, "at most {most}"),
            (bytes, most) => write!(formatter, "{bytes} to {most}"),
        }
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
        self.size.map(|size| size.to_string())
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
    fn a_size_follows_from_bandwidth_and_message_rate() {
        let implied = |bandwidth, rate| {
            let [bandwidth, rate] = [bandwidth, rate].map(|text| Printed::rounded(text).unwrap());
            PrintedSize::implied(bandwidth.scaled(1_048_576.0), rate, 0.0)
        };
        let precise = implied("401.80", "102860");
        assert!(precise.matches(4096) && !precise.matches(8) && !precise.matches(4100));
        assert_eq!(precise.probable(), Some(4096));
        assert_eq!(implied("17.17", "18000").probable(), Some(1000));
        let coarse = implied("0.01", "224");
        assert_eq!(
            (coarse.to_string(), coarse.probable()),
            ("24 to 70".to_owned(), None)
        );
        assert_eq!(implied("0.18", "2964").probable(), Some(64));
        let unresolved = implied("0.00", "65");
        assert!(unresolved.matches(64) && !unresolved.matches(1 << 20));
        assert_eq!(unresolved.to_string(), "at most 81");
        assert_eq!(implied("1.00", "0").to_string(), "at least 2086667");
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

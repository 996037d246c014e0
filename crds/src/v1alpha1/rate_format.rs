//! Formats of a throughput in reports.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Throughput unit, in bytes or bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum RateUnit {
    /// 10^9 bytes per second.
    #[default]
    GB,
    /// 2^30 bytes per second.
    GiB,
    /// 10^9 bits per second.
    Gb,
    /// 10^6 bytes per second.
    MB,
    /// 2^20 bytes per second.
    MiB,
    /// 10^6 bits per second.
    Mb,
    /// 10^3 bytes per second.
    KB,
    /// 2^10 bytes per second.
    KiB,
    /// 10^3 bits per second.
    Kb,
}

impl RateUnit {
    /// All units.
    pub const ALL: [Self; 9] = [
        Self::GB,
        Self::GiB,
        Self::Gb,
        Self::MB,
        Self::MiB,
        Self::Mb,
        Self::KB,
        Self::KiB,
        Self::Kb,
    ];

    /// Number of bytes per second in one unit.
    pub fn bytes_per_second(self) -> f64 {
        match self {
            Self::GB => 1e9,
            Self::GiB => f64::from(1 << 30),
            Self::Gb => 1e9 / 8.0,
            Self::MB => 1e6,
            Self::MiB => f64::from(1 << 20),
            Self::Mb => 1e6 / 8.0,
            Self::KB => 1e3,
            Self::KiB => f64::from(1 << 10),
            Self::Kb => 1e3 / 8.0,
        }
    }
}

impl fmt::Display for RateUnit {
    /// Writes the name of the unit in manifests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Format of the throughput in reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateFormat {
    /// Throughput unit.
    pub unit: RateUnit,
    /// Number of decimal places.
    pub precision: u32,
}

impl RateFormat {
    /// Formats a throughput, such as `1.23 GB/s`.
    pub fn text(self, bytes_per_second: f64) -> String {
        let value = bytes_per_second / self.unit.bytes_per_second();
        format!("{value:.*} {}/s", self.precision as usize, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_a_rate_in_every_unit() {
        let rate = 1_234_567_890.0;
        let formatted = RateUnit::ALL.map(|unit| RateFormat { unit, precision: 2 }.text(rate));
        assert_eq!(
            formatted,
            [
                "1.23 GB/s",
                "1.15 GiB/s",
                "9.88 Gb/s",
                "1234.57 MB/s",
                "1177.38 MiB/s",
                "9876.54 Mb/s",
                "1234567.89 KB/s",
                "1205632.71 KiB/s",
                "9876543.12 Kb/s",
            ]
        );
        let whole = RateFormat {
            unit: RateUnit::MB,
            precision: 0,
        };
        assert_eq!(whole.text(rate), "1235 MB/s");
    }
}

//! Metric definition that the exposition and the documentation share.

/// Definition of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Name of the metric, including its base unit.
    pub name: &'static str,
    /// Type of the metric.
    pub kind: Kind,
    /// Unit of the metric; empty if it has none.
    pub unit: &'static str,
    /// One-line description of the metric, without a full stop.
    pub help: &'static str,
    /// Labels, in the order in which samples list their values.
    pub labels: &'static [Label],
}

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Monotonically increasing value.
    Counter,
    /// Value that can go up and down.
    Gauge,
    /// Observation counts by bucket.
    Histogram,
}

/// Metric label.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// Name of the label.
    pub name: &'static str,
    /// Complete list of the values, or a description of them; empty if the name is self-explanatory.
    pub values: &'static str,
}

impl Kind {
    /// Returns the type name used in exposition formats.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Definition {
    /// Splits the name into stem and unit for OpenMetrics, which requires the name to end with the unit. If the name
    /// does not end with the unit, the returned unit is `None`.
    pub fn stem_and_unit(&self) -> (&'static str, Option<&'static str>) {
        let stem = self.name.strip_suffix(self.unit);
        let stem = stem.and_then(|stem| stem.strip_suffix('_'));
        match stem {
            Some(stem) if !self.unit.is_empty() => (stem, Some(self.unit)),
            _ => (self.name, None),
        }
    }
}

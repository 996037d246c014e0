//! What a metric is: the words that its exposition, its documentation and its tests share.

/// A metric.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name, base unit included.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its unit in words; empty where it has none.
    pub unit: &'static str,
    /// What it says, in a line without a full stop.
    pub help: &'static str,
    /// Its labels, in the order of the values.
    pub labels: &'static [Label],
}

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only goes up.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts observations in buckets.
    Histogram,
}

/// A label of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// Its values, where they are a closed list; else what they are. Empty where the name says it.
    pub values: &'static str,
}

impl Kind {
    /// As exposition formats write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Definition {
    /// Name and unit as OpenMetrics writes them apart; no unit where the name does not end in it, which that format demands.
    pub fn stem_and_unit(&self) -> (&'static str, Option<&'static str>) {
        let stem = self.name.strip_suffix(self.unit);
        let stem = stem.and_then(|stem| stem.strip_suffix('_'));
        match stem {
            Some(stem) if !self.unit.is_empty() => (stem, Some(self.unit)),
            _ => (self.name, None),
        }
    }
}

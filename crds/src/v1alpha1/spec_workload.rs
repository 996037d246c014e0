//! What every workload of a scenario defines in the spec.

use std::borrow::Cow;

use super::{Load, Metric, RateFormat};
use crate::units::Size;

/// Workload in a spec.
pub trait SpecWorkload {
    /// Sizes of messages, transfers or payloads, in spec order.
    fn sizes(&self) -> Cow<'_, [Size]>;

    /// Metric on which the verdicts on a closed loop are based by default.
    fn metric_of_closed_loop(&self) -> Metric {
        Metric::Throughput
    }

    /// When operations start; `None` for a closed loop.
    fn load(&self) -> Option<Load> {
        None
    }

    /// Metric on which verdicts are based by default.
    fn default_metric(&self) -> Metric {
        match self.load() {
            Some(_) => Metric::LatencyP99,
            None => self.metric_of_closed_loop(),
        }
    }

    /// Format of the throughput in reports, if the workload defines one.
    fn rate_format(&self) -> Option<RateFormat> {
        None
    }

    /// Name of the field that lists the sizes.
    fn sizes_field(&self) -> &'static str {
        "sizes"
    }
}

//! Rules of memory footprints.

use crds::assignment::FootprintWorkload;
use crds::v1alpha1::Metric;

use super::{Speed, WorkloadRules};

impl WorkloadRules for FootprintWorkload {
    fn latency_name(&self) -> &'static str {
        "distribution"
    }

    fn latency_definition(&self) -> &'static str {
        "the time to pass the tensor to one consumer"
    }

    fn operation_seconds(&self, speed: Speed) -> f64 {
        speed.latency + speed.wire
    }

    /// The CPU time of the consumers is not measured.
    fn has_metric(&self, metric: Metric) -> bool {
        metric.is_latency() || metric == Metric::MemoryPerConsumer
    }

    fn limit_seconds(&self) -> Option<f64> {
        Some(f64::from(self.timeout_seconds))
    }

    /// The window also includes releasing the tensor and reading the page tables, and its CPU time does not include the
    /// consumers.
    fn has_window_of_operations(&self) -> bool {
        false
    }

    fn has_own_tables(&self) -> bool {
        true
    }
}

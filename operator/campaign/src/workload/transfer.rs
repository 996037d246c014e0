//! Rules of transfers.

use crds::assignment::{TransferWorkload, WorkloadProperties};
use crds::v1alpha1::{Metric, TransferOperation};

use super::{Speed, WorkloadRules};

impl WorkloadRules for TransferWorkload {
    fn latency_name(&self) -> &'static str {
        match self.open_loop {
            Some(_) => "start-to-completion",
            None => "post-to-completion",
        }
    }

    fn latency_definition(&self) -> &'static str {
        match self.open_loop {
            Some(_) => "the time from the intended start to completion",
            None => "the time from post to completion",
        }
    }

    fn operation_seconds(&self, speed: Speed) -> f64 {
        let one_direction = speed.latency / f64::from(self.window) + speed.wire * speed.sharing;
        let directions = if self.is_bidirectional() { 2.0 } else { 1.0 };
        speed.interval.unwrap_or(directions * one_direction)
    }

    /// A load sets the rate, which is therefore not a result.
    fn has_metric(&self, metric: Metric) -> bool {
        match metric {
            Metric::Throughput | Metric::CompletionRate => self.open_loop.is_none(),
            _ => metric.is_latency() || metric == Metric::CpuSecondsPerGib,
        }
    }

    /// A read moves the bytes to the side that posts it. If written memory is read back, reads move half of the bytes.
    fn expected_bytes(&self, initiator: Vec<u64>, target: Vec<u64>) -> [Vec<u64>; 2] {
        if self.read_back {
            let one_way: Vec<u64> = initiator.iter().map(|bytes| bytes / 2).collect();
            return [one_way.clone(), one_way];
        }
        let opposite = if self.is_bidirectional() {
            target
        } else {
            Vec::new()
        };
        match self.operation {
            TransferOperation::Read => [opposite, initiator],
            TransferOperation::Send | TransferOperation::Write | TransferOperation::WriteImmediate => {
                [initiator, opposite]
            }
        }
    }

    fn concurrent_operations(&self) -> Option<f64> {
        Some(f64::from(self.window) * f64::from(self.threads))
    }
}

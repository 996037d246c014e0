//! Rules of transfers.

use crds::assignment::{ScenarioAssignment, TransferMode, TransferWorkload, Workload, WorkloadProperties};
use crds::units;
use crds::v1alpha1::{
    Direction, Load, ManyToMany, Metric, Transfer, TransferBuffers, TransferOperation, TransportSpec,
    UcxWriteCompletion,
};

use super::description;
use super::flows::{OPEN_LOOP, check_threads};
use super::{Context, GivenWorkload, Speed, WorkloadRules};
use crate::format::pluralized;
use crate::validate::reporter::Reporter;

impl GivenWorkload for Transfer {
    fn workload(&self, context: &mut Context<'_>) -> Workload {
        if self.load.is_some() && self.batch != 1 {
            let batch = self.batch;
            context.add(
                "batch",
                format!(
                    "in an open loop, every transfer has its own intended start, so {batch} transfers cannot \
                     be posted together. Remove `batch` or `load`"
                ),
            );
        }
        let (iterations, duration) = match context.many_to_many {
            Some(_) => {
                let default = units::Duration(context.flow_duration());
                (None, self.duration.or(Some(default)))
            }
            None => (self.iterations, self.duration),
        };
        let measured = context.measured(iterations, duration);
        Workload::Transfer(TransferWorkload {
            batch: self.batch,
            threads: self.threads,
            direction: self.direction,
            buffers: self.buffers,
            open_loop: self.load.map(Load::lowest),
            warmup: context.warmup(self.warmup, self.warmup_duration),
            ..TransferWorkload::new(self.operation, self.window, measured)
        })
    }

    fn check_flows(&self, path: &str, pattern: ManyToMany, report: &mut Reporter) {
        let mut add = |field: &str, message: &str| report.add(format!("{path}.{field}"), message);
        if self.direction != Direction::Unidirectional {
            add(
                "direction",
                "if `spec.placement.pattern` is ManyToMany, only senders post transfers. Use `direction: \
                 Unidirectional` or `pattern: Pairwise`",
            );
        }
        if self.load.is_some() {
            add("load", OPEN_LOOP);
        }
        if self.iterations.is_some() {
            add(
                "iterations",
                "if `spec.placement.pattern` is ManyToMany, all flows must be active for the same time, but a \
                 fast flow would complete this number of transfers before the others. Use `duration`",
            );
        }
        check_threads(format!("{path}.threads"), self.threads, pattern, report);
    }
}

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
        if self.reads_back() {
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

    /// With every library, a `Send` or `WriteImmediate` ends with the target's credit, and a `Read` ends when its data has
    /// arrived. If a flush after every transfer is requested, only UCX performs it.
    fn end_of_sample(&self, transport: &TransportSpec) -> Option<&'static str> {
        if self.is_flushed() {
            return Some(match transport {
                TransportSpec::Ucx(_) => {
                    "when the target has confirmed the message and a flush has completed"
                }
                _ => "when the target has confirmed the message, without a flush",
            });
        }
        if self.operation != TransferOperation::Write {
            return None;
        }
        match transport {
            TransportSpec::Libfabric(_) => Some("when the provider reports the delivery of the write"),
            TransportSpec::Ucx(ucx) => Some(match ucx.write_completion {
                UcxWriteCompletion::Delivery => {
                    "when a flush completes, which covers all writes that were posted before it"
                }
                UcxWriteCompletion::Local => "when the source memory of the write can be reused",
            }),
            TransportSpec::Loopback(_) => Some("when the target's process has copied the data"),
            TransportSpec::Nixl(_) => {
                Some("when the request is complete, which includes a flush of the write by NIXL's backend")
            }
            TransportSpec::Verbs(_) => Some("when the target's NIC has acknowledged the write"),
        }
    }

    fn description(&self, scenario: &ScenarioAssignment, _many_to_many: Option<ManyToMany>) -> String {
        let what = format!(
            "transfer {:?} {:?} · window {} · batch {} · {}{}{}{}",
            self.operation,
            self.direction,
            self.window,
            self.batch,
            pluralized(self.threads.into(), "thread"),
            match self.buffers {
                TransferBuffers::Separate => "",
                TransferBuffers::Shared => " · shared buffers",
            },
            description::open_loop(self),
            match self.mode {
                TransferMode::Plain => "",
                TransferMode::Flushed => " · a flush after each transfer",
                TransferMode::WithPings => " · pings during the transfers",
                TransferMode::Segments { read_back: true, .. } => {
                    " · each batch is read back · threads and memory on every NUMA node"
                }
                TransferMode::Segments { .. } => " · threads and memory on every NUMA node",
            },
        );
        description::with_extents(&what, scenario, "transfer")
    }
}

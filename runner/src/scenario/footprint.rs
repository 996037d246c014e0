//! Memory of a host and its consumers: the initiator starts the consumers on its machine and distributes a tensor to them
//! several times, after a first distribution for warm-up. A sample is the time from the first byte of a message to the confirmation that a consumer has the tensor.
//! The target only takes part in the steps of the case, and sleeps.

use std::sync::Arc;
use std::time::Duration;

use crds::assignment::FootprintWorkload;
use crds::record::{CaseFailure, FailureReason, FootprintReport};
use crds::v1alpha1::{MemoryKind, RpcChannel};

use super::case::Case;
use super::case_protocol::{ThreadMeasurement, Work};
use super::engine::{Engine, failure};
use super::rpc::{EXTENSION_BYTES, POLL_INTERVAL_NANOS, check_available};
use crate::extension::pages::{self, ProcessMemory};
use crate::extension::{CallPlan, Extension, Passing, Payload};
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::memory::Memory;
use crate::transport::Transport;

/// Side that distributes the tensor.
pub(super) struct Distributor {
    workload: FootprintWorkload,
    channel: RpcChannel,
    bytes: u64,
    recorder: Recorder,
    started: Option<Started>,
}

/// The tensor of the host, and the consumers.
struct Started {
    baseline: ProcessMemory,
    tensor: Tensor,
    consumers: Vec<Extension>,
    /// Memory of the consumers before they receive the tensor.
    own: ProcessMemory,
}

/// Tensor of the host.
enum Tensor {
    Bytes(Vec<u8>),
    Shared(Arc<Memory>),
}

impl Tensor {
    fn payload(&self) -> Payload<'_> {
        match self {
            Self::Bytes(bytes) => Payload::Bytes(bytes),
            Self::Shared(memory) => Payload::Shared(memory),
        }
    }

    /// Pss of the tensor in the host, in bytes. The host is the only process with its own bytes.
    fn pss_bytes(&self) -> Result<u64, CaseFailure> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.len() as u64),
            Self::Shared(memory) => Ok(pages::of_own(memory).ok_or_else(unknown_memory)?.pss_bytes),
        }
    }
}

impl Started {
    /// Starts the consumers.
    fn start(workload: &FootprintWorkload, channel: RpcChannel, bytes: u64) -> Result<Self, CaseFailure> {
        let is_shared = channel == RpcChannel::SharedMemory;
        let consumers = u64::from(workload.consumers);
        let copies = if is_shared { 1 } else { consumers + 1 };
        let purpose = format!("{consumers} consumers and {copies} copies of the tensor");
        check_available(copies * bytes + consumers * EXTENSION_BYTES, &purpose)?;
        let baseline = memory_of(std::process::id())?;
        let tensor = if is_shared {
            let memory = Memory::allocate(MemoryKind::SharedMemory, bytes as usize);
            Tensor::Shared(memory.map_err(|error| failure(error.reason(), error.to_string()))?)
        } else {
            Tensor::Bytes(vec![1; bytes as usize])
        };
        let plan = CallPlan {
            hops: 1,
            bytes,
            passing: if is_shared { Passing::Map } else { Passing::Copy },
            echo: false,
        };
        let limit = Duration::from_secs(workload.timeout_seconds.into());
        let start = |_| Extension::start(channel == RpcChannel::Tcp, plan, limit);
        let consumers = (0..workload.consumers)
            .map(start)
            .collect::<Result<Vec<_>, _>>()?;
        let own = memory_of_all(&consumers)?;
        Ok(Self {
            baseline,
            tensor,
            consumers,
            own,
        })
    }

    /// Pss of host and consumers, in bytes.
    fn total_pss_bytes(&self) -> Result<u64, CaseFailure> {
        Ok(memory_of(std::process::id())?.pss_bytes + memory_of_all(&self.consumers)?.pss_bytes)
    }

    /// The memory while all consumers have the tensor. `totals` contains the Pss of all processes after each distribution.
    fn report(&mut self, totals: &[u64]) -> Result<FootprintReport, CaseFailure> {
        let with_tensor = memory_of_all(&self.consumers)?;
        let mut tensor_pss_bytes = self.tensor.pss_bytes()?;
        for consumer in &mut self.consumers {
            tensor_pss_bytes += consumer.held_pages()?.pss_bytes;
        }
        Ok(FootprintReport {
            consumers: self.consumers.len() as u32,
            baseline_pss_bytes: self.baseline.pss_bytes,
            baseline_rss_bytes: self.baseline.rss_bytes,
            own_pss_bytes: self.own.pss_bytes,
            consumers_pss_bytes: with_tensor.pss_bytes,
            consumers_rss_bytes: with_tensor.rss_bytes,
            tensor_pss_bytes,
            slope_bytes: slope(totals),
        })
    }
}

impl Distributor {
    pub(super) fn new(workload: &FootprintWorkload, case: &Case<'_>) -> Self {
        Self {
            recorder: Recorder::new(workload.measured),
            workload: workload.clone(),
            channel: case.arm.channel,
            bytes: case.size_bytes,
            started: None,
        }
    }
}

impl<T: Transport> Work<T> for Distributor {
    fn warm_up(&mut self, _engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        let started = Started::start(&self.workload, self.channel, self.bytes)?;
        let started = self.started.insert(started);
        // The allocator of a consumer keeps the memory of its first messages for later ones.
        for consumer in &mut started.consumers {
            consumer.hold(started.tensor.payload())?;
        }
        Ok(())
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        let Some(started) = &mut self.started else {
            return Ok(None);
        };
        let mut totals = Vec::new();
        let first_post = clock::now();
        let mut last_completion = first_post;
        let mut next_poll = first_post + POLL_INTERVAL_NANOS;
        for _ in 0..self.workload.distributions {
            for consumer in &mut started.consumers {
                consumer.release()?;
                let start = clock::now();
                consumer.hold(started.tensor.payload())?;
                last_completion = clock::now();
                self.recorder.record(last_completion - start);
                if last_completion >= next_poll {
                    engine.poll()?;
                    if engine.waiting.deadline_has_passed() {
                        return Err(engine.deadline_exceeded("distributing the tensor"));
                    }
                    next_poll = clock::now() + POLL_INTERVAL_NANOS;
                }
            }
            totals.push(started.total_pss_bytes()?);
        }
        let footprint = started.report(&totals)?;
        let nothing = Recorder::new(crds::assignment::Extent::Iterations(0));
        let operations = self.recorder.samples().len() as u64;
        let recorder = std::mem::replace(&mut self.recorder, nothing);
        Ok(Some(ThreadMeasurement {
            footprint: Some(footprint),
            ..ThreadMeasurement::new(operations, first_post, last_completion, recorder)
        }))
    }

    fn conclude(&mut self, _measurement: &mut ThreadMeasurement) {
        self.started = None;
    }
}

fn memory_of(process: u32) -> Result<ProcessMemory, CaseFailure> {
    pages::of_process(process).ok_or_else(unknown_memory)
}

fn memory_of_all(consumers: &[Extension]) -> Result<ProcessMemory, CaseFailure> {
    let mut sum = ProcessMemory::default();
    for consumer in consumers {
        let memory = memory_of(consumer.id())?;
        sum.pss_bytes += memory.pss_bytes;
        sum.rss_bytes += memory.rss_bytes;
    }
    Ok(sum)
}

fn unknown_memory() -> CaseFailure {
    failure(
        FailureReason::OperationRejected,
        "the memory of a process is unknown: the kernel does not provide /proc/PID/smaps_rollup, which needs Linux 4.14, or \
         the process has exited"
            .to_owned(),
    )
}

/// Slope of the line of least squares through `values` at 0, 1, 2 and so on; 0 for fewer than two values.
fn slope(values: &[u64]) -> f64 {
    let count = values.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = values.iter().map(|value| *value as f64).sum::<f64>() / count;
    let (mut products, mut squares) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let distance = index as f64 - middle;
        products += distance * (*value as f64 - mean);
        squares += distance * distance;
    }
    if squares > 0.0 { products / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_is_that_of_the_line_of_least_squares() {
        assert_eq!(slope(&[5, 5, 5]), 0.0);
        assert_eq!(slope(&[10, 20, 30, 40]), 10.0);
        // One outlier in the middle does not make a trend.
        assert_eq!(slope(&[10, 90, 10]), 0.0);
        assert_eq!(slope(&[40, 30]), -10.0);
        assert_eq!((slope(&[7]), slope(&[])), (0.0, 0.0));
    }
}

//! Memory of a host and its consumers: the initiator starts the consumers on its machine and distributes a tensor to
//! them several times, after a warm-up distribution. A sample is the time from the first byte of a message to the
//! confirmation that a consumer has the tensor. The target only participates in the steps of the case, and otherwise
//! sleeps.

use std::time::Duration;

use crds::assignment::FootprintWorkload;
use crds::record::{CaseFailure, FootprintReport};
use crds::v1alpha1::RpcChannel;

use super::case::{Case, Role};
use super::case_protocol::{SideContext, Work, measure};
use super::engine::{Engine, Setup, data_seed};
use super::isolated::{self, EXTENSION_BYTES, POLL_INTERVAL_NANOS, check_sharing, mapped_on_gpu, samples};
use super::program::{Checked, Program};
use super::thread_report::{ThreadMeasurement, ThreadReport};
use crate::extension::pages::{self, ProcessMemory};
use crate::extension::{Arguments, CallPlan, Extension, PayloadPassing, TimeLimit};
use crate::measure::clock;
use crate::measure::deadline::Deadline;
use crate::measure::recorder::Recorder;
use crate::memory::{self, available};
use crate::transport::Transport;

impl<T: Transport> Program<T> for &FootprintWorkload {
    fn check(&self, engine: &mut Engine<'_, T>, setup: &Setup<'_>) -> Result<Checked, CaseFailure> {
        isolated::check(engine, setup.case.role, |deadline| {
            check(self, setup.case, deadline)
        })
    }

    fn run(
        &self,
        engine: &mut Engine<'_, T>,
        setup: &Setup<'_>,
        side: SideContext<'_>,
    ) -> Result<ThreadReport, CaseFailure> {
        match side.role {
            Role::Initiator => measure(engine, Distributor::new(self, setup.case), side),
            Role::Target => measure(engine, isolated::IdleSide, side),
        }
    }
}

/// Side that distributes the tensor.
struct Distributor {
    workload: FootprintWorkload,
    channel: RpcChannel,
    bytes: u64,
    recorder: Recorder,
    started: Option<HostAndConsumers>,
}

/// The host's tensor, and the consumers.
struct HostAndConsumers {
    /// Size of the tensor, in bytes.
    bytes: u64,
    /// GPU that holds the tensor, and the number of bytes that were used on it before; `None` for a tensor in host memory.
    gpu: Option<(u32, u64)>,
    baseline: ProcessMemory,
    tensor: Arguments,
    consumers: Vec<Extension>,
    /// Memory of each consumer before it receives the tensor.
    own: Vec<ProcessMemory>,
}

impl HostAndConsumers {
    /// Allocates the tensor before `deadline`, and starts the consumers.
    fn start(
        workload: &FootprintWorkload,
        channel: RpcChannel,
        bytes: u64,
        deadline: &Deadline,
    ) -> Result<Self, CaseFailure> {
        check_memory(channel, bytes, workload.consumers.into())?;
        let gpu = match workload.gpu {
            Some(gpu) => Some((gpu, memory::used_gpu_bytes(gpu)?)),
            None => None,
        };
        let baseline = process_memory(std::process::id())?;
        let plan = plan(channel, bytes, workload.gpu);
        let tensor = Arguments::allocate(plan.passing, plan.gpu, bytes, deadline)?;
        let limit = TimeLimit::Scenario(Duration::from_secs(workload.timeout_seconds.into()));
        let start = |_| Extension::start(channel == RpcChannel::Tcp, plan, limit);
        let mut consumers = (0..workload.consumers)
            .map(start)
            .collect::<Result<Vec<_>, _>>()?;
        let own = memory_of_each(&mut consumers)?;
        Ok(Self {
            bytes,
            gpu,
            baseline,
            tensor,
            consumers,
            own,
        })
    }

    /// Pss of the host and the consumers, in bytes.
    fn total_pss_bytes(&mut self) -> Result<u64, CaseFailure> {
        Ok(process_memory(std::process::id())?.pss_bytes + total_memory(&mut self.consumers)?.pss_bytes)
    }

    /// Memory while all consumers have the tensor. `totals` contains the Pss of all processes after each distribution.
    fn report(&mut self, totals: &[u64]) -> Result<FootprintReport, CaseFailure> {
        let with_tensor = total_memory(&mut self.consumers)?;
        let (tensor_pss_bytes, vram_bytes) = match self.gpu {
            Some((gpu, before)) => {
                let (tensor, total) = self.gpu_memory(gpu, before)?;
                (tensor, Some(total))
            }
            None => (self.tensor_pss_bytes()?, None),
        };
        let own = || self.own.iter().map(|memory| memory.pss_bytes);
        Ok(FootprintReport {
            consumers: self.consumers.len() as u32,
            baseline_pss_bytes: self.baseline.pss_bytes,
            baseline_rss_bytes: self.baseline.rss_bytes,
            own_pss_bytes: own().sum(),
            own_pss_min_bytes: own().min(),
            own_pss_max_bytes: own().max(),
            consumers_pss_bytes: with_tensor.pss_bytes,
            consumers_rss_bytes: with_tensor.rss_bytes,
            tensor_pss_bytes,
            vram_bytes,
            slope_bytes: slope(totals),
        })
    }

    /// Pss of the tensor in the host and all consumers.
    fn tensor_pss_bytes(&mut self) -> Result<u64, CaseFailure> {
        let mut bytes = match self.tensor.shared() {
            Some(memory) => {
                pages::own_pages(memory)
                    .ok_or_else(pages::unknown_memory)?
                    .pss_bytes
            }
            // No other process has mapped the host's bytes.
            None => self.bytes,
        };
        for consumer in &mut self.consumers {
            bytes += consumer.held_pages()?.pss_bytes;
        }
        Ok(bytes)
    }

    /// GPU memory of the tensor in all processes, and of the tensor and the consumers' contexts, if `before` bytes were used
    /// on `gpu` before. Makes all consumers drop the tensor.
    fn gpu_memory(&mut self, gpu: u32, before: u64) -> Result<(u64, u64), CaseFailure> {
        let with_tensor = memory::used_gpu_bytes(gpu)?;
        for consumer in &mut self.consumers {
            consumer.release()?;
        }
        let in_consumers = with_tensor.saturating_sub(memory::used_gpu_bytes(gpu)?);
        Ok((self.bytes + in_consumers, with_tensor.saturating_sub(before)))
    }
}

impl Distributor {
    fn new(workload: &FootprintWorkload, case: &Case<'_>) -> Self {
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
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        let deadline = engine.waiter.deadline();
        let started = HostAndConsumers::start(&self.workload, self.channel, self.bytes, &deadline)?;
        let started = self.started.insert(started);
        // A consumer's allocator retains the memory of the first messages and reuses it for later ones.
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
                    if engine.waiter.deadline_has_passed() {
                        return Err(engine.deadline_exceeded("distributing the tensor"));
                    }
                    next_poll = clock::now() + POLL_INTERVAL_NANOS;
                }
            }
            totals.push(started.total_pss_bytes()?);
        }
        let footprint = started.report(&totals)?;
        let nothing = Recorder::new(crds::assignment::Extent::Iterations(0));
        let operations = self.recorder.count();
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

fn plan(channel: RpcChannel, bytes: u64, gpu: Option<u32>) -> CallPlan {
    CallPlan {
        hops: 1,
        bytes,
        passing: match channel {
            RpcChannel::SharedMemory => PayloadPassing::Map,
            _ => PayloadPassing::Copy,
        },
        gpu,
        echo: false,
    }
}

/// Checks that the consumers and the copies of the tensor fit in the available memory.
fn check_memory(channel: RpcChannel, bytes: u64, consumers: u64) -> Result<(), CaseFailure> {
    let copies = match channel {
        RpcChannel::SharedMemory => 1,
        _ => consumers + 1,
    };
    let purpose = format!("{consumers} consumers and {copies} copies of the tensor");
    Ok(available::check(
        copies * bytes + consumers * EXTENSION_BYTES,
        &purpose,
    )?)
}

/// Integrity pass: passes the tensor to one consumer, as a measured case does, and the consumer checks every byte that
/// it retains. Returns the initiator's report, and the evidence of sharing.
fn check(workload: &FootprintWorkload, case: &Case<'_>, deadline: Deadline) -> Result<Checked, CaseFailure> {
    let (channel, bytes) = (case.arm.channel, case.size_bytes);
    check_memory(channel, bytes, 1)?;
    let plan = plan(channel, bytes, workload.gpu);
    let seed = data_seed(case.seed, Role::Initiator, 0);
    let mut tensor = Arguments::allocate(plan.passing, plan.gpu, bytes, &deadline)?;
    // Filling a large tensor takes a long time and is not part of its distribution.
    tensor.fill(seed, 0, &deadline)?;
    let mut consumer = Extension::start(channel == RpcChannel::Tcp, plan, TimeLimit::Case(deadline))?;
    for transfer in 0..samples(bytes) {
        if transfer > 0 {
            consumer.release()?;
            tensor.fill(seed, transfer, &deadline)?;
        }
        consumer.check_payloads(seed, transfer)?;
        consumer.hold(tensor.payload())?;
    }
    let mut evidence = Vec::new();
    if let Some(gpu) = plan.gpu.filter(|_| plan.passing == PayloadPassing::Map) {
        evidence.push(mapped_on_gpu(channel, bytes, gpu));
    }
    if let Some(memory) = tensor.shared() {
        let there = consumer.held_pages()?;
        let here = pages::mapping_pages(std::process::id(), memory);
        evidence.push(check_sharing(channel, bytes, here.as_ref(), &there)?);
    }
    Ok((consumer.report()?, evidence))
}

fn process_memory(process: u32) -> Result<ProcessMemory, CaseFailure> {
    pages::process_memory(process).ok_or_else(pages::unknown_memory)
}

fn memory_of_each(consumers: &mut [Extension]) -> Result<Vec<ProcessMemory>, CaseFailure> {
    consumers.iter_mut().map(Extension::memory).collect()
}

fn total_memory(consumers: &mut [Extension]) -> Result<ProcessMemory, CaseFailure> {
    let mut sum = ProcessMemory::default();
    for memory in memory_of_each(consumers)? {
        sum.pss_bytes += memory.pss_bytes;
        sum.rss_bytes += memory.rss_bytes;
    }
    Ok(sum)
}

/// Slope of the least-squares line through `values` at 0, 1, 2 and so on; 0 for fewer than two values.
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
    fn slope_is_computed_by_least_squares() {
        assert_eq!(slope(&[5, 5, 5]), 0.0);
        assert_eq!(slope(&[10, 20, 30, 40]), 10.0);
        // One outlier in the middle is not a trend.
        assert_eq!(slope(&[10, 90, 10]), 0.0);
        assert_eq!(slope(&[40, 30]), -10.0);
        assert_eq!((slope(&[7]), slope(&[])), (0.0, 0.0));
    }
}

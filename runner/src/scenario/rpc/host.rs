//! Calls that do not use the arm's transport: calls to an extension on the initiator's machine, or calls within the
//! initiator's process.

use std::time::Duration;

use crds::assignment::RpcWorkload;
use crds::record::CaseFailure;
use crds::v1alpha1::RpcChannel;

use super::samples::{self, SampleSource};
use super::{is_echoed, local};
use crate::extension::{Arguments, CallPlan, Extension, PayloadPassing, TimeLimit, pages};
use crate::measure::clock;
use crate::measure::deadline::Deadline;
use crate::measure::recorder::Recorder;
use crate::memory::available;
use crate::scenario::budget::Budget;
use crate::scenario::case::Case;
use crate::scenario::case_protocol::Work;
use crate::scenario::engine::Engine;
use crate::scenario::isolated::{EXTENSION_BYTES, own_memory_bytes};
use crate::scenario::schedule::Schedule;
use crate::scenario::thread_report::{CallMeasurement, ThreadMeasurement};
use crate::transport::Transport;

/// Side that makes the calls.
pub(in crate::scenario) struct Host {
    workload: RpcWorkload,
    channel: RpcChannel,
    bytes: u64,
    recorder: Option<Recorder>,
    /// Intended start times; `None` for a closed loop.
    schedule: Option<Schedule>,
    calls: Option<HostCalls>,
    memory_before_bytes: Option<u64>,
}

/// The host's arguments and the process that it calls.
pub(super) struct HostCalls {
    pub(super) arguments: Arguments,
    /// `None` if the calls stay within this process.
    pub(super) extension: Option<Extension>,
    channel: RpcChannel,
    plan: CallPlan,
}

impl HostCalls {
    /// Allocates the arguments before `deadline`.
    ///
    /// # Errors
    /// Returns `NotEnoughMemory` if the machine, the cgroup or the GPU has less available memory than both processes need, and
    /// `DeadlineExceeded` if the deadline passes.
    pub(super) fn prepare(
        workload: &RpcWorkload,
        channel: RpcChannel,
        bytes: u64,
        deadline: &Deadline,
    ) -> Result<Self, CaseFailure> {
        let hops = workload.hops;
        let is_shared = channel.for_payload(bytes) == RpcChannel::SharedMemory;
        // Integers and strings are part of the message.
        let gpu = workload.gpu.filter(|_| !is_echoed(bytes));
        let by_reference = is_shared || channel == RpcChannel::Local;
        if gpu.is_none() || !by_reference {
            check_memory(channel, is_shared, hops, bytes)?;
        }
        let passing = if is_shared {
            PayloadPassing::Map
        } else {
            PayloadPassing::Copy
        };
        Ok(Self {
            arguments: Arguments::allocate(passing, gpu, bytes, deadline)?,
            extension: None,
            channel,
            plan: CallPlan {
                hops,
                bytes,
                passing,
                gpu,
                echo: is_echoed(bytes),
            },
        })
    }

    /// GPU whose memory the extension maps, if it does.
    pub(super) fn mapped_gpu(&self) -> Option<u32> {
        self.plan.gpu.filter(|_| self.plan.passing == PayloadPassing::Map)
    }

    /// Starts the extension, unless the calls stay within this process.
    ///
    /// # Errors
    /// Returns the errors of [`Extension::start`].
    pub(super) fn start_extension(&mut self, limit: TimeLimit) -> Result<(), CaseFailure> {
        if self.channel != RpcChannel::Local {
            let is_tcp = self.channel == RpcChannel::Tcp;
            self.extension = Some(Extension::start(is_tcp, self.plan, limit)?);
        }
        Ok(())
    }

    /// Makes the calls of one sample.
    pub(super) fn make(&mut self) -> Result<(), CaseFailure> {
        match (&mut self.extension, &self.arguments) {
            (Some(extension), arguments) => extension.call(arguments.payload()),
            (None, Arguments::Bytes(bytes)) => {
                std::hint::black_box(local::call(bytes, self.plan.hops));
                Ok(())
            }
            // The CPU cannot read GPU memory, so the reference that a local call passes is empty.
            (None, Arguments::Device(_)) => {
                std::hint::black_box(local::call(&[], self.plan.hops));
                Ok(())
            }
            (None, Arguments::Shared(_)) => Ok(()),
        }
    }

    /// The extension's CPU time so far, in nanoseconds.
    fn extension_cpu_nanos(&mut self) -> Result<u64, CaseFailure> {
        self.extension.as_mut().map_or(Ok(0), Extension::cpu_nanos)
    }

    /// Proportional set size of host and extension, in bytes.
    fn memory_bytes(&self) -> Option<u64> {
        let host = own_memory_bytes()?;
        match &self.extension {
            Some(extension) => Some(host + pages::process_memory(extension.id())?.pss_bytes),
            None => Some(host),
        }
    }
}

/// Checks that the arguments and their copies fit in the available memory.
fn check_memory(channel: RpcChannel, is_shared: bool, hops: u32, bytes: u64) -> Result<(), CaseFailure> {
    let copies = match channel {
        _ if is_shared => 1,
        RpcChannel::Local => 1,
        // The host also receives the payload of a nested call.
        _ => 2 + u64::from(hops > 1),
    };
    let noun = if copies == 1 { "copy" } else { "copies" };
    let purpose = format!("host and extension with {copies} {noun} of the payload");
    Ok(available::check(copies * bytes + EXTENSION_BYTES, &purpose)?)
}

impl Host {
    pub(in crate::scenario) fn new(workload: &RpcWorkload, case: &Case<'_>) -> Self {
        Self {
            recorder: Some(Recorder::new(workload.measured)),
            schedule: workload.open_loop.map(|load| Schedule::new(load, case.seed)),
            workload: workload.clone(),
            channel: case.arm.channel,
            bytes: case.size_bytes,
            calls: None,
            memory_before_bytes: None,
        }
    }
}

impl<T: Transport> SampleSource<T> for HostCalls {
    fn call(&mut self, _engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        self.make()
    }
}

impl<T: Transport> Work<T> for Host {
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        let deadline = engine.waiter.deadline();
        let limit = TimeLimit::Scenario(Duration::from_secs(self.workload.timeout_seconds.into()));
        let prepared = HostCalls::prepare(&self.workload, self.channel, self.bytes, &deadline)?;
        let calls = self.calls.insert(prepared);
        calls.start_extension(limit)?;
        let now = clock::now();
        samples::take(
            engine,
            calls,
            Budget::new(self.workload.warmup, now),
            now,
            None,
            None,
        )?;
        self.memory_before_bytes = calls.memory_bytes();
        Ok(())
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        let (Some(calls), Some(mut recorder)) = (&mut self.calls, self.recorder.take()) else {
            return Ok(None);
        };
        let cpu_before = calls.extension_cpu_nanos()?;
        let first_post = clock::now();
        let budget = Budget::new(self.workload.measured, first_post);
        let schedule = self.schedule.take();
        let taken = samples::take(engine, calls, budget, first_post, schedule, Some(&mut recorder))?;
        let cpu_after = calls.extension_cpu_nanos()?;
        Ok(Some(ThreadMeasurement {
            calls: Some(CallMeasurement {
                extension_cpu_nanos: cpu_after.saturating_sub(cpu_before),
                memory_before_bytes: self.memory_before_bytes,
                memory_after_bytes: None,
            }),
            open_loop: taken.open_loop,
            ..ThreadMeasurement::new(taken.count, first_post, taken.end, recorder)
        }))
    }

    fn conclude(&mut self, measurement: &mut ThreadMeasurement) {
        if let (Some(calls), Some(measured)) = (&self.calls, &mut measurement.calls) {
            measured.memory_after_bytes = calls.memory_bytes();
        }
    }
}

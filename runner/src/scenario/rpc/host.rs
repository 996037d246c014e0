//! Calls that do not use the transport of the arm: to an extension on the machine of the initiator, or within its process.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crds::assignment::RpcWorkload;
use crds::record::{CaseFailure, FailureReason};
use crds::units::Size;
use crds::v1alpha1::{MemoryKind, RpcChannel};

use super::{is_echoed, local};
use crate::environment;
use crate::extension::{CallPlan, Extension, Passing, Payload, pages};
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::memory::Memory;
use crate::scenario::case::Case;
use crate::scenario::case_protocol::{Budget, CallMeasurement, ThreadMeasurement, Work};
use crate::scenario::engine::{Engine, failure};
use crate::topology::SystemRoots;
use crate::transport::Transport;

/// Interval between two polls by a side that only takes part in the steps of a case.
const BYSTANDER_INTERVAL: Duration = Duration::from_millis(1);
/// Interval between two polls by the host, between samples, so that the transport can answer its peer.
pub(in crate::scenario) const POLL_INTERVAL_NANOS: u64 = 500_000_000;
/// Memory that an extension needs besides its payload, in bytes.
pub(in crate::scenario) const EXTENSION_BYTES: u64 = 16 << 20;

/// Side that makes the calls.
pub(in crate::scenario) struct Host {
    workload: RpcWorkload,
    channel: RpcChannel,
    bytes: u64,
    recorder: Option<Recorder>,
    calls: Option<HostCalls>,
    memory_before_bytes: Option<u64>,
}

/// Side that makes no calls.
pub(in crate::scenario) struct Bystander;

/// Arguments of the host.
pub(super) enum Arguments {
    Bytes(Vec<u8>),
    Shared(Arc<Memory>),
}

/// The host's arguments and the process that it calls.
pub(super) struct HostCalls {
    pub(super) arguments: Arguments,
    /// `None` if the calls stay within this process.
    pub(super) extension: Option<Extension>,
    hops: u32,
}

impl Arguments {
    pub(super) fn payload(&self) -> Payload<'_> {
        match self {
            Self::Bytes(bytes) => Payload::Bytes(bytes),
            Self::Shared(memory) => Payload::Shared(memory),
        }
    }
}

impl HostCalls {
    /// Allocates the arguments and starts the extension.
    ///
    /// # Errors
    /// `NotEnoughMemory` if the machine or the cgroup has less memory available than both processes need, and the errors of
    /// [`Extension::start`].
    pub(super) fn start(
        hops: u32,
        limit: Duration,
        channel: RpcChannel,
        bytes: u64,
    ) -> Result<Self, CaseFailure> {
        let echo = is_echoed(bytes);
        let is_shared = channel.carrying(bytes) == RpcChannel::SharedMemory;
        check_memory(channel, is_shared, hops, bytes)?;
        let arguments = if is_shared {
            let memory = Memory::allocate(MemoryKind::SharedMemory, bytes as usize);
            Arguments::Shared(memory.map_err(|error| failure(error.reason(), error.to_string()))?)
        } else {
            Arguments::Bytes(vec![1; bytes as usize])
        };
        let plan = CallPlan {
            hops,
            bytes,
            passing: if is_shared { Passing::Map } else { Passing::Copy },
            echo,
        };
        let extension = match channel {
            RpcChannel::Local => None,
            _ => Some(Extension::start(channel == RpcChannel::Tcp, plan, limit)?),
        };
        Ok(Self {
            arguments,
            extension,
            hops,
        })
    }

    /// Makes the calls of one sample.
    pub(super) fn call(&mut self) -> Result<(), CaseFailure> {
        match (&mut self.extension, &self.arguments) {
            (Some(extension), arguments) => extension.call(arguments.payload()),
            (None, Arguments::Bytes(bytes)) => {
                std::hint::black_box(local::call(bytes, self.hops));
                Ok(())
            }
            (None, Arguments::Shared(_)) => Ok(()),
        }
    }

    /// CPU time of the extension so far, in nanoseconds.
    fn extension_cpu_nanos(&mut self) -> Result<u64, CaseFailure> {
        self.extension.as_mut().map_or(Ok(0), Extension::cpu_nanos)
    }

    /// Proportional set size of host and extension, in bytes.
    fn memory_bytes(&self) -> Option<u64> {
        let host = pages::of_process(std::process::id())?.pss_bytes;
        match &self.extension {
            Some(extension) => Some(host + pages::of_process(extension.id())?.pss_bytes),
            None => Some(host),
        }
    }
}

/// Checks that `needed` bytes for `purpose` are available, so that no process is swapped out or killed.
pub(in crate::scenario) fn check_available(needed: u64, purpose: &str) -> Result<(), CaseFailure> {
    match environment::available_memory(&SystemRoots::default()) {
        Some(available) if available < needed => Err(failure(
            FailureReason::NotEnoughMemory,
            format!(
                "{purpose} need {}, but only {} are available (MemAvailable, and the memory limit of the cgroup)",
                Size(needed),
                Size(available)
            ),
        )),
        _ => Ok(()),
    }
}

/// Checks that the arguments and their copies fit into the available memory.
fn check_memory(channel: RpcChannel, is_shared: bool, hops: u32, bytes: u64) -> Result<(), CaseFailure> {
    let copies = match channel {
        _ if is_shared => 1,
        RpcChannel::Local => 1,
        // The host also receives the payload of a nested call.
        _ => 2 + u64::from(hops > 1),
    };
    let purpose = format!("host and extension with {copies} copies of the payload");
    check_available(copies * bytes + EXTENSION_BYTES, &purpose)
}

impl Host {
    pub(in crate::scenario) fn new(workload: &RpcWorkload, case: &Case<'_>) -> Self {
        Self {
            recorder: Some(Recorder::new(workload.measured)),
            workload: workload.clone(),
            channel: case.arm.channel,
            bytes: case.size_bytes,
            calls: None,
            memory_before_bytes: None,
        }
    }
}

/// Takes as many samples as `budget` allows, the first from `start`. Returns their number and the end of the last one.
fn run_samples<T: Transport>(
    engine: &mut Engine<'_, T>,
    calls: &mut HostCalls,
    mut budget: Budget,
    mut start: u64,
    mut recorder: Option<&mut Recorder>,
) -> Result<(u64, u64), CaseFailure> {
    let mut next_poll = start + POLL_INTERVAL_NANOS;
    let mut count = 0;
    while budget.available(1, start) > 0 {
        budget.spend(1);
        calls.call()?;
        let end = clock::now();
        count += 1;
        if let Some(recorder) = &mut recorder {
            recorder.record(end - start);
        }
        start = end;
        if start >= next_poll {
            engine.poll()?;
            if engine.waiting.deadline_has_passed() {
                return Err(engine.deadline_exceeded("calling"));
            }
            start = clock::now();
            next_poll = start + POLL_INTERVAL_NANOS;
        }
    }
    Ok((count, start))
}

impl<T: Transport> Work<T> for Host {
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        let limit = Duration::from_secs(self.workload.timeout_seconds.into());
        let started = HostCalls::start(self.workload.hops, limit, self.channel, self.bytes)?;
        let calls = self.calls.insert(started);
        let now = clock::now();
        run_samples(engine, calls, Budget::new(self.workload.warmup, now), now, None)?;
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
        let (operations, last_completion) =
            run_samples(engine, calls, budget, first_post, Some(&mut recorder))?;
        let cpu_after = calls.extension_cpu_nanos()?;
        Ok(Some(ThreadMeasurement {
            calls: Some(CallMeasurement {
                extension_cpu_nanos: cpu_after.saturating_sub(cpu_before),
                memory_before_bytes: self.memory_before_bytes,
                memory_after_bytes: None,
            }),
            ..ThreadMeasurement::new(operations, first_post, last_completion, recorder)
        }))
    }

    fn conclude(&mut self, measurement: &mut ThreadMeasurement) {
        if let (Some(calls), Some(measured)) = (&self.calls, &mut measurement.calls) {
            measured.memory_after_bytes = calls.memory_bytes();
        }
    }
}

impl<T: Transport> Work<T> for Bystander {
    fn serve(
        &mut self,
        engine: &mut Engine<'_, T>,
        activity: &'static str,
        until: impl Fn(&Engine<'_, T>) -> bool,
    ) -> Result<(), CaseFailure> {
        wait_asleep(engine, activity, until)
    }
}

/// Serves the peer until `until` returns true, and sleeps between polls, so that host and extension have the CPUs.
pub(super) fn wait_asleep<T: Transport>(
    engine: &mut Engine<'_, T>,
    activity: &'static str,
    until: impl Fn(&Engine<'_, T>) -> bool,
) -> Result<(), CaseFailure> {
    while !until(engine) {
        if !engine.poll()? && !until(engine) {
            thread::sleep(BYSTANDER_INTERVAL);
            engine.idle(activity)?;
        }
    }
    Ok(())
}

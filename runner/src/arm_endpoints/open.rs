//! Opening an arm's endpoints and registering its memory, each thread's on that thread. Times what it costs.

use std::thread;

use crds::record::{CaseFailure, FailureReason, MemoryFacts};
use crds::v1alpha1::MemoryKind;

use super::buffers::Buffers;
use super::endpoint_thread::{EndpointThread, receive_refused};
use super::receives::{self, ReceivePlan, Regions};
use crate::measure::{clock, cpu};
use crate::memory::Memory;
use crate::transport::{OpenConfig, Region, Transport, TransportError};

/// A lane that was opened, and what it cost.
pub(super) struct OpenedThread<T: Transport> {
    pub(super) thread: EndpointThread<T>,
    /// Why memory of a kind cannot be used, in the order of the buffers' kinds.
    pub(super) refused: Vec<Option<CaseFailure>>,
    pub(super) memory: Vec<KindFacts>,
    pub(super) thread_start_nanos: u64,
    pub(super) open_nanos: u64,
    pub(super) registration_nanos: u64,
    pub(super) registered_bytes: u64,
}

/// How memory of a kind was got and registered.
#[derive(Clone, Debug)]
pub(super) struct KindFacts {
    kind: MemoryKind,
    bytes: u64,
    registration: &'static str,
    numa_node: Option<u32>,
}

impl KindFacts {
    /// As the record of a scenario that uses it.
    pub(super) fn of_scenario(&self, scenario: &str) -> MemoryFacts {
        MemoryFacts {
            scenario: scenario.to_owned(),
            kind: self.kind,
            bytes: self.bytes,
            registration: self.registration.to_owned(),
            numa_node: self.numa_node,
        }
    }

    /// Its kind.
    pub(super) fn kind(&self) -> MemoryKind {
        self.kind
    }
}

/// Opens lane `number` on a thread of its own, pinned to `cpu` first, so that what library and kernel allocate for it
/// lies near that processor.
pub(super) fn endpoint_thread<T: Transport>(
    number: usize,
    config: &OpenConfig,
    cpu: Option<u32>,
    buffers: &mut Buffers,
) -> Result<OpenedThread<T>, TransportError> {
    thread::scope(|scope| {
        let asked = clock::now();
        let opening = thread::Builder::new()
            .name(format!("open-{number}"))
            .spawn_scoped(scope, move || {
                let thread_start_nanos = clock::now().saturating_sub(asked);
                on_thread(number, config, cpu, buffers, thread_start_nanos)
            });
        let opening =
            opening.map_err(|error| internal("thread", format!("a thread cannot be started: {error}")))?;
        let panicked = || internal("open", "the thread that opens the transport panicked".to_owned());
        opening.join().map_err(|_| panicked())?
    })
}

fn on_thread<T: Transport>(
    number: usize,
    config: &OpenConfig,
    cpu: Option<u32>,
    buffers: &mut Buffers,
    thread_start_nanos: u64,
) -> Result<OpenedThread<T>, TransportError> {
    if let Some(cpu) = cpu {
        cpu::pin(cpu).map_err(|error| TransportError {
            reason: FailureReason::Refused,
            operation: "sched_setaffinity",
            message: error.to_string(),
        })?;
    }
    let begun = clock::now();
    let mut transport = T::open(config)?;
    let open_nanos = clock::now().saturating_sub(begun);

    let control_bytes = receives::control_bytes(transport.rails());
    let control_memory = Memory::allocate(MemoryKind::Heap, control_bytes as usize)
        .map_err(|error| internal("control memory", error.to_string()))?;
    let kinds = buffers.layouts().len();
    // Allocated before the clock starts: registration is what is timed.
    let pieces: Vec<_> = (0..kinds).map(|kind| buffers.get(kind, number)).collect();

    let begun = clock::now();
    let control = transport.register(control_memory)?;
    let mut registered_bytes = control_bytes;
    let (mut data, mut refused, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        let registered = piece
            .map_err(|error| CaseFailure {
                reason: error.reason(),
                message: error.to_string(),
            })
            .and_then(|piece| {
                transport.register(piece).map_err(|error| CaseFailure {
                    reason: error.reason,
                    message: error.to_string(),
                })
            });
        match registered {
            Ok(region) => {
                registered_bytes += region.memory().length() as u64;
                memory.push(KindFacts {
                    kind: region.memory().kind(),
                    bytes: region.memory().length() as u64,
                    registration: region.registration(),
                    numa_node: None,
                });
                data.push(Some(region));
                refused.push(None);
            }
            Err(failure) => {
                data.push(None);
                refused.push(Some(failure));
            }
        }
    }
    let registration_nanos = clock::now().saturating_sub(begun);
    for (facts, region) in memory.iter_mut().zip(data.iter().flatten()) {
        facts.numa_node = region.memory().numa_node();
    }

    let mut thread = EndpointThread::new(transport, control, data, config.depth, cpu);
    thread.receives.change(ReceivePlan::Control);
    let regions = Regions {
        control: &thread.control,
        data: &thread.data,
    };
    let posted = thread.receives.post_deferred(&mut thread.transport, regions);
    posted.map_err(receive_refused)?;
    Ok(OpenedThread {
        thread,
        refused,
        memory,
        thread_start_nanos,
        open_nanos,
        registration_nanos,
        registered_bytes,
    })
}

fn internal(operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason: FailureReason::Internal,
        operation,
        message,
    }
}

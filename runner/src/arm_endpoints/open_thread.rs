//! Opens the endpoints of one measuring thread on a pinned thread, and measures the setup costs.

use std::thread;

use crds::record::{CaseFailure, FailureReason};
use crds::v1alpha1::MemoryKind;

use super::buffers::Buffers;
use super::endpoint_thread::{EndpointThread, receive_rejected};
use super::receives::{self, ReceivePlan, Regions};
use super::thread_memory::{MemoryReport, ThreadMemory, case_failure};
use crate::measure::{calling_thread, clock, cpu};
use crate::memory::Memory;
use crate::topology::Location;
use crate::transport::{OpenConfig, Transport, TransportError};

/// An opened endpoint thread and its setup costs.
pub(super) struct OpenedThread<T: Transport> {
    pub(super) thread: EndpointThread<T>,
    /// Location whose nearest NICs were chosen.
    pub(super) near: PreferredLocation,
    /// Failure of scenarios that wait for completions; `None` if the library can wait, or no scenario waits.
    pub(super) wait_failure: Option<CaseFailure>,
    /// Time to start the thread that opened the endpoints; `None` if it was the calling thread.
    pub(super) thread_start_nanos: Option<u64>,
    pub(super) open_nanos: u64,
    pub(super) memory: MemoryReport,
}

/// CPU and NUMA node of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    /// CPU to which the thread is pinned; `None` if it is not pinned.
    pub(super) cpu: Option<u32>,
    /// NUMA node on which its host memory must be; `None` if it may be on any node.
    pub(super) node: Option<u32>,
}

/// Location whose nearest NICs a thread uses; `None` if no location is known.
#[derive(Clone, Debug)]
pub(super) struct PreferredLocation(Option<Location>);

impl PreferredLocation {
    /// The location of the GPU with this PCI address.
    pub(super) fn of_gpu(pci: String) -> Self {
        Self(Some(Location::Gpu(pci)))
    }
}

/// Opens the endpoints of measuring thread `number` on a new thread or, if `uses_main_thread` is set, on the calling
/// thread. The thread is pinned to its CPU before it opens them, so that the library and the kernel allocate memory
/// close to this CPU. The thread uses the NICs nearest to `near`, or to its memory if `near` is `None`.
pub(super) fn endpoint_thread<T: Transport>(
    uses_main_thread: bool,
    number: usize,
    config: &OpenConfig,
    near: Option<PreferredLocation>,
    binding: Binding,
    buffers: &mut Buffers,
) -> Result<OpenedThread<T>, TransportError> {
    let opened = if uses_main_thread {
        calling_thread::run(|| open_on_thread(number, config, near, binding, buffers, None))
    } else {
        thread::scope(|scope| {
            let requested = clock::now();
            let opening = thread::Builder::new()
                .name(format!("open-{number}"))
                .spawn_scoped(scope, move || {
                    let start_nanos = clock::now().saturating_sub(requested);
                    open_on_thread(number, config, near, binding, buffers, Some(start_nanos))
                });
            let opening = opening
                .map_err(|error| internal("thread", format!("a thread cannot be started: {error}")))?;
            Ok::<_, TransportError>(opening.join())
        })?
    };
    opened.map_err(|_| internal("open", "the thread that opens the transport panicked".to_owned()))?
}

fn open_on_thread<T: Transport>(
    number: usize,
    config: &OpenConfig,
    near: Option<PreferredLocation>,
    Binding { cpu, node }: Binding,
    buffers: &mut Buffers,
    thread_start_nanos: Option<u64>,
) -> Result<OpenedThread<T>, TransportError> {
    if let Some(cpu) = cpu {
        cpu::pin(cpu).map_err(|error| TransportError {
            reason: FailureReason::OperationRejected,
            operation: "sched_setaffinity",
            message: error.to_string(),
        })?;
    }
    // Memory is allocated first, because its location determines which devices the rails use, and because the
    // measurements below must cover only opening and registration.
    let memory = ThreadMemory::allocate(buffers, &config.spec, number, node);
    let near = near.unwrap_or_else(|| {
        let location = memory.location(cpu.is_some());
        PreferredLocation(location.or_else(|| config.location.clone()))
    });
    let config = &OpenConfig {
        location: near.0.clone(),
        ..config.clone()
    };
    let Opened {
        mut transport,
        wait_failure,
        open_nanos,
    } = open_transport::<T>(config)?;

    let control_bytes = receives::control_bytes(transport.rails());
    let control_memory = Memory::allocate(MemoryKind::Heap, control_bytes as usize)
        .map_err(|error| internal("control memory", error.to_string()))?;
    let start = clock::now();
    let control = transport.register(control_memory)?;
    let registered = memory.register(&mut transport, buffers);
    let registration_nanos = clock::now().saturating_sub(start);
    let (data, memory) = registered.into_regions(registration_nanos, control_bytes);

    let mut thread = EndpointThread::new(number, transport, control, data, config.depth, cpu);
    thread.receives.change(ReceivePlan::Control);
    let regions = Regions {
        control: &thread.control,
        data: &thread.data,
    };
    let posted = thread.receives.post_deferred(&mut thread.transport, regions);
    posted.map_err(receive_rejected)?;
    Ok(OpenedThread {
        thread,
        near,
        memory,
        wait_failure,
        thread_start_nanos,
        open_nanos,
    })
}

/// An opened transport, and the time to open it.
struct Opened<T> {
    transport: T,
    wait_failure: Option<CaseFailure>,
    open_nanos: u64,
}

/// Opens the transport. If it cannot be opened for waiting, opens it for polling, so that only the scenarios that wait
/// fail.
fn open_transport<T: Transport>(config: &OpenConfig) -> Result<Opened<T>, TransportError> {
    let open = |config: &OpenConfig, wait_failure| {
        let start = clock::now();
        let transport = T::open(config)?;
        Ok::<_, TransportError>(Opened {
            transport,
            wait_failure,
            open_nanos: clock::now().saturating_sub(start),
        })
    };
    let refused = match open(config, None) {
        Err(refused) if config.uses_wait => refused,
        opened => return opened,
    };
    let polled = OpenConfig {
        uses_wait: false,
        ..config.clone()
    };
    // A failure that has nothing to do with waiting occurs again.
    open(&polled, Some(case_failure(refused.clone()))).map_err(|_| refused)
}

fn internal(operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason: FailureReason::Internal,
        operation,
        message,
    }
}

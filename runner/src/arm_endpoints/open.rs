//! Opens the endpoints and registers the memory of an arm, and measures the setup costs. Each measuring thread's
//! endpoints are opened on a pinned thread.

use std::sync::Arc;
use std::thread;

use crds::record::{CaseFailure, FailureReason, MemoryFacts};
use crds::v1alpha1::MemoryKind;

use super::buffers::Buffers;
use super::endpoint_thread::{EndpointThread, receive_rejected};
use super::receives::{self, ReceivePlan, Regions};
use crate::measure::{calling_thread, clock, cpu};
use crate::memory::Memory;
use crate::topology::Location;
use crate::transport::{OpenConfig, Region, Transport, TransportError};

/// An opened endpoint thread and its setup costs.
pub(super) struct OpenedThread<T: Transport> {
    pub(super) thread: EndpointThread<T>,
    /// Location whose nearest NICs were chosen.
    pub(super) near: PreferredLocation,
    /// For each memory kind, in the order of [`Buffers::layouts`], the failure that makes it unusable; `None` if it is
    /// usable.
    pub(super) memory_failures: Vec<Option<CaseFailure>>,
    pub(super) memory: Vec<KindFacts>,
    /// Failure of scenarios that wait for completions; `None` if the library can wait, or no scenario waits.
    pub(super) wait_failure: Option<CaseFailure>,
    /// Time to start the thread that opened the endpoints; `None` if it was the calling thread.
    pub(super) thread_start_nanos: Option<u64>,
    pub(super) open_nanos: u64,
    pub(super) registration_nanos: u64,
    pub(super) registered_bytes: u64,
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

/// Properties of the allocated and registered memory of one kind.
#[derive(Clone, Debug)]
pub(super) struct KindFacts {
    layout: usize,
    kind: MemoryKind,
    bytes: u64,
    registration: &'static str,
    numa_node: Option<u32>,
    /// PCI address of the GPU that holds the memory; `None` for host memory.
    gpu: Option<String>,
}

impl KindFacts {
    /// Creates the record entry for a scenario that uses this memory.
    fn for_scenario(&self, scenario: &str) -> MemoryFacts {
        MemoryFacts {
            scenario: scenario.to_owned(),
            kind: self.kind,
            bytes: self.bytes,
            registration: self.registration.to_owned(),
            numa_node: self.numa_node,
            gpus: self.gpu.iter().cloned().collect(),
        }
    }

    /// Index of the memory's layout.
    pub(super) fn layout(&self) -> usize {
        self.layout
    }

    /// Location of the memory; `None` if the kernel does not report it, or if the pages are on several NUMA nodes.
    pub(super) fn location(&self) -> Option<Location> {
        match &self.gpu {
            Some(gpu) => Some(Location::Gpu(gpu.clone())),
            None => self.numa_node.map(Location::NumaNode),
        }
    }
}

/// Creates the record entry of `scenario` for the memory of one layout, which `of_threads` contains for each thread; `None`
/// if no thread has it. The entry describes the memory of the first thread, and names the GPUs of all threads.
pub(super) fn memory_facts<'a>(
    mut of_threads: impl Iterator<Item = &'a KindFacts>,
    scenario: &str,
) -> Option<MemoryFacts> {
    let mut facts = of_threads.next()?.for_scenario(scenario);
    for gpu in of_threads.filter_map(|thread| thread.gpu.as_ref()) {
        if !facts.gpus.contains(gpu) {
            facts.gpus.push(gpu.clone());
        }
    }
    Some(facts)
}

/// Memory locations of a thread, by kind. GPU memory comes first, because NICs are chosen near it.
pub(super) fn locations(memory: &[KindFacts]) -> Vec<Option<Location>> {
    let of_kinds = |gpu: bool| memory.iter().filter(move |facts| facts.gpu.is_some() == gpu);
    of_kinds(true)
        .chain(of_kinds(false))
        .map(KindFacts::location)
        .collect()
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
    let kinds = buffers.layouts().len();
    // Memory that the library allocates exists only after the transport has been opened.
    let is_used: Vec<bool> = (0..kinds).map(|kind| buffers.is_used(kind, number)).collect();
    let allocated: Vec<_> = match config.spec.allocates_memory() {
        true => Vec::new(),
        false => (0..kinds)
            .map(|kind| is_used[kind].then(|| buffers.get(kind, number, node)))
            .collect(),
    };
    let near = near.unwrap_or_else(|| {
        let location = location(allocated.iter().flatten().flatten(), cpu.is_some());
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
    let mut registered_bytes = control_bytes;
    let (mut data, mut memory_failures, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    let mut allocated = allocated.into_iter();
    for (kind, is_used) in is_used.into_iter().enumerate() {
        let allocated = allocated.next().flatten();
        if !is_used {
            data.push(None);
            memory_failures.push(None);
            continue;
        }
        let registered = match allocated {
            None => buffers
                .allocate_with(&mut transport, kind, node)
                .map_err(case_failure),
            Some(Ok(buffer)) => transport.register(buffer).map_err(case_failure),
            Some(Err(error)) => Err(CaseFailure {
                reason: error.reason(),
                message: error.to_string(),
            }),
        };
        match registered {
            Ok(region) => {
                registered_bytes += region.memory().length() as u64;
                memory.push(KindFacts {
                    layout: kind,
                    kind: region.memory().kind(),
                    bytes: region.memory().length() as u64,
                    registration: region.registration_method(),
                    numa_node: None,
                    gpu: region.memory().pci().map(str::to_owned),
                });
                data.push(Some(region));
                memory_failures.push(None);
            }
            Err(failure) => {
                data.push(None);
                memory_failures.push(Some(failure));
            }
        }
    }
    let registration_nanos = clock::now().saturating_sub(start);
    for (facts, region) in memory.iter_mut().zip(data.iter().flatten()) {
        facts.numa_node = region.memory().numa_node();
    }

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
        memory_failures,
        memory,
        wait_failure,
        thread_start_nanos,
        open_nanos,
        registration_nanos,
        registered_bytes,
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

/// Location whose nearest NICs are chosen: the GPU memory's location if there is any GPU memory, otherwise the host
/// memory's location.
///
/// The NUMA node of host memory is used only if the thread is pinned. Otherwise, the node may differ between processes,
/// so arms and rounds might use different devices.
fn location<'a>(memory: impl Iterator<Item = &'a Arc<Memory>> + Clone, pinned: bool) -> Option<Location> {
    let gpu = memory.clone().find_map(|memory| memory.pci());
    // Determining the node requires reading the process's memory map, so this is done only if the node is used.
    let node = || {
        pinned
            .then(|| memory.clone().find_map(|memory| memory.numa_node()))
            .flatten()
    };
    gpu.map(|address| Location::Gpu(address.to_owned()))
        .or_else(|| node().map(Location::NumaNode))
}

fn case_failure(error: TransportError) -> CaseFailure {
    CaseFailure {
        reason: error.reason,
        message: error.to_string(),
    }
}

fn internal(operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason: FailureReason::Internal,
        operation,
        message,
    }
}

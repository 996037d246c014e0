//! Opens the endpoints of an arm, one thread after the other, and combines what the threads report.

use std::collections::BTreeSet;

use crds::assignment::{ArmAssignment, Assignment};
use crds::record::{CaseFailure, ColdRecord, FabricFacts, FailureReason, MemoryFacts};
use crds::v1alpha1::Polling;

use super::buffers::Buffers;
use super::configuration::thread_config;
use super::cpus::{self, NodeCpus};
use super::endpoint_thread::EndpointThread;
use super::kind_facts::{KindFacts, locations, memory_facts};
use super::open_thread::{self, Binding, OpenedThread, PreferredLocation};
use super::{ArmEndpoints, facts, layout, position};
use crate::measure::window::UsageCounters;
use crate::topology::SystemRoots;
use crate::transport::{OpenConfig, Transport, TransportError};

impl<T: Transport> ArmEndpoints<T> {
    /// Opens the endpoints of `arm`, and allocates and registers the memory of every scenario.
    ///
    /// Each thread is pinned to the least used of `cpus`, preferably one near the GPU whose memory the thread uses or,
    /// for host memory, near the named NICs of its rails. Threads are not pinned if `cpus` is empty. `polling` applies
    /// to scenarios that do not set a polling mode. If the assignment distributes the threads over the NUMA nodes, each
    /// thread that uses host memory is pinned to a CPU of its node, and its memory must be on this node. `buffers` is
    /// shared by all arms of the process.
    ///
    /// # Errors
    /// Returns an error if the transport cannot be opened with `config`, a thread cannot be pinned, several GPUs would
    /// share an RDMA device, or the location of a device relative to the memory does not meet the alignment that the
    /// assignment requires. A failure to allocate or register memory is not returned: only the scenarios that use the
    /// memory fail.
    pub fn open(
        arm: &ArmAssignment,
        assignment: &Assignment,
        config: &OpenConfig,
        polling: Polling,
        cpus: &[u32],
        buffers: &mut Buffers,
    ) -> Result<Self, TransportError> {
        let roots = SystemRoots::default();
        Self::open_below(roots, arm, assignment, config, polling, cpus, buffers)
    }

    /// Like [`ArmEndpoints::open`], but reads the topology of devices and CPUs from the file systems at `roots`.
    pub(crate) fn open_below(
        roots: SystemRoots,
        arm: &ArmAssignment,
        assignment: &Assignment,
        config: &OpenConfig,
        polling: Polling,
        cpus: &[u32],
        buffers: &mut Buffers,
    ) -> Result<Self, TransportError> {
        let mut opened = OpenedThreads::<T>::new(assignment, &roots, buffers.layouts().len());
        let nodes = match assignment.spreads_threads() {
            true => cpus::by_node(cpus, &roots),
            false => Vec::new(),
        };
        let uses_main_thread = layout::uses_main_thread(assignment);
        for number in 0..buffers.threads() {
            let config = thread_config(config, assignment, number);
            let gpu = buffers.gpu_pci_address(number);
            let binding = opened.binding(cpus, &nodes, gpu.as_deref(), &config);
            let near = opened.preferred_location(buffers);
            let thread =
                open_thread::endpoint_thread(uses_main_thread, number, &config, near, binding, buffers)?;
            opened.add(thread, binding)?;
        }
        let facts = opened.facts(buffers, polling)?;
        Ok(Self {
            threads: opened.threads,
            threads_per_flow: opened.threads_per_flow,
            uses_main_thread,
            layouts: buffers.layouts().to_vec(),
            memory_failures: opened.memory_failures,
            wait_failure: opened.wait_failure,
            usage: UsageCounters::find(&roots, &facts.pinned_cpus),
            polling,
            evidence: BTreeSet::new(),
            facts,
            groups: assignment.devices.groups() as usize,
            cold: ColdRecord {
                arm: arm.name.clone(),
                ..opened.cold
            },
            roots,
        })
    }
}

/// The threads of an arm that have been opened so far, and what they report together.
struct OpenedThreads<'a, T: Transport> {
    assignment: &'a Assignment,
    roots: &'a SystemRoots,
    threads_per_flow: usize,
    threads: Vec<EndpointThread<T>>,
    /// For each layout of the buffers, the failure that makes the memory unusable on a thread.
    memory_failures: Vec<Option<CaseFailure>>,
    wait_failure: Option<CaseFailure>,
    memory: Vec<KindFacts>,
    /// For each rail group, the location whose nearest NICs its threads use, and the facts of its rails.
    groups: Vec<(PreferredLocation, FabricFacts)>,
    /// NUMA nodes of the threads, if the assignment distributes the threads over the nodes.
    numa_nodes: Vec<u32>,
    cold: ColdRecord,
}

impl<'a, T: Transport> OpenedThreads<'a, T> {
    fn new(assignment: &'a Assignment, roots: &'a SystemRoots, layouts: usize) -> Self {
        Self {
            assignment,
            roots,
            threads_per_flow: layout::max_threads(assignment) as usize,
            threads: Vec::new(),
            memory_failures: vec![None; layouts],
            wait_failure: None,
            memory: Vec::new(),
            groups: Vec::new(),
            numa_nodes: Vec::new(),
            cold: ColdRecord::default(),
        }
    }

    /// Chooses the CPU of the next thread, whose GPU has the PCI address `gpu`. Threads that use host memory are
    /// distributed over `nodes`, unless this is empty.
    fn binding(&self, cpus: &[u32], nodes: &[NodeCpus], gpu: Option<&str>, config: &OpenConfig) -> Binding {
        let node = nodes
            .get(self.threads.len() % nodes.len().max(1))
            .filter(|_| gpu.is_none());
        let allowed = node.map_or(cpus, |node| &node.cpus);
        let nearest = cpus::nearest_first(allowed, gpu, &config.rails, self.roots);
        Binding {
            cpu: cpus::least_used(&nearest, self.threads.iter().filter_map(|thread| thread.cpu)),
            node: node.map(|node| node.node),
        }
    }

    /// The location whose nearest NICs the next thread must use; `None` if its own memory determines it.
    fn preferred_location(&self, buffers: &mut Buffers) -> Option<PreferredLocation> {
        let number = self.threads.len();
        let devices = &self.assignment.devices;
        let group = devices.group(number);
        if let Some((near, _)) = self.groups.get(group) {
            return Some(near.clone());
        }
        // The threads of a segment with two kinds of memory share the NICs near the GPU of their group.
        let mut of_group = (number..buffers.threads()).filter(|other| devices.group(*other) == group);
        let gpu = of_group.find_map(|other| buffers.gpu_pci_address(other));
        gpu.map(PreferredLocation::of_gpu)
    }

    /// Adds the next thread.
    ///
    /// # Errors
    /// Returns an error if a device is farther from the thread's memory than the assignment allows.
    fn add(&mut self, mut opened: OpenedThread<T>, binding: Binding) -> Result<(), TransportError> {
        let number = self.threads.len();
        let group = self.assignment.devices.group(number);
        opened.thread.number %= self.threads_per_flow;
        if number == 0 {
            self.cold.thread_start_nanos = opened.thread_start_nanos;
        }
        self.cold.open_nanos += opened.open_nanos;
        self.cold.registration_nanos += opened.memory.registration_nanos;
        self.cold.registered_bytes += opened.memory.registered_bytes;
        self.numa_nodes.extend(binding.node);
        self.wait_failure = self.wait_failure.take().or(opened.wait_failure);
        for (failure, of_thread) in self.memory_failures.iter_mut().zip(opened.memory.failures) {
            *failure = failure.take().or(of_thread);
        }
        let reported = opened.thread.transport.facts();
        let locations = locations(&opened.memory.facts);
        self.memory.extend(opened.memory.facts);
        let rails = position::complete(&reported.rails, &locations, self.assignment.align, self.roots)?;
        match self.groups.get_mut(group) {
            Some((_, facts)) => position::keep_worst(&mut facts.rails, rails),
            None => {
                let facts = FabricFacts {
                    rails,
                    ..reported.clone()
                };
                self.groups.push((opened.near, facts));
            }
        }
        self.threads.push(opened.thread);
        Ok(())
    }

    /// Facts about all threads. `polling` applies to scenarios that do not set a polling mode.
    ///
    /// # Errors
    /// Returns an error if several GPUs would share an RDMA device.
    fn facts(&self, buffers: &Buffers, polling: Polling) -> Result<FabricFacts, TransportError> {
        let mut groups = self.groups.iter().map(|(_, facts)| facts.clone());
        let mut facts = groups.next().unwrap_or_default();
        groups.for_each(|group| facts::add_group(&mut facts, group));
        if let Some(message) = position::shared_device(&facts.rails, &self.assignment.devices, self.roots) {
            return Err(TransportError {
                reason: FailureReason::NoDevice,
                operation: "spec.devices.gpus",
                message,
            });
        }
        let scenarios = self.assignment.scenarios.iter();
        facts.polling = scenarios
            .map(|scenario| (scenario.name.clone(), scenario.polling.unwrap_or(polling)))
            .collect();
        facts.memory = self.memory_of_scenarios(buffers);
        facts.pinned_cpus = self.threads.iter().filter_map(|thread| thread.cpu).collect();
        facts.thread_numa_nodes.clone_from(&self.numa_nodes);
        Ok(facts)
    }

    /// The usable memory of each scenario.
    fn memory_of_scenarios(&self, buffers: &Buffers) -> Vec<MemoryFacts> {
        let rails = self.assignment.transport.rails().into();
        let scenarios = self.assignment.scenarios.iter();
        let kinds =
            scenarios.flat_map(|scenario| scenario.distinct_memory_kinds().map(move |kind| (scenario, kind)));
        let memory = kinds.filter_map(|(scenario, kind)| {
            let layout = layout::position(buffers.layouts(), kind, scenario.area_bytes(rails))?;
            let is_usable = self.memory_failures.get(layout).is_some_and(Option::is_none);
            let memory = self.memory.iter();
            let of_threads = memory.filter(|facts| is_usable && facts.layout() == layout);
            memory_facts(of_threads, &scenario.name)
        });
        memory.collect()
    }
}

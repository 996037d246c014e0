//! Properties of the memory of an arm, for the records and the choice of NICs. Performs no I/O.

use crds::record::MemoryFacts;
use crds::v1alpha1::MemoryKind;

use crate::topology::Location;
use crate::transport::Region;

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
    /// Facts about `region`, the memory of the layout with this index.
    pub(super) fn new(layout: usize, region: &impl Region) -> Self {
        let memory = region.memory();
        Self {
            layout,
            kind: memory.kind(),
            bytes: memory.length() as u64,
            registration: region.registration_method(),
            numa_node: memory.numa_node(),
            gpu: memory.pci().map(str::to_owned),
        }
    }

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

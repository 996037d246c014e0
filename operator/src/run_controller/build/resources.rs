//! What a worker gets: requests equal to limits, the same in all arms. Pure.

use std::collections::BTreeMap;

use crds::units::Size;
use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::Installation;

/// Resource of EFA devices.
pub const EFA: &str = "vpc.amazonaws.com/efa";
/// Resource of GPUs.
pub const GPU: &str = "nvidia.com/gpu";
/// Resource of huge pages.
pub const HUGE_PAGES: &str = "hugepages-2Mi";
/// Largest `/dev/shm` where the run names none: it is paid for from the worker's memory.
const SHARED_MEMORY: u64 = 1 << 30;

/// What a worker asks for, in whole units and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerResources {
    /// Processors.
    pub cpus: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// EFA devices.
    pub efas: u32,
    /// GPUs.
    pub gpus: u32,
    /// Bytes of huge pages.
    pub huge_pages: u64,
    /// Bytes of `/dev/shm`, out of the memory.
    pub shared_memory: u64,
}

impl WorkerResources {
    /// What each worker of a run with `spec` asks for.
    pub fn of(spec: &crds::v1alpha1::Resources, installation: &Installation) -> Self {
        let memory = spec.memory.unwrap_or(installation.default_memory).bytes();
        let shared = || SHARED_MEMORY.min(memory / 2);
        Self {
            cpus: spec.cpus.unwrap_or(installation.default_cpus),
            memory,
            efas: spec.efas,
            gpus: spec.gpus,
            huge_pages: spec.hugepages_2mi.map_or(0, Size::bytes),
            shared_memory: spec.shared_memory.map_or_else(shared, Size::bytes),
        }
    }

    /// As a container says it. Equal requests and limits of processors and memory make the pod Guaranteed, without which
    /// huge pages are refused and processors not pinned.
    pub(super) fn requirements(self) -> ResourceRequirements {
        let mut amounts = BTreeMap::from([
            ("cpu".to_owned(), Quantity(self.cpus.to_string())),
            ("memory".to_owned(), Quantity(Size(self.memory).to_string())),
        ]);
        let devices = [(EFA, self.efas), (GPU, self.gpus)];
        for (name, count) in devices.into_iter().filter(|(_, count)| *count > 0) {
            amounts.insert(name.to_owned(), Quantity(count.to_string()));
        }
        if self.huge_pages > 0 {
            amounts.insert(HUGE_PAGES.to_owned(), Quantity(Size(self.huge_pages).to_string()));
        }
        equal(amounts)
    }
}

/// What copying the runner takes.
pub(super) fn installer() -> ResourceRequirements {
    let amounts = [("cpu", "100m"), ("memory", "64Mi")];
    equal(
        amounts
            .map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())))
            .into(),
    )
}

fn equal(amounts: BTreeMap<String, Quantity>) -> ResourceRequirements {
    ResourceRequirements {
        requests: Some(amounts.clone()),
        limits: Some(amounts),
        ..ResourceRequirements::default()
    }
}

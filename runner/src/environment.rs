//! Facts about the machine that a worker runs on, and the worker's resource limits. Reads `/proc`, `/sys`, `/dev/shm`
//! and environment variables.
//!
//! Facts that the kernel does not report are omitted, never guessed.

mod cgroup;
pub mod cpu;
mod devices;
pub mod gpu_clocks;
mod hardware;
mod memory;
mod rdma_core;

use std::fs;
use std::path::Path;

use crds::record::{ClockFacts, HostEnvironment};
use crds::{cpu_list, names};

use crate::topology::SystemRoots;

/// Mount point of the shared-memory file system.
const SHARED_MEMORY: &str = "/dev/shm";

/// Directories in which distributions and the EFA installer install libibverbs.
const LIBRARY_DIRECTORIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

/// File in which the EFA installer lists the installed packages.
const EFA_PACKAGES: &str = "/opt/amazon/efa_installed_packages";

/// Collects all facts about this machine.
///
/// `variable` reads an environment variable; `clock` is copied to the result. The caller adds the GPU clocks and the
/// copy rate, because determining them takes time.
pub fn host_environment(
    roots: &SystemRoots,
    variable: impl Fn(&str) -> Option<String>,
    clock: ClockFacts,
) -> HostEnvironment {
    let status = read_text(&roots.proc.join("self/status")).unwrap_or_default();
    let cpus_allowed = cpu::allowed_list(&status);
    let limits = cgroup::limits(roots);
    let (hugepages_2mi_total, hugepages_2mi_free) = memory::hugepages_2mi(roots);
    HostEnvironment {
        hostname: read_text(&roots.proc.join("sys/kernel/hostname")).unwrap_or_default(),
        node: variable(names::ENV_NODE),
        network_namespace: network_namespace(roots),
        kernel: read_text(&roots.proc.join("sys/kernel/osrelease")).unwrap_or_default(),
        cpu_model: cpu::model(&roots.proc),
        governor: cpu::governor(&roots.sys, &cpu_list::parse(&cpus_allowed)),
        cpus_allowed,
        memlock_bytes: memory::locked_limit(&roots.proc),
        memory_bytes: memory::total(&roots.proc),
        memory_limit_bytes: limits.memory_bytes,
        cpu_limit_millis: limits.cpu_millis,
        hugepages_2mi_total,
        hugepages_2mi_free,
        shared_memory_free_bytes: memory::shared_free(Path::new(SHARED_MEMORY)),
        image_variant: variable(names::ENV_VARIANT),
        image_digest: variable(names::ENV_IMAGE_DIGEST),
        rdma_devices: devices::rdma_devices(&roots.sys),
        hardware: hardware::facts(
            roots,
            &LIBRARY_DIRECTORIES.map(Path::new),
            Path::new(EFA_PACKAGES),
        ),
        copy_bytes_per_second: None,
        clock,
    }
}

/// The boot ID and the inode of the network namespace of this process.
fn network_namespace(roots: &SystemRoots) -> Option<String> {
    let link = fs::read_link(roots.proc.join("self/ns/net")).ok()?;
    let inode = link.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?;
    let boot = Some(boot_id(roots)).filter(|boot| !boot.is_empty())?;
    Some(format!("{boot}/{inode}"))
}

/// The cgroup's CPU limit, in thousandths of a CPU.
pub fn cpu_limit_millis(roots: &SystemRoots) -> Option<u64> {
    cgroup::limits(roots).cpu_millis
}

/// Boot ID of the running kernel, which is the same in all containers on a machine. Empty if the kernel does not report
/// it.
pub fn boot_id(roots: &SystemRoots) -> String {
    read_text(&roots.proc.join("sys/kernel/random/boot_id")).unwrap_or_default()
}

/// Memory that this process can use without swapping: the memory that the machine has available or that its cgroup
/// allows, whichever is less. `None` if neither is known.
pub fn available_memory(roots: &SystemRoots) -> Option<AvailableMemory> {
    let of = |bytes: Option<u64>, source| bytes.map(|bytes| AvailableMemory { bytes, source });
    let machine = of(memory::available(&roots.proc), MemorySource::Machine);
    let cgroup = of(cgroup::available_memory(roots), MemorySource::Cgroup);
    machine
        .into_iter()
        .chain(cgroup)
        .min_by_key(|available| available.bytes)
}

/// Memory that this process can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvailableMemory {
    /// Amount of memory in bytes.
    pub bytes: u64,
    /// Source of the limit.
    pub source: MemorySource,
}

/// Source of the limit on the memory that a process can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySource {
    /// The machine's `MemAvailable`.
    Machine,
    /// The limit of the process's cgroup or of one of its ancestors (version 1 or 2).
    Cgroup,
}

impl MemorySource {
    /// Name for error messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Machine => "the machine",
            Self::Cgroup => "the cgroup",
        }
    }
}

/// Number of processes in this process's cgroup that the kernel's OOM killer has killed; `None` if the kernel does not
/// count them.
pub fn oom_kills(roots: &SystemRoots) -> Option<u64> {
    cgroup::oom_kills(roots)
}

fn read_text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
pub(crate) mod tests;

//! Checks that `/dev/shm` has enough free space for the endpoints of the arms, before the first block is measured: the
//! libraries report a full `/dev/shm` as a missing device. Performs no I/O.

use crds::assignment::{Assignment, InstrumentProcess};
use crds::record::{CaseFailure, FailureReason};
use crds::units::Size;
use crds::v1alpha1::{LibfabricProvider, TransportSpec, UcxTransport};

use crate::rendezvous::message::WorkerHello;

/// Free space per online CPU, in bytes, that libfabric's shm provider requires before it reports a device: the size of
/// one endpoint with default queues (`prov/shm/src/smr_init.c` of libfabric 1.17 to 2.5 multiplies it by the number of
/// CPUs).
const SHM_BYTES_PER_CPU: u64 = 16 << 20;
/// Part of [`SHM_BYTES_PER_CPU`] below which the provider certainly reports no device, in percent. Releases differ by a
/// few percent.
const CERTAIN_PERCENT: u64 = 90;
/// Minimum space of a UCX worker over shared memory, in bytes: its receive buffers with default settings (512 buffers of
/// about 8 KiB, `mm` transports of UCX).
const UCX_BYTES_PER_WORKER: u64 = 4 << 20;
/// Start of the names of environment variables and settings that change these sizes.
const SIZE_VARIABLES: [&str; 6] = [
    "FI_SHM_",
    "UCX_POSIX_",
    "UCX_SYSV_",
    "UCX_MM_",
    "UCX_SELF_",
    "UCX_TLS",
];

/// Returns the failure of the attempt if a worker has too little free space in `/dev/shm`. `hellos` are the messages of
/// all workers, by rank. `online_cpus` is the number of online CPUs of their machine.
pub(super) fn failure(
    assignment: &Assignment,
    hellos: &[&WorkerHello],
    online_cpus: usize,
) -> Option<CaseFailure> {
    let free = hellos
        .iter()
        .map(|hello| hello.environment.shared_memory_free_bytes);
    shortage(
        needs(assignment, hellos.len() as u64, online_cpus as u64),
        free.collect(),
    )
}

/// The failure if a worker has less than the largest of the `needs`. `free` is the free space of each rank, in bytes.
fn shortage(needs: Vec<(u64, &str)>, free: Vec<u64>) -> Option<CaseFailure> {
    let (needed, user) = needs.into_iter().max_by_key(|(needed, _)| *needed)?;
    let (rank, free) = free.into_iter().enumerate().min_by_key(|(_, free)| *free)?;
    (free < needed / 100 * CERTAIN_PERCENT).then(|| CaseFailure {
        reason: FailureReason::MemoryUnavailable,
        message: format!(
            "rank {rank}: /dev/shm has {} free, but {user} needs about {}. Remove files from /dev/shm, or enlarge it: \
             spec.resources.sharedMemory in a cluster, `mount -o remount,size=SIZE /dev/shm` on a machine, --shm-size in \
             a container",
            rounded_down(free),
            rounded_down(needed),
        ),
    })
}

/// Space that each user of `/dev/shm` needs, in bytes, and its name. `workers` share the directory.
fn needs(assignment: &Assignment, workers: u64, online_cpus: u64) -> Vec<(u64, &'static str)> {
    let measured = assignment.arms.iter().filter(|arm| {
        assignment
            .scenarios
            .iter()
            .any(|scenario| scenario.workload.requires_transport(arm.channel))
    });
    let mut needs = Vec::new();
    for arm in measured {
        let Some(process) = assignment.processes.get(arm.process as usize) else {
            continue;
        };
        if changes_sizes(process) {
            continue;
        }
        match process.transport.as_ref().unwrap_or(&assignment.transport) {
            TransportSpec::Libfabric(libfabric) if libfabric.provider == LibfabricProvider::Shm => {
                needs.push((online_cpus * SHM_BYTES_PER_CPU, "libfabric's shm provider"));
            }
            // With another transport, UCX may do without shared memory.
            TransportSpec::Ucx(ucx)
                if ucx.uses(UcxTransport::Sm) && !ucx.uses_network() && ucx.settings.is_empty() =>
            {
                let needed = UCX_BYTES_PER_WORKER * workers * u64::from(ucx.rails);
                needs.push((needed, "UCX over shared memory"));
            }
            _ => {}
        }
    }
    needs
}

/// Whether the environment of a process may change the sizes.
fn changes_sizes(process: &InstrumentProcess) -> bool {
    process
        .env
        .keys()
        .any(|name| SIZE_VARIABLES.iter().any(|start| name.starts_with(start)))
}

/// A size in whole MiB or KiB, for a message.
fn rounded_down(bytes: u64) -> Size {
    let unit = match bytes {
        0..0x10_0000 => 1 << 10,
        _ => 1 << 20,
    };
    Size(bytes / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worker_with_the_least_space_is_named() {
        let needs = || {
            vec![
                (8 << 20, "UCX over shared memory"),
                (32 << 20, "libfabric's shm provider"),
            ]
        };
        let found = shortage(needs(), vec![64 << 20, 65 << 10]).unwrap();
        assert_eq!(found.reason, FailureReason::MemoryUnavailable);
        let start = "rank 1: /dev/shm has 65Ki free, but libfabric's shm provider needs about 32Mi. ";
        assert!(found.message.starts_with(start), "{}", found.message);
        assert_eq!(shortage(needs(), vec![64 << 20, 31 << 20]), None);
        assert_eq!(shortage(Vec::new(), vec![0]), None);
    }

    #[test]
    fn variables_that_change_the_sizes_are_known() {
        let process = |name: &str| InstrumentProcess {
            env: [(name.to_owned(), "1".to_owned())].into(),
            ..InstrumentProcess::default()
        };
        assert!(changes_sizes(&process("FI_SHM_TX_SIZE")));
        assert!(!changes_sizes(&process("FI_LOG_LEVEL")));
    }
}

//! CPU affinity, context switches and frequency governors. Queries the kernel, outside timed regions.

use std::fs;
use std::path::PathBuf;

use nix::sys::resource::{UsageWho, getrusage};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use snafu::Snafu;

use crate::topology::SystemRoots;

/// Failure to pin a thread to a CPU.
#[derive(Debug, Snafu)]
#[snafu(display(
    "cannot pin a thread to CPU {cpu}: {source}; set bindings[].cpus to CPUs that the cgroup of this process allows"
))]
pub struct PinError {
    cpu: u32,
    source: rustix::io::Errno,
}

/// Pins the calling thread to CPU `cpu`.
///
/// # Errors
/// Returns an error if the CPU does not exist or the process may not use it.
pub fn pin(cpu: u32) -> Result<(), PinError> {
    if cpu as usize >= CpuSet::MAX_CPU {
        let source = rustix::io::Errno::INVAL;
        return Err(PinError { cpu, source });
    }
    let mut only = CpuSet::new();
    only.set(cpu as usize);
    sched_setaffinity(None, &only).map_err(|source| PinError { cpu, source })
}

/// Returns the CPU that the calling thread is running on.
pub fn current() -> u32 {
    sched_getcpu() as u32
}

/// Context switches of the threads of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Number of times a thread yielded its CPU, usually to wait.
    pub voluntary: u64,
    /// Number of times a thread was preempted.
    pub involuntary: u64,
}

/// Context switches of all threads since the start of the process; zero if the kernel does not report them.
pub fn switches() -> Switches {
    getrusage(UsageWho::RUSAGE_SELF).map_or_else(
        |_| Switches::default(),
        |usage| Switches {
            voluntary: usage.voluntary_context_switches() as u64,
            involuntary: usage.involuntary_context_switches() as u64,
        },
    )
}

/// Paths of the files that contain the frequency governors of `cpus`, if they exist.
pub fn governor_files(roots: &SystemRoots, cpus: &[u32]) -> Vec<PathBuf> {
    cpus.iter()
        .map(|cpu| {
            roots
                .sys
                .join(format!("devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"))
        })
        .filter(|file| file.exists())
        .collect()
}

/// Contents of the governor files; empty for a file that cannot be read.
pub fn governors(files: &[PathBuf]) -> Vec<String> {
    files
        .iter()
        .map(|file| fs::read_to_string(file).unwrap_or_default())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_the_thread_to_the_cpu() {
        let cpu = current();
        std::thread::spawn(move || {
            pin(cpu).unwrap();
            assert_eq!(current(), cpu);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn error_names_the_missing_cpu() {
        for cpu in [1023, 5_000_000] {
            let error = pin(cpu).unwrap_err().to_string();
            assert!(error.contains(&format!("CPU {cpu}")), "{error}");
        }
    }

    #[test]
    fn counts_waiting_as_a_voluntary_switch() {
        let before = switches();
        let (_sender, receiver) = std::sync::mpsc::channel::<()>();
        assert!(
            receiver
                .recv_timeout(std::time::Duration::from_millis(1))
                .is_err()
        );
        assert!(switches().voluntary > before.voluntary);
    }

    #[test]
    fn reads_only_existing_governors() {
        let root = tempfile::tempdir().unwrap();
        let roots = SystemRoots {
            sys: root.path().join("sys"),
            proc: root.path().join("proc"),
        };
        let directory = root.path().join("sys/devices/system/cpu/cpu1/cpufreq");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("scaling_governor"), "performance\n").unwrap();
        let files = governor_files(&roots, &[0, 1]);
        assert_eq!(governors(&files), ["performance\n"]);
    }
}

//! Processors: which one a thread runs on, where it is pinned, how often it was taken away, at which governor. Asks
//! the kernel, outside timed regions.

use std::fs;
use std::path::PathBuf;

use nix::sys::resource::{UsageWho, getrusage};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use snafu::Snafu;

use crate::topology::SystemRoots;

/// A thread cannot be pinned.
#[derive(Debug, Snafu)]
#[snafu(display(
    "this process cannot run on processor {cpu}: {source}; give processors its control group allows (bindings[].cpus)"
))]
pub struct PinError {
    cpu: u32,
    source: rustix::io::Errno,
}

/// Binds the calling thread to processor `cpu`.
///
/// # Errors
/// When the processor does not exist or the process may not use it.
pub fn pin(cpu: u32) -> Result<(), PinError> {
    if cpu as usize >= CpuSet::MAX_CPU {
        let source = rustix::io::Errno::INVAL;
        return Err(PinError { cpu, source });
    }
    let mut only = CpuSet::new();
    only.set(cpu as usize);
    sched_setaffinity(None, &only).map_err(|source| PinError { cpu, source })
}

/// Processor the calling thread runs on.
pub fn current() -> u32 {
    sched_getcpu() as u32
}

/// Times the threads of this process gave their processor up, and times it was taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Given up.
    pub voluntary: u64,
    /// Taken away.
    pub involuntary: u64,
}

/// Context switches of all threads since the process was started; zero where the kernel does not say.
pub fn switches() -> Switches {
    getrusage(UsageWho::RUSAGE_SELF).map_or_else(
        |_| Switches::default(),
        |usage| Switches {
            voluntary: usage.voluntary_context_switches() as u64,
            involuntary: usage.involuntary_context_switches() as u64,
        },
    )
}

/// Files that show the frequency governors of `cpus`; none where the kernel shows none.
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

/// Governors that these files show now.
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
    fn a_pinned_thread_runs_there() {
        let cpu = current();
        std::thread::spawn(move || {
            pin(cpu).unwrap();
            assert_eq!(current(), cpu);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_processor_that_does_not_exist_is_refused_by_name() {
        for cpu in [1023, 5_000_000] {
            let error = pin(cpu).unwrap_err().to_string();
            assert!(error.contains(&format!("processor {cpu}")), "{error}");
        }
    }

    #[test]
    fn waiting_gives_the_processor_up() {
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
    fn governors_are_read_where_there_are_any() {
        let root = tempfile::tempdir().unwrap();
        let roots = SystemRoots {
            sys: root.path().join("sys"),
            proc: root.path().join("proc"),
        };
        let folder = root.path().join("sys/devices/system/cpu/cpu1/cpufreq");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("scaling_governor"), "performance\n").unwrap();
        let files = governor_files(&roots, &[0, 1]);
        assert_eq!(governors(&files), ["performance\n"]);
    }
}

//! Competition for the CPUs of this process: time in run queues, and the use of the CPUs by other processes. Reads
//! `/proc/self/task/*/schedstat` and `/proc/stat`; computing differences performs no I/O.
//!
//! Readings are taken outside the timed region, before and after the measured window.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crds::cpu_list;
use crds::record::CpuContention;
use nix::sys::resource::{UsageWho, getrusage};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::clock;
use crate::topology::SystemRoots;

/// Fields of a CPU in `/proc/stat` that count processes: user, nice and system (proc_stat(5)). Guest time is part of the
/// first two.
const PROCESS_FIELDS: [usize; 3] = [0, 1, 2];
/// Field of a CPU in `/proc/stat` that counts the time which the hypervisor gave to other virtual machines.
const STEAL_FIELD: usize = 7;

/// Initial capacity for `/proc/stat`, in bytes.
const STAT_CAPACITY: usize = 64 << 10;
/// Initial capacity for a `schedstat` file, in bytes: three numbers of 64 bits.
const SCHEDSTAT_CAPACITY: usize = 128;

/// Sources of a process's contention counters.
#[derive(Clone, Debug)]
pub struct ContentionCounters {
    proc: PathBuf,
    cpus: BTreeSet<u32>,
}

/// Contention counters at one point in time.
#[derive(Clone, Debug)]
pub struct ContentionReading {
    taken: u64,
    /// Time of each thread in run queues, in nanoseconds; `None` if the kernel does not report it.
    waits: Option<BTreeMap<String, u64>>,
    /// Use of the CPUs, in units of `/proc/stat`; `None` if it is unknown.
    busy_ticks: Option<u64>,
    own_nanos: u64,
}

impl ContentionCounters {
    /// Counters of this process and of `cpus`, on which its measuring threads run. If `cpus` is empty, the threads are not
    /// pinned, and all CPUs that the calling thread may use are observed.
    pub fn find(roots: &SystemRoots, cpus: &[u32]) -> Self {
        let mut cpus: BTreeSet<u32> = cpus.iter().copied().collect();
        if cpus.is_empty()
            && let Ok(allowed) = sched_getaffinity(None)
        {
            cpus = (0..CpuSet::MAX_CPU)
                .filter(|cpu| allowed.is_set(*cpu))
                .filter_map(|cpu| u32::try_from(cpu).ok())
                .collect();
        }
        Self {
            proc: roots.proc.clone(),
            cpus,
        }
    }

    /// Reads the counters.
    pub fn read(&self) -> ContentionReading {
        ContentionReading {
            taken: clock::now(),
            waits: run_queue_waits(&self.proc.join("self/task")),
            busy_ticks: read_text(&self.proc.join("stat"), STAT_CAPACITY)
                .ok()
                .and_then(|text| busy_ticks(&text, &self.cpus)),
            own_nanos: clock::process_cpu_nanos().saturating_add(children_cpu_nanos()),
        }
    }

    /// Contention since `before`; `None` if the kernel reports neither run-queue waits nor the use of the CPUs.
    pub fn since(&self, before: &ContentionReading) -> Option<CpuContention> {
        let after = self.read();
        let waits: Option<Vec<u64>> = after.waits.zip(before.waits.as_ref()).map(|(after, before)| {
            let earlier = |thread| before.get(thread).copied().unwrap_or_default();
            after
                .iter()
                .map(|(thread, nanos)| nanos.saturating_sub(earlier(thread)))
                .collect()
        });
        let busy = after.busy_ticks.zip(before.busy_ticks).map(|(after, before)| {
            after
                .saturating_sub(before)
                .saturating_mul(CpuContention::STEP_NANOS)
        });
        if waits.is_none() && busy.is_none() {
            return None;
        }
        Some(CpuContention {
            interval_nanos: after.taken.saturating_sub(before.taken),
            run_queue_nanos: waits.as_ref().map(|waits| waits.iter().sum()),
            longest_run_queue_nanos: waits.as_ref().and_then(|waits| waits.iter().max().copied()),
            cpus: busy.map(|_| cpu_list::format(self.cpus.iter().copied())),
            busy_nanos: busy,
            own_nanos: after.own_nanos.saturating_sub(before.own_nanos),
        })
    }
}

/// Time that each thread in `tasks` has waited in a run queue, by thread ID, in nanoseconds. A kernel that does not record
/// these times reports zeros in all fields, also for the time on a CPU; the times are then `None`.
fn run_queue_waits(tasks: &Path) -> Option<BTreeMap<String, u64>> {
    let mut has_run = false;
    let mut waits = BTreeMap::new();
    for task in fs::read_dir(tasks).ok()?.flatten() {
        // A thread that has just ended has no file.
        let Ok(text) = read_text(&task.path().join("schedstat"), SCHEDSTAT_CAPACITY) else {
            continue;
        };
        let mut fields = text.split_ascii_whitespace();
        let (ran, waited) = (fields.next()?.parse::<u64>().ok()?, fields.next()?.parse().ok()?);
        has_run |= ran > 0;
        waits.insert(task.file_name().to_string_lossy().into_owned(), waited);
    }
    has_run.then_some(waits)
}

/// Reads a file into a text that is allocated with `capacity` bytes. The kernel reports a size of 0 for these files, so a text
/// without a capacity would be allocated again as often as its length requires, which differs between readings.
fn read_text(path: &Path, capacity: usize) -> io::Result<String> {
    let mut text = String::with_capacity(capacity);
    File::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Time that `cpus` spent on processes or lost to the hypervisor, in units of `/proc/stat`; `None` if a CPU is missing.
fn busy_ticks(stat: &str, cpus: &BTreeSet<u32>) -> Option<u64> {
    let mut sum = 0_u64;
    let mut found = 0;
    for line in stat.lines() {
        let mut fields = line.split_ascii_whitespace();
        let number = fields.next().and_then(|name| name.strip_prefix("cpu"));
        let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) else {
            continue;
        };
        if !cpus.contains(&number) {
            continue;
        }
        found += 1;
        let values: Vec<u64> = fields.map(|value| value.parse().ok()).collect::<Option<_>>()?;
        let counted = PROCESS_FIELDS.iter().chain([&STEAL_FIELD]);
        let ticks = counted.filter_map(|field| values.get(*field));
        sum = ticks.fold(sum, |sum, ticks| sum.saturating_add(*ticks));
    }
    (found > 0 && found == cpus.len()).then_some(sum)
}

/// CPU time of this process's children that have ended and have been waited for, in nanoseconds.
fn children_cpu_nanos() -> u64 {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return 0;
    };
    let nanos = |time: nix::sys::time::TimeVal| {
        let micros = time
            .tv_sec()
            .saturating_mul(1_000_000)
            .saturating_add(time.tv_usec());
        u64::try_from(micros).unwrap_or_default().saturating_mul(1_000)
    };
    nanos(usage.user_time()).saturating_add(nanos(usage.system_time()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "cpu  100 0 0 0 0 0 0 0 0 0\ncpu0 10 1 5 1000 7 3 4 2 6 0\ncpu1 20 2 6 2000 7 3 4 3 6 0\nintr 5\n";

    fn machine(stat: &str, threads: &[(&str, &str)]) -> (tempfile::TempDir, SystemRoots) {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        for (thread, schedstat) in threads {
            let directory = proc.join("self/task").join(thread);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("schedstat"), schedstat).unwrap();
        }
        fs::create_dir_all(&proc).unwrap();
        fs::write(proc.join("stat"), stat).unwrap();
        let roots = SystemRoots {
            sys: root.path().join("sys"),
            proc,
        };
        (root, roots)
    }

    #[test]
    fn processes_and_the_hypervisor_use_a_cpu_but_interrupts_do_not() {
        let ticks = |cpus: &[u32]| busy_ticks(STAT, &cpus.iter().copied().collect());
        assert_eq!(ticks(&[0]), Some(18));
        assert_eq!(ticks(&[0, 1]), Some(49));
        assert_eq!(ticks(&[0, 2]), None);
        assert_eq!(ticks(&[]), None);
    }

    #[test]
    fn reports_the_waits_of_all_threads_and_of_the_longest() {
        let (root, roots) = machine(STAT, &[("7", "50 100 3\n"), ("8", "60 200 3\n")]);
        let counters = ContentionCounters::find(&roots, &[1, 0]);
        let before = counters.read();
        let proc = root.path().join("proc");
        fs::write(proc.join("self/task/7/schedstat"), "90 130 4\n").unwrap();
        // A thread that started after the first reading.
        fs::create_dir_all(proc.join("self/task/9")).unwrap();
        fs::write(proc.join("self/task/9/schedstat"), "1 5 1\n").unwrap();
        fs::write(proc.join("stat"), STAT.replace("cpu0 10", "cpu0 12")).unwrap();
        let found = counters.since(&before).unwrap();
        assert_eq!(
            (found.run_queue_nanos, found.longest_run_queue_nanos),
            (Some(35), Some(30))
        );
        assert_eq!(
            (found.cpus.as_deref(), found.busy_nanos),
            (Some("0-1"), Some(20_000_000))
        );
    }

    #[test]
    fn zeros_mean_that_the_kernel_does_not_record_waits() {
        let (_root, roots) = machine("", &[("7", "0 0 0\n")]);
        let counters = ContentionCounters::find(&roots, &[0]);
        assert_eq!(counters.since(&counters.read()), None);
    }

    #[test]
    fn a_busy_thread_on_the_same_cpu_makes_this_thread_wait() {
        let roots = SystemRoots::default();
        let cpu = super::super::cpu::current();
        let counters = ContentionCounters::find(&roots, &[cpu]);
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                super::super::cpu::pin(cpu).unwrap();
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            scope.spawn(|| {
                super::super::cpu::pin(cpu).unwrap();
                let before = counters.read();
                let waited = || counters.since(&before).unwrap();
                while waited().longest_run_queue_nanos.unwrap() < 1_000_000 {}
                let found = waited();
                assert!(
                    found.run_queue_nanos >= found.longest_run_queue_nanos,
                    "{found:?}"
                );
                assert!(
                    found.own_nanos > 0 && found.interval_nanos > 1_000_000,
                    "{found:?}"
                );
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            });
        });
    }
}

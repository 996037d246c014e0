//! Competition for the CPUs of this process: time in run queues, and the use of the CPUs by other processes. Reads
//! `/proc/self/task/*/schedstat` and `/proc/stat`; computing differences performs no I/O.
//!
//! Readings are taken outside the timed region, before and after the measured window. They allocate equally often whatever
//! the number of threads, up to `THREAD_CAPACITY`, so that a test can count the allocations of a case.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use crds::cpu_list;
use crds::record::CpuContention;
use nix::sys::resource::{UsageWho, getrusage};
use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
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
/// Length of the longest `schedstat` file, in bytes: three numbers of 64 bits.
const SCHEDSTAT_BYTES: usize = 128;
/// Size of the buffer for directory entries, in bytes. The kernel fills it again until all entries have been read.
const ENTRIES_BYTES: usize = 2048;
/// Initial capacity for the waits of threads.
const THREAD_CAPACITY: usize = 256;

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
    /// Waits of the threads, ordered by thread ID; `None` if the kernel does not report them.
    waits: Option<Vec<ThreadWait>>,
    /// Use of the CPUs, in units of `/proc/stat`; `None` if it is unknown.
    busy_ticks: Option<u64>,
    /// CPU time of this process and of its terminated children, in nanoseconds; `None` if it is unknown.
    own_nanos: Option<u64>,
}

/// Time that a thread has waited in run queues.
#[derive(Clone, Copy, Debug)]
struct ThreadWait {
    thread: u32,
    nanos: u64,
}

/// Waits of all threads between two readings, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    sum: u64,
    longest: u64,
}

impl Waits {
    /// Waits in `after`, less those in `before`, of which each is at most `interval_nanos`: the kernel counts a wait when
    /// it ends, so it may have begun before the first reading. A thread that is missing there started later.
    fn between(before: &[ThreadWait], after: &[ThreadWait], interval_nanos: u64) -> Self {
        after.iter().fold(Self::default(), |waits, wait| {
            let earlier = before.binary_search_by_key(&wait.thread, |earlier| earlier.thread);
            let earlier = earlier.ok().and_then(|index| before.get(index));
            let nanos = wait
                .nanos
                .saturating_sub(earlier.map_or(0, |earlier| earlier.nanos))
                .min(interval_nanos);
            Self {
                sum: waits.sum.saturating_add(nanos),
                longest: waits.longest.max(nanos),
            }
        })
    }
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
            own_nanos: children_cpu_nanos()
                .map(|children| clock::process_cpu_nanos().saturating_add(children)),
        }
    }

    /// Contention since `before`; `None` if the kernel reports neither run-queue waits nor the use of the CPUs.
    pub fn since(&self, before: &ContentionReading) -> Option<CpuContention> {
        let after = self.read();
        let interval_nanos = after.taken.saturating_sub(before.taken);
        let waits = after.waits.as_deref().zip(before.waits.as_deref());
        let waits = waits.map(|(after, before)| Waits::between(before, after, interval_nanos));
        let busy = after.busy_ticks.zip(before.busy_ticks).map(|(after, before)| {
            after
                .saturating_sub(before)
                .saturating_mul(CpuContention::STEP_NANOS)
        });
        if waits.is_none() && busy.is_none() {
            return None;
        }
        Some(CpuContention {
            interval_nanos,
            run_queue_nanos: waits.map(|waits| waits.sum),
            longest_run_queue_nanos: waits.map(|waits| waits.longest),
            cpus: busy.map(|_| cpu_list::format(self.cpus.iter().copied())),
            busy_nanos: busy,
            own_nanos: after
                .own_nanos
                .zip(before.own_nanos)
                .map(|(after, before)| after.saturating_sub(before)),
        })
    }
}

/// Time that each thread in `tasks` has waited in a run queue. A kernel that does not record these times reports zeros in all
/// fields, also for the time on a CPU; the times are then `None`.
fn run_queue_waits(tasks: &Path) -> Option<Vec<ThreadWait>> {
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let tasks = openat(CWD, tasks, directory, Mode::empty()).ok()?;
    let mut has_run = false;
    let mut waits = Vec::with_capacity(THREAD_CAPACITY);
    let mut buffer = [MaybeUninit::uninit(); ENTRIES_BYTES];
    let mut entries = RawDir::new(tasks.as_fd(), &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.ok()?;
        // Other entries are the directory itself and its parent.
        let name = entry.file_name().to_str().ok();
        let Some(thread) = name.and_then(|name| name.parse().ok()) else {
            continue;
        };
        let mut text = [0; SCHEDSTAT_BYTES];
        // A thread that has just ended has no file.
        let Some(text) = read_schedstat(tasks.as_fd(), entry.file_name(), &mut text) else {
            continue;
        };
        let mut fields = text.split_ascii_whitespace();
        let (ran, nanos) = (fields.next()?.parse::<u64>().ok()?, fields.next()?.parse().ok()?);
        has_run |= ran > 0;
        waits.push(ThreadWait { thread, nanos });
    }
    waits.sort_unstable_by_key(|wait| wait.thread);
    has_run.then_some(waits)
}

/// Reads the `schedstat` file of `thread` in `tasks` into `buffer`.
fn read_schedstat<'b>(tasks: BorrowedFd<'_>, thread: &CStr, buffer: &'b mut [u8]) -> Option<&'b str> {
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(tasks, thread, directory, Mode::empty()).ok()?;
    let file = openat(
        directory,
        c"schedstat",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .ok()?;
    let length = rustix::io::read(file, &mut *buffer).ok()?;
    std::str::from_utf8(buffer.get(..length)?).ok()
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
        for (field, value) in fields.enumerate() {
            let ticks: u64 = value.parse().ok()?;
            if PROCESS_FIELDS.contains(&field) || field == STEAL_FIELD {
                sum = sum.saturating_add(ticks);
            }
        }
    }
    (found > 0 && found == cpus.len()).then_some(sum)
}

/// CPU time of this process's children that have ended and have been waited for, in nanoseconds; `None` if the kernel does
/// not report it.
fn children_cpu_nanos() -> Option<u64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let nanos = |time: nix::sys::time::TimeVal| {
        let micros = time
            .tv_sec()
            .saturating_mul(1_000_000)
            .saturating_add(time.tv_usec());
        Some(u64::try_from(micros).ok()?.saturating_mul(1_000))
    };
    Some(nanos(usage.user_time())?.saturating_add(nanos(usage.system_time())?))
}

#[cfg(test)]
mod tests {
    use std::fs;

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
    fn a_wait_that_began_before_the_interval_counts_only_within_it() {
        let wait = |thread, nanos| ThreadWait { thread, nanos };
        let before = [wait(7, 100), wait(8, 100)];
        let after = [wait(7, 3_100), wait(8, 150), wait(9, 4_000)];
        let found = Waits::between(&before, &after, 200);
        assert_eq!((found.longest, found.sum), (200, 450));
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
                    found.own_nanos > Some(0) && found.interval_nanos > 1_000_000,
                    "{found:?}"
                );
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            });
        });
    }
}

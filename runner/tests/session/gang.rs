//! Starts, observes and stops worker processes, and collects their records.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crds::assignment::Assignment;
use crds::record::{CaseFailure, CaseRecord, CaseResult, Chain, EndRecord, Record, WarningReason};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

/// Timeout for each wait in a test.
const TIMEOUT: Duration = Duration::from_secs(90);

/// Assignment file name.
const ASSIGNMENT: &str = "assignment.json";

/// Workers of one attempt.
pub struct Gang {
    directory: TempDir,
    workers: Vec<Option<Child>>,
    records: Records,
    /// Instrument processes found so far.
    instruments: Vec<Pid>,
}

struct Records {
    lines: Option<BufReader<ChildStdout>>,
    chain: Chain,
    read: Vec<Record>,
}

/// Exit status and standard error of a worker.
#[derive(Debug)]
pub struct WorkerExit {
    pub status: ExitStatus,
    pub stderr: String,
}

impl Gang {
    /// Starts the workers with the given ranks, each with `variables` added to its environment.
    pub fn start(
        assignment: &Assignment,
        ranks: impl Iterator<Item = u32>,
        variables: &[(&str, &str)],
    ) -> Self {
        let directory = TempDir::new().unwrap();
        fs::write(
            directory.path().join(ASSIGNMENT),
            serde_json::to_vec(assignment).unwrap(),
        )
        .unwrap();
        let mut workers: Vec<Option<Child>> = (0..assignment.workers).map(|_| None).collect();
        for rank in ranks {
            workers[rank as usize] = Some(worker(directory.path(), rank, variables));
        }
        let stdout = workers[0].as_mut().unwrap().stdout.take().unwrap();
        let records = Records {
            lines: Some(BufReader::new(stdout)),
            chain: Chain::default(),
            read: Vec::new(),
        };
        Self {
            directory,
            workers,
            records,
            instruments: Vec::new(),
        }
    }

    /// Starts the worker with rank `rank` after the other workers, with `variables` added to its environment.
    pub fn start_worker(&mut self, rank: u32, variables: &[(&str, &str)]) {
        self.workers[rank as usize] = Some(worker(self.directory.path(), rank, variables));
    }

    /// Closes the read end of the record stream.
    pub fn stop_reading(&mut self) {
        self.records.lines = None;
    }

    /// Waits until all instruments found so far have exited.
    pub fn wait_for_instruments(&mut self) {
        for instrument in std::mem::take(&mut self.instruments) {
            eventually(|| test_kill_process(instrument).is_err().then_some(()));
        }
    }

    /// Reads records until `predicate` holds for one of them.
    pub fn wait_for(&mut self, predicate: impl Fn(&Record) -> bool) {
        while let Some(record) = self.records.next() {
            if predicate(&record) {
                return;
            }
        }
        panic!("the stream ended: {:?}", self.records.read.last());
    }

    /// Waits until the worker with rank `rank` has started an instrument, and returns the instrument's process ID.
    pub fn instrument(&mut self, rank: u32) -> Pid {
        let worker = self.pid(rank);
        let children = format!("/proc/{0}/task", worker.as_raw_nonzero());
        let instrument = eventually(|| {
            fs::read_dir(&children).ok()?.flatten().find_map(|task| {
                let text = fs::read_to_string(task.path().join("children")).ok()?;
                text.split_whitespace()
                    .next()?
                    .parse()
                    .ok()
                    .and_then(Pid::from_raw)
            })
        });
        self.instruments.push(instrument);
        instrument
    }

    /// Returns a worker's process ID.
    pub fn pid(&self, rank: u32) -> Pid {
        let child = self.workers[rank as usize].as_ref().unwrap();
        Pid::from_child(child)
    }

    pub fn signal(&self, rank: u32, signal: Signal) {
        kill_process(self.pid(rank), signal).unwrap();
    }

    /// Waits until a worker exits.
    pub fn wait_for_exit(&mut self, rank: u32) -> WorkerExit {
        let mut child = self.workers[rank as usize].take().unwrap();
        let status = eventually(|| child.try_wait().unwrap());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        WorkerExit { status, stderr }
    }

    /// Reads the stream until it ends and waits until all workers and instruments have exited.
    pub fn finish(mut self) -> FinishedAttempt {
        while self.records.next().is_some() {}
        let ranks: Vec<_> = (0..self.workers.len() as u32)
            .filter(|rank| self.workers[*rank as usize].is_some())
            .collect();
        let ended = ranks
            .into_iter()
            .map(|rank| (rank, self.wait_for_exit(rank)))
            .collect();
        self.wait_for_instruments();
        let termination = fs::read_to_string(self.directory.path().join("termination")).ok();
        FinishedAttempt {
            records: std::mem::take(&mut self.records.read),
            ended,
            termination: termination.map(|text| serde_json::from_str(&text).unwrap()),
        }
    }
}

fn worker(directory: &Path, rank: u32, variables: &[(&str, &str)]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fabricbench-runner"))
        .arg("worker")
        .arg("--assignment")
        .arg(directory.join(ASSIGNMENT))
        .args(["--rank", &rank.to_string()])
        .arg("--termination-message")
        .arg(directory.join("termination"))
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

impl Drop for Gang {
    /// Kills the workers of a failed test.
    fn drop(&mut self) {
        for child in self.workers.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Records {
    fn next(&mut self) -> Option<Record> {
        let mut line = String::new();
        self.lines.as_mut()?.read_line(&mut line).unwrap();
        if line.is_empty() {
            return None;
        }
        let record = self.chain.read(line.trim_end()).unwrap();
        self.read.push(record.clone());
        Some(record)
    }
}

/// Records and worker exits of a finished attempt.
pub struct FinishedAttempt {
    pub records: Vec<Record>,
    pub ended: Vec<(u32, WorkerExit)>,
    pub termination: Option<EndRecord>,
}

impl FinishedAttempt {
    pub fn cases(&self) -> Vec<&CaseRecord> {
        let mut cases: Vec<&CaseRecord> = Vec::new();
        for record in &self.records {
            if let Record::Case(case) = record {
                cases.push(case);
            }
        }
        cases
    }

    pub fn failures(&self) -> Vec<(&CaseRecord, &CaseFailure)> {
        let mut failures = Vec::new();
        for case in self.cases() {
            if let CaseResult::Failed(failure) = &case.result {
                failures.push((case, failure));
            }
        }
        failures
    }

    pub fn warnings(&self, reason: WarningReason) -> Vec<&str> {
        self.records
            .iter()
            .filter_map(|record| match record {
                Record::Warning(warning) if warning.reason == reason => Some(warning.message.as_str()),
                _ => None,
            })
            .collect()
    }

    pub fn count(&self, predicate: fn(&Record) -> bool) -> usize {
        self.records.iter().filter(|record| predicate(record)).count()
    }

    /// Returns the end record, after asserting that it is the last record and equals the termination message.
    pub fn end(&self) -> &EndRecord {
        let Some(Record::End(end)) = self.records.last() else {
            panic!("no end record: {:?}", self.records.last());
        };
        assert_eq!(self.termination.as_ref(), Some(end));
        end
    }

    /// Returns the exit statuses by rank. The status of a killed worker is 128 plus the signal number.
    pub fn statuses(&self) -> Vec<(u32, i32)> {
        let status = |status: ExitStatus| status.code().or(status.signal().map(|signal| 128 + signal));
        self.ended
            .iter()
            .map(|(rank, ended)| (*rank, status(ended.status).unwrap()))
            .collect()
    }

    pub fn stderr(&self) -> String {
        let texts: Vec<_> = self
            .ended
            .iter()
            .map(|(rank, ended)| format!("{rank}: {}", ended.stderr))
            .collect();
        texts.join("\n")
    }
}

/// Polls `condition` until it returns a value.
pub fn eventually<T>(mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(
            Instant::now() < deadline,
            "the condition was not met within {TIMEOUT:?}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

//! Worker processes: started, watched, ended, and what they said.

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

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(90);

/// Name of the assignment's file.
const ASSIGNMENT: &str = "assignment.json";

/// The workers of one attempt.
pub struct Gang {
    folder: TempDir,
    workers: Vec<Option<Child>>,
    records: Records,
    /// Every process that was seen below a worker.
    instruments: Vec<Pid>,
}

struct Records {
    lines: Option<BufReader<ChildStdout>>,
    chain: Chain,
    read: Vec<Record>,
}

/// How a worker ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stderr: String,
}

impl Gang {
    /// Starts the workers of `ranks`, each with `variables` on top of its environment.
    pub fn start(
        assignment: &Assignment,
        ranks: impl Iterator<Item = u32>,
        variables: &[(&str, &str)],
    ) -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(
            folder.path().join(ASSIGNMENT),
            serde_json::to_vec(assignment).unwrap(),
        )
        .unwrap();
        let mut workers: Vec<Option<Child>> = (0..assignment.workers).map(|_| None).collect();
        for rank in ranks {
            workers[rank as usize] = Some(worker(folder.path(), rank, variables));
        }
        let stdout = workers[0].as_mut().unwrap().stdout.take().unwrap();
        let records = Records {
            lines: Some(BufReader::new(stdout)),
            chain: Chain::default(),
            read: Vec::new(),
        };
        Self {
            folder,
            workers,
            records,
            instruments: Vec::new(),
        }
    }

    /// Starts the worker of `rank`, which was not there so far.
    pub fn come(&mut self, rank: u32) {
        self.workers[rank as usize] = Some(worker(self.folder.path(), rank, &[]));
    }

    /// Nobody reads the records from now on.
    pub fn stop_reading(&mut self) {
        self.records.lines = None;
    }

    /// Waits until all known instruments are gone.
    pub fn no_instrument_is_left(&mut self) {
        for instrument in std::mem::take(&mut self.instruments) {
            eventually(|| test_kill_process(instrument).is_err().then_some(()));
        }
    }

    /// Reads records until one of them is as `wanted`; the reader's side of the wait for the workers.
    pub fn wait_for(&mut self, wanted: impl Fn(&Record) -> bool) {
        while let Some(record) = self.records.next() {
            if wanted(&record) {
                return;
            }
        }
        panic!("the stream ended: {:?}", self.records.read.last());
    }

    /// Waits until the worker of `rank` has a running instrument, and remembers it.
    pub fn instrument(&mut self, rank: u32) -> Pid {
        let worker = self.pid(rank);
        let children = format!("/proc/{0}/task", worker.as_raw_nonzero());
        let found = eventually(|| {
            fs::read_dir(&children).ok()?.flatten().find_map(|task| {
                let text = fs::read_to_string(task.path().join("children")).ok()?;
                text.split_whitespace()
                    .next()?
                    .parse()
                    .ok()
                    .and_then(Pid::from_raw)
            })
        });
        self.instruments.push(found);
        found
    }

    /// The process of a worker.
    pub fn pid(&self, rank: u32) -> Pid {
        let child = self.workers[rank as usize].as_ref().unwrap();
        Pid::from_child(child)
    }

    pub fn signal(&self, rank: u32, signal: Signal) {
        kill_process(self.pid(rank), signal).unwrap();
    }

    /// Waits for a worker's end.
    pub fn end_of(&mut self, rank: u32) -> Ended {
        let mut child = self.workers[rank as usize].take().unwrap();
        let status = eventually(|| child.try_wait().unwrap());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Ended { status, stderr }
    }

    /// Reads the stream to its end and waits for all workers. No process of any of them is left then.
    pub fn finish(mut self) -> Finished {
        while self.records.next().is_some() {}
        let ranks: Vec<_> = (0..self.workers.len() as u32)
            .filter(|rank| self.workers[*rank as usize].is_some())
            .collect();
        let ended = ranks.into_iter().map(|rank| (rank, self.end_of(rank))).collect();
        self.no_instrument_is_left();
        let termination = fs::read_to_string(self.folder.path().join("termination")).ok();
        Finished {
            records: std::mem::take(&mut self.records.read),
            ended,
            termination: termination.map(|text| serde_json::from_str(&text).unwrap()),
        }
    }
}

fn worker(folder: &Path, rank: u32, variables: &[(&str, &str)]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fabricbench-runner"))
        .arg("worker")
        .arg("--assignment")
        .arg(folder.join(ASSIGNMENT))
        .args(["--rank", &rank.to_string()])
        .arg("--termination-message")
        .arg(folder.join("termination"))
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

impl Drop for Gang {
    /// A test that fails leaves nothing behind.
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

/// An attempt that is over.
pub struct Finished {
    pub records: Vec<Record>,
    pub ended: Vec<(u32, Ended)>,
    pub termination: Option<EndRecord>,
}

impl Finished {
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

    pub fn count(&self, wanted: fn(&Record) -> bool) -> usize {
        self.records.iter().filter(|record| wanted(record)).count()
    }

    /// The last record, which is the end, and the same as in the termination message.
    pub fn end(&self) -> &EndRecord {
        let Some(Record::End(end)) = self.records.last() else {
            panic!("no end: {:?}", self.records.last());
        };
        assert_eq!(self.termination.as_ref(), Some(end));
        end
    }

    /// Exit statuses by rank; a signal counts from 128 on.
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

/// Waits until `found` finds something; asks the system often, for it tells nobody.
pub fn eventually<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain");
        std::thread::sleep(Duration::from_millis(10));
    }
}

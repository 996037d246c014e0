//! Reads a run directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crds::record::{
    CaseFailure, CaseRecord, CaseResult, Chain, EndpointsRecord, FailureReason, LineError, Record,
};
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus, Condition, State};

/// Contents of a run directory.
pub struct StoredRun {
    pub run: BenchmarkRun,
    /// The records of each attempt.
    pub streams: Vec<Vec<Record>>,
}

impl StoredRun {
    /// Reads `directory`. Fails if it has no complete report.
    pub fn read(directory: &Path) -> Self {
        let report = fs::read_to_string(directory.join("report.html")).unwrap();
        assert!(report.contains("</html>"));
        Self {
            run: run(directory),
            streams: streams(&directory.join("records.jsonl")),
        }
    }

    pub fn status(&self) -> &BenchmarkRunStatus {
        self.run.status.as_ref().unwrap()
    }

    /// Fails unless every block was measured.
    pub fn assert_complete(&self) {
        let status = self.status();
        assert_eq!(status.state, Some(State::Complete), "{:?}", status.conditions);
        let progress = status.progress.as_ref().unwrap();
        assert_eq!(progress.blocks_done, progress.blocks_total);
        assert!(self.condition("Complete").status == "True");
    }

    pub fn condition(&self, kind: &str) -> &Condition {
        let mut conditions = self.status().conditions.iter();
        conditions.find(|condition| condition.type_ == kind).unwrap()
    }

    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.streams.iter().flatten()
    }

    pub fn cases(&self) -> Vec<&CaseRecord> {
        self.records()
            .filter_map(|record| match record {
                Record::Case(case) => Some(case.as_ref()),
                _ => None,
            })
            .collect()
    }

    pub fn failures(&self) -> Vec<(&CaseRecord, &CaseFailure)> {
        self.cases()
            .into_iter()
            .filter_map(|case| match &case.result {
                CaseResult::Failed(failure) => Some((case, failure)),
                _ => None,
            })
            .collect()
    }

    /// Returns the only failed case and its failure.
    pub fn only_failure(&self) -> (&CaseRecord, &CaseFailure) {
        let failures = self.failures();
        let [failure] = failures.as_slice() else {
            panic!("expected one failure: {failures:?}");
        };
        *failure
    }

    /// Returns the failure reasons of `arm`'s cases.
    pub fn reasons(&self, arm: &str) -> BTreeSet<String> {
        let failures = self.failures().into_iter().filter(|(case, _)| case.arm == arm);
        failures
            .map(|(_, failure)| format!("{:?}", failure.reason))
            .collect()
    }

    /// Fails unless there are cases and all of them failed with `reason`.
    #[track_caller]
    pub fn assert_all_failed(&self, reason: FailureReason) {
        let failures = self.failures();
        assert!(!failures.is_empty());
        assert_eq!(failures.len(), self.cases().len());
        for (_, failure) in failures {
            assert_eq!(failure.reason, reason, "{}", failure.message);
        }
    }

    pub fn endpoints(&self) -> Vec<&EndpointsRecord> {
        self.records()
            .filter_map(|record| match record {
                Record::Endpoints(endpoints) => Some(endpoints.as_ref()),
                _ => None,
            })
            .collect()
    }

    /// Indexes of the blocks that each attempt finished.
    pub fn blocks(&self) -> Vec<BTreeSet<u32>> {
        self.streams.iter().map(|stream| blocks(stream)).collect()
    }
}

/// Reads `run.json`.
pub fn run(directory: &Path) -> BenchmarkRun {
    serde_json::from_slice(&fs::read(directory.join("run.json")).unwrap()).unwrap()
}

/// Reads the verified records of each attempt in `file`. Returns an empty list if the file does not exist.
pub fn streams(file: &Path) -> Vec<Vec<Record>> {
    let text = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut streams: Vec<Vec<Record>> = Vec::new();
    let mut chain = Chain::default();
    for line in text.lines() {
        let read = match chain.read(line) {
            Err(LineError::Sequence { found: 0, .. }) => {
                chain = Chain::default();
                chain.read(line)
            }
            read => read,
        };
        let Ok(record) = read else { continue };
        if chain.next() == 1 {
            streams.push(Vec::new());
        }
        streams.last_mut().unwrap().push(record);
    }
    streams
}

/// Indexes of the blocks that finished in `stream`.
pub fn blocks(stream: &[Record]) -> BTreeSet<u32> {
    stream
        .iter()
        .filter_map(|record| match record {
            Record::Block(block) => Some(block.block),
            _ => None,
        })
        .collect()
}

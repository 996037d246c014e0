//! One run on this machine: its directory, execution and status. Performs I/O.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use campaign::collect::Collector;
use campaign::plan::{HashedPlan, estimate};
use campaign::stats::StatsError;
use campaign::status::{Phase, StatusInput, fit, status};
use campaign::{Evaluation, evaluate};
use crds::record::hex;
use crds::v1alpha1::{BenchmarkRun, Reason, RecordsReference};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use snafu::{OptionExt, ResultExt, Snafu, ensure};

use super::changes::spec_changes;
use super::error::ExecuteError;
use super::execute::{Execution, StopReason, execute};
use super::executor::Executor;
use super::interrupt::Interrupt;
use super::output::{MAX_PLANNED_BYTES, OutputError, RECORDS_FILE, RecordFile, RunDirectory};

/// Error executing or resuming a run.
#[derive(Debug, Snafu)]
pub(crate) enum LocalError {
    /// The run directory could not be used.
    #[snafu(display("{source}"))]
    Directory {
        /// Underlying error.
        source: OutputError,
    },
    /// The plan's records would exceed the size limit.
    #[snafu(display(
        "{run}: the records would be about {planned} bytes long; the limit for a local run is {MAX_PLANNED_BYTES}. Reduce the \
         number of rounds, sizes, variants or workers, or split the run"
    ))]
    TooManyRecords {
        /// Name of the run.
        run: String,
        /// Estimated size of its record streams, in bytes.
        planned: u64,
    },
    /// The plan could not be executed.
    #[snafu(display("{source}"))]
    Execute {
        /// Underlying error.
        source: ExecuteError,
    },
    /// The records could not be evaluated.
    #[snafu(display("{source}"))]
    Evaluate {
        /// Underlying error.
        source: StatsError,
    },
    /// The blocks in the run directory were measured with a different plan, so they cannot be reused.
    #[snafu(display(
        "{directory} was measured with a different plan: {difference}. Use the original manifest and options, or start \
         a new run with --output"
    ))]
    PlanMismatch {
        /// Path to the run directory.
        directory: String,
        /// Differences between the specs.
        difference: String,
    },
    /// The record file was changed without breaking the chain of its lines.
    #[snafu(display(
        "{directory}/records.jsonl is not the file that this run wrote: its SHA-256 hash differs from \
         status.records.sha256 in run.json, although every line is valid. Restore the original file, or measure again \
         in another directory"
    ))]
    RecordsChanged {
        /// Path to the run directory.
        directory: String,
    },
    /// `run.json` lacks a field that every local run has.
    #[snafu(display("{directory}/run.json has no {field}: it was not written by `fabricbench run`"))]
    MissingField {
        /// Path to the run directory.
        directory: String,
        /// Path of the field.
        field: &'static str,
    },
}

/// One run on this machine. It locks its directory, so no other process can write records to it.
pub(crate) struct LocalRun {
    plan: HashedPlan,
    run: BenchmarkRun,
    uid: String,
    directory: RunDirectory,
    records: RecordFile,
    /// Directory in which workers keep the output of their instruments; `None` if they do not keep it.
    logs: Option<PathBuf>,
}

/// Result of an executed run.
pub(crate) struct RunResult {
    /// Evaluation of all records.
    pub evaluation: Evaluation,
    /// Why the run stopped before its last block.
    pub stopped: Option<StopReason>,
}

impl LocalRun {
    /// Creates the run with the UID `uid` in the directory `path`.
    ///
    /// # Errors
    /// Returns an error if the records would exceed the size limit, or the directory cannot be created, contains
    /// records or is locked.
    pub(crate) fn create(
        mut run: BenchmarkRun,
        uid: String,
        plan: HashedPlan,
        path: &Path,
    ) -> Result<Self, LocalError> {
        check_record_size(&plan)?;
        let (directory, records) = RunDirectory::create(path).context(DirectorySnafu)?;
        run.metadata.uid = Some(uid.clone());
        run.metadata.generation = Some(1);
        Ok(Self {
            plan,
            run,
            uid,
            directory,
            records,
            logs: None,
        })
    }

    /// Resumes the run in the directory `path`.
    ///
    /// # Errors
    /// Returns an error if `path` is not a run directory, belongs to a different plan or is locked.
    pub(crate) fn resume(run: &BenchmarkRun, plan: HashedPlan, path: &Path) -> Result<Self, LocalError> {
        let directory = RunDirectory::open(path).context(DirectorySnafu)?;
        let records = directory.lock_records().context(DirectorySnafu)?;
        let stored = directory.read_run().context(DirectorySnafu)?;
        let name = path.display().to_string();
        let uid = stored.metadata.uid.clone().context(MissingFieldSnafu {
            directory: &name,
            field: "metadata.uid",
        })?;
        let stored_hash = stored.status.as_ref().and_then(|status| status.plan_hash.clone());
        let stored_hash = stored_hash.context(MissingFieldSnafu {
            directory: &name,
            field: "status.planHash",
        })?;
        if stored_hash != plan.hash() {
            return PlanMismatchSnafu {
                directory: name,
                difference: describe_difference(&stored, run),
            }
            .fail();
        }
        let run = BenchmarkRun {
            spec: run.spec.clone(),
            ..stored
        };
        Ok(Self {
            plan,
            run,
            uid,
            directory,
            records,
            logs: None,
        })
    }

    /// Returns the run directory.
    pub(crate) fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    /// Returns the plan of the run.
    pub(crate) fn plan(&self) -> &HashedPlan {
        &self.plan
    }

    /// Keeps the output of all instrument processes, which is the log of their libraries, in files in `directory`.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created.
    pub(crate) fn keep_logs(&mut self, directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        // Workers may have a different working directory.
        self.logs = Some(directory.canonicalize()?);
        Ok(())
    }

    /// Measures the missing blocks and writes `run.json` before and after the measurement.
    ///
    /// Records are kept even if the run stops early.
    ///
    /// # Errors
    /// Returns an error if the run directory cannot be used, its records were changed, a system operation fails or the
    /// records cannot be evaluated.
    pub(crate) fn execute(
        &mut self,
        executor: &dyn Executor,
        interrupt: &Interrupt,
    ) -> Result<RunResult, LocalError> {
        let mut collector = Collector::new(&self.plan, &self.uid);
        let read = self.directory.read_records(|chunk| collector.feed(chunk));
        read.context(DirectorySnafu)?;
        collector.end_of_input();
        self.check_records(&collector)?;
        self.write(&collector, |_| Phase::Running, None)?;
        let execution = Execution {
            plan: &self.plan,
            uid: &self.uid,
            executor,
            logs: self.logs.as_deref(),
            interrupt,
            deadline: Duration::from_secs(self.run.spec.run_policy.active_deadline_seconds.into()),
        };
        let stopped = execute(&execution, &mut collector, &mut self.records).context(ExecuteSnafu)?;
        let records = self.records_reference()?;
        let phase = |evaluation: &Evaluation| match evaluation.summary.is_complete() {
            true => Phase::finished(evaluation),
            false => failed_phase(stopped.as_ref()),
        };
        let evaluation = self.write(&collector, phase, Some(records))?;
        Ok(RunResult { evaluation, stopped })
    }

    fn write(
        &mut self,
        collector: &Collector,
        phase: impl FnOnce(&Evaluation) -> Phase,
        records: Option<RecordsReference>,
    ) -> Result<Evaluation, LocalError> {
        let evaluated = evaluate(&self.plan, collector.reports());
        let evaluation = evaluated.context(EvaluateSnafu)?;
        let input = StatusInput {
            plan: &self.plan,
            phase: phase(&evaluation),
            evaluation: &evaluation,
            records,
            generation: self.run.metadata.generation,
            now: &Timestamp::now().to_string(),
            previous: self.run.status.as_ref(),
        };
        self.run.status = Some(fit(status(&input)));
        self.directory.write_run(&self.run).context(DirectorySnafu)?;
        Ok(evaluation)
    }

    /// Checks that the record file matches the stored status. A change that breaks the chain is reported as a fault in
    /// the stream, and the blocks after the break are measured again.
    fn check_records(&self, collector: &Collector) -> Result<(), LocalError> {
        let stored = self
            .run
            .status
            .as_ref()
            .and_then(|status| status.records.as_ref());
        let Some(stored) = stored.filter(|_| collector.reports().faults.is_empty()) else {
            return Ok(());
        };
        ensure!(
            self.records_reference()?.sha256 == stored.sha256,
            RecordsChangedSnafu {
                directory: self.directory.path().display().to_string()
            }
        );
        Ok(())
    }

    fn records_reference(&self) -> Result<RecordsReference, LocalError> {
        let mut digest = Sha256::new();
        let read = self.directory.read_records(|chunk| digest.update(chunk));
        read.context(DirectorySnafu)?;
        let sha256 = hex(&digest.finalize());
        Ok(RecordsReference {
            reference: RECORDS_FILE.to_owned(),
            sha256,
        })
    }
}

/// Checks that the records of `plan` do not exceed the size limit.
fn check_record_size(plan: &HashedPlan) -> Result<(), LocalError> {
    let planned = estimate(plan).stream_bytes;
    ensure!(
        planned <= MAX_PLANNED_BYTES,
        TooManyRecordsSnafu {
            run: &plan.run,
            planned
        }
    );
    Ok(())
}

/// Describes why the plans of two runs differ.
fn describe_difference(stored: &BenchmarkRun, current: &BenchmarkRun) -> String {
    let changes = spec_changes(&stored.spec, &current.spec);
    match changes.is_empty() {
        true => "it was planned by a different version of fabricbench".to_owned(),
        false => changes.join("; "),
    }
}

fn failed_phase(stopped: Option<&StopReason>) -> Phase {
    let (reason, message) = match stopped {
        Some(StopReason::Interrupted) => (
            Reason::Interrupted,
            "interrupted by SIGINT or SIGTERM; continue with --resume".to_owned(),
        ),
        Some(StopReason::Deadline) => (
            Reason::DeadlineExceeded,
            "spec.runPolicy.activeDeadlineSeconds has passed; continue with --resume".to_owned(),
        ),
        Some(StopReason::WorkerFailed(message) | StopReason::Rejected(message)) => {
            (Reason::WorkerFailed, message.clone())
        }
        Some(StopReason::MeasurementFailed(message)) => (Reason::MeasurementFailed, message.clone()),
        None => (
            Reason::BlocksMissing,
            "the workers exited before every block was measured".to_owned(),
        ),
    };
    Phase::Failed { reason, message }
}

#[cfg(test)]
mod tests {
    use campaign::plan::{Plan, plan};
    use campaign::validate::validate;

    use super::*;

    #[test]
    fn rejects_a_plan_with_too_many_records_before_creating_the_directory() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().join("run");
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/demo.yaml");
        let run = manifest::load(&demo, None).unwrap().swap_remove(0);
        let mut plan = Plan::from(plan(&validate(&run).unwrap()).unwrap());
        let leg = plan.legs[0].clone();
        let too_many = MAX_PLANNED_BYTES / estimate(&plan).stream_bytes + 1;
        plan.legs.resize(too_many as usize, leg);
        let error = LocalRun::create(run, String::new(), plan.into(), &directory)
            .err()
            .unwrap();
        assert!(matches!(error, LocalError::TooManyRecords { .. }), "{error}");
        assert!(!directory.exists());
    }
}

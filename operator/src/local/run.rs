//! One run on this machine, from its folder to its status. I/O.

use std::path::Path;
use std::time::Duration;

use crds::record::hex;
use crds::v1alpha1::{BenchmarkRun, Reason, RecordsReference};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use snafu::{OptionExt, ResultExt, Snafu, ensure};
use uuid::Uuid;

use super::changes::changes;
use super::execute::{ExecuteError, Execution, Stopped, execute};
use super::interrupt::Interrupt;
use super::output::{MAX_PLANNED_BYTES, OutputError, RECORDS, RecordFile, RunFolder};
use crate::campaign::collect::Collector;
use crate::campaign::compare::CompareError;
use crate::campaign::plan::{Plan, estimate, hash};
use crate::campaign::status::{Phase, StatusInput, fit, status};
use crate::campaign::{Evaluation, evaluate};

/// Why a run could not be carried out or resumed.
#[derive(Debug, Snafu)]
pub enum LocalError {
    /// The folder stands in the way.
    #[snafu(display("{source}"))]
    Folder {
        /// Why.
        source: OutputError,
    },
    /// The records of the plan would be longer than what this machine reads back.
    #[snafu(display(
        "{run}: its records would have about {planned} bytes, more than {MAX_PLANNED_BYTES} on one machine. Ask for \
         fewer rounds, sizes, variants or workers, or split the run"
    ))]
    TooMuch {
        /// Name of the run.
        run: String,
        /// Bytes of its record streams.
        planned: u64,
    },
    /// The plan could not be carried out.
    #[snafu(display("{source}"))]
    Carrying {
        /// Why not.
        source: ExecuteError,
    },
    /// The records cannot be evaluated.
    #[snafu(display("{source}"))]
    Evaluating {
        /// Why not.
        source: CompareError,
    },
    /// What is to be resumed is another plan: its blocks do not belong to this one.
    #[snafu(display(
        "{folder} was measured by another plan: {difference}. Give what it was run with, or measure anew with --output"
    ))]
    OtherPlan {
        /// The run's folder.
        folder: String,
        /// In what they differ.
        difference: String,
    },
    /// `run.json` lacks what a run of ours has.
    #[snafu(display("{folder}/run.json has no {field}: it is no run of this program"))]
    Foreign {
        /// The run's folder.
        folder: String,
        /// The field.
        field: &'static str,
    },
}

/// One run on this machine; while it lives, nobody else can write into its folder.
pub struct LocalRun {
    plan: Plan,
    plan_hash: String,
    run: BenchmarkRun,
    uid: String,
    folder: RunFolder,
    records: RecordFile,
}

/// How a run ended.
pub struct Ended {
    /// What its records say.
    pub evaluation: Evaluation,
    /// Why it ended before its last block.
    pub stopped: Option<Stopped>,
}

impl LocalRun {
    /// A run that nothing was measured of yet, in a new folder.
    ///
    /// # Errors
    /// When the plan asks for too much, or the folder cannot be made, holds records or is being written.
    pub fn create(mut run: BenchmarkRun, plan: Plan, path: &Path) -> Result<Self, LocalError> {
        fits(&plan)?;
        let (folder, records) = RunFolder::create(path).context(FolderSnafu)?;
        let uid = Uuid::new_v4().to_string();
        run.metadata.uid = Some(uid.clone());
        run.metadata.generation = Some(1);
        Ok(Self {
            plan_hash: hash(&plan),
            plan,
            run,
            uid,
            folder,
            records,
        })
    }

    /// A run that was begun in `path`.
    ///
    /// # Errors
    /// When there is none, it was begun by another plan, or it is going on.
    pub fn resume(run: &BenchmarkRun, plan: Plan, path: &Path) -> Result<Self, LocalError> {
        let folder = RunFolder::open(path).context(FolderSnafu)?;
        let records = folder.lock_records().context(FolderSnafu)?;
        let begun = folder.read_run().context(FolderSnafu)?;
        let name = path.display().to_string();
        let uid = begun.metadata.uid.clone().context(ForeignSnafu {
            folder: &name,
            field: "metadata.uid",
        })?;
        let found = begun.status.as_ref().and_then(|status| status.plan_hash.clone());
        let found = found.context(ForeignSnafu {
            folder: &name,
            field: "status.planHash",
        })?;
        let planned = hash(&plan);
        if found != planned {
            return OtherPlanSnafu {
                folder: name,
                difference: difference(&begun, run),
            }
            .fail();
        }
        let run = BenchmarkRun {
            spec: run.spec.clone(),
            ..begun
        };
        Ok(Self {
            plan_hash: planned,
            plan,
            run,
            uid,
            folder,
            records,
        })
    }

    /// The run's folder.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// The run's plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The run with its status.
    pub fn run(&self) -> &BenchmarkRun {
        &self.run
    }

    /// Measures what is missing, and writes `run.json` before and after. However it ended, what is measured is kept.
    ///
    /// # Errors
    /// When the folder or the system stands in the way.
    pub fn carry_out(&mut self, runner: &Path, interrupt: &Interrupt) -> Result<Ended, LocalError> {
        let mut collector = Collector::new(&self.plan, &self.uid, &self.plan_hash);
        let read = self.folder.read_records(|piece| collector.feed(piece));
        read.context(FolderSnafu)?;
        collector.end_of_input();
        self.write(&collector, |_| Phase::Running, None)?;
        let execution = Execution {
            plan: &self.plan,
            uid: &self.uid,
            runner,
            interrupt,
            deadline: Duration::from_secs(self.run.spec.run_policy.active_deadline_seconds.into()),
        };
        let stopped = execute(&execution, &mut collector, &mut self.records).context(CarryingSnafu)?;
        let records = self.records_reference()?;
        let complete = collector.reports().blocks_done() == self.plan.blocks_total;
        let phase = |evaluation: &Evaluation| match complete {
            true => Phase::finished(evaluation),
            false => failed(stopped.as_ref()),
        };
        let evaluation = self.write(&collector, phase, Some(records))?;
        Ok(Ended { evaluation, stopped })
    }

    fn write(
        &mut self,
        collector: &Collector,
        phase: impl FnOnce(&Evaluation) -> Phase,
        records: Option<RecordsReference>,
    ) -> Result<Evaluation, LocalError> {
        let evaluated = evaluate(&self.plan, collector.reports());
        let evaluation = evaluated.context(EvaluatingSnafu)?;
        let input = StatusInput {
            plan: &self.plan,
            plan_hash: &self.plan_hash,
            phase: phase(&evaluation),
            evaluation: &evaluation,
            records,
            generation: self.run.metadata.generation,
            now: &Timestamp::now().to_string(),
            previous: self.run.status.as_ref(),
        };
        self.run.status = Some(fit(status(&input)));
        self.folder.write_run(&self.run).context(FolderSnafu)?;
        Ok(evaluation)
    }

    fn records_reference(&self) -> Result<RecordsReference, LocalError> {
        let mut digest = Sha256::new();
        let read = self.folder.read_records(|piece| digest.update(piece));
        read.context(FolderSnafu)?;
        let sha256 = hex(&digest.finalize());
        Ok(RecordsReference {
            reference: RECORDS.to_owned(),
            sha256,
        })
    }
}

fn fits(plan: &Plan) -> Result<(), LocalError> {
    let planned = estimate(plan).stream_bytes;
    ensure!(
        planned <= MAX_PLANNED_BYTES,
        TooMuchSnafu {
            run: &plan.run,
            planned
        }
    );
    Ok(())
}

/// Why two runs have different plans.
fn difference(begun: &BenchmarkRun, now: &BenchmarkRun) -> String {
    let changes = changes(&begun.spec, &now.spec);
    match changes.is_empty() {
        true => "another version of this program planned it".to_owned(),
        false => changes.join("; "),
    }
}

fn failed(stopped: Option<&Stopped>) -> Phase {
    let (reason, message) = match stopped {
        Some(Stopped::Interrupted) => (
            Reason::Interrupted,
            "told to stop; continue it with --resume".to_owned(),
        ),
        Some(Stopped::Deadline) => (
            Reason::DeadlineExceeded,
            "spec.runPolicy.activeDeadlineSeconds passed; continue it with --resume".to_owned(),
        ),
        Some(Stopped::Workers(words)) => (Reason::WorkerFailed, words.clone()),
        None => (
            Reason::BlocksMissing,
            "the workers ended without measuring every block".to_owned(),
        ),
    };
    Phase::Failed { reason, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::plan::plan;
    use crate::campaign::validate::validate;
    use crate::manifest;

    #[test]
    fn a_plan_of_too_many_records_is_refused_before_anything_is_made() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("run");
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/demo.yaml");
        let run = manifest::load(&demo, None).unwrap().swap_remove(0);
        let mut plan = plan(&validate(&run).unwrap()).unwrap();
        let leg = plan.legs[0].clone();
        let too_many = MAX_PLANNED_BYTES / estimate(&plan).stream_bytes + 1;
        plan.legs.resize(too_many as usize, leg);
        let refused = LocalRun::create(run, plan, &folder).err().unwrap();
        assert!(matches!(refused, LocalError::TooMuch { .. }), "{refused}");
        assert!(!folder.exists());
    }
}

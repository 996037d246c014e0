//! A finished run in its output folder: `run.json`, the BenchmarkRun with its status, and `records.jsonl`, the streams
//! as received. Everything else is computed from these two.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crds::v1alpha1::BenchmarkRun;

use super::Failure;
use crate::campaign::collect::{Collector, Reports};
use crate::campaign::plan::{self, Plan};
use crate::campaign::validate::validate;
use crate::campaign::{Evaluation, evaluate};

/// Name of the file with the BenchmarkRun.
pub const RUN_FILE: &str = "run.json";
/// Name of the file with the streams.
pub const RECORDS_FILE: &str = "records.jsonl";
/// Longest `run.json` that is read: an object of a cluster is shorter.
const MAX_RUN_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes of the records that are read at a time.
const PIECE: usize = 256 * 1024;

/// A run, read and evaluated.
#[derive(Debug)]
pub struct StoredRun {
    /// Its plan, made anew from its spec.
    pub plan: Plan,
    /// Hash of the plan.
    pub plan_hash: String,
    /// The records that verified.
    pub reports: Reports,
    /// What they say.
    pub evaluation: Evaluation,
}

impl StoredRun {
    /// Reads and evaluates the run in `folder`.
    ///
    /// # Errors
    /// When a file is missing or wrong; says which and what to do.
    pub fn load(folder: &Path) -> Result<Self, Failure> {
        let run_file = folder.join(RUN_FILE);
        if !run_file.is_file() {
            return Err(Failure::wrong_file(not_a_run(folder)));
        }
        let wrong = |file: &Path, what: &dyn std::fmt::Display| {
            Failure::wrong_file(format!("{}: {what}", file.display()))
        };
        let run = read_run(&run_file)?;
        let uid = run.metadata.uid.clone().ok_or_else(|| {
            wrong(
                &run_file,
                &"metadata.uid is missing: the records could be of any run",
            )
        })?;
        let valid = validate(&run).map_err(|problems| {
            let problems = problems.0.iter().map(ToString::to_string).collect::<Vec<_>>();
            wrong(&run_file, &problems.join("; "))
        })?;
        let plan = plan::plan(&valid).map_err(|error| wrong(&run_file, &error))?;
        let plan_hash = plan::hash(&plan);
        let measured = run.status.and_then(|status| status.plan_hash);
        if let Some(measured) = measured.filter(|measured| *measured != plan_hash) {
            let what = format!(
                "status.planHash is {measured}, its spec plans to {plan_hash}: the spec was changed, or another version of \
                 fabricbench measured it. Use that version"
            );
            return Err(wrong(&run_file, &what));
        }
        let reports = read_records(
            &folder.join(RECORDS_FILE),
            Collector::new(&plan, &uid, &plan_hash),
        )?;
        let evaluation = evaluate(&plan, &reports).map_err(|error| wrong(&run_file, &error))?;
        Ok(Self {
            plan,
            plan_hash,
            reports,
            evaluation,
        })
    }
}

fn read_run(file: &Path) -> Result<BenchmarkRun, Failure> {
    let wrong = |what: String| Failure::wrong_file(format!("{}: {what}", file.display()));
    let handle = File::open(file).map_err(|error| wrong(error.to_string()))?;
    let mut bytes = Vec::new();
    let mut bounded = handle.take(MAX_RUN_BYTES + 1);
    bounded
        .read_to_end(&mut bytes)
        .map_err(|error| wrong(error.to_string()))?;
    if bytes.len() as u64 > MAX_RUN_BYTES {
        return Err(wrong(format!("it is longer than {MAX_RUN_BYTES} bytes")));
    }
    let deserializer = &mut serde_json::Deserializer::from_slice(&bytes);
    serde_path_to_error::deserialize(deserializer)
        .map_err(|error| wrong(format!("{}: {}", error.path(), error.inner())))
}

fn read_records(file: &Path, mut collector: Collector) -> Result<Reports, Failure> {
    let wrong = |error: std::io::Error| Failure::wrong_file(format!("{}: {error}", file.display()));
    let mut handle = File::open(file).map_err(wrong)?;
    let mut piece = vec![0; PIECE];
    loop {
        match handle.read(&mut piece).map_err(wrong)? {
            0 => return Ok(collector.finish()),
            count => collector.feed(piece.get(..count).unwrap_or_default()),
        }
    }
}

/// What `folder` is, where it is no run.
fn not_a_run(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join(RUN_FILE).is_file())
        .collect();
    runs.sort();
    let place = folder.display();
    match runs.is_empty() {
        true => format!("{place}: has no {RUN_FILE}. Name the output folder of a run"),
        false => {
            let names: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
            format!("{place}: holds several runs. Name one: {}", names.join(", "))
        }
    }
}

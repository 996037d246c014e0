//! Runs one campaign with the built `fabricbench` binary.

use std::cell::Cell;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, fs, io};

use crds::v1alpha1::{BenchmarkRun, Stop};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use test_support::rederive;

/// Transports that the campaigns alternate between, each with its name and specification.
pub const TRANSPORTS: [(&str, &str); 2] = [
    ("loopback", "{loopback: {rails: 2}}"),
    ("shm", "{libfabric: {provider: shm, rails: 1}}"),
];

/// Result of a campaign.
#[derive(Deserialize, Serialize)]
pub struct FinishedRun {
    /// The run with its status.
    pub run: BenchmarkRun,
    /// Duration of `fabricbench run`.
    pub seconds: f64,
}

/// Length of the windows of most campaigns. It is short, so that hundreds of campaigns take less than an hour.
pub const SHORT_WINDOW_MILLIS: u32 = 5;

/// Number of rounds and length of the windows.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Whether comparisons end as soon as they are decided, or after a fixed number of rounds.
    pub stop: Stop,
    /// Number of rounds; `None` for the default.
    pub rounds: Option<u32>,
    /// Minimum window length in milliseconds.
    pub window_millis: u32,
}

/// The binaries, a directory for their output, and a directory that stores the results of all batches.
pub struct Binaries {
    fabricbench: PathBuf,
    planted: PathBuf,
    scratch: TempDir,
    stored: PathBuf,
    /// Hash of all binaries. It is part of the key of every stored result, so results of different binaries are never
    /// mixed.
    digest: [u8; 32],
    /// Number of results reused from earlier invocations.
    reused: Cell<u32>,
}

impl Binaries {
    /// Finds the binaries that were built with the same profile as this example.
    pub fn find() -> Result<Self, Box<dyn Error>> {
        let here = env::current_exe()?;
        let examples = here
            .parent()
            .ok_or("the build directory of this example is unknown")?;
        let directory = examples
            .parent()
            .ok_or("the build directory of this example is unknown")?;
        let stored = directory.with_file_name("truth");
        fs::create_dir_all(&stored)?;
        let fabricbench = require_existing(directory.join("fabricbench"))?;
        let planted = require_existing(examples.join("planted"))?;
        let runner = require_existing(directory.join("fabricbench-runner"))?;
        Ok(Self {
            stored,
            digest: digest_of_files(&[&fabricbench, &runner, &planted])?,
            fabricbench,
            planted,
            scratch: tempfile::tempdir()?,
            reused: Cell::new(0),
        })
    }

    /// Returns the number of results reused from earlier invocations of the same binaries.
    pub fn reused_count(&self) -> u32 {
        self.reused.get()
    }

    /// Returns the result of the run `name` in `manifest`. Executes the run unless a result for the same manifest and
    /// binaries is already stored. If `with_plants` is set, the run uses the runner that plants effects.
    pub fn run(&self, name: &str, manifest: &str, with_plants: bool) -> Result<FinishedRun, Box<dyn Error>> {
        let mut key = Sha256::new();
        key.update(self.digest);
        key.update([u8::from(with_plants)]);
        key.update(manifest);
        let file = self.stored.join(format!("{}.json", hex(&key.finalize())));
        if let Ok(text) = fs::read(&file) {
            self.reused.set(self.reused.get() + 1);
            return Ok(serde_json::from_slice(&text)?);
        }
        let finished = self.execute(name, manifest, with_plants)?;
        // The file is renamed only once it is complete, so that a partially written file is never reused as a result.
        let unfinished = file.with_extension("unfinished");
        fs::write(&unfinished, serde_json::to_vec(&finished)?)?;
        fs::rename(unfinished, file)?;
        Ok(finished)
    }

    fn execute(&self, name: &str, manifest: &str, with_plants: bool) -> Result<FinishedRun, Box<dyn Error>> {
        let file = self.scratch.path().join("truth.yaml");
        let output = self.scratch.path().join("output");
        fs::write(&file, manifest)?;
        let mut command = Command::new(&self.fabricbench);
        command.arg("run").arg(&file).arg("--output").arg(&output);
        if with_plants {
            command.arg("--runner").arg(&self.planted);
        }
        let started = Instant::now();
        let ended = command.output()?;
        let seconds = started.elapsed().as_secs_f64();
        // Exit status 1 reports a regression. Exit status 3 can result from a chance difference in a control arm; the
        // caller counts such runs.
        if !matches!(ended.status.code(), Some(0 | 1 | 3)) {
            let output = [&ended.stdout, &ended.stderr].map(|output| String::from_utf8_lossy(output));
            return Err(format!(
                "the campaign did not complete ({}):\n{manifest}\n{}{}",
                ended.status, output[0], output[1]
            )
            .into());
        }
        let directory = output.join(name);
        println!("{}", rederive::check(&directory)?);
        let run: BenchmarkRun = serde_json::from_slice(&fs::read(directory.join("run.json"))?)?;
        let comparisons = run.status.iter().flat_map(|status| &status.comparisons);
        if let Some(lost) = comparisons
            .clone()
            .find(|comparison| comparison.lower_ppm.is_none())
        {
            return Err(format!("no interval in {}: {lost:?}", output.display()).into());
        }
        fs::remove_dir_all(&output)?;
        Ok(FinishedRun { run, seconds })
    }
}

fn digest_of_files(paths: &[&Path]) -> io::Result<[u8; 32]> {
    let mut digest = Sha256::new();
    for path in paths {
        digest.update(fs::read(path)?);
    }
    Ok(digest.finalize().into())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn require_existing(path: PathBuf) -> Result<PathBuf, Box<dyn Error>> {
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!("{} does not exist; build it with `make truth`", path.display()).into())
    }
}

/// Builds a manifest. `items` contains the variants and the scenarios as YAML list items.
pub fn manifest(
    name: &str,
    transport: &str,
    items: (&str, &str),
    (seed, sampling): (u32, Sampling),
) -> String {
    let (variants, scenarios) = items;
    let (stop, millis) = (sampling.stop, sampling.window_millis);
    let rounds = sampling
        .rounds
        .map_or(String::new(), |rounds| format!(", rounds: {rounds}"));
    format!(
        "apiVersion: fabricbench.dev/v1alpha1
kind: BenchmarkRun
metadata: {{name: {name}}}
spec:
  baseline: baseline
  transport: {transport}
  variants:
  - {{name: baseline}}
{variants}
  scenarios:
{scenarios}
  sampling: {{seed: {seed}, stop: {stop:?}, minWindow: {millis}ms{rounds}}}
"
    )
}

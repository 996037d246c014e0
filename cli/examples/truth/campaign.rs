//! Runs one campaign with the built `fabricbench` binary.

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use crds::v1alpha1::BenchmarkRun;
use tempfile::TempDir;

/// Names and specifications of the transports. The campaigns alternate between them.
pub const TRANSPORTS: [(&str, &str); 2] = [
    ("loopback", "{loopback: {rails: 2}}"),
    ("shm", "{libfabric: {provider: shm, rails: 1}}"),
];

/// The binaries, a directory for their output, and a directory for the results of all batches.
pub struct Binaries {
    fabricbench: PathBuf,
    planted: PathBuf,
    scratch: TempDir,
    stored: PathBuf,
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
        Ok(Self {
            stored,
            fabricbench: existing(directory.join("fabricbench"))?,
            planted: existing(examples.join("planted"))?,
            scratch: tempfile::tempdir()?,
        })
    }

    /// Returns the result of the run `name` of `manifest`, which is stored under `key`. Executes the run if no result
    /// is stored, optionally with the instrument that plants effects.
    pub fn run(
        &self,
        key: &str,
        name: &str,
        manifest: &str,
        with_plants: bool,
    ) -> Result<BenchmarkRun, Box<dyn Error>> {
        let file = self.stored.join(format!("{key}.json"));
        if let Ok(text) = fs::read(&file) {
            return Ok(serde_json::from_slice(&text)?);
        }
        let run = self.execute(name, manifest, with_plants)?;
        // A partly written file must not count as a result.
        let unfinished = file.with_extension("unfinished");
        fs::write(&unfinished, serde_json::to_vec(&run)?)?;
        fs::rename(unfinished, file)?;
        Ok(run)
    }

    fn execute(&self, name: &str, manifest: &str, with_plants: bool) -> Result<BenchmarkRun, Box<dyn Error>> {
        let file = self.scratch.path().join("truth.yaml");
        let output = self.scratch.path().join("output");
        fs::write(&file, manifest)?;
        let mut command = Command::new(&self.fabricbench);
        command.arg("run").arg(&file).arg("--output").arg(&output);
        if with_plants {
            command.arg("--runner").arg(&self.planted);
        }
        let ended = command.output()?;
        // Status 1 reports a regression. Status 3 can result from a chance difference in a control arm, which the
        // caller evaluates.
        if !matches!(ended.status.code(), Some(0 | 1 | 3)) {
            let output = [&ended.stdout, &ended.stderr].map(|output| String::from_utf8_lossy(output));
            return Err(format!(
                "the campaign did not complete ({}):\n{manifest}\n{}{}",
                ended.status, output[0], output[1]
            )
            .into());
        }
        let run: BenchmarkRun = serde_json::from_slice(&fs::read(output.join(name).join("run.json"))?)?;
        let comparisons = run.status.iter().flat_map(|status| &status.comparisons);
        if let Some(lost) = comparisons
            .clone()
            .find(|comparison| comparison.lower_ppm.is_none())
        {
            return Err(format!("not measured in {}: {lost:?}", output.display()).into());
        }
        fs::remove_dir_all(&output)?;
        Ok(run)
    }
}

fn existing(path: PathBuf) -> Result<PathBuf, Box<dyn Error>> {
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!("{} does not exist; build it with `make truth`", path.display()).into())
    }
}

/// Builds a manifest with the given variants and scenarios, which are YAML list items.
pub fn manifest(name: &str, transport: &str, items: (&str, &str), seed: u32) -> String {
    let (variants, scenarios) = items;
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
  # Short windows, so that hundreds of campaigns take less than an hour.
  sampling: {{seed: {seed}, minWindow: 5ms}}
"
    )
}

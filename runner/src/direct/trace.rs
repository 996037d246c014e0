//! Samples of all operations, which the instruments write to a temporary directory. Performs I/O.

use std::io;
use std::path::Path;

use crds::names::ENV_SAMPLES_DIRECTORY;
use serde::Serialize;
use tempfile::TempDir;

use super::assignment::CLIENT;
use crate::instrument::samples_file::SamplesFile;
use crate::scenario::CaseSamples;

/// Samples that one side of a scenario recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SideSamples {
    /// Name of the scenario.
    #[serde(skip)]
    pub scenario: String,
    /// `client` or `server`. The samples of a server on another machine stay there.
    pub side: &'static str,
    /// Samples of the scenario's operations.
    #[serde(flatten)]
    pub samples: CaseSamples,
}

/// Directory for one measurement's samples. It is removed when this value is dropped.
#[derive(Debug)]
pub struct Trace(TempDir);

impl Trace {
    /// Creates the directory.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created.
    pub fn new() -> io::Result<Self> {
        tempfile::Builder::new()
            .prefix("fabricbench-")
            .tempdir()
            .map(Self)
    }

    /// Environment variable that makes an instrument write to the directory.
    pub fn environment_variable(&self) -> (String, String) {
        (ENV_SAMPLES_DIRECTORY.into(), self.0.path().display().to_string())
    }

    /// Reads the samples of all scenarios. A side without operations has no samples.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read.
    pub fn read(&self) -> io::Result<Vec<SideSamples>> {
        let files = SamplesFile::read_all(self.path())?.into_iter();
        let sides = files.map(|file| SideSamples {
            scenario: file.scenario,
            side: if file.rank == CLIENT { "client" } else { "server" },
            samples: file.samples,
        });
        Ok(sides
            .filter(|side| side.samples != CaseSamples::default())
            .collect())
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_samples_of_both_sides_in_order() {
        let trace = Trace::new().unwrap();
        for (case, rank, operation_nanos) in [(2, 1, vec![3]), (2, 0, vec![1, 2]), (1, 1, vec![])] {
            let file = SamplesFile {
                scenario: "streaming-duplex".into(),
                size_bytes: 1,
                rank,
                case,
                samples: CaseSamples {
                    operation_nanos,
                    ..CaseSamples::default()
                },
            };
            file.write(trace.path()).unwrap();
        }
        let read = trace.read().unwrap();
        let found: Vec<_> = read
            .iter()
            .map(|side| (side.side, side.samples.operation_nanos.as_slice()))
            .collect();
        assert_eq!(found, [("client", &[1, 2][..]), ("server", &[3][..])]);
        let path = trace.path().to_owned();
        drop(trace);
        assert!(!path.exists());
    }
}

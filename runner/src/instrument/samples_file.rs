//! A file that contains the samples from one side of a case. Performs I/O.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::scenario::CaseSamples;

/// Samples from one side of a case, with the fields that identify the case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SamplesFile {
    /// Scenario name.
    pub scenario: String,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Worker rank.
    pub rank: u32,
    /// Case number.
    pub case: u32,
    /// The samples.
    pub samples: CaseSamples,
}

impl SamplesFile {
    /// Writes the samples to a file in `directory`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let path = directory.join(format!("case-{}-rank-{}.json", self.case, self.rank));
        let mut out = BufWriter::new(File::create(path)?);
        serde_json::to_writer(&mut out, self)?;
        out.flush()
    }

    /// Reads all files in `directory`, ordered by case and rank.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or is not a samples file.
    pub fn read_all(directory: &Path) -> io::Result<Vec<Self>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(directory)? {
            files.push(serde_json::from_slice(&fs::read(entry?.path())?)?);
        }
        files.sort_by_key(|file: &Self| (file.case, file.rank));
        Ok(files)
    }
}

//! A file that contains the samples from one side of a case. Performs I/O.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;

use crate::scenario::CaseSamples;

/// Samples from one side of a case, with the fields that identify the case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
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
}

//! What can be wrong with a manifest.

use std::fmt;
use std::path::{Path, PathBuf};

/// Longest message of one fault: a parser may quote what it read.
const MAX_MESSAGE_CHARS: usize = 500;
/// Most faults that are shown.
const MAX_FAULTS: usize = 20;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Number of the document, from 1, where the file has several.
    pub document: Option<usize>,
    /// Path of the field, where it is one.
    pub path: Option<String>,
    /// What is wrong, and what to do.
    pub what: String,
}

impl Fault {
    /// A fault of the file as a whole.
    pub fn file(what: impl Into<String>) -> Self {
        Self {
            document: None,
            path: None,
            what: what.into(),
        }
    }

    /// A fault of one field.
    pub fn field(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            path: Some(path.into()),
            ..Self::file(what)
        }
    }

    /// The fault as one of document `number`.
    pub fn in_document(self, number: Option<usize>) -> Self {
        Self {
            document: number,
            ..self
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(document) = self.document {
            write!(f, "document {document}: ")?;
        }
        if let Some(path) = &self.path {
            write!(f, "{path}: ")?;
        }
        let clipped: String = self.what.chars().take(MAX_MESSAGE_CHARS).collect();
        f.write_str(clipped.trim_end())?;
        if self.what.chars().nth(MAX_MESSAGE_CHARS).is_some() {
            f.write_str(" ...")?;
        }
        Ok(())
    }
}

/// Why a file is no list of `BenchmarkRun`s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// The file.
    pub file: PathBuf,
    /// Its faults; never empty.
    pub faults: Vec<Fault>,
}

impl ManifestError {
    /// The faults of `file`.
    pub fn new(file: &Path, faults: Vec<Fault>) -> Self {
        Self {
            file: file.to_owned(),
            faults,
        }
    }
}

impl fmt::Display for ManifestError {
    /// A line for each fault, as `demo.yaml: spec.baseline: ...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().take(MAX_FAULTS).enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}: {fault}", self.file.display())?;
        }
        if self.faults.len() > MAX_FAULTS {
            write!(
                f,
                "\n{}: {} more",
                self.file.display(),
                self.faults.len() - MAX_FAULTS
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for ManifestError {}

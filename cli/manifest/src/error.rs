//! Errors in manifests. Performs no I/O.

use std::fmt;
use std::path::{Path, PathBuf};

use campaign::validate::Problem;
use crds::deserialization::{Cause, Unreadable};
use crds::printable::{printable, printable_line};

use super::position::Position;

/// Maximum length of one message, in characters. Longer messages are truncated, because parsers may quote the input.
const MAX_MESSAGE_CHARS: usize = 500;
/// Maximum number of defects shown.
pub(super) const MAX_DEFECTS: usize = 20;

/// Kind of a defect, where it decides which of several defects of a field are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefectKind {
    /// A required field is not set.
    Missing,
    /// None of several alternative fields is set.
    NoAlternative,
    /// A string is not a size or a duration.
    Unit,
    /// Any other defect.
    Other,
}

/// One defect in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// Document number, starting at 1. `None` if the file has a single document or the defect concerns the whole file.
    pub document: Option<usize>,
    /// Position in the file; `None` if it is unknown or the defect is not in the file.
    pub position: Option<Position>,
    /// Path of the field. `None` if the defect concerns the document or the file.
    pub path: Option<String>,
    /// Description of the defect and how to fix it.
    pub message: String,
    /// Kind of the defect.
    pub(super) kind: DefectKind,
}

impl Defect {
    /// Creates a defect that concerns the whole document or file.
    pub fn file(message: impl Into<String>) -> Self {
        Self {
            document: None,
            position: None,
            path: None,
            message: message.into(),
            kind: DefectKind::Other,
        }
    }

    /// Creates a defect in the field `path`.
    pub fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: Some(path.into()),
            ..Self::file(message)
        }
    }

    /// Sets the kind.
    pub(super) fn of_kind(self, kind: DefectKind) -> Self {
        Self { kind, ..self }
    }

    /// Sets the document number.
    pub fn in_document(self, number: Option<usize>) -> Self {
        Self {
            document: number,
            ..self
        }
    }
}

impl From<Unreadable> for Defect {
    fn from(error: Unreadable) -> Self {
        let kind = match error.cause {
            Cause::Missing => DefectKind::Missing,
            Cause::NotOneField { ref set } if set.is_empty() => DefectKind::NoAlternative,
            _ => DefectKind::Other,
        };
        Self::field(error.path, error.cause.to_string()).of_kind(kind)
    }
}

impl From<Problem> for Defect {
    fn from(problem: Problem) -> Self {
        Self::field(problem.path, problem.message)
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(document) = self.document {
            write!(f, "document {document}: ")?;
        }
        if let Some(path) = &self.path {
            let clipped: String = path.chars().take(MAX_MESSAGE_CHARS).collect();
            write!(f, "{}: ", printable_line(&clipped))?;
        }
        let clipped: String = self.message.chars().take(MAX_MESSAGE_CHARS).collect();
        // The message may quote the file, and a terminal obeys control characters.
        f.write_str(printable(clipped.trim_end()).as_ref())?;
        if self.message.chars().nth(MAX_MESSAGE_CHARS).is_some() {
            f.write_str(" ...")?;
        }
        Ok(())
    }
}

/// Error reading a file as a list of `BenchmarkRun`s or as an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// Path to the file.
    pub file: PathBuf,
    /// Defects in the file. The list is never empty.
    pub defects: Vec<Defect>,
}

impl ManifestError {
    /// Creates an error with the defects in `file`.
    pub fn new(file: &Path, defects: Vec<Defect>) -> Self {
        Self {
            file: file.to_owned(),
            defects,
        }
    }
}

impl fmt::Display for ManifestError {
    /// Writes one line for each defect, such as `demo.yaml:5:3: spec.baseline: ...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, defect) in self.defects.iter().take(MAX_DEFECTS).enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}", self.file.display())?;
            if let Some(Position { line, column }) = defect.position {
                write!(f, ":{line}:{column}")?;
            }
            write!(f, ": {defect}")?;
        }
        if self.defects.len() > MAX_DEFECTS {
            write!(
                f,
                "\n{}: and {} more",
                self.file.display(),
                self.defects.len() - MAX_DEFECTS
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for ManifestError {}

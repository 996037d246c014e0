//! A file with its runs and the positions of their fields. Performs I/O only to read the file.

use std::path::{Path, PathBuf};

use crds::v1alpha1::BenchmarkRun;

use super::error::MAX_DEFECTS;
use super::schema::SchemaRules;
use super::yaml::{self, Document};
use super::{Defect, ManifestError, Overlay, position, read};

/// Why an overlay and the transports of variants do not fit each other, and what to do.
const OVERLAY_AND_VARIANTS: &str = "The overlay replaces the transport or the resources of the run, but not those of variants, which are \
    what this run compares. If this machine has what the run names, omit the overlay; otherwise, edit a copy of the file";

/// The runs of a file.
pub struct Manifest {
    /// The runs, in the order of the documents, with the overlay applied.
    pub runs: Vec<BenchmarkRun>,
    file: PathBuf,
    text: String,
    documents: Vec<Document>,
    overlay: Option<Overlay>,
}

impl Manifest {
    /// Reads every `BenchmarkRun` in `file` in order and applies `overlay` to each.
    ///
    /// # Errors
    /// Returns all defects of the file: see [`crate::load`].
    pub fn load(file: &Path, overlay: Option<&Overlay>) -> Result<Self, ManifestError> {
        let text = super::read(file)?;
        Self::parse(file, &text, overlay).map_err(|defects| ManifestError::new(file, defects))
    }

    /// Parses every `BenchmarkRun` in `text`, the content of `file`.
    ///
    /// # Errors
    /// Returns all defects of the text.
    pub fn parse(file: &Path, text: &str, overlay: Option<&Overlay>) -> Result<Self, Vec<Defect>> {
        let documents = yaml::documents(text).map_err(|defect| vec![defect])?;
        if documents.is_empty() {
            return Err(vec![Defect::file(
                "the file contains no documents; add a BenchmarkRun, for example the one in examples/demo.yaml",
            )]);
        }
        let rules = SchemaRules::compiled().map_err(|defect| vec![defect])?;
        let mut manifest = Self {
            runs: Vec::new(),
            file: file.to_owned(),
            text: text.to_owned(),
            documents,
            overlay: overlay.cloned(),
        };
        let mut defects: Vec<(usize, Defect)> = Vec::new();
        // The documents of the runs that were read.
        let mut sources = Vec::new();
        for (number, document) in manifest.documents.iter().enumerate() {
            match read::run(document.value.clone(), rules, overlay) {
                Ok(run) => {
                    let name = &run.metadata.name;
                    if manifest.runs.iter().any(|earlier| earlier.metadata.name == *name) {
                        let message = "an earlier document has the same name; names must be unique";
                        defects.push((number, Defect::field("metadata.name", message)));
                    }
                    manifest.runs.push(run);
                    sources.push(number);
                }
                Err(found) => defects.extend(found.into_iter().map(|defect| (number, defect))),
            }
        }
        if defects.is_empty() {
            return Ok(manifest);
        }
        // Otherwise the caller validates the runs.
        for (run, number) in manifest.runs.iter().zip(sources) {
            defects.extend(read::problems(run).into_iter().map(|defect| (number, defect)));
        }
        Err(manifest.located(defects))
    }

    /// Creates the error for problems of the runs: each with the index of its run.
    pub fn error(&self, problems: Vec<(usize, Defect)>) -> ManifestError {
        ManifestError::new(&self.file, self.located(problems))
    }

    /// Adds the number of the document and the position to each defect, and sorts the defects by position. Positions are
    /// found only for as many defects as are shown, because each requires that the file is read again.
    fn located(&self, defects: Vec<(usize, Defect)>) -> Vec<Defect> {
        let has_several_documents = self.documents.len() > 1;
        let mut located: Vec<Defect> = Vec::new();
        for (index, (number, defect)) in defects.into_iter().enumerate() {
            let document = has_several_documents.then_some(number + 1);
            let path = defect.path.as_deref().unwrap_or_default();
            let is_replaced = self
                .overlay
                .as_ref()
                .is_some_and(|overlay| overlay.replaces(path));
            let source = self
                .documents
                .get(number)
                .filter(|_| index < MAX_DEFECTS && !is_replaced);
            let position =
                source.and_then(|document| position::find(&self.text, document.index, &document.value, path));
            let message = match (&self.overlay, is_replaced) {
                (Some(_), true) => format!("{} (the overlay sets this field)", defect.message),
                (Some(overlay), false) if overlay.conflicts_with(path) => {
                    format!("{}. {OVERLAY_AND_VARIANTS}", defect.message)
                }
                _ => defect.message.clone(),
            };
            located.push(Defect {
                position: position.or(defect.position),
                message,
                ..defect.in_document(document)
            });
        }
        let shown = located.len().min(MAX_DEFECTS);
        if let Some(shown) = located.get_mut(..shown) {
            shown.sort_by_key(|defect| (defect.document, defect.position));
        }
        located
    }
}

//! Reads manifests: parses a file of YAML documents into `BenchmarkRun`s and validates them against the schema.
//! Performs I/O only to read the file.
//!
//! A manifest may be untrusted, so its size, its nesting depth and its number of documents and nodes are limited. It is
//! validated with the same schema rules that the API server applies.
#![forbid(unsafe_code)]

mod document;
mod error;
mod overlay;
mod schema;
mod yaml;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crds::v1alpha1::BenchmarkRun;

pub use error::{Defect, ManifestError};
pub use overlay::Overlay;
use schema::SchemaRules;

/// Maximum size of a file, in bytes. The largest run that the schema allows is about a tenth of this size.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Maximum number of documents in a file.
pub const MAX_DOCUMENTS: usize = 64;

/// Reads every `BenchmarkRun` in `file` in order and applies `overlay` to each.
///
/// # Errors
/// Returns an error if the file cannot be read, is not valid YAML, or contains a document that is not a valid
/// `BenchmarkRun`. The error identifies the document and the field.
pub fn load(file: &Path, overlay: Option<&Overlay>) -> Result<Vec<BenchmarkRun>, ManifestError> {
    let text = read(file)?;
    parse(&text, overlay).map_err(|defects| ManifestError::new(file, defects))
}

/// Reads an overlay.
///
/// # Errors
/// Returns an error if the file cannot be read, is not valid YAML, or does not contain exactly one valid overlay.
pub fn load_overlay(file: &Path) -> Result<Overlay, ManifestError> {
    let text = read(file)?;
    let parse = || {
        let mut documents = yaml::documents(&text)?;
        if documents.len() != 1 {
            return Err(Defect::file("an overlay must be exactly one YAML document"));
        }
        let value = documents.pop().unwrap_or_default();
        if !value.is_object() {
            return Err(Defect::file(
                "an overlay must be an object with any of the fields transport, memory, devices, align and resources",
            ));
        }
        document::deserialize(value, "overlay")
    };
    parse().map_err(|defect| ManifestError::new(file, vec![defect]))
}

/// Parses every `BenchmarkRun` in `text` in order and applies `overlay` to each.
///
/// # Errors
/// Returns an error if `text` is not valid YAML or contains a document that is not a valid `BenchmarkRun`.
pub fn parse(text: &str, overlay: Option<&Overlay>) -> Result<Vec<BenchmarkRun>, Vec<Defect>> {
    let documents = yaml::documents(text).map_err(|defect| vec![defect])?;
    if documents.is_empty() {
        return Err(vec![Defect::file(
            "the file contains no documents; add a BenchmarkRun, for example the one in examples/demo.yaml",
        )]);
    }
    let rules = SchemaRules::compiled().map_err(|defect| vec![defect])?;
    let has_several_documents = documents.len() > 1;
    let mut runs: Vec<BenchmarkRun> = Vec::new();
    let mut defects = Vec::new();
    for (index, value) in documents.into_iter().enumerate() {
        let number = has_several_documents.then_some(index + 1);
        match read_document(value, rules, overlay) {
            Ok(run) => {
                let name = &run.metadata.name;
                if runs.iter().any(|earlier| earlier.metadata.name == *name) {
                    let message = "an earlier document has the same name; names must be unique";
                    defects.push(Defect::field("metadata.name", message).in_document(number));
                }
                runs.push(run);
            }
            Err(found) => defects.extend(found.into_iter().map(|defect| defect.in_document(number))),
        }
    }
    if defects.is_empty() {
        Ok(runs)
    } else {
        Err(defects)
    }
}

fn read_document(
    mut value: serde_json::Value,
    rules: &SchemaRules,
    overlay: Option<&Overlay>,
) -> Result<BenchmarkRun, Vec<Defect>> {
    document::check_top_level(&mut value).map_err(|defect| vec![defect])?;
    let checked = rules.check_values(&value);
    let run = document::benchmark_run(value);
    let mut run = match (checked, run) {
        (Ok(()), run) => run.map_err(|defect| vec![defect])?,
        (Err(mut defects), run) => {
            // A misspelled field is more helpful than the required field that is missing as a result.
            let unknown = run
                .err()
                .filter(|defect| defect.message.starts_with("unknown field"));
            defects.splice(..0, unknown);
            return Err(defects);
        }
    };
    if let Some(overlay) = overlay {
        overlay.apply(&mut run.spec);
    }
    rules.check(&run)?;
    Ok(run)
}

fn read(file: &Path) -> Result<String, ManifestError> {
    let fail = |message: String| ManifestError::new(file, vec![Defect::file(message)]);
    let handle = File::open(file).map_err(|error| fail(format!("cannot read the file: {error}")))?;
    let mut bytes = Vec::new();
    let mut bounded = handle.take(MAX_FILE_BYTES + 1);
    bounded
        .read_to_end(&mut bytes)
        .map_err(|error| fail(format!("cannot read the file: {error}")))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(fail(format!(
            "the file is larger than {MAX_FILE_BYTES} bytes; a manifest can be split into several files"
        )));
    }
    // Some editors write a byte order mark.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    String::from_utf8(text.to_vec())
        .map_err(|_| fail("the file is not valid UTF-8; a manifest must be YAML text".to_owned()))
}

#[cfg(test)]
mod tests;

//! Reads manifests: a file of YAML documents into `BenchmarkRun`s that satisfy the schema. Reads the file it is given
//! and does no other I/O.
//!
//! A manifest may come from a stranger: its length, documents, nodes and nesting are bounded, and every rule that the
//! API server would check is checked here with the same schema.

mod document;
mod error;
mod overlay;
mod schema;
mod yaml;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crds::v1alpha1::BenchmarkRun;

pub use error::{Fault, ManifestError};
pub use overlay::Overlay;
use schema::SchemaRules;

/// Longest file that is read, in bytes. The longest run that the schema allows is a tenth of it.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Most documents of a file.
pub const MAX_DOCUMENTS: usize = 64;

/// Reads every `BenchmarkRun` of `file`, in its order, with `overlay` laid over each.
///
/// # Errors
/// When the file cannot be read, is no YAML, or holds anything that is no valid `BenchmarkRun`; names the document and
/// the field.
pub fn load(file: &Path, overlay: Option<&Overlay>) -> Result<Vec<BenchmarkRun>, ManifestError> {
    let text = read(file)?;
    parse(&text, overlay).map_err(|faults| ManifestError::new(file, faults))
}

/// Reads an overlay.
///
/// # Errors
/// When the file cannot be read, is no YAML, or changes anything else than an overlay may.
pub fn load_overlay(file: &Path) -> Result<Overlay, ManifestError> {
    let text = read(file)?;
    let parse = || {
        let mut documents = yaml::documents(&text)?;
        if documents.len() != 1 {
            return Err(Fault::file(
                "an overlay is one YAML document. Put the rest elsewhere",
            ));
        }
        let value = documents.pop().unwrap_or_default();
        if !value.is_object() {
            return Err(Fault::file(
                "an overlay is an object with transport, memory and resources",
            ));
        }
        document::typed(value, "overlay")
    };
    parse().map_err(|fault| ManifestError::new(file, vec![fault]))
}

/// Reads every `BenchmarkRun` of `text`.
///
/// # Errors
/// As [`load`], for what is in a file.
pub fn parse(text: &str, overlay: Option<&Overlay>) -> Result<Vec<BenchmarkRun>, Vec<Fault>> {
    let documents = yaml::documents(text).map_err(|fault| vec![fault])?;
    if documents.is_empty() {
        return Err(vec![Fault::file(
            "it holds no document. Write a BenchmarkRun, for example as in examples/demo.yaml",
        )]);
    }
    let rules = SchemaRules::new().map_err(|fault| vec![fault])?;
    let several = documents.len() > 1;
    let mut runs: Vec<BenchmarkRun> = Vec::new();
    let mut faults = Vec::new();
    for (index, value) in documents.into_iter().enumerate() {
        let number = several.then_some(index + 1);
        match read_document(value, &rules, overlay) {
            Ok(run) => {
                let name = &run.metadata.name;
                if runs.iter().any(|earlier| earlier.metadata.name == *name) {
                    let what = "an earlier document has this name. Give every run a name of its own";
                    faults.push(Fault::field("metadata.name", what).in_document(number));
                }
                runs.push(run);
            }
            Err(found) => faults.extend(found.into_iter().map(|fault| fault.in_document(number))),
        }
    }
    if faults.is_empty() { Ok(runs) } else { Err(faults) }
}

fn read_document(
    mut value: serde_json::Value,
    rules: &SchemaRules,
    overlay: Option<&Overlay>,
) -> Result<BenchmarkRun, Vec<Fault>> {
    document::check_head(&mut value).map_err(|fault| vec![fault])?;
    rules.check_types(&value)?;
    let mut run = document::benchmark_run(value).map_err(|fault| vec![fault])?;
    if let Some(overlay) = overlay {
        overlay.apply(&mut run.spec);
    }
    rules.check(&run)?;
    Ok(run)
}

fn read(file: &Path) -> Result<String, ManifestError> {
    let fail = |what: String| ManifestError::new(file, vec![Fault::file(what)]);
    let handle = File::open(file).map_err(|error| fail(format!("{error}. Name a file that can be read")))?;
    let mut bytes = Vec::new();
    let mut bounded = handle.take(MAX_FILE_BYTES + 1);
    bounded
        .read_to_end(&mut bytes)
        .map_err(|error| fail(format!("{error}. Name a file that can be read")))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(fail(format!(
            "it is longer than {MAX_FILE_BYTES} bytes. Split it"
        )));
    }
    // Some editors begin a file with a byte order mark.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    String::from_utf8(text.to_vec()).map_err(|_| fail("it is not UTF-8 text. A manifest is YAML".to_owned()))
}

#[cfg(test)]
mod tests;

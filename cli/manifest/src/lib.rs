//! Reads manifests: parses a file of YAML documents into `BenchmarkRun`s and validates them against the schema.
//! Performs I/O only to read the file.
//!
//! A manifest may be untrusted, so its size, its nesting depth and its number of documents and nodes are limited. It is
//! validated with the same schema rules that the API server applies.
#![forbid(unsafe_code)]

mod document;
mod error;
mod field;
mod manifest;
mod overlay;
mod position;
mod read;
mod repaired;
mod schema;
mod yaml;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crds::deserialization::{Unreadable, from_value};
use crds::file_error::with_remedy;
use crds::v1alpha1::BenchmarkRun;

pub use error::{Defect, ManifestError};
pub use field::{Field, UnknownField};
pub use manifest::Manifest;
pub use overlay::Overlay;
pub use position::Position;
pub use schema::yaml as yaml_on_one_line;
use yaml::Document;

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
    Manifest::load(file, overlay).map(|manifest| manifest.runs)
}

/// Reads an overlay.
///
/// # Errors
/// Returns an error if the file cannot be read, is not valid YAML, or does not contain exactly one valid overlay.
pub fn load_overlay(file: &Path) -> Result<Overlay, ManifestError> {
    let text = read(file)?;
    let parse = || {
        let mut documents = yaml::documents(&text)?;
        let document = documents.pop().filter(|_| documents.is_empty());
        let Some(Document { index, value }) = document else {
            return Err(Defect::file("an overlay must be exactly one YAML document"));
        };
        if !value.is_object() {
            return Err(Defect::file(
                "an overlay must be an object with any of the fields transport, memory, devices, align and resources",
            ));
        }
        from_value(&value).map_err(|error: Unreadable| {
            let position = position::find(&text, index, &value, &error.path);
            let defect = Defect::from(error.in_field(OVERLAY_ROOT));
            Defect { position, ..defect }
        })
    };
    parse().map_err(|defect| ManifestError::new(file, vec![defect]))
}

/// Start of the path of each field in an overlay.
const OVERLAY_ROOT: &str = "overlay";

/// Parses every `BenchmarkRun` in `text` in order and applies `overlay` to each.
///
/// # Errors
/// Returns an error if `text` is not valid YAML or contains a document that is not a valid `BenchmarkRun`.
pub fn parse(text: &str, overlay: Option<&Overlay>) -> Result<Vec<BenchmarkRun>, Vec<Defect>> {
    Manifest::parse(Path::new(""), text, overlay).map(|manifest| manifest.runs)
}

fn read(file: &Path) -> Result<String, ManifestError> {
    let fail = |message: String| ManifestError::new(file, vec![Defect::file(message)]);
    let unreadable = |error| fail(format!("cannot read the file: {}", with_remedy(&error)));
    let handle = File::open(file).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let mut bounded = handle.take(MAX_FILE_BYTES + 1);
    bounded.read_to_end(&mut bytes).map_err(unreadable)?;
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

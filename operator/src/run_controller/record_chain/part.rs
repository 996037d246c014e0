//! Conversion between a part and its ConfigMap. Performs no I/O.

use crds::names;
use crds::record::hex;
use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::Part;
use crate::run_controller::build::labels;
use crate::run_controller::build::names::records;

/// ConfigMap keys.
pub(super) const LINES: &str = "records.jsonl.gz";
pub(super) const PREVIOUS: &str = "previous";
pub(super) const SHA256: &str = "sha256";

pub(super) fn config_map(part: &Part, run: &BenchmarkRun) -> ConfigMap {
    let uid = run.metadata.uid.as_deref().unwrap_or_default();
    let name = run.metadata.name.as_deref().unwrap_or_default();
    let mut labels_of_part = labels::run(uid, name);
    labels_of_part.insert(names::LABEL_RECORDS_PART.to_owned(), part.number.to_string());
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(records(uid, part.number)),
            namespace: run.metadata.namespace.clone(),
            labels: Some(labels_of_part),
            owner_references: Some(vec![labels::owner(run)]),
            ..ObjectMeta::default()
        },
        data: Some(
            [
                (PREVIOUS.to_owned(), hex(&part.previous)),
                (SHA256.to_owned(), hex(&part.digest)),
            ]
            .into(),
        ),
        binary_data: Some([(LINES.to_owned(), ByteString(part.bytes.clone()))].into()),
        immutable: part.full.then_some(true),
    }
}

/// The unverified content of a part.
pub(super) struct PartContent<'a> {
    /// Digest at the start of the part.
    pub(super) previous: &'a str,
    /// Digest at the end of the part.
    pub(super) sha256: &'a str,
    /// The gzip members.
    pub(super) bytes: &'a [u8],
}

/// Reads the content of the part in `object`.
///
/// # Errors
/// Returns the missing key.
pub(super) fn content(object: &ConfigMap) -> Result<PartContent<'_>, &'static str> {
    let text = |key: &'static str| object.data.as_ref().and_then(|data| data.get(key)).ok_or(key);
    let bytes = object.binary_data.as_ref().and_then(|data| data.get(LINES));
    Ok(PartContent {
        previous: text(PREVIOUS)?,
        sha256: text(SHA256)?,
        bytes: &bytes.ok_or(LINES)?.0,
    })
}

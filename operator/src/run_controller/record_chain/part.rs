//! A part as its ConfigMap, and back. Pure.

use crds::names;
use crds::record::hex;
use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::Part;
use crate::run_controller::build::labels;
use crate::run_controller::build::names::records;

/// Keys of the object's data.
pub(super) const LINES: &str = "records.jsonl.gz";
pub(super) const PREVIOUS: &str = "previous";
pub(super) const SHA256: &str = "sha256";

pub(super) fn config_map(part: &Part, run: &BenchmarkRun) -> ConfigMap {
    let uid = run.metadata.uid.as_deref().unwrap_or_default();
    let name = run.metadata.name.as_deref().unwrap_or_default();
    let mut all = labels::run(uid, name);
    all.insert(names::LABEL_RECORDS_PART.to_owned(), part.number.to_string());
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(records(uid, part.number)),
            namespace: run.metadata.namespace.clone(),
            labels: Some(all),
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

/// What a ConfigMap says of itself: the digest before it, the digest after it, its bytes.
pub(super) struct Said<'a> {
    pub(super) previous: &'a str,
    pub(super) sha256: &'a str,
    pub(super) bytes: &'a [u8],
}

/// What `object` says; the key that is missing where one is.
pub(super) fn said(object: &ConfigMap) -> Result<Said<'_>, &'static str> {
    let text = |key: &'static str| object.data.as_ref().and_then(|data| data.get(key)).ok_or(key);
    let bytes = object.binary_data.as_ref().and_then(|data| data.get(LINES));
    Ok(Said {
        previous: text(PREVIOUS)?,
        sha256: text(SHA256)?,
        bytes: &bytes.ok_or(LINES)?.0,
    })
}

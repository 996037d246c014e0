//! Writes the end record to the file that the kubelet reads as the termination message.

use std::fs;
use std::path::{Path, PathBuf};

use crds::record::EndRecord;
use rustix::fs::{Access, access};

use crate::output::bounded;

/// Default termination message path in Kubernetes.
const DEFAULT_PATH: &str = "/dev/termination-log";
/// Maximum length of the failure message, in bytes. The kubelet reads at most 4096 bytes, and the other fields are
/// short.
const MAX_FAILURE_BYTES: usize = 3000;

/// Writes `end` to `path`. If `path` is `None`, writes it to the Kubernetes default path if that file is writable.
pub fn write(path: Option<&Path>, end: &EndRecord) {
    let kubelet_path = || {
        access(DEFAULT_PATH, Access::WRITE_OK)
            .is_ok()
            .then(|| PathBuf::from(DEFAULT_PATH))
    };
    let Some(path) = path.map(Path::to_owned).or_else(kubelet_path) else {
        return;
    };
    let mut end = end.clone();
    if let Some(failure) = &mut end.failure {
        failure.message = bounded(&failure.message, MAX_FAILURE_BYTES);
    }
    let written = serde_json::to_string(&end)
        .map_err(std::io::Error::from)
        .and_then(|text| fs::write(&path, text));
    if let Err(error) = written {
        tracing::warn!(path = %path.display(), %error, "cannot write the termination message; the end record is only in the record stream");
    }
}

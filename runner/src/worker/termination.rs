//! The end record where the kubelet looks for it. Writes one file.

use std::fs;
use std::path::{Path, PathBuf};

use crds::record::EndRecord;
use rustix::fs::{Access, access};

use crate::output::bounded;

/// Where a kubelet reads a container's last words.
const DEFAULT: &str = "/dev/termination-log";
/// A kubelet keeps 4096 bytes; the rest of the record is short.
const MESSAGE_BYTES: usize = 3000;

/// Writes `end` to `path`, or to the kubelet's file where there is one.
pub fn write(path: Option<&Path>, end: &EndRecord) {
    let kubelets = || {
        access(DEFAULT, Access::WRITE_OK)
            .is_ok()
            .then(|| PathBuf::from(DEFAULT))
    };
    let Some(path) = path.map(Path::to_owned).or_else(kubelets) else {
        return;
    };
    let mut end = end.clone();
    if let Some(failure) = &mut end.failure {
        failure.message = bounded(&failure.message, MESSAGE_BYTES);
    }
    let written = serde_json::to_string(&end)
        .map_err(std::io::Error::from)
        .and_then(|text| fs::write(&path, text));
    if let Err(error) = written {
        tracing::warn!(path = %path.display(), %error, "the end record is only in the stream");
    }
}

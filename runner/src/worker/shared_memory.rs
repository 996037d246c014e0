//! Removes the files that libfabric's shm provider leaves behind when its process is killed.

use std::fs;
use std::path::Path;

/// Directory in which the provider creates its endpoints.
const SHARED_MEMORY: &str = "/dev/shm";

/// Removes the endpoints of `process`, which has exited. Otherwise, each endpoint's 16 MiB of shared memory would never
/// be freed. Like the provider, this function assumes that no other program uses these names.
pub(super) fn remove_endpoints(process: u32) {
    remove_from(Path::new(SHARED_MEMORY), process);
}

/// Removes the endpoints of `process` from `directory`. Endpoints are named `PROCESS:DOMAIN:ENDPOINT`.
fn remove_from(directory: &Path, process: u32) {
    let prefix = format!("{process}:");
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            // A failure to remove a file must not stop the measurement.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_endpoints_of_other_processes() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["12:0:0", "12:0:1", "123:0:0", "2:12:0", "sem.12"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        remove_from(directory.path(), 12);
        let left = fs::read_dir(directory.path()).unwrap().flatten();
        let mut left: Vec<_> = left
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["123:0:0", "2:12:0", "sem.12"]);
        remove_from(Path::new("/nowhere"), 12);
    }
}

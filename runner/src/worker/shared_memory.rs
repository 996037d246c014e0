//! What libfabric's shm provider leaves behind where its process is killed. Removes files.

use std::fs;
use std::path::Path;

/// Where the provider keeps its endpoints.
const SHARED_MEMORY: &str = "/dev/shm";

/// Removes the endpoints of the process that had the number `process` and is gone: 16 MiB each, which nobody else
/// would ever free. The provider itself takes these names to be nobody else's.
pub(super) fn remove_endpoints(process: u32) {
    remove_from(Path::new(SHARED_MEMORY), process);
}

/// The provider names an endpoint `PROCESS:DOMAIN:ENDPOINT`.
fn remove_from(folder: &Path, process: u32) {
    let prefix = format!("{process}:");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            // One that went meanwhile, or cannot go, is no reason to stop measuring.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["12:0:0", "12:0:1", "123:0:0", "2:12:0", "sem.12"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        remove_from(folder.path(), 12);
        let left = fs::read_dir(folder.path()).unwrap().flatten();
        let mut left: Vec<_> = left
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["123:0:0", "2:12:0", "sem.12"]);
        remove_from(Path::new("/nowhere"), 12);
    }
}

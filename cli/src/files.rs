//! Replacing files atomically. Performs I/O.

use std::fs;
use std::io;
use std::path::Path;

/// Replaces or creates the file. If this fails, the file is unchanged and no temporary file remains.
///
/// # Errors
/// Returns the error of the operating system, for example if the disk is full.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let replaced = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if replaced.is_err() {
        // The first error is the one to report. The temporary file may not exist.
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_no_temporary_file_after_a_failure() {
        let directory = tempfile::tempdir().unwrap();
        let occupied = directory.path().join("report.html");
        fs::create_dir_all(occupied.join("not-empty")).unwrap();
        replace(&occupied, b"new").unwrap_err();
        assert!(!directory.path().join("report.new").exists());

        let path = directory.path().join("run.json");
        for text in ["first", "second"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}

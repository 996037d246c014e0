//! The whole output of an instrument process, kept in a file for users who read the logs of libraries. Performs I/O.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crds::assignment::Assignment;
use crds::names::ENV_LOGS_DIRECTORY;

/// Maximum size of a file, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Maximum size of all files in a directory, in bytes. When they have reached it, no more files are created, so the total
/// exceeds it by at most one file per running process.
const MAX_DIRECTORY_BYTES: u64 = 1 << 30;
/// Maximum length of the names of the arms in a file name.
const MAX_ARMS: usize = 80;
/// Maximum number of processes with the same round, arms and rank: a restart has a file of its own.
const MAX_RESTARTS: u32 = 100;

/// File with the output of one instrument process.
#[derive(Debug)]
pub struct KeptLog {
    file: File,
    left: u64,
}

impl KeptLog {
    /// Creates the file of instrument process `process` on worker `rank` in `round`, in the directory that
    /// [`ENV_LOGS_DIRECTORY`] names. `None` if the variable is unset, or if the directory is full or cannot be written,
    /// which is reported in the log.
    pub fn create(assignment: &Assignment, process: u32, rank: u32, round: u32) -> Option<Self> {
        let directory =
            PathBuf::from(env::var_os(ENV_LOGS_DIRECTORY).filter(|directory| !directory.is_empty())?);
        let arms = assignment.arms.iter().filter(|arm| arm.process == process);
        let arms: Vec<&str> = arms.map(|arm| arm.name.as_str()).collect();
        let name = file_name(&arms, rank, round, assignment.identity.leg);
        let created = create_file(&directory, &name);
        created
            .inspect_err(|error| {
                tracing::warn!(directory = %directory.display(), %error, "the log of an instrument is not kept");
            })
            .ok()
    }

    /// Appends `chunk`. At the size limit, a last line says so, and the rest is discarded. A file that cannot be written,
    /// for example because the disk is full, ends where it is.
    pub fn append(&mut self, chunk: &[u8]) {
        if self.left == 0 {
            return;
        }
        let kept = usize::try_from(self.left).map_or(chunk.len(), |left| left.min(chunk.len()));
        self.left -= kept as u64;
        let is_full = self.left == 0;
        if self.file.write_all(&chunk[..kept]).is_err() {
            self.left = 0;
        } else if is_full {
            // The rest is discarded whether or not this line can be written.
            let _ = writeln!(
                self.file,
                "\n[the limit of {MAX_FILE_BYTES} bytes is reached; the rest is omitted]"
            );
        }
    }
}

/// Name of a file, without its extension.
fn file_name(arms: &[&str], rank: u32, round: u32, leg: u32) -> String {
    let arms = arms.join("+");
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-+_.".contains(*letter);
    let arms: String = arms.chars().filter(is_plain).take(MAX_ARMS).collect();
    format!("leg-{leg}-round-{round}-{arms}-rank-{rank}")
}

/// Creates a new file, unless the files in `directory` have reached the limit.
fn create_file(directory: &Path, name: &str) -> io::Result<KeptLog> {
    fs::create_dir_all(directory)?;
    let mut total = 0;
    for entry in fs::read_dir(directory)? {
        total += entry?.metadata().map_or(0, |metadata| metadata.len());
    }
    if total >= MAX_DIRECTORY_BYTES {
        return Err(io::Error::other(format!(
            "its files have reached the limit of {MAX_DIRECTORY_BYTES} bytes"
        )));
    }
    for number in 0..MAX_RESTARTS {
        let path = match number {
            0 => directory.join(format!("{name}.log")),
            _ => directory.join(format!("{name}-restart-{number}.log")),
        };
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => {
                return Ok(KeptLog {
                    file: opened?,
                    left: MAX_FILE_BYTES,
                });
            }
        }
    }
    Err(io::Error::other(format!(
        "it has {MAX_RESTARTS} files with the name {name}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_bounded_and_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = create_file(directory.path(), "a").unwrap();
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..20 {
            log.append(&chunk);
        }
        let text = fs::read_to_string(directory.path().join("a.log")).unwrap();
        assert!(text.len() < (16 << 20) + 200 && text.ends_with("the rest is omitted]\n"));
        create_file(directory.path(), "a").unwrap().append(b"second");
        let second = fs::read_to_string(directory.path().join("a-restart-1.log")).unwrap();
        assert_eq!(second, "second");
    }

    #[test]
    fn a_full_directory_gets_no_more_files() {
        let directory = tempfile::tempdir().unwrap();
        // A sparse file has the size, but occupies no blocks.
        File::create(directory.path().join("old.log"))
            .unwrap()
            .set_len(1 << 30)
            .unwrap();
        let error = create_file(directory.path(), "a").unwrap_err().to_string();
        assert!(error.contains("reached the limit"), "{error}");
        assert!(create_file(Path::new("/proc/none"), "a").is_err());
    }

    #[test]
    fn names_contain_no_separators() {
        assert_eq!(
            file_name(&["baseline", "a/../b"], 1, 2, 0),
            "leg-0-round-2-baseline+a..b-rank-1"
        );
        assert!(file_name(&["x".repeat(200).as_str()], 0, 0, 0).len() < 130);
    }
}

//! Copies a directory with libraries to a volume, so that the workers of a pod can load libraries from another image.
//! Performs I/O.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use crds::file_error::with_remedy;
use snafu::{ResultExt, Snafu, ensure};

/// Maximum total size of all files, in bytes.
pub const MAX_BYTES: u64 = crds::names::MAX_LIBRARY_BYTES;
/// Maximum number of files and directories.
const MAX_ENTRIES: usize = 10_000;
/// Maximum directory depth.
const MAX_DEPTH: usize = 8;

/// Error that prevents a directory from being copied.
#[derive(Debug, Snafu)]
pub enum CopyError {
    /// The operating system reported an error.
    #[snafu(display("{action} {} failed: {}", path.display(), with_remedy(source)))]
    Io {
        /// Operation that failed, such as `copying`.
        action: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// Operating system error.
        source: io::Error,
    },
    /// The directory is too large.
    #[snafu(display(
        "{} contains more than {MAX_ENTRIES} files, more than {} MiB or more than {MAX_DEPTH} levels of directories. Specify \
         the directory that contains only the libraries",
        path.display(),
        MAX_BYTES >> 20
    ))]
    TooLarge {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The directory contains no shared library.
    #[snafu(display(
        "{} contains no shared library (*.so*). Specify the directory of the image that contains the library",
        path.display()
    ))]
    NoLibrary {
        /// Path of the directory.
        path: PathBuf,
    },
}

/// Totals of the files and bytes copied so far.
#[derive(Debug, Default)]
struct CopyTotals {
    bytes: u64,
    entries: usize,
    has_library: bool,
}

/// Copies the files in the directory `from` to the existing directory `to`, including subdirectories with plugins.
///
/// A symbolic link to a file in the same directory remains a link; the targets of other links are copied. Devices and
/// sockets are skipped.
///
/// # Errors
/// Returns an error if the directory has no shared library, is too large, or cannot be copied.
pub fn copy_library(from: &Path, to: &Path) -> Result<(), CopyError> {
    let mut copied = CopyTotals::default();
    let mut pending = vec![(from.to_owned(), to.to_owned(), 0)];
    while let Some((source, target, depth)) = pending.pop() {
        ensure!(depth <= MAX_DEPTH, TooLargeSnafu { path: from });
        let entries = fs::read_dir(&source).context(IoSnafu {
            action: "reading",
            path: &source,
        })?;
        for entry in entries {
            let entry = entry.context(IoSnafu {
                action: "reading",
                path: &source,
            })?;
            let (path, target) = (entry.path(), target.join(entry.file_name()));
            copied.entries += 1;
            ensure!(copied.entries <= MAX_ENTRIES, TooLargeSnafu { path: from });
            let is_library = entry.file_name().to_string_lossy().contains(".so");
            if let Some(sibling) = sibling_link(&path) {
                symlink(&sibling, &target).context(IoSnafu {
                    action: "linking",
                    path: &target,
                })?;
                continue;
            }
            let metadata = match fs::metadata(&path) {
                // The target of a link may be part of another package that the image does not contain.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                read => read.context(IoSnafu {
                    action: "reading",
                    path: &path,
                })?,
            };
            if metadata.is_dir() {
                let created = DirBuilder::new().mode(0o755).create(&target);
                created.context(IoSnafu {
                    action: "creating",
                    path: &target,
                })?;
                pending.push((path, target, depth + 1));
            } else if metadata.is_file() {
                copied.bytes = copied.bytes.saturating_add(metadata.len());
                ensure!(copied.bytes <= MAX_BYTES, TooLargeSnafu { path: from });
                copy_file(&path, &target)?;
                copied.has_library |= is_library;
            }
        }
    }
    ensure!(copied.has_library, NoLibrarySnafu { path: from });
    Ok(())
}

/// Target of a symbolic link to an existing file in the same directory; `None` for anything else.
fn sibling_link(path: &Path) -> Option<PathBuf> {
    let target = fs::read_link(path).ok()?;
    let mut components = target.components();
    let is_name = matches!(components.next(), Some(Component::Normal(_))) && components.next().is_none();
    let exists = path.parent()?.join(&target).is_file();
    (is_name && exists).then_some(target)
}

fn copy_file(from: &Path, to: &Path) -> Result<(), CopyError> {
    fs::copy(from, to).context(IoSnafu {
        action: "copying",
        path: from,
    })?;
    let readable = fs::set_permissions(to, Permissions::from_mode(0o755));
    readable.context(IoSnafu {
        action: "changing the mode of",
        path: to,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_links_and_subdirectories_are_copied() {
        let (from, to, elsewhere) = (
            tempfile::tempdir().unwrap(),
            tempfile::tempdir().unwrap(),
            tempfile::tempdir().unwrap(),
        );
        let file = |path: &str, text: &str| fs::write(from.path().join(path), text).unwrap();
        fs::create_dir(from.path().join("ucx")).unwrap();
        file("libucp.so.0.0.0", "library");
        file("ucx/libuct_ib.so.0", "plugin");
        fs::write(elsewhere.path().join("other"), "other").unwrap();
        symlink("libucp.so.0.0.0", from.path().join("libucp.so.0")).unwrap();
        symlink("/nowhere/libx.so", from.path().join("libx.so")).unwrap();
        symlink(elsewhere.path().join("other"), from.path().join("libother.so")).unwrap();
        copy_library(from.path(), to.path()).unwrap();
        let read = |path: &str| fs::read_to_string(to.path().join(path)).unwrap();
        assert_eq!(read("libucp.so.0"), "library");
        assert_eq!(
            fs::read_link(to.path().join("libucp.so.0")).unwrap(),
            Path::new("libucp.so.0.0.0")
        );
        assert_eq!(read("ucx/libuct_ib.so.0"), "plugin");
        assert_eq!(read("libother.so"), "other");
        assert!(
            fs::symlink_metadata(to.path().join("libother.so"))
                .unwrap()
                .is_file()
        );
        assert!(!to.path().join("libx.so").exists());
        let mode = fs::metadata(to.path().join("libucp.so.0.0.0"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn rejects_a_directory_without_a_library_or_with_a_loop() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(from.path().join("README"), "").unwrap();
        let error = copy_library(from.path(), to.path()).unwrap_err().to_string();
        assert!(error.contains("contains no shared library"), "{error}");
        symlink(from.path(), from.path().join("loop")).unwrap();
        let to = tempfile::tempdir().unwrap();
        let error = copy_library(from.path(), to.path()).unwrap_err().to_string();
        assert!(error.contains("levels of directories"), "{error}");
        let error = copy_library(Path::new("/nowhere/lib"), to.path())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("reading /nowhere/lib failed: no such file"),
            "{error}"
        );
    }
}

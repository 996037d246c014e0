//! Identifies the libibverbs that this binary is linked with.

use shared_library::{Definition, LoadedFile, OpenError, Scope, Source};

const DEFINITION: Definition = Definition {
    project: "rdma-core",
    file_name: "libibverbs.so.1",
    oldest: "44",
    installer_directories: &[],
    scope: Scope::Local,
};

/// Returns the file that the library was loaded from.
///
/// # Errors
///
/// Returns an error if the loader does not report the file, or the file cannot be read.
pub(crate) fn identity() -> Result<LoadedFile, OpenError> {
    // The library is already loaded, so this does not load another one.
    let loaded = DEFINITION.open(&Source::Search)?;
    loaded.file_of(loaded.require(c"ibv_open_device", None)?)
}

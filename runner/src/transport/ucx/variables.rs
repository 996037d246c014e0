//! Lists the settings of a UCX library and of its modules. Loads the library and the modules.

use std::path::Path;

use ucx_sys::{Library, Source};

use super::ffi;

/// Settings of a UCX library, as it prints them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSettings {
    /// Release of the library.
    pub version: String,
    /// All settings with their effective values, one `NAME=VALUE` per line.
    pub list: String,
    /// Log line that names the variables in the environment that no setting uses. Empty if there are none, or if the
    /// log level suppresses it.
    pub warning: String,
}

/// Opens the library `library` and its `modules`, and lists their settings. UCX loads its modules when a context is
/// created; opening them registers their settings. A module that cannot be opened has no settings. `None` if the library
/// cannot be opened or does not list its settings.
///
/// The library must not be in use by another thread.
pub fn list_settings(library: &Path, modules: &[String]) -> Option<ListedSettings> {
    let library = Library::open(&Source::Path(library.into())).ok()?;
    for module in modules {
        ffi::open_module(module);
    }
    let (list, warning) = ffi::print_settings(&library)?;
    Some(ListedSettings {
        version: library.identity().version.to_string(),
        list,
        warning,
    })
}

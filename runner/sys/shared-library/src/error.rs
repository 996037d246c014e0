//! Errors that occur when a library is opened, each with a suggested fix.

use snafu::Snafu;
use std::path::PathBuf;

/// Error from opening a library.
#[derive(Debug, Snafu)]
#[snafu(visibility(pub))]
pub enum OpenError {
    /// None of the searched locations contains the file.
    #[snafu(display(
        "{file_name} not found; searched: {}. Install {project}, or specify the directory that contains it",
        searched.join(", ")
    ))]
    NotFound {
        /// File name of the library.
        file_name: &'static str,
        /// Name of the project that provides the library.
        project: &'static str,
        /// Searched locations, in order.
        searched: Vec<String>,
    },

    /// The file could not be read.
    #[snafu(display("cannot read {}: {source}", path.display()))]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error from the file system.
        source: std::io::Error,
    },

    /// The file is not a shared library.
    #[snafu(display("{} is not a shared library: {detail}", path.display()))]
    NotALibrary {
        /// Path of the file.
        path: PathBuf,
        /// Why the file is not a shared library.
        detail: String,
    },

    /// The library is built for a different CPU architecture than this binary.
    #[snafu(display(
        "{} is built for {found}, but this binary is built for {}: use the image for this CPU architecture",
        path.display(),
        std::env::consts::ARCH
    ))]
    WrongArchitecture {
        /// Path of the file.
        path: PathBuf,
        /// Architecture of the file.
        found: String,
    },

    /// The library is built against musl (Alpine), which cannot share a process with glibc.
    #[snafu(display(
        "{library} is built for musl (Alpine Linux), but this binary needs glibc: use an image based on Debian, \
         Ubuntu, RHEL or Amazon Linux"
    ))]
    Musl {
        /// Path of the file, or the loader's message if the loader selected the file.
        library: String,
    },

    /// The dynamic loader rejected the library, usually because one of its dependencies is missing.
    #[snafu(display(
        "the dynamic loader rejected {library}: {message}. If a dependency is missing, install it or add its \
         directory to LD_LIBRARY_PATH"
    ))]
    LoadFailed {
        /// Name or path that was passed to the loader.
        library: String,
        /// Message from the loader.
        message: String,
    },

    /// A function is missing, so the file is an older release or a different library with the same file name.
    #[snafu(display("{library} has no function {symbol}: it is not {project} {required} or later"))]
    SymbolMissing {
        /// Name or path that was passed to the loader.
        library: String,
        /// Function, with its symbol version if the library has symbol versions.
        symbol: String,
        /// Name of the project that provides the library.
        project: &'static str,
        /// Oldest release that is accepted.
        required: &'static str,
    },

    /// The library is older than the headers that the bindings were generated from.
    #[snafu(display("{} is {project} {found}; {required} or later is required", path.display()))]
    TooOld {
        /// Path of the file.
        path: PathBuf,
        /// Name of the project that provides the library.
        project: &'static str,
        /// Release of the library.
        found: String,
        /// Oldest release that is accepted.
        required: &'static str,
    },
}

//! Why a library could not be opened, in words that say what to do.

use super::version::Version;
use snafu::Snafu;
use std::path::PathBuf;

/// Why [`super::Library::open`] gave no library.
#[derive(Debug, Snafu)]
#[snafu(visibility(pub(super)))]
pub enum OpenError {
    /// No file of that name where it was looked for.
    #[snafu(display(
        "libfabric.so.1 not found; looked in: {}. Install libfabric, or name the folder that holds it",
        looked_in.join(", ")
    ))]
    NotFound {
        /// Every place that was tried, in order.
        looked_in: Vec<String>,
    },

    /// The file could not be read.
    #[snafu(display("cannot read {}: {source}", path.display()))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },

    /// The file is not a shared library.
    #[snafu(display("{} is not a shared library: {detail}", path.display()))]
    NotALibrary {
        /// The file.
        path: PathBuf,
        /// What its header says instead.
        detail: String,
    },

    /// Built for another processor than this program.
    #[snafu(display(
        "{} is built for {found}, and this program for {}: use the image of this processor",
        path.display(),
        std::env::consts::ARCH
    ))]
    WrongArchitecture {
        /// The file.
        path: PathBuf,
        /// What it is built for.
        found: String,
    },

    /// Built against musl (Alpine): it cannot live in one process with glibc.
    #[snafu(display(
        "{library} is built for musl (Alpine Linux), and this program needs glibc: use an image based on Debian, \
         Ubuntu, RHEL or Amazon Linux"
    ))]
    Musl {
        /// The file, or the loader's message where the loader chose it.
        library: String,
    },

    /// The dynamic loader refused it, mostly for a library that it needs in turn.
    #[snafu(display(
        "the dynamic loader refused {library}: {message}. Where a library it needs is missing, install that or add its \
         folder to LD_LIBRARY_PATH"
    ))]
    Refused {
        /// What was asked for.
        library: String,
        /// The loader's own words.
        message: String,
    },

    /// A function is missing: something else calls itself libfabric.so.1.
    #[snafu(display("{library} has no function {symbol}: it is not a libfabric of 1.17 or later"))]
    SymbolMissing {
        /// What was opened.
        library: String,
        /// The function and its symbol version.
        symbol: String,
    },

    /// Older than the headers that the bindings come from.
    #[snafu(display("{} is libfabric {found}; {wanted} or later is needed", path.display()))]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its `fi_version`.
        found: Version,
        /// The oldest that is accepted.
        wanted: Version,
    },
}

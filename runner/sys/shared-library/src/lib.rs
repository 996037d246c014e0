//! Opens a fabric library at run time: finds the file, checks its ELF metadata, passes it to the dynamic loader,
//! resolves its functions, and identifies the file that was loaded. Opening a library loads code into the process and
//! runs the library's constructors.
//!
//! An opened library stays loaded until the process exits, because fabric libraries run threads and register exit
//! handlers whose code must stay mapped.

mod elf;
mod error;
mod load;

pub use error::{OpenError, TooOldSnafu};
pub use load::{Definition, LoadedFile, LoadedLibrary, Scope, Source};

//! Which library the prefix of an environment variable belongs to. Performs no I/O.

use crds::libraries::{LIBFABRIC, Library, UCX};

/// Library that reads the variables with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// libfabric, which lists its variables.
    Libfabric,
    /// UCX, which lists its variables.
    Ucx,
    /// Library that only contains the names of its variables.
    Named(&'static Library),
}

impl Owner {
    /// Owner of the variable `name`; `None` if its prefix belongs to none of the known libraries.
    pub(super) fn of_variable(name: &str) -> Option<Self> {
        Library::of_variable(name).map(|library| match library {
            library if *library == LIBFABRIC => Self::Libfabric,
            library if *library == UCX => Self::Ucx,
            library => Self::Named(library),
        })
    }

    /// Whether the variable `name` belongs to the library.
    pub(super) fn owns(self, name: &str) -> bool {
        Self::of_variable(name) == Some(self)
    }

    fn library(self) -> &'static Library {
        match self {
            Self::Libfabric => &LIBFABRIC,
            Self::Ucx => &UCX,
            Self::Named(library) => library,
        }
    }

    /// Name of the project.
    pub(super) fn project(self) -> &'static str {
        self.library().project
    }

    /// Whether the file with the name `file_name` belongs to the library.
    pub(super) fn has_file(self, file_name: &str) -> bool {
        self.library().has_file(file_name)
    }

    /// Whether the library contains the names of all its variables as they are.
    pub(super) fn contains_names(self) -> bool {
        matches!(self, Self::Named(_))
    }
}

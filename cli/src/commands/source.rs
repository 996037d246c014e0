//! Location of a run: an output directory, or a namespace and a name in a cluster.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use campaign::validate::{MAX_LABEL, is_label};
use operator::run_controller::RunKey;

/// Location of a run, as given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Output directory of `fabricbench run`.
    Directory(PathBuf),
    /// BenchmarkRun in the current kubeconfig context.
    Cluster(RunKey),
}

impl FromStr for Source {
    type Err = Infallible;

    /// Parses `text` as a directory if that path or the directory before its `/` exists, so that a mistyped path is not
    /// searched in a cluster, or if `text` is not a valid `NAMESPACE/NAME`.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let directory = PathBuf::from(text);
        Ok(match text.split_once('/') {
            Some((namespace, name))
                if !Path::new(namespace).exists()
                    && is_label(namespace, MAX_LABEL)
                    && is_label(name, MAX_LABEL) =>
            {
                Self::Cluster(RunKey {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                })
            }
            _ => Self::Directory(directory),
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Cluster(key) => key.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_directories_from_runs_in_a_cluster() {
        let source = |text: &str| text.parse::<Source>().unwrap();
        let run = Source::Cluster(RunKey {
            namespace: "team-a".to_owned(),
            name: "nixl-1".to_owned(),
        });
        assert_eq!(source("team-a/nixl-1"), run);
        let here = tempfile::tempdir().unwrap();
        for directory in [
            "output", "./a/b", "/a/b", "a/b/", "a/b/c", "A/b", "a/.", "-a/b", "",
        ] {
            assert_eq!(
                source(directory),
                Source::Directory(PathBuf::from(directory)),
                "{directory}"
            );
        }
        // The tests run in the directory of the package, which contains this directory.
        assert_eq!(
            source("src/mistyped"),
            Source::Directory(PathBuf::from("src/mistyped"))
        );
        let exists = here.path().to_str().unwrap();
        assert_eq!(source(exists), Source::Directory(PathBuf::from(exists)));
    }
}

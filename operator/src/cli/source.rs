//! Where a finished run is: a folder, or a cluster.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::campaign::validate::is_label;
use crate::run_controller::RunKey;

/// Longest DNS label.
const LONGEST_LABEL: usize = 63;

/// A finished run, as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Output folder of `fabricbench run`.
    Folder(PathBuf),
    /// A BenchmarkRun in the cluster of KUBECONFIG.
    Cluster(RunKey),
}

impl FromStr for Source {
    type Err = Infallible;

    /// What exists is a folder, and so is what cannot be `NAMESPACE/NAME`.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let folder = PathBuf::from(text);
        Ok(match text.split_once('/') {
            Some((namespace, name))
                if !folder.exists()
                    && is_label(namespace, LONGEST_LABEL)
                    && is_label(name, LONGEST_LABEL) =>
            {
                Self::Cluster(RunKey {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                })
            }
            _ => Self::Folder(folder),
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Cluster(key) => key.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_a_run_in_a_cluster_are_told_apart() {
        let source = |text: &str| text.parse::<Source>().unwrap();
        let run = Source::Cluster(RunKey {
            namespace: "team-a".to_owned(),
            name: "nixl-1".to_owned(),
        });
        assert_eq!(source("team-a/nixl-1"), run);
        let here = tempfile::tempdir().unwrap();
        for folder in [
            "output", "./a/b", "/a/b", "a/b/", "a/b/c", "A/b", "a/.", "-a/b", "",
        ] {
            assert_eq!(source(folder), Source::Folder(PathBuf::from(folder)), "{folder}");
        }
        let exists = here.path().to_str().unwrap();
        assert_eq!(source(exists), Source::Folder(PathBuf::from(exists)));
    }
}

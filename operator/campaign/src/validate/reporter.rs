//! Collects the problems of a run.

use super::problem::{Problem, ProblemKind, Problems};

/// Collects a run's problems.
#[derive(Debug, Default)]
pub(super) struct Reporter(Vec<Problem>);

impl Reporter {
    /// Reports a problem, unless it has already been reported, for example for another rate of the same sweep.
    pub(super) fn add(&mut self, path: impl Into<String>, kind: impl Into<ProblemKind>) {
        let problem = Problem {
            path: path.into(),
            kind: kind.into(),
        };
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }

    /// Replaces the path of every problem. Problems that are then identical are reported once.
    pub(super) fn with_paths(self, path: impl Fn(&str) -> String) -> Self {
        let mut renamed = Self::default();
        for problem in self.0 {
            renamed.add(path(&problem.path), problem.kind);
        }
        renamed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_problems(self) -> Problems {
        Problems(self.0)
    }

    /// Reports every name in a list that an earlier entry already has. `field` is the path of the list.
    pub(super) fn unique_names<'a>(&mut self, field: &str, names: impl IntoIterator<Item = &'a str>) {
        let mut seen: Vec<&str> = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            if let Some(first) = seen.iter().position(|known| *known == name) {
                self.add(
                    format!("{field}[{index}].name"),
                    ProblemKind::DuplicateName {
                        name: name.to_owned(),
                        first: format!("{field}[{first}]"),
                    },
                );
            }
            seen.push(name);
        }
    }
}

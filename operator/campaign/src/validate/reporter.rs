//! Collects the problems of a run.

use crds::suggestion::did_you_mean;

use super::problem::{Problem, ProblemKind, Problems};

/// Collects a run's problems.
#[derive(Debug, Default)]
pub(crate) struct Reporter(Vec<Problem>);

impl Reporter {
    /// Reports a problem with its cause and fix, unless it has already been reported, for example for another rate of the
    /// same sweep.
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.add_kind(path, message, ProblemKind::Other);
    }

    /// Reports a problem of a certain kind, unless it has already been reported.
    pub(crate) fn add_kind(
        &mut self,
        path: impl Into<String>,
        message: impl Into<String>,
        kind: ProblemKind,
    ) {
        let problem = Problem {
            path: path.into(),
            message: message.into(),
            kind,
        };
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }

    /// Reports a name that is not `what`, such as a variant. The names in `known` are valid.
    pub(crate) fn unknown_name(&mut self, path: &str, name: &str, what: &str, known: &[String]) {
        let suggestion = did_you_mean(name, known.iter().map(String::as_str));
        let message = match known {
            [] => format!("`{name}` is not {what}, and there is none. Remove it"),
            [only] => format!("`{name}` is not {what}.{suggestion} The only one is {only}"),
            several => format!(
                "`{name}` is not {what}.{suggestion} Use one of {}",
                several.join(", ")
            ),
        };
        self.add_kind(path, message, ProblemKind::UnknownName);
    }

    /// Replaces the path of every problem. Problems that are then identical are reported once.
    pub(crate) fn with_paths(self, path: impl Fn(&str) -> String) -> Self {
        let mut renamed = Self::default();
        for problem in self.0 {
            renamed.add_kind(path(&problem.path), problem.message, problem.kind);
        }
        renamed
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_problems(self) -> Problems {
        Problems(self.0)
    }

    /// Reports every name in a list that an earlier entry already has. `field` is the path of the list.
    pub(crate) fn unique_names<'a>(&mut self, field: &str, names: impl IntoIterator<Item = &'a str>) {
        let mut seen: Vec<&str> = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            if let Some(first) = seen.iter().position(|known| *known == name) {
                self.add(
                    format!("{field}[{index}].name"),
                    format!("`{name}` is already the name of {field}[{first}]. Use a unique name"),
                );
            }
            seen.push(name);
        }
    }
}

//! Finds programs of a plan's commands that are not installed on this machine. Performs I/O: reads the file system.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use campaign::plan::Plan;
use campaign::plan_check::{Note, Severity};

/// Variable with the colon-separated directories of programs.
const SEARCH_PATH: &str = "PATH";

/// A warning for each program of a command that a run on this machine would not find. Empty for arms with images, which
/// contain their own programs.
pub(crate) fn program_notes(plan: &Plan) -> Vec<Note> {
    let arms = || plan.arms.iter().filter(|arm| arm.control.is_none());
    if arms().any(|arm| arm.image.is_some()) {
        return Vec::new();
    }
    let default = env::var_os(SEARCH_PATH).unwrap_or_default();
    let search_paths: BTreeSet<OsString> = arms()
        .map(|arm| match arm.process.env.get(SEARCH_PATH) {
            Some(own) => OsString::from(own),
            None => default.clone(),
        })
        .collect();
    let mut notes = Vec::new();
    for scenario in &plan.scenarios {
        let Some(tool) = scenario.assignment.workload.tool() else {
            continue;
        };
        let programs: BTreeSet<&String> = tool
            .server
            .first()
            .into_iter()
            .chain(tool.client.first())
            .collect();
        for program in programs {
            if !search_paths
                .iter()
                .all(|search_path| is_program(program, search_path))
            {
                notes.push(Note {
                    severity: Severity::Warning,
                    message: missing(&scenario.assignment.name, program),
                });
            }
        }
    }
    notes
}

fn missing(scenario: &str, program: &str) -> String {
    let (problem, remedy) = match program.contains('/') {
        true => ("is not an executable file", "correct its path"),
        false => ("is not in PATH", "set its path"),
    };
    format!(
        "scenario {scenario}: the program {program} {problem} on this machine, so a run here would fail: install it, or \
         {remedy} in the command. In a cluster, it must be in the image"
    )
}

/// Whether `program` is an executable file: a path, or a name in one of the directories of `search_path`.
fn is_program(program: &str, search_path: &OsString) -> bool {
    if program.contains('/') {
        return is_executable(Path::new(program));
    }
    env::split_paths(search_path).any(|directory| is_executable(&directory.join(program)))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_path_or_by_name() {
        let directories = OsString::from("/nonexistent:/bin");
        assert!(is_program("sh", &directories) && is_program("/bin/sh", &directories));
        assert!(!is_program("sh", &OsString::from("/nonexistent")));
        // A directory, and a file that cannot be executed.
        assert!(!is_program("/bin", &directories) && !is_program("/etc/passwd", &directories));
    }
}

//! What the libraries on this machine know about the environment variables of a plan's arms. Starts the runner, which
//! loads the libraries.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use campaign::plan::{Arm, Plan};
use campaign::plan_check::{Note, Severity};
use crds::assignment::InstrumentProcess;
use crds::record::{VariableFacts, VariableKnowledge};

/// Maximum time for the runner to load a library and to answer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of bytes read from its answer.
const MAX_ANSWER_BYTES: u64 = 1 << 20;
/// Variable that contains the colon-separated directories that the dynamic loader searches first.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Notes about the variables in which arms differ from the baseline. `runner` is the path of the runner, or the reason
/// that there is none.
pub(crate) fn variable_notes(plan: &Plan, runner: Result<&Path, String>) -> Vec<Note> {
    let Some(baseline) = plan.arms.get(plan.baseline) else {
        return Vec::new();
    };
    let differing: Vec<(&Arm, Vec<String>)> = plan
        .arms
        .iter()
        .filter(|arm| arm.control.is_none())
        .map(|arm| (arm, differing_names(arm, baseline)))
        .filter(|(_, names)| !names.is_empty())
        .collect();
    if differing.is_empty() {
        return Vec::new();
    }
    let unseen = |reason: String| {
        vec![Note {
            severity: Severity::Notice,
            message: format!(
                "the environment variables of the variants are not checked here, because {reason}. The run itself checks them"
            ),
        }]
    };
    if differing.iter().any(|(arm, _)| arm.image.is_some()) || baseline.image.is_some() {
        return unseen("the libraries are in the images of the workers".to_owned());
    }
    let is_command =
        |scenario: &campaign::plan::PlannedScenario| scenario.assignment.workload.tool().is_some();
    if plan.scenarios.iter().all(is_command) {
        return unseen("the commands load their own libraries".to_owned());
    }
    let runner = match runner {
        Ok(runner) => runner,
        Err(reason) => return unseen(reason),
    };
    let mut notes = Vec::new();
    for (arm, names) in differing {
        match assess(plan, runner, arm, baseline, &names) {
            Ok(found) => notes.extend(found),
            Err(error) => notes.extend(unseen(format!("the runner gave no answer ({error})"))),
        }
    }
    notes
}

/// Names of the variables in which `arm` differs from `baseline`.
fn differing_names(arm: &Arm, baseline: &Arm) -> Vec<String> {
    let (own, reference) = (&arm.process.env, &baseline.process.env);
    let names: BTreeSet<&String> = own.keys().chain(reference.keys()).collect();
    let differs = |name: &&String| own.get(*name) != reference.get(*name);
    names.into_iter().filter(differs).cloned().collect()
}

fn assess(plan: &Plan, runner: &Path, arm: &Arm, baseline: &Arm, names: &[String]) -> io::Result<Vec<Note>> {
    let own = ask(plan, runner, arm, names)?;
    let reference = ask(plan, runner, baseline, names)?;
    let notes = own.iter().zip(&reference).filter_map(|(own, reference)| {
        let is_set = arm.process.env.contains_key(&own.name);
        let message = problem(if is_set { own } else { reference }, own, reference)?;
        Some(Note {
            severity: Severity::Warning,
            message: format!("variant {}: {message}", arm.name),
        })
    });
    Ok(notes.collect())
}

/// Why a variable cannot have an effect; `None` if it may have one. `knowing` are the facts from the arm that sets it.
fn problem(knowing: &VariableFacts, own: &VariableFacts, reference: &VariableFacts) -> Option<String> {
    match knowing.knowledge {
        VariableKnowledge::Unknown | VariableKnowledge::NotLoaded => {
            let suggestion = knowing
                .nearest
                .as_ref()
                .map_or_else(String::new, |nearest| format!("; did you mean {nearest}?"));
            Some(format!("{}{suggestion}", knowing.reason))
        }
        VariableKnowledge::Known if own.effective.is_some() && own.effective == reference.effective => {
            Some(format!(
                "{} changes nothing, because its effective value is {}, as in the baseline",
                own.name,
                own.effective.as_deref().unwrap_or_default()
            ))
        }
        VariableKnowledge::Known | VariableKnowledge::Unassessed => None,
    }
}

/// Starts the runner in the environment of `arm`, and returns its answer.
fn ask(plan: &Plan, runner: &Path, arm: &Arm, names: &[String]) -> io::Result<Vec<VariableFacts>> {
    let InstrumentProcess { env, library, .. } = &arm.process;
    let mut command = Command::new(runner);
    command
        .arg("variables")
        .arg("--transport")
        .arg(serde_json::to_string(plan.transport_of(arm))?)
        .envs(env);
    if let Some(library) = library {
        command.arg("--library").arg(library);
        let mut path = OsString::from(library);
        if let Some(others) = env::var_os(LIBRARY_PATH).filter(|others| !others.is_empty()) {
            path.push(":");
            path.push(others);
        }
        command.env(LIBRARY_PATH, path);
    }
    let mut child = command
        .arg("--")
        .args(names)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.take(MAX_ANSWER_BYTES).read_to_string(&mut text);
        // The receiver is gone after the timeout.
        let _ = sender.send(read.map(|_| text));
    });
    let text = receiver.recv_timeout(TIMEOUT);
    // The answer is complete or not wanted any more; an error means that the process has exited.
    let _ = child.kill();
    child.wait()?;
    let text = text.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    // Libraries may print lines before the answer.
    let line = text.lines().next_back().unwrap_or_default();
    let found: Vec<VariableFacts> = serde_json::from_str(line)?;
    match found.len() == names.len() {
        true => Ok(found),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(knowledge: VariableKnowledge, effective: Option<&str>) -> VariableFacts {
        VariableFacts {
            name: "FI_X".to_owned(),
            knowledge,
            effective: effective.map(str::to_owned),
            nearest: Some("FI_Y".to_owned()),
            reason: "FI_X is not a variable of libfabric".to_owned(),
        }
    }

    #[test]
    fn only_variables_that_cannot_have_an_effect_are_problems() {
        let message = |own: VariableFacts, reference: VariableFacts| problem(&own, &own, &reference);
        let unknown = facts(VariableKnowledge::Unknown, None);
        assert_eq!(
            message(unknown.clone(), unknown).unwrap(),
            "FI_X is not a variable of libfabric; did you mean FI_Y?"
        );
        let known = |value| facts(VariableKnowledge::Known, value);
        assert!(
            message(known(Some("1")), known(Some("1")))
                .unwrap()
                .contains("effective value is 1")
        );
        assert_eq!(message(known(Some("1")), known(Some("2"))), None);
        assert_eq!(message(known(None), known(None)), None);
        let unassessed = facts(VariableKnowledge::Unassessed, None);
        assert_eq!(message(unassessed.clone(), unassessed), None);
    }
}

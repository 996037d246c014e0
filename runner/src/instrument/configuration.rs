//! Configuration of one instrument process: the files that it and its commands loaded, and what they know about the
//! environment variables of the arms. Starts processes that read the files.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crds::record::{ConfigurationRecord, FabricFacts, LoadedFile};

use super::arm::Arm;
use super::open::Opener;
use crate::configuration::query::{Answer, Question, ask, unanswered};
use crate::configuration::{loaded, trace};
use crate::output::bounded;

/// Maximum length of a recorded path, in bytes.
const MAX_PATH_BYTES: usize = 256;
/// Maximum length of the reason for an incomplete list, in bytes.
const MAX_REASON_BYTES: usize = 320;
/// Time after which no further question is asked, and the remaining records say so. The worker waits for at least two minutes.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Records of the process of `opener`, whose open arms are `arms`: one for the process itself, and one for each arm and
/// scenario whose command was traced. The coordinator sets the round and the ranks.
pub(super) fn records(opener: &Opener, arms: &BTreeMap<u32, Box<dyn Arm>>) -> Vec<ConfigurationRecord> {
    let assignment = opener.assignment();
    let names = assignment.assessed_variables.clone().unwrap_or_default();
    let start = Instant::now();
    let own: Vec<(u32, String)> = opener
        .own_arms()
        .filter(|(index, _)| arms.contains_key(index))
        .map(|(index, arm)| (index, arm.name.clone()))
        .collect();
    // All arms of a process use the same transport and settings.
    let Some(facts) = own
        .first()
        .and_then(|(index, _)| arms.get(index))
        .map(|arm| arm.facts())
    else {
        return Vec::new();
    };
    let (files, incomplete) = match loaded::own_files() {
        Ok(files) => (files, None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    let question = Question {
        names: names.clone(),
        files: files.into_iter().filter(|path| !is_runner(path)).collect(),
        incomplete,
        provider: provider_of(&facts),
        opens_libraries: true,
    };
    let settings: Vec<(String, String)> = facts.settings.into_iter().collect();
    let arm_names = own.iter().map(|(_, name)| name.clone()).collect();
    let mut records = vec![record(arm_names, None, &question, ask(&question, &settings))];
    for scenario in &assignment.scenarios {
        for (_, arm) in &own {
            let Some(traced) = trace::files_of(arm, &scenario.name) else {
                continue;
            };
            let mut question = Question {
                names: names.clone(),
                files: traced.files,
                incomplete: traced.incomplete,
                provider: None,
                opens_libraries: true,
            };
            let answer = if start.elapsed() < TIME_LIMIT {
                ask(&question, &[])
            } else {
                let reason = format!(
                    "the files of earlier commands took longer than {} s to read, so the files of this command were not read",
                    TIME_LIMIT.as_secs()
                );
                let answer = unanswered(&question, &reason);
                question.incomplete = Some(reason);
                answer
            };
            records.push(record(
                vec![arm.clone()],
                Some(scenario.name.clone()),
                &question,
                answer,
            ));
        }
    }
    records
}

/// Whether `path` is this binary, which is the same for all arms.
fn is_runner(path: &str) -> bool {
    std::env::current_exe().is_ok_and(|own| own.as_os_str() == path)
}

/// Provider of libfabric; `None` for other libraries.
fn provider_of(facts: &FabricFacts) -> Option<String> {
    let is_libfabric = facts
        .library
        .as_ref()
        .is_some_and(|library| library.name == "libfabric");
    is_libfabric.then(|| facts.provider.clone())
}

fn record(
    arms: Vec<String>,
    scenario: Option<String>,
    question: &Question,
    answer: Answer,
) -> ConfigurationRecord {
    let files = answer.files.into_iter().map(|file| LoadedFile {
        path: bounded(&file.path, MAX_PATH_BYTES),
        ..file
    });
    ConfigurationRecord {
        round: 0,
        restart: 0,
        ranks: Vec::new(),
        arms,
        scenario,
        variables: answer.variables,
        files: files.collect(),
        files_sha256: answer.files_sha256,
        incomplete: question
            .incomplete
            .as_ref()
            .map(|reason| bounded(reason, MAX_REASON_BYTES)),
    }
}

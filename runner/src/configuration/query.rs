//! Asks a separate process about the files that an arm has loaded. Starts the process and waits for it.

use std::env;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crds::record::{LoadedFile, VariableFacts, VariableKnowledge};
use serde::{Deserialize, Serialize};

use crate::process;

/// Maximum time for one query. Large libraries take a few seconds to read.
const QUERY_TIMEOUT: Duration = Duration::from_secs(40);
/// Maximum number of bytes read from the answer.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Subcommand of the process.
const SUBCOMMAND: &str = "assess";

/// Variables that this module overrides for the process, so that their effective values there are not those of the arm.
pub(super) const OVERRIDDEN: [&str; 3] = ["UCX_WARN_UNUSED_ENV_VARS", "UCX_LOG_LEVEL", "UCX_LOG_FILE"];

/// Question about the files that a process has loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Question {
    /// Names of the environment variables to assess.
    pub names: Vec<String>,
    /// Paths of the loaded files.
    pub files: Vec<String>,
    /// Why files may be missing from `files`; `None` if all are known.
    pub incomplete: Option<String>,
    /// libfabric's provider that the process uses, if it is known.
    pub provider: Option<String>,
    /// Whether to open libfabric and UCX to ask for their variables.
    pub opens_libraries: bool,
}

/// Answer to a [`Question`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Answer {
    /// The variables, in the order of the question.
    pub variables: Vec<VariableFacts>,
    /// The files, in the order of the question.
    pub files: Vec<LoadedFile>,
    /// Hash of all files (see `ConfigurationRecord`); `None` if one of them could not be read or is unknown.
    pub files_sha256: Option<String>,
}

/// Asks the question. `settings` are UCX settings, by name without their prefix, that the process applies in addition to
/// the environment. If the process fails while libraries are open, it is asked again without opening them. If that
/// fails, every variable is unassessed.
pub fn ask(question: &Question, settings: &[(String, String)]) -> Answer {
    let without_libraries = Question {
        opens_libraries: false,
        ..question.clone()
    };
    let answer = match ask_once(question, settings) {
        Err(error) if error.kind() != io::ErrorKind::TimedOut => ask_once(&without_libraries, settings),
        answer => answer,
    };
    answer.unwrap_or_else(|error| {
        unanswered(
            question,
            &format!("the process that reads the loaded libraries failed: {error}"),
        )
    })
}

/// Answer that leaves every variable unassessed because of `reason`.
pub fn unanswered(question: &Question, reason: &str) -> Answer {
    let unassessed = |name: &String| VariableFacts {
        name: name.clone(),
        knowledge: VariableKnowledge::Unassessed,
        effective: None,
        nearest: None,
        reason: reason.to_owned(),
    };
    Answer {
        variables: question.names.iter().map(unassessed).collect(),
        ..Answer::default()
    }
}

fn ask_once(question: &Question, settings: &[(String, String)]) -> io::Result<Answer> {
    let mut command = Command::new(env::current_exe()?);
    command.arg(SUBCOMMAND);
    for (name, value) in settings {
        command.env(format!("UCX_{name}"), value);
    }
    let mut child = command
        // UCX writes its warning about unused variables to the log.
        .env(OVERRIDDEN[0], "y")
        .env(OVERRIDDEN[1], "warn")
        .env_remove(OVERRIDDEN[2])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = child
        .stdout
        .take()
        .map(|stdout| process::collect(stdout, MAX_ANSWER_BYTES))
        .transpose()?;
    // The process reads its input before it does anything else.
    if let Some(mut input) = child.stdin.take() {
        serde_json::to_writer(&mut input, question)?;
        input.flush()?;
    }
    let Some(status) = process::wait_until(&mut child, Instant::now() + QUERY_TIMEOUT)? else {
        process::kill(child);
        return Err(io::ErrorKind::TimedOut.into());
    };
    let text = output.map(process::StreamCollector::finish).unwrap_or_default();
    // Libraries may print lines before the answer.
    let answer = text
        .lines()
        .next_back()
        .and_then(|line| serde_json::from_str(line).ok());
    answer.ok_or_else(|| io::Error::other(format!("it {} without an answer", process::describe(status))))
}

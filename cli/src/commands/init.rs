//! `fabricbench init`: writes a commented manifest for a question.

mod dialogue;
mod question;
mod text;

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use campaign::plan_check::{Severity, check};
use clap::Args;
use crds::file_error::with_remedy;
use manifest::Defect;
use operator::terminal::{is_terminal, print};

use super::{Exit, Failure, Input};
use dialogue::Dialogue;
use question::Flags;

/// Write a commented file for a question, which `plan` accepts. Without flags, a terminal asks for the question.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fabricbench init --env FI_EFA_USE_DEVICE_RDMA=1 --on p5\n  \
                        fabricbench init --command 'ib_write_bw -p {port} -s {size}' --on machines\n  \
                        fabricbench init --nodes all --on machines"
)]
pub(super) struct Init {
    #[command(flatten)]
    flags: Flags,
    /// Name of the run. Defaults to what is compared, such as `env`.
    #[arg(long)]
    name: Option<String>,
    /// File to write. Defaults to NAME.yaml.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
}

impl Init {
    pub(super) fn execute(mut self) -> Result<Exit, Failure> {
        if !self.flags.has_subject() && is_terminal() {
            let mut dialogue = Dialogue {
                input: io::stdin().lock(),
                show: &print,
            };
            let asked = dialogue.complete(&mut self.flags);
            asked.map_err(|error| Failure::invalid_input(format!("the answers cannot be read: {error}")))?;
        }
        let (file, text, commands) = self.manifest()?;
        write(&file, &text, self.force)?;
        print(&format!("{} is written. Next:\n{commands}\n", file.display()))?;
        Ok(Exit::Complete)
    }

    /// The command with all its flags.
    fn command_line(&self) -> String {
        let output = self
            .output
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned());
        let own = [("--name", &self.name), ("--output", &output)];
        self.flags.command_line(&own)
    }

    /// The file, its text, which `plan` accepts, and the next commands.
    fn manifest(&self) -> Result<(PathBuf, String, String), Failure> {
        if !self.flags.has_subject() {
            return Err(Failure::invalid_input(
                "nothing to compare. Set --env, --image (twice), --library, --inject, --command or --nodes, and --on for the \
                 place",
            ));
        }
        let question = self.flags.question().map_err(Failure::invalid_input)?;
        let name = self
            .name
            .clone()
            .unwrap_or_else(|| self.flags.default_name().to_owned());
        let file = self
            .output
            .clone()
            .unwrap_or_else(|| PathBuf::from(format!("{name}.yaml")));
        let shown = shlex::try_quote(&file.to_string_lossy()).map(|quoted| quoted.into_owned());
        let shown = shown
            .map_err(|_| Failure::invalid_input("--output: the name of the file contains a NUL character"))?;
        let text = text::manifest(&question, &self.command_line(), &name, &shown);
        validate(&file, &text).map_err(Failure::invalid_input)?;
        let commands = text::commands(&question, &name, &shown, "  ");
        Ok((file, text, commands))
    }
}

/// Plans the text as `plan` does.
fn validate(file: &Path, text: &str) -> Result<(), String> {
    let planned = Input::load_text(file, text).map_err(|defects| {
        let messages = defects.into_iter().map(|defect| match flag(&defect) {
            Some(flag) => format!("{flag}: {}", defect.message),
            None => defect.to_string(),
        });
        messages.collect::<Vec<_>>().join("\n")
    })?;
    let notes = planned.iter().flat_map(|planned| check(&planned.plan));
    let fatal: Vec<String> = notes
        .filter(|note| note.severity == Severity::Fatal)
        .map(|note| note.message)
        .collect();
    match fatal.is_empty() {
        true => Ok(()),
        false => Err(fatal.join("\n")),
    }
}

/// The flag that determines the field with a defect.
fn flag(defect: &Defect) -> Option<&'static str> {
    const FLAGS: [(&str, &str); 10] = [
        (".env", "--env"),
        (".image", "--image"),
        (".library", "--library"),
        (".inject", "--inject"),
        (".command", "--command"),
        (".primaryMetric", "--command"),
        ("transport", "--transport"),
        ("placement.workers", "--nodes"),
        ("metadata.name", "--name"),
        // Variants that are alike.
        ("spec.variants", "--env, --library"),
    ];
    let path = defect.path.as_deref()?;
    FLAGS
        .iter()
        .find(|(part, _)| path.contains(part))
        .map(|(_, flag)| *flag)
}

/// Writes the file at once. An existing file is replaced only if `force` is set.
fn write(file: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let failure = |error: &io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::invalid_input(format!(
            "--output: {} exists. Choose another file, or replace it with --force",
            file.display()
        )),
        _ => Failure::incomplete(format!(
            "--output: cannot write {}: {}",
            file.display(),
            with_remedy(error)
        )),
    };
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    // The mode of a new file, which the umask restricts.
    let mode = Permissions::from_mode(0o666);
    let new = tempfile::Builder::new().permissions(mode).tempfile_in(directory);
    let mut new = new.map_err(|error| failure(&error))?;
    new.write_all(text.as_bytes()).map_err(|error| failure(&error))?;
    let written = match force {
        true => new.persist(file),
        false => new.persist_noclobber(file),
    };
    written.map(drop).map_err(|error| failure(&error.error))
}

#[cfg(test)]
mod tests;

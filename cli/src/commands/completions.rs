//! `fabricbench completions`: shell completions.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use operator::terminal::print;

use super::{Cli, Exit, Failure};

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench completions bash > /etc/bash_completion.d/fabricbench")]
pub(super) struct Completions {
    /// Shell for which to generate completions.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "fabricbench", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Complete)
    }
}

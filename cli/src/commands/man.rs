//! `fabricbench man`: manual pages.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use crds::file_error::with_remedy;

use super::{Cli, Exit, Failure};

/// Write a manual page for each command.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench man /usr/local/share/man/man1 && man fabricbench-run")]
pub(super) struct Man {
    /// Directory for the pages. It is created if it does not exist.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Man {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let failure = |error: std::io::Error| {
            let problem = with_remedy(&error);
            Failure::incomplete(format!("cannot write to {}: {problem}", self.directory.display()))
        };
        fs::create_dir_all(&self.directory).map_err(failure)?;
        clap_mangen::generate_to(Cli::command(), &self.directory).map_err(failure)?;
        Ok(Exit::Complete)
    }
}

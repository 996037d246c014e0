//! `fabricbench man`: the manual pages.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory};

use super::{Cli, Exit, Failure};

/// Write a manual page for each command.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench man /usr/local/share/man/man1 && man fabricbench-run")]
pub(super) struct Man {
    /// Folder for the pages; made where it is missing.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let unwritten =
            |error: std::io::Error| Failure::incomplete(format!("{}: {error}", self.folder.display()));
        fs::create_dir_all(&self.folder).map_err(unwritten)?;
        clap_mangen::generate_to(Cli::command(), &self.folder).map_err(unwritten)?;
        Ok(Exit::Complete)
    }
}

//! `fabricbench report`: what a run measured, in any format.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Exit, Failure, terminal};
use crate::local::FinishedRun;
use crate::report::{Report, csv, html, json, text};

/// Show what a run measured: computed anew from its records.
#[derive(Debug, Args)]
pub(super) struct ReportCommand {
    /// Folder of the run: holds run.json and records.jsonl.
    source: PathBuf,
    /// How it is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// File to write it to, instead of standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Tables for people.
    Text,
    /// Everything, for programs.
    Json,
    /// A row for each scenario, size, arm and metric.
    Csv,
    /// One self-contained page.
    Html,
}

impl ReportCommand {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let finished = FinishedRun::open(&self.source).map_err(Failure::wrong_file)?;
        let text = self.render(&finished.report()).map_err(Failure::incomplete)?;
        match &self.output {
            Some(path) => fs::write(path, text)
                .map_err(|error| Failure::incomplete(format!("{}: {error}", path.display())))?,
            None => std::io::stdout().lock().write_all(text.as_bytes())?,
        }
        Ok(finished.evaluation.overall().into())
    }

    fn render(&self, report: &Report<'_>) -> Result<String, Box<dyn std::error::Error>> {
        Ok(match self.format {
            Format::Text if self.output.is_some() => text::render(report, &text::TextOptions::default()),
            Format::Text => text::render(report, &terminal::text_options(None)),
            Format::Json => json::render(report)?,
            Format::Csv => csv::render(report)?,
            Format::Html => html::render(report)?,
        })
    }
}

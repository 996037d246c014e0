//! `fabricbench report`: reports of a run, computed from its records.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use crds::file_error::with_remedy;
use operator::terminal::print_styled;

use super::imported;
use super::output::{format_of, render};
use super::source::Source;
use super::state_summary::state_summary;
use super::stored::StoredRun;
use super::{Exit, Failure};
use crate::report::{self, Format, StoredReport};

/// Show the report of a run, computed from its records or, if it is imported, from its logs.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench report results/demo-tcp --format html --output report.html")]
pub(super) struct Report {
    /// Output directory of the run, or NAMESPACE/NAME of a run in the current kubeconfig context.
    #[arg(value_name = "RUN")]
    source: Source,
    /// Output format. Defaults to the format of the output file's extension (.html, .json, .csv, .md, .xml, .prom, .txt),
    /// or to text.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Output file. Defaults to standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Report {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let format = match (self.format, &self.output) {
            (Some(format), _) => format,
            (None, None) => Format::TEXT,
            (None, Some(file)) => format_of(file)?,
        };
        if let Some(run) = imported::load(&self.source)? {
            let rendered = render(&run, format, self.output.is_some())?;
            write(self.output.as_deref(), &rendered)?;
            return Ok(Exit::Untrusted);
        }
        let stored = StoredRun::load(&self.source)?;
        let mut summary = state_summary(&stored.run);
        if let (Some(summary), Source::Directory(_)) = (&mut summary, &self.source) {
            // All other values are computed from the records.
            summary.push_str(" (as run.json says; the records do not contain it)");
        }
        let report = StoredReport {
            run: &stored.run,
            report: report::Report {
                plan: &stored.plan,
                evaluation: &stored.evaluation,
            },
            state_summary: summary.as_deref(),
        };
        let rendered = render(&report, format, self.output.is_some())?;
        write(self.output.as_deref(), &rendered)?;
        match stored.evaluation.changed_records {
            Some(change) => Err(Failure::incomplete(change)),
            None => Ok(stored.evaluation.outcome().into()),
        }
    }
}

/// Writes a report to `file`, or to standard output.
fn write(file: Option<&Path>, rendered: &str) -> Result<(), Failure> {
    match file {
        Some(file) => fs::write(file, rendered).map_err(|error| {
            Failure::incomplete(format!(
                "cannot write {}: {}",
                file.display(),
                with_remedy(&error)
            ))
        }),
        None => Ok(print_styled(rendered)?),
    }
}

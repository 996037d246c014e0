//! Reports of imported runs, and comparisons with them. The exit status is 3, because imported values cannot be trusted
//! as much as measured ones.

use operator::terminal::{print, print_json};

use super::output::{ComparisonFormat, ReportFormat, text_options};
use super::source::Source;
use super::stored::StoredRun;
use super::{Exit, Failure};
use crate::imported::{ImportedRun, Side, directory, pairs};
use crate::report::imported;

/// Loads the imported run at `source`; `None` if `source` is not an imported run.
///
/// # Errors
/// Returns an error if the imported run is invalid or was changed.
pub(super) fn load(source: &Source) -> Result<Option<ImportedRun>, Failure> {
    match source {
        Source::Directory(path) if directory::is_imported(path) => {
            directory::load(path).map(Some).map_err(Failure::invalid_input)
        }
        Source::Directory(_) | Source::Cluster(_) => Ok(None),
    }
}

/// Renders a report of `run`.
///
/// # Errors
/// Returns an error if imported runs have no report in this format.
pub(super) fn render(run: &ImportedRun, format: ReportFormat, to_file: bool) -> Result<String, Failure> {
    match format {
        ReportFormat::Text => Ok(imported::text(run, &text_options(to_file))),
        ReportFormat::Json => imported::json(run).map_err(Failure::incomplete),
        ReportFormat::Csv => imported::csv(run).map_err(Failure::incomplete),
        ReportFormat::Html => Ok(imported::html(run)),
        ReportFormat::Openmetrics => Err(Failure::invalid_input(imported::NO_OPENMETRICS)),
        ReportFormat::Markdown => Ok(imported::markdown(run)),
        ReportFormat::Junit => imported::junit(run).map_err(Failure::incomplete),
    }
}

/// Prints a comparison of two runs, at least one of which must be imported; `None` if neither is.
///
/// # Errors
/// Returns an error if a run cannot be loaded, or the runs have no value in common.
pub(super) fn compare(
    first: &Source,
    second: &Source,
    format: ComparisonFormat,
) -> Result<Option<Exit>, Failure> {
    let imported_runs = (load(first)?, load(second)?);
    let (first, second) = match &imported_runs {
        (None, None) => return Ok(None),
        (one, two) => (side(one.as_ref(), first)?, side(two.as_ref(), second)?),
    };
    let pairs = pairs(&first, &second).map_err(Failure::invalid_input)?;
    match format {
        ComparisonFormat::Text => {
            let text = imported::comparison_text(&first, &second, &pairs, &text_options(false));
            print(&text)?;
        }
        ComparisonFormat::Json => {
            let document = imported::comparison_json(&first, &second, &pairs);
            print_json(&document)?;
        }
    }
    Ok(Some(Exit::Untrusted))
}

fn side(imported: Option<&ImportedRun>, source: &Source) -> Result<Side, Failure> {
    match imported {
        Some(run) => Ok(Side::from_imported(run)),
        None => {
            let stored = StoredRun::load_complete(source)?;
            Ok(Side::from_measured(&stored.plan, &stored.evaluation))
        }
    }
}

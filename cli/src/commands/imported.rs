//! Imported runs, and comparisons with them. The exit status is 3, because imported values cannot be trusted
//! as much as measured ones.

use operator::terminal::print_styled;

use super::output::render;
use super::source::Source;
use super::stored::StoredRun;
use super::{Exit, Failure};
use crate::imported::{ImportedRun, Side, directory, pairs};
use crate::report::Format;
use crate::report::imported::UncontrolledComparison;

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

/// Prints a comparison of two runs, at least one of which must be imported; `None` if neither is.
///
/// # Errors
/// Returns an error if a run cannot be loaded, or the runs have no value in common.
pub(super) fn compare(first: &Source, second: &Source, format: Format) -> Result<Option<Exit>, Failure> {
    let imported_runs = (load(first)?, load(second)?);
    let (first, second) = match &imported_runs {
        (None, None) => return Ok(None),
        (one, two) => (side(one.as_ref(), first)?, side(two.as_ref(), second)?),
    };
    let pairs = pairs(&first, &second).map_err(Failure::invalid_input)?;
    let compared = UncontrolledComparison {
        first: &first,
        second: &second,
        pairs: &pairs,
    };
    print_styled(&render(&compared, format, false)?)?;
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

//! HTML report: a single file with embedded styles and SVG plots, without scripts or external resources. The template
//! escapes all text that comes from a run.

mod environment;
mod factors;
mod isolated;
mod legend;
mod page;
mod plot;
mod result_tables;
mod scenario;
mod serving;
mod sweeps;
mod verdicts;

use crds::printable::printable;
use snafu::Snafu;

use super::Report;

pub(super) use page::head;

/// Error rendering a report.
#[derive(Debug, Snafu)]
pub enum HtmlError {
    /// A plot could not be drawn.
    #[snafu(display("cannot draw the plots of scenario {scenario:?}: {reason}"))]
    Plot {
        /// Name of the scenario.
        scenario: String,
        /// Error from the plotting library.
        reason: String,
    },
}

/// Renders the report as one HTML file.
///
/// # Errors
/// Returns an error if a plot cannot be drawn, which does not happen with finite values.
pub fn render(report: &Report<'_>) -> Result<String, HtmlError> {
    let mut scenarios = Vec::new();
    for index in 0..report.plan.scenarios.len() {
        scenarios.push(scenario::section(report, index)?);
    }
    let sections = [sweeps::section(report)?, serving::scaling(report)?];
    let page = page::page(report, sections, scenarios).into_string();
    Ok(printable(&page).into_owned())
}

/// Converts a drawn plot to markup. Errors name `scenario`.
fn plot_markup(
    scenario: &str,
    svg: Result<String, plot::DrawError>,
) -> Result<maud::PreEscaped<String>, HtmlError> {
    let svg = svg
        .map_err(|error| error.to_string())
        .map_err(|reason| HtmlError::Plot {
            scenario: scenario.to_owned(),
            reason,
        })?;
    Ok(maud::PreEscaped(svg))
}

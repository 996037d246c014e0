//! The report for a browser: one file with its styles and plots in it, no scripts, nothing fetched from elsewhere.
//! All text that comes from a run is escaped by the template.

mod answers;
mod environment;
mod figures_table;
mod page;
mod plot;
mod scenario;

use snafu::Snafu;

use super::Report;

/// Why a report cannot be drawn.
#[derive(Debug, Snafu)]
pub enum HtmlError {
    /// A plot failed.
    #[snafu(display("the plot \"{what}\" cannot be drawn: {reason}"))]
    Plot {
        /// Which.
        what: String,
        /// What the plotting library says.
        reason: String,
    },
}

/// The report as one HTML file.
///
/// # Errors
/// When a plot cannot be drawn, which no finite figure causes.
pub fn render(report: &Report<'_>) -> Result<String, HtmlError> {
    let mut scenarios = Vec::new();
    for index in 0..report.plan.scenarios.len() {
        scenarios.push(scenario::section(report, index)?);
    }
    Ok(page::page(report, scenarios).into_string())
}

/// Draws one plot: names it in the error.
fn drawn(what: &str, svg: Result<String, plot::DrawError>) -> Result<maud::PreEscaped<String>, HtmlError> {
    let svg = svg
        .map_err(|error| error.to_string())
        .map_err(|reason| HtmlError::Plot {
            what: what.to_owned(),
            reason,
        })?;
    Ok(maud::PreEscaped(svg))
}

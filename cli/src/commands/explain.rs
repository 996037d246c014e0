//! `fabricbench explain`: definitions of the measured quantities.

use clap::Args;
use crds::quantity::{Quantity, Unit};
use crds::suggestion::did_you_mean;
use operator::metrics::results::series_of;
use operator::terminal::print;

use super::{Exit, Failure};

/// Explain a measured quantity, or list all of them.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench explain latencyP99Nanos")]
pub(super) struct Explain {
    /// Name of the quantity, as in status.results[].values. Without it, all quantities are listed.
    quantity: Option<String>,

    /// Print the list as a Markdown table.
    #[arg(long, conflicts_with = "quantity")]
    markdown: bool,
}

impl Explain {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let text = match &self.quantity {
            Some(name) => entry(find(name)?),
            None if self.markdown => table(),
            None => list(),
        };
        print(&text)?;
        Ok(Exit::Complete)
    }
}

fn find(name: &str) -> Result<Quantity, Failure> {
    Quantity::from_name(name).ok_or_else(|| {
        let names = Quantity::ALL.map(Quantity::name);
        let suggestion = did_you_mean(name, names);
        Failure::invalid_input(format!(
            "`{name}` is not a quantity.{suggestion} Run `fabricbench explain` for a list"
        ))
    })
}

fn unit(quantity: Quantity) -> &'static str {
    match quantity.definition().unit {
        Unit::Nanos => "ns",
        Unit::Bytes => "bytes",
        Unit::PerSecond => "1/s",
        Unit::NanosPerGib => "ns/GiB",
        Unit::Ppm => "millionths",
        Unit::Percent => "%",
        Unit::Count => "",
    }
}

fn entry(quantity: Quantity) -> String {
    let definition = quantity.definition();
    let unit = match unit(quantity) {
        "" => "a number",
        unit => unit,
    };
    format!(
        "{quantity}: {}\n\nunit        {unit}\nstatus      .status.results[*].values.{quantity}\nCSV column  {}\nPrometheus  {}\n",
        definition.help,
        quantity.column(),
        series_of(quantity),
    )
}

fn list() -> String {
    let longest = Quantity::ALL.iter().map(|quantity| quantity.name().len()).max();
    let width = longest.unwrap_or(0);
    let lines = Quantity::ALL.map(|quantity| {
        let help = quantity.definition().help;
        format!("{:<width$}  {help}\n", quantity.name())
    });
    lines.concat()
}

/// The table of docs/quantities.md.
fn table() -> String {
    let rows = Quantity::ALL.map(|quantity| {
        let help = quantity.definition().help;
        format!(
            "| `{quantity}` | {} | {help} | `{}` |\n",
            unit(quantity),
            series_of(quantity)
        )
    });
    format!(
        "| quantity | unit | definition | Prometheus |\n| --- | --- | --- | --- |\n{}",
        rows.concat()
    )
}

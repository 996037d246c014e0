//! `fabricbench explain`: definitions of the fields of the resource and of the measured quantities.

use clap::Args;
use crds::quantity::{Combination, Observation, Quantity, Statistic, Unit};
use crds::suggestion::did_you_mean;
use manifest::{Field, UnknownField};
use operator::metrics::results::{metric_of, series_of};
use operator::terminal::print;
use serde_json::{Value, json};

use super::{Exit, Failure};

/// Explain a field of a BenchmarkRun or a measured quantity, or list all quantities.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fabricbench explain spec.variants[].inject\n  fabricbench explain sampling.rounds\n  \
                        fabricbench explain latencyP99Nanos"
)]
pub(super) struct Explain {
    /// Path of a field, in which `spec.` may be omitted, or name of a quantity, as in status.results[].values. Without it,
    /// all quantities are listed.
    name: Option<String>,

    /// Print the list as Markdown tables.
    #[arg(long, conflicts_with = "name")]
    markdown: bool,

    /// Print the list as JSON, with the Prometheus metric and label of each quantity.
    #[arg(long, conflicts_with_all = ["name", "markdown"])]
    json: bool,
}

impl Explain {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let text = match &self.name {
            Some(name) => explanation(name)?,
            None if self.markdown => tables(),
            None if self.json => json(),
            None => list(),
        };
        print(&text)?;
        Ok(Exit::Complete)
    }
}

fn explanation(name: &str) -> Result<String, Failure> {
    let quantity = name
        .rsplit_once(".values.")
        .map_or(name, |(_, quantity)| quantity);
    match Quantity::from_name(quantity) {
        Some(quantity) => Ok(entry(quantity)),
        None => match Field::find(name) {
            Ok(field) => Ok(field.explain()),
            Err(unknown) => Err(Failure::invalid_input(message(unknown))),
        },
    }
}

/// Message for a name that is neither a field nor a quantity.
fn message(unknown: UnknownField) -> String {
    let UnknownField {
        object,
        name,
        mut known,
        elsewhere,
    } = unknown;
    let subject = match &object {
        Some(object) => format!("{object} has no field `{name}`."),
        None => {
            known.extend(Quantity::ALL.map(Quantity::name));
            format!("`{name}` is neither a field of a BenchmarkRun nor a quantity.")
        }
    };
    let meant = did_you_mean(&name, known);
    let elsewhere = match elsewhere.as_slice() {
        [] => String::new(),
        paths => format!(" Fields with this name: {}.", paths.join(", ")),
    };
    let fields = object.unwrap_or_else(|| "spec".to_owned());
    format!(
        "{subject}{meant}{elsewhere} Run `fabricbench explain {fields}` for its fields, or `fabricbench explain` for the quantities"
    )
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

/// The list that the dashboards read, charts/dashboards/quantities.json.
fn json() -> String {
    let entries = Quantity::ALL.map(|quantity| {
        let (metric, label) = metric_of(quantity);
        json!({
            "quantity": quantity.name(),
            "unit": unit(quantity),
            "help": quantity.definition().help,
            "metric": metric,
            "label": label.map(|(name, value)| json!({"name": name, "value": value})),
        })
    });
    format!("{:#}\n", Value::from_iter(entries))
}

/// The tables of docs/quantities.md.
fn tables() -> String {
    let rows = Quantity::ALL.map(|quantity| {
        let help = quantity.definition().help;
        format!(
            "| `{quantity}` | {} | {help} | `{}` |\n",
            unit(quantity),
            series_of(quantity)
        )
    });
    let observations = Observation::ALL.map(|observation| {
        let definition = observation.definition();
        let field = definition.field.replace('/', ".");
        format!(
            "| `{field}` | {} | {} |\n",
            definition.help,
            computed(observation)
        )
    });
    format!(
        "| quantity | unit | definition | Prometheus |\n| --- | --- | --- | --- |\n{}\n## Observations\n\n\
         | field of `posted` of the initiator | definition | quantities |\n| --- | --- | --- |\n{}",
        rows.concat(),
        observations.concat()
    )
}

/// Text that says how quantities are computed from an observation.
fn computed(observation: Observation) -> String {
    let quantities = Quantity::ALL.into_iter().filter_map(|quantity| {
        let source = quantity.definition().source?;
        let statistic = match source.statistic {
            Statistic::Median => "median",
            Statistic::P99 => "99th percentile",
            Statistic::Max => "maximum",
        };
        (source.observation == observation).then(|| format!("`{quantity}`: {statistic}"))
    });
    let quantities: Vec<String> = quantities.collect();
    let of = match observation.definition().combination {
        Combination::Distribution => "of the pooled samples of all valid cases",
        Combination::LongestThread => "over the rounds of the median over the pairs",
    };
    format!("{} {of}", quantities.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_fields_and_quantities() {
        for (name, expected) in [
            ("sampling.rounds", "spec.sampling.rounds: Number of rounds."),
            ("latencyP99Nanos", "latencyP99Nanos: 99th percentile of latency"),
            (
                ".status.results[*].values.latencyP99Nanos",
                "latencyP99Nanos: 99th percentile of latency",
            ),
        ] {
            let text = explanation(name).unwrap();
            assert!(text.starts_with(expected), "{name}: {text}");
        }
    }

    #[test]
    fn suggests_fields_and_quantities_for_unknown_names() {
        for (name, expected) in [
            (
                "spec.samplng.rounds",
                "spec has no field `samplng`. Did you mean `sampling`?",
            ),
            (
                "samplng",
                "`samplng` is neither a field of a BenchmarkRun nor a quantity. Did you mean `sampling`?",
            ),
            ("latencyP99Nans", "Did you mean `latencyP99Nanos`?"),
            ("rounds", "Fields with this name: spec.sampling.rounds."),
            (
                "spec.sampling.inject",
                "Fields with this name: spec.factors.inject, spec.variants[].inject.",
            ),
            (
                "variants.inject.most",
                "Run `fabricbench explain spec.variants[].inject` for its fields",
            ),
            ("", "`` is neither"),
        ] {
            let failure = explanation(name).unwrap_err();
            assert_eq!(failure.exit, Exit::InvalidInput);
            let message = failure.to_string();
            assert!(message.contains(expected), "{name}: {message}");
        }
    }

    fn read(path: &str) -> String {
        let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        std::fs::read_to_string(workspace.join(path)).unwrap()
    }

    #[test]
    fn the_dashboard_and_the_documentation_contain_every_quantity() {
        let board = read("charts/fabricbench/dashboards/campaign.json");
        let queries: Vec<&str> = board.lines().filter(|line| line.contains("\"expr\": ")).collect();
        let page = read("docs/quantities.md");
        for quantity in Quantity::ALL {
            let (metric, label) = metric_of(quantity);
            let label = label.map_or_else(String::new, |(name, value)| format!(r#", {name}=\"{value}\"}}"#));
            let is_selected =
                |query: &&str| query.contains(&format!("({metric}{{")) && query.contains(&label);
            assert!(queries.iter().any(is_selected), "{quantity}");
            assert!(page.contains(&format!("| `{quantity}` | ")), "{quantity}");
        }
    }
}

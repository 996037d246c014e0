//! `fabricbench import`: creates a run from existing logs of a benchmark tool.

use std::ffi::OsStr;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use campaign::validate::{MAX_LABEL, is_label};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};
use command_output::check_pattern;
use crds::deserialization::from_value;
use crds::printable::printable_line;
use crds::units::Size;
use crds::v1alpha1::{CommandPattern, CommandTool, RateUnit, TimeUnit};
use jiff::Timestamp;
use operator::terminal::print;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::output::text_options;
use super::{Exit, Failure};
use crate::imported::directory::{self, LogFile};
use crate::imported::{ImportedRun, MAX_LOGS, MAX_VARIANTS, Manifest, StoredLog};
use crate::imported::{ManifestKind, ManifestStatus};
use crate::report::text::{self, TextOptions};
use crate::report::{Subject, html};

/// Create a run from existing logs of a benchmark tool, to report and compare the values that the tool printed.
///
/// fabricbench did not control the measurement, so the run has no verdicts, and the exit status of `report` and
/// `compare` is 3. Each log must be the complete output of one run of the tool.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples: fabricbench import all_reduce.log --tool NcclTests --name all-reduce
          fabricbench import --tool Perftest --variant old=1.log --variant old=2.log --variant new=3.log --name drivers"
)]
pub(super) struct Import {
    /// Logs of one variant, each from one run of the tool.
    #[arg(
        value_name = "FILE",
        required_unless_present = "variants",
        conflicts_with = "variants"
    )]
    files: Vec<PathBuf>,
    /// Tool that produced the logs.
    #[arg(long, value_name = "TOOL", ignore_case = true, value_parser = parse_named::<CommandTool>(TOOLS))]
    tool: CommandTool,
    /// Log file and the variant that it belongs to. May be repeated; several logs of one variant come from repeated
    /// runs of the tool. The other variants are compared with the first one.
    #[arg(long = "variant", value_name = "NAME=FILE")]
    variants: Vec<VariantLog>,
    /// Name of the run.
    #[arg(long, default_value = "imported")]
    name: String,
    /// Size of a message or transfer in all logs, for tools that do not print it, such as 64 or 1Mi.
    #[arg(long, value_parser = parse_size)]
    size: Option<Size>,
    /// Regular expression that matches the result lines; only for --tool Regex. It needs a named group `latency` or
    /// `bandwidth`, and a group `size` if the lines contain the size in bytes.
    #[arg(long, value_name = "REGEX")]
    expression: Option<String>,
    /// Unit of the `latency` group.
    #[arg(long, value_name = "UNIT", requires = "expression", value_parser = parse_named::<TimeUnit>(TIME_UNITS))]
    latency_unit: Option<TimeUnit>,
    /// Unit of the `bandwidth` group, per second.
    #[arg(long, value_name = "UNIT", requires = "expression", value_parser = parse_named::<RateUnit>(RATE_UNITS))]
    bandwidth_unit: Option<RateUnit>,
    /// Directory for the results.
    #[arg(long, value_name = "DIR", default_value = "fabricbench-output")]
    output: PathBuf,
}

/// Log file with the name of its variant.
#[derive(Clone, Debug)]
struct VariantLog {
    variant: String,
    file: PathBuf,
}

/// Name of the variant if only files are specified.
const ONLY_VARIANT: &str = "imported";

impl FromStr for VariantLog {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = text
            .split_once('=')
            .ok_or("use the form NAME=FILE, for example baseline=first.log")?;
        check_name(name)?;
        if file.is_empty() {
            return Err("the file is missing; use the form NAME=FILE".to_owned());
        }
        Ok(Self {
            variant: name.to_owned(),
            file: PathBuf::from(file),
        })
    }
}

fn check_name(name: &str) -> Result<(), String> {
    match is_label(name, MAX_LABEL) {
        true => Ok(()),
        false => Err(format!(
            "`{name}` is not a valid name: use 1 to {MAX_LABEL} lowercase letters, digits and hyphens, with a letter or a \
             digit at both ends"
        )),
    }
}

/// Parser of values by their names in the resource.
#[derive(Clone)]
struct Named<T> {
    names: &'static [&'static str],
    value: PhantomData<fn() -> T>,
}

/// Returns a parser that accepts a value by its name in the resource. Case is ignored if the argument ignores case.
fn parse_named<T>(names: &'static [&'static str]) -> Named<T> {
    Named {
        names,
        value: PhantomData,
    }
}

impl<T: DeserializeOwned + Clone + Send + Sync + 'static> TypedValueParser for Named<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let names = self.names;
        let ignores_case = argument.is_some_and(Arg::is_ignore_case_set);
        let named = StringValueParser::new().try_map(move |text| {
            let alike = names
                .iter()
                .find(|name| ignores_case && name.eq_ignore_ascii_case(&text));
            let name = alike.map_or(text.clone(), |name| (*name).to_owned());
            from_value(&Value::String(name))
        });
        named.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().map(PossibleValue::new)))
    }
}

const TOOLS: &[&str] = &[
    "NcclTests",
    "Perftest",
    "Fabtests",
    "UcxPerftest",
    "Nixlbench",
    "TransferEngineBench",
    "Regex",
];
const TIME_UNITS: &[&str] = &["ns", "us", "ms", "s"];
const RATE_UNITS: &[&str] = &["GB", "GiB", "Gb", "MB", "MiB", "Mb", "KB", "KiB", "Kb"];

impl Import {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        check_name(&self.name).map_err(|error| Failure::invalid_input(format!("--name: {error}")))?;
        let pattern = self.pattern()?;
        let sources = self.variant_logs()?;
        let files = directory::read_logs(sources.iter().map(|source| source.file.as_path()));
        let files = files.map_err(Failure::invalid_input)?;
        let manifest = Manifest {
            kind: ManifestKind::ImportedRun,
            name: self.name.clone(),
            status: ManifestStatus::IMPORTED,
            tool: self.tool,
            pattern,
            size: self.size,
            imported_at: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            logs: sources
                .iter()
                .zip(&files)
                .map(|(source, file)| stored_log(source, file))
                .collect(),
        };
        let programs: Vec<_> = files.iter().map(|file| file.program(&manifest)).collect();
        ImportedRun::check_programs(&manifest, &programs).map_err(Failure::invalid_input)?;
        let logs: Result<Vec<_>, _> = files.iter().map(|file| file.results(&manifest)).collect();
        let logs = logs.map_err(Failure::invalid_input)?;
        let run = ImportedRun::new(manifest, &logs).map_err(Failure::invalid_input)?;
        let target = self.output.join(&self.name);
        directory::write(&target, &run.manifest, &files, &html::render(&run.document()))
            .map_err(Failure::invalid_input)?;
        print_report(&run, &target)
    }

    fn pattern(&self) -> Result<Option<CommandPattern>, Failure> {
        let pattern = self.expression.clone().map(|expression| CommandPattern {
            expression,
            latency_unit: self.latency_unit,
            bandwidth_unit: self.bandwidth_unit,
        });
        match (&pattern, self.tool) {
            (None, CommandTool::Regex) => Err(Failure::invalid_input(
                "--tool Regex requires --expression, for example --expression 'latency (?<latency>[0-9.]+) us' \
                 --latency-unit us",
            )),
            (Some(_), tool) if tool != CommandTool::Regex => Err(Failure::invalid_input(format!(
                "--expression applies only to --tool Regex. Remove --expression, or specify --tool Regex instead of \
                 {tool:?}"
            ))),
            (Some(pattern), _) => match check_pattern(pattern) {
                Ok(()) => Ok(Some(pattern.clone())),
                Err(error) => {
                    let option = match error.field {
                        "latencyUnit" => "--latency-unit",
                        "bandwidthUnit" => "--bandwidth-unit",
                        _ => "--expression",
                    };
                    Err(Failure::invalid_input(format!("{option}: {}", error.problem)))
                }
            },
            (None, _) => Ok(None),
        }
    }

    /// Returns the logs with their variants, in command-line order.
    fn variant_logs(&self) -> Result<Vec<VariantLog>, Failure> {
        let only = self.files.iter().map(|file| VariantLog {
            variant: ONLY_VARIANT.to_owned(),
            file: file.clone(),
        });
        let sources: Vec<VariantLog> = only.chain(self.variants.iter().cloned()).collect();
        if sources.len() > MAX_LOGS {
            return Err(Failure::invalid_input(format!(
                "{} logs are specified; the limit is {MAX_LOGS}. Import them as several runs",
                sources.len()
            )));
        }
        let mut names: Vec<&str> = sources.iter().map(|source| source.variant.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        match names.len() > MAX_VARIANTS {
            true => Err(Failure::invalid_input(format!(
                "{} variants are specified; the limit is {MAX_VARIANTS}. Import them as several runs",
                names.len()
            ))),
            false => Ok(sources),
        }
    }
}

fn stored_log(source: &VariantLog, file: &LogFile) -> StoredLog {
    StoredLog {
        variant: source.variant.clone(),
        source: printable_line(&source.file.display().to_string()).into_owned(),
        sha256: file.sha256.clone(),
    }
}

/// Prints the report. The import itself succeeded, so the exit status is 0.
fn print_report(run: &ImportedRun, target: &Path) -> Result<Exit, Failure> {
    let report = target.join("report.html").display().to_string();
    let options = TextOptions {
        full_report: Some(&report),
        ..text_options(false)
    };
    print(&text::render(&run.document(), &options))?;
    Ok(Exit::Complete)
}

/// Parses a size of at least one byte.
fn parse_size(text: &str) -> Result<Size, String> {
    let size = Size::from_str(text).map_err(|error| error.to_string())?;
    if size.bytes() == 0 {
        return Err("must be at least 1 byte".to_owned());
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_the_resource() {
        let tools = CommandTool::ALL.map(|tool| serde_json::to_value(tool).unwrap());
        assert_eq!(tools.to_vec(), TOOLS);
        let rates = RateUnit::ALL.map(|unit| serde_json::to_value(unit).unwrap());
        assert_eq!(rates.to_vec(), RATE_UNITS);
        for unit in TIME_UNITS {
            assert!(
                serde_json::from_value::<TimeUnit>((*unit).into()).is_ok(),
                "{unit}"
            );
        }
    }
}

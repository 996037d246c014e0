//! Runs created from existing logs of a benchmark tool. They have a separate type without rounds and verdicts, so that no
//! code can derive a verdict from them. Files are read and written in [`directory`] only.

mod compare;
pub mod directory;
mod evidence;
mod manifest;
mod values;

use command_output::import::Log;
use command_output::{OutputOrigin, ParseError, check_implied_size};
use crds::v1alpha1::Metric;
use snafu::{ResultExt, Snafu, ensure};

pub use compare::{CompareError, Origin, Pair, Side, SideValue, pairs};
pub use manifest::{
    Kind as ManifestKind, MAX_LOGS, MAX_VARIANTS, Manifest, Status as ManifestStatus, StoredLog,
};
pub use values::{Difference, Value, ValueSummary};

/// Statement that every report of an imported run contains.
pub const NOT_CONTROLLED: &str = "the values come from existing logs. They were measured without rounds, random order, \
     control arms, evidence or proof of the fabric, so a difference may be noise or an effect of measurement order or \
     machine state. There is no verdict; to obtain one, measure the variants in one run with a `command` scenario";
/// Short form of [`NOT_CONTROLLED`], for tables and other programs.
pub const NOT_CONTROLLED_SHORT: &str = "not controlled";

/// Run created from existing logs.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedRun {
    /// Name of the run, its tool and its logs.
    pub manifest: Manifest,
    /// Values of each variant, size and metric.
    pub values: Vec<Value>,
    /// Data path, as reported in the logs by the libraries that the tool uses.
    pub reported: Vec<String>,
    /// Warnings about the values.
    pub warnings: Vec<String>,
}

/// Error that prevents logs from being combined into a run.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
pub enum ImportedRunError {
    /// A log contains sizes, although a size was specified.
    #[snafu(display("{log}: the log contains sizes, so --size cannot apply to it. Remove --size"))]
    HasSizes {
        /// Path to the log.
        log: String,
    },
    /// The values in a log exclude the specified size.
    #[snafu(display("{log}: {}", source.explained(OutputOrigin::Log)))]
    OtherSize {
        /// Path to the log.
        log: String,
        /// The sizes that the values allow.
        source: ParseError,
    },
    /// Logs with the same metric are from different tests.
    #[snafu(display(
        "{second} is a log of `{second_test}`, but {first} is a log of `{first_test}`: their {metric} values cannot \
         be compared. Import each test as a separate run"
    ))]
    OtherTest {
        /// Path to the first log.
        first: String,
        /// Test that produced the first log.
        first_test: String,
        /// Path to the second log.
        second: String,
        /// Test that produced the second log.
        second_test: String,
        /// Name of the metric.
        metric: &'static str,
    },
    /// Two logs have the same content.
    #[snafu(display(
        "{second} has the same content as {first}. Each log counts only once: specify the log of a different run of \
         the tool"
    ))]
    SameLog {
        /// Path to the first log.
        first: String,
        /// Path to the second log.
        second: String,
    },
    /// Two logs have the same results.
    #[snafu(display(
        "{second} has the same results as {first}, so both are copies of the log of one run. Each log counts only once: \
         specify the log of a different run of the tool"
    ))]
    SameResults {
        /// Path to the first log.
        first: String,
        /// Path to the second log.
        second: String,
    },
}

/// Minimum number of results that two runs do not have in common by chance.
const DISTINCT_ROWS: usize = 3;

impl ImportedRun {
    /// Combines `logs`, which are the logs in `manifest`, in the same order.
    ///
    /// # Errors
    /// Returns an error if two logs have the same content, or their values cannot be compared.
    pub fn new(manifest: Manifest, logs: &[Log]) -> Result<Self, ImportedRunError> {
        check_distinct(&manifest, logs)?;
        if let Some(size) = manifest.size {
            for (stored, log) in manifest.logs.iter().zip(logs) {
                let log_has_sizes = log.rows.iter().any(|row| row.size.is_some());
                ensure!(!log_has_sizes, HasSizesSnafu { log: &stored.source });
                let mut rows = log.rows.iter();
                rows.try_for_each(|row| check_implied_size(row, size.bytes()))
                    .context(OtherSizeSnafu { log: &stored.source })?;
            }
        }
        values::check_same_tests(&manifest, logs)?;
        let values = values::values(&manifest, logs);
        let warnings = warnings(&manifest, logs, &values);
        let mut reported = Vec::new();
        for (stored, log) in manifest.logs.iter().zip(logs) {
            reported.extend(evidence::paths(stored, &log.evidence));
        }
        Ok(Self {
            manifest,
            values,
            reported,
            warnings,
        })
    }

    /// Checks that the same program wrote all of the manifest's logs. `programs` are their names as far as they are known.
    ///
    /// # Errors
    /// Returns an error if two names differ. This is the most useful error, even if the results cannot be read.
    pub fn check_programs(manifest: &Manifest, programs: &[Option<String>]) -> Result<(), ImportedRunError> {
        values::check_programs(manifest, programs)
    }

    /// Returns a variant's value at a size, or `None` if none of its logs contains it.
    pub fn value_summary(&self, variant: usize, size: Option<u64>, metric: Metric) -> Option<&ValueSummary> {
        let mut values = self.values.iter();
        let found = values.find(|value| (value.variant, value.size, value.metric) == (variant, size, metric));
        found.map(|value| &value.observed)
    }
}

/// Fails if two logs have the same content or, apart from prefixes and colors, the same results.
fn check_distinct(manifest: &Manifest, logs: &[Log]) -> Result<(), ImportedRunError> {
    for ((stored, log), earlier) in with_earlier(manifest, logs) {
        for (earlier, earlier_log) in earlier {
            let (first, second) = (&earlier.source, &stored.source);
            ensure!(earlier.sha256 != stored.sha256, SameLogSnafu { first, second });
            let are_copies = log.rows.len() >= DISTINCT_ROWS && have_same_results(earlier_log, log);
            ensure!(!are_copies, SameResultsSnafu { first, second });
        }
    }
    Ok(())
}

/// Each log with the logs before it.
fn with_earlier<'a>(
    manifest: &'a Manifest,
    logs: &'a [Log],
) -> impl Iterator<
    Item = (
        (&'a StoredLog, &'a Log),
        impl Iterator<Item = (&'a StoredLog, &'a Log)>,
    ),
> {
    let all = move || manifest.logs.iter().zip(logs);
    let each = all().enumerate();
    each.map(move |(index, log)| (log, all().take(index)))
}

/// Whether the same results of the same test with the same settings are in both logs.
fn have_same_results(one: &Log, other: &Log) -> bool {
    (&one.test, &one.settings, &one.rows) == (&other.test, &other.settings, &other.rows)
}

fn warnings(manifest: &Manifest, logs: &[Log], values: &[Value]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (stored, log) in manifest.logs.iter().zip(logs) {
        warnings.extend(evidence::warnings(stored, &log.evidence));
    }
    for (stored, log) in manifest.logs.iter().zip(logs) {
        let about = |text: &str| format!("{}: {}: {text}", stored.variant, stored.source);
        warnings.extend(log.notes.iter().map(|note| about(note)));
        if log.cycles > 1 {
            warnings.push(about(&format!(
                "the process measured every size {} times; the log's value is their median",
                log.cycles
            )));
        }
        if log.unknown.count > 0 {
            warnings.push(about(&log.unknown.to_string()));
        }
    }
    for ((stored, log), mut earlier) in with_earlier(manifest, logs) {
        if let Some((first, _)) = earlier.find(|(_, earlier)| have_same_results(earlier, log)) {
            warnings.push(format!(
                "{}: {}: the results are those of {}: if both are copies of one log, its run counts twice",
                stored.variant, stored.source, first.source
            ));
        }
    }
    warnings.extend(values::differences(manifest, logs));
    for (index, name) in manifest.variants().iter().enumerate() {
        let counts = values.iter().filter(|value| value.variant == index);
        let most = counts.map(|value| value.observed.logs).max().unwrap_or_default();
        if most == 1 {
            warnings.push(format!(
                "{name}: every value comes from a single log, so the variation between executions is unknown"
            ));
        }
        let fewer = values
            .iter()
            .filter(|value| value.variant == index && value.observed.logs < most);
        let fewer: Vec<String> = fewer
            .map(|value| {
                format!(
                    "{} at {}",
                    campaign::compare::metric_name(value.metric),
                    value.size_text()
                )
            })
            .collect();
        if !fewer.is_empty() {
            warnings.push(format!(
                "{name}: fewer than {most} logs contain {}",
                fewer.join(", ")
            ));
        }
    }
    warnings
}

//! Values of an imported run's variants. Performs no I/O.

use campaign::compare::metric_name;
use campaign::distinct::distinct;
use campaign::format;
use campaign::stats::{BoundedValue, median_of};
use command_output::Row;
use command_output::import::Log;
use crds::v1alpha1::Metric;

use super::{ImportedRunError, Manifest, OtherTestSnafu, StoredLog};

/// Metrics of a tool, in report order.
pub(super) const METRICS: [Metric; 2] = [Metric::ReportedLatency, Metric::ReportedBandwidth];

/// Maximum number of settings in a warning.
const MAX_DIFFERENCES: usize = 8;

/// Values of one metric of one variant at one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Index of the variant in [`Manifest::variants`].
    pub variant: usize,
    /// Size in bytes; `None` if the tool does not print it.
    pub size: Option<u64>,
    /// `ReportedLatency` in nanoseconds, or `ReportedBandwidth` in bytes per second.
    pub metric: Metric,
    /// Summary of the values.
    pub observed: ValueSummary,
}

/// Summary of the values in several logs. It has no interval, because nothing is known about how the logs were
/// produced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueSummary {
    /// Number of logs.
    pub logs: usize,
    /// Median; 0 if it is below the resolution of the tool.
    pub median: f64,
    /// Smallest value; 0 if it is below the resolution of the tool.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Bounds of the median of the true values: the medians of the least and of the greatest values that the tool prints
    /// like the values in the logs.
    pub range: (f64, f64),
}

impl ValueSummary {
    /// Summarizes `values`; `None` if there are none.
    fn from_values(values: &[BoundedValue]) -> Option<Self> {
        let median = |select: fn(&BoundedValue) -> f64| {
            let mut selected: Vec<f64> = values.iter().map(select).collect();
            let median = median_of(&mut selected)?;
            Some((median, selected))
        };
        let (least, _) = median(|value| value.least)?;
        let (most, _) = median(|value| value.most)?;
        let (median, sorted) = median(|value| value.value)?;
        Some(Self {
            logs: values.len(),
            median,
            min: *sorted.first()?,
            max: *sorted.last()?,
            range: (least, most),
        })
    }

    /// Whether the median may be 0, so that there is no ratio to it: the tool printed 0.
    pub fn is_below_resolution(&self) -> bool {
        self.median <= 0.0 || self.range.0 <= 0.0
    }

    /// Returns the change in the median from `first` to `self`, as a percentage of `first`, and the bounds of the change
    /// that follow from the last digit of the printed values. `None` if one of the medians is below the resolution.
    pub fn difference(&self, first: &Self) -> Option<Difference> {
        if self.is_below_resolution() || first.is_below_resolution() {
            return None;
        }
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        Some(Difference {
            percent: percent(self.median / first.median),
            range_percent: (
                percent(self.range.0 / first.range.1),
                percent(self.range.1 / first.range.0),
            ),
        })
    }
}

/// Change from one median to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Change, in percent.
    pub percent: f64,
    /// Least and greatest change that the printed values allow, in percent.
    pub range_percent: (f64, f64),
}

impl Value {
    /// Formats the size for display.
    pub fn size_text(&self) -> String {
        size_text(self.size)
    }
}

/// Formats a size for display.
pub(super) fn size_text(size: Option<u64>) -> String {
    size.map_or_else(|| "not printed".to_owned(), format::size)
}

/// Value of `metric` in `row`.
fn value_of(row: &Row, metric: Metric) -> Option<BoundedValue> {
    let printed = match metric {
        Metric::ReportedLatency => row.latency,
        Metric::ReportedBandwidth => row.bandwidth,
        _ => None,
    };
    printed.map(|printed| BoundedValue {
        value: printed.value,
        least: printed.least,
        most: printed.most,
    })
}

/// Median of the values of a process that measures each size several times, with the medians of their bounds.
fn median_value(values: impl Iterator<Item = BoundedValue>) -> Option<BoundedValue> {
    let values: Vec<BoundedValue> = values.collect();
    let median = |of: fn(&BoundedValue) -> f64| median_of(&mut values.iter().map(of).collect::<Vec<f64>>());
    Some(BoundedValue {
        value: median(|value| value.value)?,
        least: median(|value| value.least)?,
        most: median(|value| value.most)?,
    })
}

/// Returns the values of all variants, by metric, size and variant.
pub(super) fn values(manifest: &Manifest, logs: &[Log]) -> Vec<Value> {
    let size_of = |row: &Row| {
        let printed = row.size.map(|size| size.bytes);
        printed.or(manifest.size.map(|size| size.bytes()))
    };
    let rows = || logs.iter().flat_map(|log| &log.rows);
    let mut sizes: Vec<Option<u64>> = rows().map(size_of).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let names = manifest.variants();
    let mut values = Vec::new();
    for metric in METRICS {
        for size in &sizes {
            for (variant, name) in names.iter().enumerate() {
                let own = manifest
                    .logs
                    .iter()
                    .zip(logs)
                    .filter(|(stored, _)| stored.variant == **name);
                let own = own.filter_map(|(_, log)| {
                    let rows = log.rows.iter().filter(|row| size_of(row) == *size);
                    median_value(rows.filter_map(|row| value_of(row, metric)))
                });
                let own: Vec<BoundedValue> = own.collect();
                values.extend(ValueSummary::from_values(&own).map(|observed| Value {
                    variant,
                    size: *size,
                    metric,
                    observed,
                }));
            }
        }
    }
    values
}

/// Fails if logs with the same metric come from different tests of the tool, or from the same test with another value of a
/// setting that identifies what is measured, such as the number of ranks. Both are known only if the tool prints them.
pub(super) fn check_same_tests(manifest: &Manifest, logs: &[Log]) -> Result<(), ImportedRunError> {
    for metric in METRICS {
        let has_metric = |log: &Log| log.rows.iter().any(|row| value_of(row, metric).is_some());
        let own = manifest.logs.iter().zip(logs).filter(|(_, log)| has_metric(log));
        let own: Vec<_> = own.collect();
        let named = own
            .iter()
            .filter_map(|(stored, log)| Some((*stored, log.test.as_deref()?)));
        check_same(named, metric)?;
        let names = own.iter().flat_map(|(_, log)| &log.settings);
        let names = names
            .filter(|setting| setting.identifies_test)
            .map(|setting| setting.name);
        for name in distinct(names) {
            let values: Vec<_> = own
                .iter()
                .filter_map(|(stored, log)| Some((*stored, format!("{name} {}", setting(log, name)?))))
                .collect();
            check_same(
                values.iter().map(|(stored, text)| (*stored, text.as_str())),
                metric,
            )?;
        }
    }
    Ok(())
}

/// Fails if two of the manifest's logs were written by different programs, whose names are `programs`.
pub(super) fn check_programs(
    manifest: &Manifest,
    programs: &[Option<String>],
) -> Result<(), ImportedRunError> {
    let named = manifest.logs.iter().zip(programs);
    let named = named.filter_map(|(stored, program)| Some((stored, program.as_deref()?)));
    METRICS
        .into_iter()
        .try_for_each(|metric| check_same(named.clone(), metric))
}

/// Fails if the logs in `named` come from different tests.
fn check_same<'a>(
    named: impl Iterator<Item = (&'a StoredLog, &'a str)>,
    metric: Metric,
) -> Result<(), ImportedRunError> {
    let mut named = named;
    let Some((first, first_test)) = named.next() else {
        return Ok(());
    };
    match named.find(|(_, test)| *test != first_test) {
        None => Ok(()),
        Some((second, second_test)) => OtherTestSnafu {
            first: &first.source,
            first_test,
            second: &second.source,
            second_test,
            metric: metric_name(metric),
        }
        .fail(),
    }
}

/// Value of the setting `name` in `log`.
fn setting<'a>(log: &'a Log, name: &str) -> Option<&'a str> {
    let found = log.settings.iter().find(|setting| setting.name == name);
    found.map(|setting| setting.value.as_str())
}

/// Describes in what the settings of each log differ from those of the first one.
pub(super) fn differences(manifest: &Manifest, logs: &[Log]) -> Vec<String> {
    let mut own = manifest.logs.iter().zip(logs);
    let Some((first, first_log)) = own.next() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (second, log) in own {
        let names = first_log
            .settings
            .iter()
            .chain(&log.settings)
            .map(|setting| setting.name);
        let text = |log, name| setting(log, name).unwrap_or("not printed").to_owned();
        let differences = distinct(names).into_iter().filter_map(|name| {
            let (one, other) = (text(first_log, name), text(log, name));
            (one != other).then(|| format!("{name} ({one}, {other})"))
        });
        let mut differences: Vec<String> = differences.take(MAX_DIFFERENCES).collect();
        if let (Some(test), None) | (None, Some(test)) = (&first_log.test, &log.test) {
            differences.push(format!("test ({test} in one of them, not printed in the other)"));
        }
        if !differences.is_empty() {
            let (first, second) = (&first.source, &second.source);
            found.push(format!(
                "{second} differs from {first} in {}",
                differences.join(", ")
            ));
        }
    }
    found
}

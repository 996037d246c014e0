//! Formats samples as text, one metric at a time to limit memory use.
//!
//! The format is OpenMetrics. Without the final `# EOF` line, the text is also valid in the Prometheus text format,
//! which treats `# UNIT` lines as comments.

use std::fmt;
use std::fmt::Write;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabel, EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::limits::Selection;
use super::results::{self, ResultMetric, Samples};
use super::values::Row;
use super::{Definition, Label, RunValues};

/// Formats the results in `selection`, as one string per metric.
pub fn metric_texts(
    selection: Selection,
) -> impl Iterator<Item = Result<String, fmt::Error>> + Send + 'static {
    let selection = Arc::new(selection);
    results::all().map(move |metric| {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Family {
            metric,
            selection: Arc::clone(&selection),
        }));
        let mut text = String::new();
        encode_registry(&mut text, &registry)?;
        Ok(text)
    })
}

/// Formats the results in `selection` as one OpenMetrics document.
///
/// # Errors
/// Returns an error if formatting fails, which does not happen when writing to memory.
pub fn open_metrics(selection: Selection) -> Result<String, fmt::Error> {
    let mut text = String::new();
    for piece in metric_texts(selection) {
        text.write_str(&piece?)?;
    }
    encode_eof(&mut text)?;
    Ok(text)
}

/// One metric with its samples from all selected runs.
#[derive(Debug)]
struct Family {
    metric: &'static ResultMetric,
    selection: Arc<Selection>,
}

impl Collector for Family {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Definition { help, labels, .. } = self.metric.definition;
        let (stem, unit) = self.metric.definition.stem_and_unit();
        let unit = unit.map(|unit| Unit::Other(unit.to_owned()));
        let mut metric = encoder.encode_descriptor(stem, help, unit.as_ref(), MetricType::Gauge)?;
        let mut written = Ok(());
        self.samples(&mut |values, value| {
            if written.is_ok() {
                let labels = Labels { labels, values };
                written = match values {
                    [] => metric.encode_gauge(&value),
                    _ => metric
                        .encode_family(&labels)
                        .and_then(|mut metric| metric.encode_gauge(&value)),
                };
            }
        });
        written
    }
}

impl Family {
    /// Emits each sample with all its label values.
    fn samples(&self, emit: &mut results::Emit<'_>) {
        let runs = self.selection.runs.iter();
        match self.metric.samples {
            Samples::OmittedRuns => emit(&[], self.selection.omitted_runs as f64),
            Samples::Run(samples) => runs.for_each(|selected| {
                let run = &selected.run;
                samples(run, &mut |values, value| {
                    emit(&[&[&*run.namespace, &run.name], values].concat(), value);
                });
            }),
            Samples::OmittedSeries => runs.for_each(|selected| {
                emit(
                    &[&selected.run.namespace, &selected.run.name],
                    selected.omitted as f64,
                );
            }),
            Samples::Quantities(_) | Samples::Arm(_) | Samples::Comparison(_) | Samples::Pair(_) => runs
                .for_each(|selected| {
                    let rows = selected.run.rows.iter().take(selected.rows);
                    rows.for_each(|row| self.emit_row(&selected.run, row, emit));
                }),
        }
    }

    fn emit_row(&self, run: &RunValues, row: &Row, emit: &mut results::Emit<'_>) {
        let (scenario, size, parties) = match row {
            Row::Arm(arm) => (arm.scenario, arm.size_bytes, [Some(arm.arm), None]),
            Row::Comparison(one) => (one.scenario, one.size_bytes, [Some(one.arm), None]),
            Row::Pair(pair) => (
                pair.scenario,
                pair.size_bytes,
                [Some(pair.initiator), Some(pair.target)],
            ),
        };
        let name = |index| run.names.get(index);
        let size = size.to_string();
        let mut labels = vec![&*run.namespace, &*run.name, name(scenario), &size];
        labels.extend(parties.into_iter().flatten().map(name));
        results::emit_row(self.metric, row, &mut |values, value| {
            emit(&[&labels, values].concat(), value);
        });
    }
}

/// Labels with their values, in the same order.
#[derive(Debug)]
struct Labels<'a> {
    labels: &'a [Label],
    values: &'a [&'a str],
}

impl EncodeLabelSet for Labels<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        for (label, value) in self.labels.iter().zip(self.values) {
            (label.name, *value).encode(encoder.encode_label())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Samples as text: one metric after the other, so that nobody needs room for all of them at once.
//!
//! What stands here is OpenMetrics, and without its end also the text format of Prometheus, to which units are remarks.

use std::fmt;
use std::fmt::Write;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabel, EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::figures::Row;
use super::limits::Choice;
use super::results::{self, ResultMetric, Samples};
use super::{Definition, Label, RunFigures};

/// All results of `choice`, a text for each metric.
pub fn pieces(choice: Choice) -> impl Iterator<Item = Result<String, fmt::Error>> + Send + 'static {
    let choice = Arc::new(choice);
    results::all().map(move |metric| {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Family {
            metric,
            choice: Arc::clone(&choice),
        }));
        let mut text = String::new();
        encode_registry(&mut text, &registry)?;
        Ok(text)
    })
}

/// All results of `choice` as one OpenMetrics text.
///
/// # Errors
/// None: writing into memory does not fail.
pub fn open_metrics(choice: Choice) -> Result<String, fmt::Error> {
    let mut text = String::new();
    for piece in pieces(choice) {
        text.write_str(&piece?)?;
    }
    encode_eof(&mut text)?;
    Ok(text)
}

/// One metric of all runs.
#[derive(Debug)]
struct Family {
    metric: &'static ResultMetric,
    choice: Arc<Choice>,
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
    /// Gives the values of all labels of each sample, and its value.
    fn samples(&self, emit: &mut results::Emit<'_>) {
        let runs = self.choice.runs.iter();
        match self.metric.samples {
            Samples::RunsLeftOut => emit(&[], self.choice.runs_left_out as f64),
            Samples::Run(samples) => runs.for_each(|chosen| {
                let run = &chosen.run;
                samples(run, &mut |values, value| {
                    emit(&[&[&*run.namespace, &run.name], values].concat(), value);
                });
            }),
            Samples::LeftOut => runs.for_each(|chosen| {
                emit(&[&chosen.run.namespace, &chosen.run.name], chosen.left_out as f64);
            }),
            Samples::Arm(_) | Samples::Comparison(_) | Samples::Pair(_) => runs.for_each(|chosen| {
                let rows = chosen.run.rows.iter().take(chosen.rows);
                rows.for_each(|row| self.of_row(&chosen.run, row, emit));
            }),
        }
    }

    fn of_row(&self, run: &RunFigures, row: &Row, emit: &mut results::Emit<'_>) {
        let (scenario, size, who) = match row {
            Row::Arm(arm) => (arm.scenario, arm.size_bytes, [Some(arm.arm), None]),
            Row::Comparison(one) => (one.scenario, one.size_bytes, [Some(one.arm), None]),
            Row::Pair(pair) => (
                pair.scenario,
                pair.size_bytes,
                [Some(pair.initiator), Some(pair.target)],
            ),
        };
        let name = |place| run.names.at(place);
        let size = size.to_string();
        let mut labels = vec![&*run.namespace, &*run.name, name(scenario), &size];
        labels.extend(who.into_iter().flatten().map(name));
        results::of_row(self.metric, row, &mut |values, value| {
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

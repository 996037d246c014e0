//! Registry of the operator's metrics, in the Prometheus text format.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use prometheus::process_collector::ProcessCollector;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts, Registry, TextEncoder,
};
use snafu::{ResultExt, Snafu};

use super::Category;
use crate::metrics::{Definition, operator};

/// Bucket bounds in seconds. They cover a reconciliation without changes, which takes microseconds, as well as a
/// request to a loaded API server, which takes tenths of a second.
const BUCKET_BOUNDS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
];

/// Error registering a metric. Only an invalid definition causes this error.
#[derive(Debug, Snafu)]
#[snafu(display("a metric cannot be registered: {source}"))]
pub(crate) struct MetricsError {
    source: prometheus::Error,
}

/// Metrics of one process. Clones share their values.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    reconcile_duration: Histogram,
    reconcile_errors: IntCounterVec,
    api_request_duration: HistogramVec,
    queue_depth: IntGauge,
    backing_off: IntGauge,
    leading: IntGauge,
    status_updates: IntCounterVec,
}

impl Metrics {
    /// Registers all metrics. Series whose labels are known in advance start at zero, because `rate()` does not count
    /// the first sample of a new series as an increase. A series for API requests is created by the first request that
    /// has its labels.
    ///
    /// # Errors
    /// Returns an error if the library rejects a definition.
    pub(crate) fn new() -> Result<Self, MetricsError> {
        Inner::new()
            .map(|inner| Self(Arc::new(inner)))
            .context(MetricsSnafu)
    }

    /// Records a finished reconciliation. `category` is set if the reconciliation failed.
    pub(crate) fn record_reconciliation(&self, duration: Duration, category: Option<Category>) {
        self.0.reconcile_duration.observe(duration.as_secs_f64());
        if let Some(category) = category {
            self.0
                .reconcile_errors
                .with_label_values(&[category.as_str()])
                .inc();
        }
    }

    /// Records a request to the API server. `status` is `None` if there was no response.
    pub(crate) fn api_request(&self, verb: &str, status: Option<StatusCode>, duration: Duration) {
        let code = status.map(|status| status.as_u16().to_string());
        let labels = [verb, code.as_deref().unwrap_or("none")];
        self.0
            .api_request_duration
            .with_label_values(&labels)
            .observe(duration.as_secs_f64());
    }

    /// Sets the number of runs waiting for reconciliation.
    pub(crate) fn set_queue_depth(&self, runs: usize) {
        self.0.queue_depth.set(runs as i64);
    }

    /// Sets the number of runs waiting to be retried after an error.
    pub(crate) fn set_backing_off(&self, runs: usize) {
        self.0.backing_off.set(runs as i64);
    }

    /// Sets whether this replica is the leader.
    pub(crate) fn set_leading(&self, leading: bool) {
        self.0.leading.set(leading.into());
    }

    /// Counts a computed status. `outcome` is `written` or `unchanged`.
    pub(crate) fn status(&self, outcome: &'static str) {
        self.0.status_updates.with_label_values(&[outcome]).inc();
    }

    /// Formats all metrics.
    pub(crate) fn text(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.0.registry.gather())
    }
}

impl Inner {
    fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let options = |definition: Definition| Opts::new(definition.name, definition.help);
        let seconds = |definition: Definition| {
            HistogramOpts::new(definition.name, definition.help).buckets(BUCKET_BOUNDS.to_vec())
        };
        let labels = |definition: Definition| -> Vec<&str> {
            definition.labels.iter().map(|label| label.name).collect()
        };
        let counters = |definition: Definition| IntCounterVec::new(options(definition), &labels(definition));
        let gauge = |definition: Definition| IntGauge::with_opts(options(definition));
        let inner = Self {
            reconcile_duration: Histogram::with_opts(seconds(operator::RECONCILE_DURATION))?,
            reconcile_errors: counters(operator::RECONCILE_ERRORS)?,
            api_request_duration: HistogramVec::new(
                seconds(operator::API_REQUEST_DURATION),
                &labels(operator::API_REQUEST_DURATION),
            )?,
            queue_depth: gauge(operator::QUEUE_DEPTH)?,
            backing_off: gauge(operator::RUNS_BACKING_OFF)?,
            leading: gauge(operator::LEADING)?,
            status_updates: counters(operator::STATUS_UPDATES)?,
            registry,
        };
        let Self {
            registry,
            reconcile_duration,
            reconcile_errors,
            api_request_duration,
            queue_depth,
            backing_off,
            leading,
            status_updates,
        } = &inner;
        registry.register(Box::new(reconcile_duration.clone()))?;
        registry.register(Box::new(reconcile_errors.clone()))?;
        registry.register(Box::new(api_request_duration.clone()))?;
        registry.register(Box::new(queue_depth.clone()))?;
        registry.register(Box::new(backing_off.clone()))?;
        registry.register(Box::new(leading.clone()))?;
        registry.register(Box::new(status_updates.clone()))?;
        registry.register(Box::new(ProcessCollector::for_self()))?;
        for category in Category::ALL {
            reconcile_errors.with_label_values(&[category.as_str()]);
        }
        for outcome in ["written", "unchanged"] {
            status_updates.with_label_values(&[outcome]);
        }
        Ok(inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn formatted_metrics_contain_recorded_values() {
        let metrics = Metrics::new().unwrap();
        metrics.record_reconciliation(Duration::from_millis(3), Some(Category::RequestFailed));
        metrics.api_request("list", Some(StatusCode::OK), Duration::from_millis(2));
        metrics.api_request("get", None, Duration::from_secs(1));
        metrics.set_queue_depth(7);
        let text = metrics.text().unwrap();
        for line in [
            "fabricbench_reconcile_duration_seconds_count 1",
            "fabricbench_reconcile_errors_total{category=\"RequestFailed\"} 1",
            "fabricbench_reconcile_errors_total{category=\"ListFailed\"} 0",
            "fabricbench_status_updates_total{outcome=\"written\"} 0",
            "fabricbench_api_request_duration_seconds_count{status=\"200\",verb=\"list\"} 1",
            "fabricbench_api_request_duration_seconds_count{status=\"none\",verb=\"get\"} 1",
            "fabricbench_queue_depth 7",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn registered_metrics_match_their_documentation() {
        let metrics = Metrics::new().unwrap();
        metrics.api_request("list", None, Duration::ZERO);
        let families = metrics.0.registry.gather();
        let registered = families.iter().map(|family| {
            let labels = family.get_metric()[0].get_label();
            let labels = labels.iter().map(|label| label.name().to_owned());
            let kind = format!("{:?}", family.get_field_type()).to_lowercase();
            let help = family.help().to_owned();
            (family.name().to_owned(), kind, help, labels.collect())
        });
        let documented = operator::ALL.iter().map(|definition| {
            let labels = definition.labels.iter().map(|label| label.name.to_owned());
            let (name, help) = (definition.name.to_owned(), definition.help.to_owned());
            (name, definition.kind.as_str().to_owned(), help, labels.collect())
        });
        type MetricDescriptions = BTreeSet<(String, String, String, BTreeSet<String>)>;
        assert_eq!(
            registered.collect::<MetricDescriptions>(),
            documented.collect::<MetricDescriptions>()
        );
    }
}

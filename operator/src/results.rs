//! Result metrics at `/metrics` for the runs that this replica reconciles. A replica that is not the leader exports no
//! results.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::metrics::limits::{Selection, select};
use crate::metrics::{RunValues, exposition};

/// Returns the current values of all runs.
type Source = Box<dyn Fn() -> Vec<Arc<RunValues>> + Send + Sync>;

/// Source of the exported results, shared by all clones.
#[derive(Clone)]
pub(crate) struct Results {
    source: Arc<OnceLock<Source>>,
    max_series: usize,
}

impl Results {
    /// Creates results without a source. Once a source has been set, at most `max_series` series are exported.
    pub(crate) fn new(max_series: usize) -> Self {
        Self {
            source: Arc::default(),
            max_series,
        }
    }

    /// Sets the source of the values. Called when the caches are complete.
    pub(crate) fn set_source(&self, source: impl Fn() -> Vec<Arc<RunValues>> + Send + Sync + 'static) {
        // A leader remains the leader until the process exits, so the source is set once.
        let _ = self.source.set(Box::new(source));
    }

    /// Formats the current results, as one string per metric.
    pub(crate) fn metric_texts(&self) -> impl Iterator<Item = Result<String, fmt::Error>> + Send + use<> {
        let selection: Option<Selection> = self.source.get().map(|source| select(source(), self.max_series));
        selection.into_iter().flat_map(exposition::metric_texts)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::metrics::fixture;

    fn text(results: &Results) -> String {
        results.metric_texts().map(Result::unwrap).collect()
    }

    #[test]
    fn serves_only_existing_runs_after_the_source_is_set() {
        let results = Results::new(1000);
        assert_eq!(text(&results), "");
        let runs = Arc::new(Mutex::new(vec![Arc::new(fixture::values("nixl-1", 0))]));
        let known = Arc::clone(&runs);
        results.set_source(move || known.lock().unwrap().clone());
        assert!(text(&results).contains(
            "\nfabricbench_run_state{run_namespace=\"team-a\",run=\"nixl-1\",state=\"Complete\"} 1"
        ));
        runs.lock().unwrap().clear();
        assert!(!text(&results).contains("nixl-1"));
    }
}

//! The results that `/metrics` gives: those of the runs that this replica carries out, none while it only waits.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::metrics::limits::{Choice, choose};
use crate::metrics::{RunFigures, exposition};

/// Gives what is known of every run now.
type Source = Box<dyn Fn() -> Vec<Arc<RunFigures>> + Send + Sync>;

/// The results; clones have the same.
#[derive(Clone)]
pub(crate) struct Results {
    source: Arc<OnceLock<Source>>,
    max_series: usize,
}

impl Results {
    /// None yet; later at most `max_series` series.
    pub(super) fn new(max_series: usize) -> Self {
        Self {
            source: Arc::default(),
            max_series,
        }
    }

    /// From now on they are those that `source` gives: every run is known.
    pub(crate) fn are(&self, source: impl Fn() -> Vec<Arc<RunFigures>> + Send + Sync + 'static) {
        // Whoever leads does so until the process ends, so there is no second time.
        let _ = self.source.set(Box::new(source));
    }

    /// A text for each metric, as things are now.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Result<String, fmt::Error>> + Send + use<> {
        let choice: Option<Choice> = self.source.get().map(|source| choose(source(), self.max_series));
        choice.into_iter().flat_map(exposition::pieces)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::metrics::fixture;

    fn text(results: &Results) -> String {
        results.pieces().map(Result::unwrap).collect()
    }

    #[test]
    fn there_are_none_before_every_run_is_known_and_none_of_a_run_that_is_gone() {
        let results = Results::new(1000);
        assert_eq!(text(&results), "");
        let runs = Arc::new(Mutex::new(vec![Arc::new(fixture::figures("nixl-1", 0))]));
        let known = Arc::clone(&runs);
        results.are(move || known.lock().unwrap().clone());
        assert!(text(&results).contains(
            "\nfabricbench_run_state{run_namespace=\"team-a\",run=\"nixl-1\",state=\"Complete\"} 1"
        ));
        runs.lock().unwrap().clear();
        assert!(!text(&results).contains("nixl-1"));
    }
}

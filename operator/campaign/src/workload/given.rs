//! What validation asks about a workload of a spec, whichever it is.

use std::time::Duration;

use crds::assignment::{Extent, Workload};
use crds::units::{self, MAX_MESSAGE_BYTES};
use crds::v1alpha1::{ManyToMany, Scenario, SpecWorkload};

use crate::validate::ValidatedScenario;
use crate::validate::reporter::Reporter;
use crate::validate::{durations, sizes};

/// Default duration of the measurement of concurrent flows.
const DEFAULT_FLOW_DURATION: Duration = Duration::from_secs(1);

/// Scenario of a spec that is validated.
pub(crate) struct Context<'a> {
    /// Path of the scenario.
    pub path: &'a str,
    /// Field of the workload in the scenario.
    pub field: &'static str,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Minimum length of the measured window.
    pub min_window: Duration,
    /// Whether an arm makes its calls over its transport.
    pub calls_over_transport: bool,
    /// Senders and receivers of the many-to-many pattern; `None` for pairs.
    pub many_to_many: Option<ManyToMany>,
    /// Collects the problems.
    pub report: &'a mut Reporter,
}

impl Context<'_> {
    /// Path of the workload.
    pub(crate) fn workload_path(&self) -> String {
        format!("{}.{}", self.path, self.field)
    }

    /// Reports a problem with `field` of the workload.
    pub(crate) fn add(&mut self, field: &str, message: impl Into<String>) {
        self.report
            .add(format!("{}.{field}", self.workload_path()), message);
    }

    /// Extent of the measurement, with the default if neither is given. Checks the duration.
    pub(crate) fn measured(&mut self, iterations: Option<u32>, duration: Option<units::Duration>) -> Extent {
        let path = self.workload_path();
        durations::measured(&path, iterations, duration, self.min_window, self.report)
    }

    /// Extent of the warm-up, with the default if neither is given. Checks the duration.
    pub(crate) fn warmup(&mut self, iterations: Option<u32>, duration: Option<units::Duration>) -> Extent {
        durations::warmup(&self.workload_path(), iterations, duration, self.report)
    }

    /// Extent of at least `iterations` operations.
    pub(crate) fn at_least(&self, iterations: u32) -> Extent {
        durations::at_least(iterations, self.min_window)
    }

    /// Default duration of the measurement of concurrent flows, which are measured for a duration and not for a number of
    /// operations.
    pub(crate) fn flow_duration(&self) -> Duration {
        DEFAULT_FLOW_DURATION.max(self.min_window)
    }
}

/// Validation of a workload in a spec.
pub(crate) trait GivenWorkload: SpecWorkload {
    /// The workload that the runner executes. Reports invalid fields.
    fn workload(&self, context: &mut Context<'_>) -> Workload;

    /// The valid sizes in bytes. Reports the others.
    fn valid_sizes(&self, context: &mut Context<'_>) -> Vec<u64> {
        let path = context.workload_path();
        sizes::check(&path, &self.sizes(), MAX_MESSAGE_BYTES, context.report)
    }

    /// Changes `workload` to the one that needs the most memory of those that replace the scenario.
    fn set_largest(&self, _workload: &mut Workload, _context: &Context<'_>) {}

    /// The scenarios that replace `scenario`, which has the first of the counts that the workload lists.
    fn expand(&self, scenario: ValidatedScenario, _context: &mut Context<'_>) -> Vec<ValidatedScenario> {
        vec![scenario]
    }

    /// Reports at `path`, the path of the workload, why flows of the many-to-many pattern cannot execute it.
    fn check_flows(&self, path: &str, _pattern: ManyToMany, report: &mut Reporter) {
        report.add(
            path,
            "`spec.placement.pattern: ManyToMany` measures flows that are active at the same time, which \
             only `transfer`, `smallMessages` and `parameterServing` support. Use one of them, or \
             `pattern: Pairwise`",
        );
    }
}

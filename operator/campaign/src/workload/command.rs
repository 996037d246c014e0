//! Rules of benchmark commands.

use crds::assignment::{CommandWorkload, ScenarioAssignment, Workload};
use crds::v1alpha1::{Command, ManyToMany, Metric};

use super::{Context, GivenWorkload, Speed, WorkloadRules};

/// Assumed time of one run: a few seconds, which matches the defaults of most tools.
const RUN_SECONDS: f64 = 2.0;

impl GivenWorkload for Command {
    fn workload(&self, _context: &mut Context<'_>) -> Workload {
        Workload::Command(CommandWorkload {
            tool: self.tool,
            server: self.server.clone(),
            client: self.client.clone(),
            ready: self.ready.clone(),
            port: self.port,
            pattern: self.pattern.clone(),
            timeout_seconds: self.timeout_seconds,
        })
    }
}

impl WorkloadRules for CommandWorkload {
    fn latency_name(&self) -> &'static str {
        "reported"
    }

    fn latency_definition(&self) -> &'static str {
        "the value that the command's tool reports; its distribution is unknown"
    }

    fn operation_seconds(&self, _speed: Speed) -> f64 {
        RUN_SECONDS
    }

    fn has_metric(&self, metric: Metric) -> bool {
        matches!(metric, Metric::ReportedLatency | Metric::ReportedBandwidth)
    }

    /// The runner does not time a command's operations.
    fn concurrent_operations(&self) -> Option<f64> {
        None
    }

    fn repeats_operations(&self) -> bool {
        false
    }

    fn has_target_memory(&self) -> bool {
        false
    }

    fn description(&self, _scenario: &ScenarioAssignment, _many_to_many: Option<ManyToMany>) -> String {
        let server = match self.server.as_slice() {
            [] => String::new(),
            server => format!(" · server `{}`", server.join(" ")),
        };
        format!(
            "command, output of {:?} · client `{}`{server} · at most {} s",
            self.tool,
            self.client.join(" "),
            self.timeout_seconds
        )
    }
}

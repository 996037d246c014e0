//! What a workload does in a case, whichever it is.

use crds::record::{CaseFailure, IntegrityReport, SideReport};

use super::case::Case;
use super::case_protocol::SideContext;
use super::engine::{Engine, Setup};
use super::side_report;
use super::thread_report::ThreadReport;
use crate::transport::Transport;

/// Report of the integrity pass of one thread, and evidence lines.
pub(super) type Checked = (IntegrityReport, Vec<String>);

/// Program of one side in a case, or in several cases that run concurrently. All threads share it.
pub(super) trait Program<T: Transport>: Sync {
    /// Runs the integrity pass on one thread.
    ///
    /// # Errors
    /// Returns an error if a post or completion fails, the other side abandons the case or the deadline passes.
    fn check(&self, engine: &mut Engine<'_, T>, setup: &Setup<'_>) -> Result<Checked, CaseFailure>;

    /// Runs a measured or pilot case on one thread.
    ///
    /// # Errors
    /// Returns the errors of [`Program::check`].
    fn run(
        &self,
        engine: &mut Engine<'_, T>,
        setup: &Setup<'_>,
        side: SideContext<'_>,
    ) -> Result<ThreadReport, CaseFailure>;

    /// Builds the report of this side from those of the threads of one case, whose flow has the index `flow`.
    ///
    /// # Errors
    /// Returns an error if the measurements contradict each other.
    fn report(
        &self,
        case: &Case<'_>,
        _flow: usize,
        threads: Vec<ThreadReport>,
        groups: usize,
    ) -> Result<SideReport, CaseFailure> {
        side_report::side_report(case, threads, groups)
    }
}

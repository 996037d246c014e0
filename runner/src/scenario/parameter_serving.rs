//! Parameter serving: one trainer publishes versions of its parameters, and workers use the latest version that they
//! have.
//!
//! The initiator is the trainer. Every worker is a thread of the target, and its peer is a thread of the initiator, so
//! that the workers share no endpoint. In the many-to-many pattern, a trainer's workers are threads of several targets,
//! and the flows of the initiator share the versions. Thread 0 of the initiator publishes the versions
//! ([`publication`]); all lags count from the time of publication. How a version reaches the workers depends on the
//! mode:
//!
//! - `Filesystem`: thread 0 writes a file, and each worker reads it at its pull period ([`store`]).
//! - `Multicast`: thread 0 sends datagrams to a group, which all workers receive ([`multicast`]).
//! - `Push`: every thread of the initiator writes into the memory of its worker, and then notifies it.
//! - `Pull`: each worker reads the number of the latest version at its pull period, and then the version if it is
//!   newer.
//!
//! A worker uses a version only after it has verified the version number at both ends and the checksum of all bytes
//! ([`parameters`]), so that a torn version is detected and never used. A worker records the times at which its version
//! changes. After the last step, it receives the publication times from the trainer ([`table`]). From its own times and
//! the publication times, it computes the version at every step, and thus the staleness ([`staleness`]). A busy worker
//! therefore cannot miss a step.

mod clock_offset;
mod multicast;
mod parameters;
mod publication;
mod report;
mod staleness;
mod store;
mod table;
mod trainer;
mod worker;
mod worker_measurement;

use crds::assignment::ServingWorkload;
use crds::record::{CaseFailure, SideReport};

use publication::Publication;
use trainer::Trainer;
use worker::Worker;
pub use worker_measurement::WorkerMeasurement;

use super::case::{Case, Role};
use super::case_protocol::{SideContext, measure};
use super::check::check_bytes;
use super::engine::{Engine, Setup};
use super::program::{Checked, Program};
use super::thread_report::ThreadReport;
use crate::transport::Transport;

/// Program of parameter serving. The flows of a trainer deliver the same versions.
pub(super) struct Serving<'a> {
    workload: &'a ServingWorkload,
    publication: Publication,
}

impl<'a> Serving<'a> {
    /// Creates the program of cases with this seed, of which `flows` run concurrently.
    pub(super) fn new(workload: &'a ServingWorkload, seed: u64, flows: u32) -> Self {
        let key = Publication::unique_key(seed);
        Self {
            workload,
            publication: Publication::new(workload, flows, key),
        }
    }
}

impl<T: Transport> Program<T> for Serving<'_> {
    /// The plan has no integrity pass, because every version is verified before it is used.
    fn check(&self, engine: &mut Engine<'_, T>, setup: &Setup<'_>) -> Result<Checked, CaseFailure> {
        check_bytes(engine, setup.case, |_, _| Ok(0))
    }

    fn run(
        &self,
        engine: &mut Engine<'_, T>,
        _setup: &Setup<'_>,
        side: SideContext<'_>,
    ) -> Result<ThreadReport, CaseFailure> {
        match side.role {
            Role::Initiator => measure(engine, Trainer::new(self.workload, &self.publication, side), side),
            Role::Target => measure(engine, Worker::new(self.workload), side),
        }
    }

    fn report(
        &self,
        case: &Case<'_>,
        flow: usize,
        threads: Vec<ThreadReport>,
        groups: usize,
    ) -> Result<SideReport, CaseFailure> {
        let deliveries = self.publication.flow_deliveries(flow);
        report::side_report(case, &self.workload.delivery, threads, groups, deliveries)
    }
}

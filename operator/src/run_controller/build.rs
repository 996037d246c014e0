//! Builds the objects of one attempt: ConfigMap, headless Service and Indexed Job, and the template of device claims if
//! the workers claim devices. Performs no I/O.
//!
//! A worker pod has no service account token, no privileges, and a read-only root file system. Its resources are the
//! same in every arm, except for the devices that the arm claims.

pub(super) mod affinity;
pub(super) mod claims;
mod config_map;
mod image;
mod job;
pub mod labels;
mod library;
pub mod names;
mod pod;
pub(super) mod resources;
mod runner_volume;
mod security;
mod service;

use std::collections::BTreeSet;

use campaign::plan::{HashedPlan, Leg};
use crds::assignment::OperationCount;
use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::resource::v1::ResourceClaimTemplate;
use snafu::Snafu;

use super::attempt_id::AttemptId;
use crate::options::OperatorConfig;

/// Name of the container in which a worker runs.
pub const WORKER_CONTAINER: &str = "worker";

/// Inputs from which the objects of one attempt are built.
#[derive(Clone, Copy, Debug)]
pub struct AttemptInputs<'a> {
    /// The run, whose name, namespace and UID must be set.
    pub run: &'a BenchmarkRun,
    /// Plan of the run.
    pub plan: &'a HashedPlan,
    /// Leg of the plan that the attempt measures.
    pub leg: &'a Leg,
    /// Leg and attempt number.
    pub id: AttemptId,
    /// Blocks that are already measured and therefore omitted from the assignment.
    pub done: &'a BTreeSet<u32>,
    /// Operation counts determined by the pilot cases of earlier legs and attempts.
    pub operation_counts: &'a [OperationCount],
    /// Names of the nodes on which the workers must run. If empty, the scheduler chooses the nodes.
    pub nodes: &'a [String],
    /// Whether all workers must be in one zone. Requires nodes with zone labels.
    pub single_zone: bool,
    /// Configuration of the operator.
    pub config: &'a OperatorConfig,
}

/// The objects of one attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptObjects {
    /// Template of the workers' claims; `None` if they claim no devices.
    pub claim_template: Option<ResourceClaimTemplate>,
    /// Objects that the pods need in order to start.
    pub prerequisites: Prerequisites,
    /// The Job that runs the workers.
    pub job: Job,
}

/// Objects that the pods of an attempt need in order to start.
#[derive(Clone, Debug, PartialEq)]
pub struct Prerequisites {
    /// The workers' assignment. No worker starts without it.
    pub config_map: ConfigMap,
    /// The headless Service that resolves the worker names.
    pub service: Service,
}

/// Error building the objects of an attempt.
#[derive(Debug, Snafu)]
pub enum BuildError {
    /// The assignment exceeds the size limit of a ConfigMap.
    #[snafu(display(
        "the assignment for leg {leg} is {length} bytes long, but a ConfigMap holds at most {limit}. Use fewer or \
         shorter environment variables"
    ))]
    TooLong {
        /// Index of the leg.
        leg: u32,
        /// Length of the assignment, in bytes.
        length: usize,
        /// Maximum length, in bytes.
        limit: usize,
    },
    /// The assignment cannot be encoded.
    #[snafu(display("cannot encode the assignment for leg {leg}: {source}"))]
    Write {
        /// Index of the leg.
        leg: u32,
        /// Cause.
        source: serde_json::Error,
    },
}

/// Builds the objects of `attempt`.
///
/// # Errors
/// Returns an error if the assignment exceeds the size limit of a ConfigMap or cannot be encoded.
pub fn attempt(attempt: &AttemptInputs<'_>) -> Result<AttemptObjects, BuildError> {
    Ok(AttemptObjects {
        claim_template: claims::template(attempt),
        prerequisites: Prerequisites {
            config_map: config_map::build(attempt)?,
            service: service::build(attempt),
        },
        job: job::build(attempt),
    })
}

impl AttemptInputs<'_> {
    fn uid(&self) -> &str {
        self.run.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Returns the name that the objects share.
    fn name(&self) -> String {
        names::attempt(self.uid(), self.id)
    }

    fn labels(&self) -> std::collections::BTreeMap<String, String> {
        let name = self.run.metadata.name.as_deref().unwrap_or_default();
        labels::attempt(self.uid(), name, self.id)
    }

    /// Returns the worker image.
    fn image(&self) -> &str {
        let image = self.leg.image.as_deref();
        image.unwrap_or(&self.config.runner_image)
    }
}

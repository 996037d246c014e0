//! One attempt at one leg as the three objects that carry it out: ConfigMap, headless Service, Indexed Job. Pure.
//!
//! A worker pod gets no token, no privilege and no writable root, and the same resources in every arm.

pub mod affinity;
pub mod config_map;
mod image;
mod job;
pub mod labels;
pub mod names;
mod pod;
pub mod resources;
mod service;

use std::collections::BTreeSet;

use crds::units::Size;
use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use snafu::Snafu;

use super::observed::AttemptId;
use crate::campaign::plan::{Leg, Plan};

/// Name of the container a worker runs in.
pub const WORKER_CONTAINER: &str = "worker";

/// What an installation decides for all runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Image of the runner: of workers whose run names none, and the source of the runner for all others.
    pub runner_image: String,
    /// `Always`, `IfNotPresent` or `Never`; the cluster's default where left out.
    pub image_pull_policy: Option<String>,
    /// Names of secrets with credentials for registries, in the run's namespace.
    pub image_pull_secrets: Vec<String>,
    /// How an image that a run names must begin; anyhow where empty.
    pub allowed_images: Vec<String>,
    /// Names of the environment variables that a variant may set, a `*` at the end for any that begin so; any where empty.
    pub allowed_env: Vec<String>,
    /// Workers run as root with `IPC_LOCK` and no other capability: for nodes whose container runtime limits locked memory,
    /// where the capability is of no use to anyone else.
    pub ipc_lock: bool,
    /// Processors of a worker whose run names no number.
    pub default_cpus: u32,
    /// Memory of a worker whose run names none.
    pub default_memory: Size,
}

impl Installation {
    /// The smallest installation: a runner's image, and room for every example.
    pub fn new(runner_image: impl Into<String>) -> Self {
        Self {
            runner_image: runner_image.into(),
            image_pull_policy: None,
            image_pull_secrets: Vec::new(),
            allowed_images: Vec::new(),
            allowed_env: Vec::new(),
            ipc_lock: false,
            default_cpus: 2,
            default_memory: Size(2 << 30),
        }
    }
}

/// One attempt at one leg of a run.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The run, with its name, namespace and UID.
    pub run: &'a BenchmarkRun,
    /// Its plan.
    pub plan: &'a Plan,
    /// The plan's hash.
    pub plan_hash: &'a str,
    /// The leg, of this plan.
    pub leg: &'a Leg,
    /// Its number and that of the attempt.
    pub id: AttemptId,
    /// Blocks that are measured already: they are left out.
    pub done: &'a BTreeSet<u32>,
    /// Names of the nodes it must run on; empty leaves the choice to the scheduler.
    pub nodes: &'a [String],
    /// Whether all workers must be in one zone, and nodes say in which they are.
    pub single_zone: bool,
    /// What the installation decides.
    pub installation: &'a Installation,
}

/// The objects of one attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptObjects {
    /// What their pods need.
    pub needs: Needs,
    /// The workers.
    pub job: Job,
}

/// What the pods of an attempt need.
#[derive(Clone, Debug, PartialEq)]
pub struct Needs {
    /// What the workers are told: none starts without it.
    pub config_map: ConfigMap,
    /// The name by which they meet.
    pub service: Service,
}

/// Why an attempt has no objects.
#[derive(Debug, Snafu)]
pub enum BuildError {
    /// The assignment does not fit an object.
    #[snafu(display(
        "the assignment of leg {leg} has {length} bytes, more than the {limit} of a ConfigMap. Use fewer or shorter \
         environment variables"
    ))]
    TooLong {
        /// Number of the leg.
        leg: u32,
        /// Bytes of the assignment.
        length: usize,
        /// Most bytes.
        limit: usize,
    },
    /// The assignment cannot be written.
    #[snafu(display("the assignment of leg {leg}: {source}"))]
    Write {
        /// Number of the leg.
        leg: u32,
        /// What the serializer says.
        source: serde_json::Error,
    },
}

/// Builds the objects of `attempt`.
///
/// # Errors
/// When its assignment does not fit a ConfigMap.
pub fn attempt(attempt: &Attempt<'_>) -> Result<AttemptObjects, BuildError> {
    Ok(AttemptObjects {
        needs: Needs {
            config_map: config_map::build(attempt)?,
            service: service::build(attempt),
        },
        job: job::build(attempt),
    })
}

impl Attempt<'_> {
    fn uid(&self) -> &str {
        self.run.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Name of all three objects.
    fn name(&self) -> String {
        names::attempt(self.uid(), self.id)
    }

    fn labels(&self) -> std::collections::BTreeMap<String, String> {
        let name = self.run.metadata.name.as_deref().unwrap_or_default();
        labels::attempt(self.uid(), name, self.id)
    }

    /// Image of the workers.
    fn image(&self) -> &str {
        let image = self.leg.image.as_deref();
        image.unwrap_or(&self.installation.runner_image)
    }
}

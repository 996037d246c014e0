//! Every name that two programs must agree on: API group, labels, annotations, environment variables.

/// API group of the custom resource.
pub const GROUP: &str = "fabricbench.dev";
/// API version of the custom resource.
pub const VERSION: &str = "v1alpha1";
/// Kind of the custom resource.
pub const KIND: &str = "BenchmarkRun";
/// Label with the name of the run a child belongs to.
pub const LABEL_RUN: &str = "fabricbench.dev/run";
/// Label with the UID of the run a child belongs to: names may come again, UIDs do not.
pub const LABEL_RUN_UID: &str = "fabricbench.dev/run-uid";
/// Label with the number of the leg a child belongs to.
pub const LABEL_LEG: &str = "fabricbench.dev/leg";
/// Label with the attempt a child belongs to.
pub const LABEL_ATTEMPT: &str = "fabricbench.dev/attempt";
/// Label with the number of a part of the record chain.
pub const LABEL_RECORDS_PART: &str = "fabricbench.dev/records-part";
/// Label that says which program made an object.
pub const LABEL_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`LABEL_MANAGED_BY`].
pub const MANAGED_BY: &str = "fabricbench";
/// Finalizer of a run: it stays until a read past every cache has found none of its pods.
pub const FINALIZER: &str = "fabricbench.dev/pod-cleanup";
/// Annotation on a run that gives pods up which do not go because their node is lost. Its value is not looked at.
pub const ANNOTATION_RELEASE_PODS: &str = "fabricbench.dev/release-pods";
/// Annotation with the hash of the plan a child was made for.
pub const ANNOTATION_PLAN_HASH: &str = "fabricbench.dev/plan-hash";
/// Label by which Kueue finds the queue of a Job.
pub const LABEL_QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// Set by an image to the tuning it was built for; must agree with the spec.
pub const ENV_VARIANT: &str = "FABRICBENCH_VARIANT";
/// Digest of the image of a worker, set by whoever starts it.
pub const ENV_IMAGE_DIGEST: &str = "FABRICBENCH_IMAGE_DIGEST";
/// Name of the node of a worker, set by whoever starts it.
pub const ENV_NODE: &str = "FABRICBENCH_NODE";
/// What a worker says on standard error, by level: `error`, `warn` (its default), `info`.
pub const ENV_LOG: &str = "FABRICBENCH_LOG";
/// Environment variables that begin so belong to fabricbench.
pub const ENV_PREFIX: &str = "FABRICBENCH_";
/// Rank of a worker, as the Job controller sets it in an Indexed Job.
pub const ENV_RANK: &str = "JOB_COMPLETION_INDEX";
/// Prefixes of environment variables that change how a fabric library behaves; all are recorded.
pub const RECORDED_ENV_PREFIXES: [&str; 3] = ["FI_", "UCX_", "NIXL_"];
/// Arms the planner adds carry this prefix, which no variant may use.
pub const CONTROL_PREFIX: &str = "control";

//! Names shared by several binaries: API group, labels, annotations and environment variables.

/// API group of the custom resource.
pub const GROUP: &str = "fabricbench.dev";
/// API version of the custom resource.
pub const VERSION: &str = "v1alpha1";
/// Kind of the custom resource.
pub const KIND: &str = "BenchmarkRun";
/// Label of a child object with the name of its run.
pub const LABEL_RUN: &str = "fabricbench.dev/run";
/// Label of a child object with the UID of its run. Names can be reused, UIDs cannot.
pub const LABEL_RUN_UID: &str = "fabricbench.dev/run-uid";
/// Label of a child object with the index of its leg.
pub const LABEL_LEG: &str = "fabricbench.dev/leg";
/// Label of a child object with the number of its attempt.
pub const LABEL_ATTEMPT: &str = "fabricbench.dev/attempt";
/// Label of a ConfigMap with the index of its part of the record chain.
pub const LABEL_RECORDS_PART: &str = "fabricbench.dev/records-part";
/// Label with the name of the tool that manages an object.
pub const LABEL_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`LABEL_MANAGED_BY`].
pub const MANAGED_BY: &str = "fabricbench";
/// Finalizer of a run. It is removed when an uncached list finds no pod of the run.
pub const FINALIZER: &str = "fabricbench.dev/pod-cleanup";
/// Annotation on a run that abandons pods which are stuck terminating because their node is lost. Its value is ignored.
pub const ANNOTATION_RELEASE_PODS: &str = "fabricbench.dev/release-pods";
/// Annotation of a child object with the hash of the plan it was created for.
pub const ANNOTATION_PLAN_HASH: &str = "fabricbench.dev/plan-hash";
/// Label with the name of the Kueue LocalQueue of a Job.
pub const LABEL_QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// Environment variable that an image sets to the tuning it was built for. It must agree with the spec.
pub const ENV_VARIANT: &str = "FABRICBENCH_VARIANT";
/// Environment variable with the image digest of a worker, set by the operator.
pub const ENV_IMAGE_DIGEST: &str = "FABRICBENCH_IMAGE_DIGEST";
/// Environment variable with the node name of a worker, set by the operator.
pub const ENV_NODE: &str = "FABRICBENCH_NODE";
/// Environment variable with the log level of a worker on standard error: `error`, `warn` (default) or `info`.
pub const ENV_LOG: &str = "FABRICBENCH_LOG";
/// Prefix of environment variables that are reserved for fabricbench.
pub const ENV_PREFIX: &str = "FABRICBENCH_";
/// Environment variable with the rank of a worker, set by the Job controller in an Indexed Job.
pub const ENV_RANK: &str = "JOB_COMPLETION_INDEX";
/// Prefixes of environment variables that configure fabric libraries. All of them are recorded.
pub const RECORDED_ENV_PREFIXES: [&str; 3] = ["FI_", "UCX_", "NIXL_"];
/// Name prefix of control arms, which the planner adds. Variants must not use it.
pub const CONTROL_PREFIX: &str = "control";

//! Names shared by several binaries: API group, labels, annotations and environment variables.

/// API group of the custom resource.
pub const GROUP: &str = "fabricbench.dev";
/// API version of the custom resource.
pub const VERSION: &str = "v1alpha1";
/// Kind of the custom resource.
pub const KIND: &str = "BenchmarkRun";
/// Maximum length of a run name, in characters: pods, Services and result directories are named after the run, with
/// suffixes, and their names must remain DNS labels.
pub const MAX_RUN_NAME: usize = 52;
/// Label that contains the name of the run to which a child object belongs.
pub const LABEL_RUN: &str = "fabricbench.dev/run";
/// Label that contains the UID of the run to which a child object belongs. Names can be reused; UIDs cannot.
pub const LABEL_RUN_UID: &str = "fabricbench.dev/run-uid";
/// Label that contains the index of the leg to which a child object belongs.
pub const LABEL_LEG: &str = "fabricbench.dev/leg";
/// Label that contains the number of the attempt to which a child object belongs.
pub const LABEL_ATTEMPT: &str = "fabricbench.dev/attempt";
/// Label that contains the index of the record chain part that a ConfigMap stores.
pub const LABEL_RECORDS_PART: &str = "fabricbench.dev/records-part";
/// Label that contains the name of the tool that manages an object.
pub const LABEL_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`LABEL_MANAGED_BY`].
pub const MANAGED_BY: &str = "fabricbench";
/// Finalizer of a run. The operator removes it once an uncached list returns no pods of the run.
pub const FINALIZER: &str = "fabricbench.dev/pod-cleanup";
/// Annotation on a run that allows the operator to abandon pods that are stuck terminating on a lost node. The value of
/// the annotation is ignored.
pub const ANNOTATION_RELEASE_PODS: &str = "fabricbench.dev/release-pods";
/// Annotation that contains the hash of the plan for which a child object was created.
pub const ANNOTATION_PLAN_HASH: &str = "fabricbench.dev/plan-hash";
/// Label that contains the name of the Kueue LocalQueue to which a Job is submitted.
pub const LABEL_QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// Environment variable in which an image declares the tuning that it was built for. The tuning must match the variant.
pub const ENV_VARIANT: &str = "FABRICBENCH_VARIANT";
/// Environment variable that contains the image digest of a worker, set by the operator.
pub const ENV_IMAGE_DIGEST: &str = "FABRICBENCH_IMAGE_DIGEST";
/// Environment variable that contains the node name of a worker, set by the operator.
pub const ENV_NODE: &str = "FABRICBENCH_NODE";
/// Environment variable that sets the level of the log that fabricbench-runner writes to standard error: `error`,
/// `warn` (default), `info` or `debug`.
pub const ENV_LOG: &str = "FABRICBENCH_LOG";
/// Environment variable that a worker uses to pad the environments of its instrument processes to the same size, so
/// that their stacks have the same alignment.
pub const ENV_PADDING: &str = "FABRICBENCH_PADDING";
/// Environment variable that contains the directory in which an instrument writes the samples of every measured case,
/// one file per case. If it is unset, samples are not written.
pub const ENV_SAMPLES_DIRECTORY: &str = "FABRICBENCH_SAMPLES_DIRECTORY";
/// Environment variable that contains the directory in which a worker keeps the whole output of its instrument processes,
/// which is the log of their libraries, one file per process. If it is unset, only the last lines are kept, in the
/// records.
pub const ENV_LOGS_DIRECTORY: &str = "FABRICBENCH_LOGS_DIRECTORY";
/// Prefix of environment variables that are reserved for fabricbench.
pub const ENV_PREFIX: &str = "FABRICBENCH_";
/// Environment variable that contains the rank of a worker, set by the Job controller in an Indexed Job.
pub const ENV_RANK: &str = "JOB_COMPLETION_INDEX";
/// Name prefix of the control arms, which the planner adds. Variant names must not start with this prefix.
pub const CONTROL_PREFIX: &str = "control";
/// Directory with the libraries that are copied from other images into worker pods.
pub const LIBRARIES_DIRECTORY: &str = "/mnt/fabricbench-libraries";
/// Maximum size of the libraries that are copied from one image, in bytes.
pub const MAX_LIBRARY_BYTES: u64 = 1 << 30;
/// Directory at which a worker pod mounts the PersistentVolumeClaim of the run.
pub const SHARED_DIRECTORY: &str = "/mnt/fabricbench";

/// Regular expression for DNS labels.
pub const LABEL_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// Regular expression for names of Kubernetes objects: DNS subdomains.
pub const SUBDOMAIN_PATTERN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// Regular expression for values of labels and taints.
pub const LABEL_VALUE_PATTERN: &str = "^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$";

/// Regular expression for keys of labels and taints: a name, with an optional DNS subdomain in front of it.
pub const LABEL_KEY_PATTERN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$";

//! Operator metrics. The values of each label form a closed set that contains no run, pod or node names.

mod category;
mod registry;

pub(crate) use category::Category;
pub(crate) use registry::{Metrics, MetricsError};

use super::{Definition, Kind, Label};

/// All operator metrics, in documentation order.
pub(crate) const ALL: [Definition; 14] = [
    LEADING,
    QUEUE_DEPTH,
    RUNS_BACKING_OFF,
    RECONCILE_DURATION,
    RECONCILE_ERRORS,
    API_REQUEST_DURATION,
    STATUS_UPDATES,
    CPU_SECONDS,
    RESIDENT_MEMORY,
    VIRTUAL_MEMORY,
    OPEN_FILES,
    MAX_FILES,
    START_TIME,
    THREADS,
];

/// Whether this replica is the leader.
pub(crate) const LEADING: Definition = gauge(
    "fabricbench_leading",
    "",
    "Whether this replica is the leader: 1 or 0",
);

/// Number of runs waiting for reconciliation.
pub(crate) const QUEUE_DEPTH: Definition = gauge(
    "fabricbench_queue_depth",
    "runs",
    "Number of runs waiting for reconciliation",
);

/// Number of runs waiting to be retried after an error.
pub(crate) const RUNS_BACKING_OFF: Definition = gauge(
    "fabricbench_runs_backing_off",
    "runs",
    "Number of runs waiting to be retried after an error",
);

/// Duration of reconciliations.
pub(crate) const RECONCILE_DURATION: Definition = Definition {
    name: "fabricbench_reconcile_duration_seconds",
    kind: Kind::Histogram,
    unit: "seconds",
    help: "Duration of one reconciliation of a run",
    labels: &[],
};

/// Number of failed reconciliations.
pub(crate) const RECONCILE_ERRORS: Definition = Definition {
    name: "fabricbench_reconcile_errors_total",
    kind: Kind::Counter,
    unit: "reconciliations",
    help: "Number of failed reconciliations by category",
    labels: &[Label {
        name: "category",
        values: "category of the error",
    }],
};

/// Latency of requests to the API server.
pub(crate) const API_REQUEST_DURATION: Definition = Definition {
    name: "fabricbench_api_request_duration_seconds",
    kind: Kind::Histogram,
    unit: "seconds",
    help: "Time until the API server starts to respond, by verb and HTTP status",
    labels: &[
        Label {
            name: "verb",
            values: "RBAC verb; log for pod logs",
        },
        Label {
            name: "status",
            values: "HTTP status code; none if there was no response",
        },
    ],
};

/// Number of computed statuses.
pub(crate) const STATUS_UPDATES: Definition = Definition {
    name: "fabricbench_status_updates_total",
    kind: Kind::Counter,
    unit: "statuses",
    help: "Number of computed statuses, by outcome",
    labels: &[Label {
        name: "outcome",
        values: "written, unchanged",
    }],
};

const CPU_SECONDS: Definition = Definition {
    name: "process_cpu_seconds_total",
    kind: Kind::Counter,
    unit: "seconds",
    help: "Total user and system CPU time spent in seconds.",
    labels: &[],
};

const RESIDENT_MEMORY: Definition = gauge(
    "process_resident_memory_bytes",
    "bytes",
    "Resident memory size in bytes.",
);

const VIRTUAL_MEMORY: Definition = gauge(
    "process_virtual_memory_bytes",
    "bytes",
    "Virtual memory size in bytes.",
);

const OPEN_FILES: Definition = gauge("process_open_fds", "files", "Number of open file descriptors.");

const MAX_FILES: Definition = gauge(
    "process_max_fds",
    "files",
    "Maximum number of open file descriptors.",
);

const START_TIME: Definition = gauge(
    "process_start_time_seconds",
    "seconds",
    "Start time of the process since unix epoch in seconds.",
);

const THREADS: Definition = gauge(
    "process_threads",
    "threads",
    "Number of OS threads in the process.",
);

const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Definition {
    Definition {
        name,
        kind: Kind::Gauge,
        unit,
        help,
        labels: &[],
    }
}

"""The dashboard of the operator: leadership, reconciliations, errors, API server, process. No I/O."""

from grafana_foundation_sdk.builders import dashboard as builders

import parts
from parts import now, over_time

SCRAPED = 'job=~"$job", instance=~"$instance"'
NOT_SCRAPED = "No operator was scraped at this time"


def build():
    board = parts.new(
        "fabricbench-operator",
        "fabricbench / Operator",
        "Health of the operator: leadership, duration and errors of reconciliations, responses of the API server, and "
        "resource usage.",
        "1h",
        "30s",
    )
    for variable in variables():
        board = board.with_variable(variable)
    rows = {
        "Now": summary(),
        "Reconciliations": (reconcile_duration(), rates(), errors(), waiting(), statuses(), leading()),
        "API server": (latency(), slowest(), answers()),
        "Process": (memory(), cpu()),
    }
    for title, panels in rows.items():
        board = board.with_row(builders.Row(title))
        for panel in panels:
            board = board.with_panel(panel)
    return board


def variables():
    return [
        parts.label_variable("job", "Job", "fabricbench_leading", "job", many=True),
        parts.label_variable("instance", "Replica", 'fabricbench_leading{job=~"$job"}', "instance", many=True),
    ]


def rate(metric, labels, more=""):
    return f"sum by ({labels}) (rate({metric}{{{SCRAPED}{more}}}[$__rate_interval]))"


def summary():
    def total(metric):
        return now(f"sum({metric}{{{SCRAPED}}})")

    return [
        parts.number(
            "Replicas", "Number of scraped replicas.", [now(f"count(fabricbench_leading{{{SCRAPED}}})")], "short", NOT_SCRAPED, 4
        ),
        parts.number(
            "Leading",
            "Number of leading replicas: one, or none for a few seconds while the Lease changes its holder.",
            [total("fabricbench_leading")],
            "short",
            NOT_SCRAPED,
            4,
            [(0, "red"), (1, "green"), (2, "red")],
        ),
        parts.number(
            "Waiting runs",
            "Runs that wait for reconciliation.",
            [total("fabricbench_queue_depth")],
            "short",
            NOT_SCRAPED,
            4,
        ),
        parts.number(
            "Backing off",
            "Runs that are retried later because of an error.",
            [total("fabricbench_runs_backing_off")],
            "short",
            NOT_SCRAPED,
            4,
            [(0, "green"), (1, "orange")],
        ),
        parts.number(
            "Memory",
            "Resident memory of the largest replica.",
            [now(f"max(process_resident_memory_bytes{{{SCRAPED}}})")],
            "bytes",
            NOT_SCRAPED,
            4,
        ),
        parts.number(
            "Failed reconciliations",
            "Share of failed reconciliations in the last 15 minutes.",
            [
                now(
                    f"(sum(rate(fabricbench_reconcile_errors_total{{{SCRAPED}}}[15m])) or vector(0))"
                    f" / (sum(rate(fabricbench_reconcile_duration_seconds_count{{{SCRAPED}}}[15m])) > 0)"
                )
            ],
            "percentunit",
            "No reconciliations in the last 15 minutes",
            4,
            [(0, "green"), (0.01, "orange")],
        ),
    ]


def quantile(level, metric, by, more=""):
    labels = ", ".join(["le", *by])
    return f"histogram_quantile({level}, {rate(metric + '_bucket', labels, more)})"


def reconcile_duration():
    metric = "fabricbench_reconcile_duration_seconds"
    return parts.lines(
        "Reconcile duration",
        "Duration of one reconciliation of one run. Without changes it takes microseconds; otherwise most of it is spent "
        "waiting for the API server.",
        [
            over_time(quantile(level, metric, ()), f"p{name}", f"P{name}")
            for level, name in ((0.5, "50"), (0.95, "95"), (0.99, "99"))
        ],
        "s",
        "No reconciliations in this time range",
        12,
    )


def rates():
    return parts.lines(
        "Reconciliations",
        "Reconciliations per second.",
        [over_time(rate("fabricbench_reconcile_duration_seconds_count", "instance"), "{{instance}}")],
        "ops",
        "No reconciliations in this time range",
        12,
    )


def errors():
    return parts.lines(
        "Failed reconciliations by category",
        "The operator's log names the runs and the causes.",
        [over_time(rate("fabricbench_reconcile_errors_total", "category"), "{{category}}")],
        "ops",
        "No reconciliation has failed since the operator started",
        12,
    )


def waiting():
    def depth(metric, legend, ref):
        return over_time(f"sum({metric}{{{SCRAPED}}})", legend, ref)

    return parts.lines(
        "Waiting runs",
        "Runs that wait for reconciliation, and runs that wait for a retry after an error.",
        [depth("fabricbench_queue_depth", "waiting", "A"), depth("fabricbench_runs_backing_off", "backing off", "B")],
        "short",
        NOT_SCRAPED,
        12,
    )


def statuses():
    return parts.lines(
        "Status updates",
        "Statuses that were written to the API server, or not written because they were unchanged.",
        [over_time(rate("fabricbench_status_updates_total", "outcome"), "{{outcome}}")],
        "ops",
        "No status updates in this time range",
        12,
    )


def leading():
    return parts.lines(
        "Leader",
        "1 for the leading replica.",
        [over_time(f"max by (instance) (fabricbench_leading{{{SCRAPED}}})", "{{instance}}")],
        "short",
        NOT_SCRAPED,
        12,
    )


def latency():
    metric = "fabricbench_api_request_duration_seconds"
    return parts.lines(
        "Request latency",
        "Time until the response of the API server starts, over all requests.",
        [
            over_time(quantile(level, metric, ()), f"p{name}", f"P{name}")
            for level, name in ((0.5, "50"), (0.95, "95"), (0.99, "99"))
        ],
        "s",
        "No requests in this time range",
        8,
    )


def slowest():
    return parts.lines(
        "Request latency by verb",
        "99th percentile.",
        [over_time(quantile(0.99, "fabricbench_api_request_duration_seconds", ("verb",)), "{{verb}}")],
        "s",
        "No requests in this time range",
        8,
    )


def answers():
    return parts.lines(
        "Responses",
        "Requests per second by verb and HTTP status; none means that there was no response. 404 and 409 are expected: "
        "an object does not exist yet, or exists already.",
        [over_time(rate("fabricbench_api_request_duration_seconds_count", "verb, status"), "{{verb}} {{status}}")],
        "reqps",
        "No requests in this time range",
        8,
    )


def memory():
    return parts.lines(
        "Memory by replica",
        "Resident memory.",
        [over_time(f"max by (instance) (process_resident_memory_bytes{{{SCRAPED}}})", "{{instance}}")],
        "bytes",
        NOT_SCRAPED,
        12,
    )


def cpu():
    return parts.lines(
        "CPU by replica",
        "CPUs in use.",
        [over_time(rate("process_cpu_seconds_total", "instance"), "{{instance}}")],
        "short",
        NOT_SCRAPED,
        12,
    )

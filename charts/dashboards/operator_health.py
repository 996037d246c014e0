"""Dashboard for the operator: leadership, reconciliations, errors, API server, process. Performs no I/O."""

from grafana_foundation_sdk.builders import dashboard as builders

import parts
from parts import instant_query, range_query

SCRAPED = 'job=~"$job", instance=~"$instance"'
NOT_SCRAPED = "No operator was scraped at this time"


def build():
    board = parts.new_dashboard(
        "fabricbench-operator",
        "fabricbench / Operator",
        "Health of the operator: leadership, reconciliation durations and errors, API server responses, and resource "
        "usage.",
        "1h",
        "30s",
    )
    for variable in variables():
        board = board.with_variable(variable)
    rows = {
        "Now": summary(),
        "Reconciliations": (reconcile_duration(), rates(), errors(), waiting(), statuses(), leading()),
        "API server": (latency(), latency_by_verb(), responses()),
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
        return instant_query(f"sum({metric}{{{SCRAPED}}})")

    return [
        parts.stat_panel(
            "Replicas", "Number of scraped replicas.", [instant_query(f"count(fabricbench_leading{{{SCRAPED}}})")], "short", NOT_SCRAPED, 4
        ),
        parts.stat_panel(
            "Leading",
            "Number of leading replicas: one, or zero for a few seconds while leadership changes hands.",
            [total("fabricbench_leading")],
            "short",
            NOT_SCRAPED,
            4,
            [(0, "red"), (1, "green"), (2, "red")],
        ),
        parts.stat_panel(
            "Waiting runs",
            "Runs waiting for reconciliation.",
            [total("fabricbench_queue_depth")],
            "short",
            NOT_SCRAPED,
            4,
        ),
        parts.stat_panel(
            "Backing off",
            "Runs waiting to be retried after an error.",
            [total("fabricbench_runs_backing_off")],
            "short",
            NOT_SCRAPED,
            4,
            [(0, "green"), (1, "orange")],
        ),
        parts.stat_panel(
            "Memory",
            "Resident memory of the replica with the highest usage.",
            [instant_query(f"max(process_resident_memory_bytes{{{SCRAPED}}})")],
            "bytes",
            NOT_SCRAPED,
            4,
        ),
        parts.stat_panel(
            "Failed reconciliations",
            "Fraction of reconciliations that failed in the last 15 minutes.",
            [
                instant_query(
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
    return parts.time_series_panel(
        "Reconcile duration",
        "Duration of a single reconciliation. A reconciliation that changes nothing takes microseconds; otherwise, "
        "most of the time is spent waiting for the API server.",
        [
            range_query(quantile(level, metric, ()), f"p{name}", f"P{name}")
            for level, name in ((0.5, "50"), (0.95, "95"), (0.99, "99"))
        ],
        "s",
        "No reconciliations in this time range",
        12,
    )


def rates():
    return parts.time_series_panel(
        "Reconciliations",
        "Reconciliations per second, by replica.",
        [range_query(rate("fabricbench_reconcile_duration_seconds_count", "instance"), "{{instance}}")],
        "ops",
        "No reconciliations in this time range",
        12,
    )


def errors():
    return parts.time_series_panel(
        "Failed reconciliations by category",
        "Failed reconciliations per second. See the operator's log for the affected runs and the causes.",
        [range_query(rate("fabricbench_reconcile_errors_total", "category"), "{{category}}")],
        "ops",
        "No reconciliation has failed since the operator started",
        12,
    )


def waiting():
    def depth(metric, legend, ref):
        return range_query(f"sum({metric}{{{SCRAPED}}})", legend, ref)

    return parts.time_series_panel(
        "Waiting runs",
        "Runs waiting for reconciliation, and runs waiting to be retried after an error.",
        [depth("fabricbench_queue_depth", "waiting", "A"), depth("fabricbench_runs_backing_off", "backing off", "B")],
        "short",
        NOT_SCRAPED,
        12,
    )


def statuses():
    return parts.time_series_panel(
        "Status updates",
        "Status updates per second: written to the API server, or skipped because the status was unchanged.",
        [range_query(rate("fabricbench_status_updates_total", "outcome"), "{{outcome}}")],
        "ops",
        "No status updates in this time range",
        12,
    )


def leading():
    return parts.time_series_panel(
        "Leader",
        "1 for the leading replica, 0 for the others.",
        [range_query(f"max by (instance) (fabricbench_leading{{{SCRAPED}}})", "{{instance}}")],
        "short",
        NOT_SCRAPED,
        12,
    )


def latency():
    metric = "fabricbench_api_request_duration_seconds"
    return parts.time_series_panel(
        "Request latency",
        "Time from sending a request to the start of the API server's response, for all requests.",
        [
            range_query(quantile(level, metric, ()), f"p{name}", f"P{name}")
            for level, name in ((0.5, "50"), (0.95, "95"), (0.99, "99"))
        ],
        "s",
        "No requests in this time range",
        8,
    )


def latency_by_verb():
    return parts.time_series_panel(
        "Request latency by verb",
        "99th percentile of request latency, by verb.",
        [range_query(quantile(0.99, "fabricbench_api_request_duration_seconds", ("verb",)), "{{verb}}")],
        "s",
        "No requests in this time range",
        8,
    )


def responses():
    return parts.time_series_panel(
        "Responses",
        "Requests per second by verb and HTTP status; none means that there was no response. 404 and 409 are "
        "expected: an object does not exist yet, or already exists.",
        [range_query(rate("fabricbench_api_request_duration_seconds_count", "verb, status"), "{{verb}} {{status}}")],
        "reqps",
        "No requests in this time range",
        8,
    )


def memory():
    return parts.time_series_panel(
        "Memory by replica",
        "Resident memory of each replica.",
        [range_query(f"max by (instance) (process_resident_memory_bytes{{{SCRAPED}}})", "{{instance}}")],
        "bytes",
        NOT_SCRAPED,
        12,
    )


def cpu():
    return parts.time_series_panel(
        "CPU by replica",
        "Number of CPUs used by each replica.",
        [range_query(rate("process_cpu_seconds_total", "instance"), "{{instance}}")],
        "short",
        NOT_SCRAPED,
        12,
    )

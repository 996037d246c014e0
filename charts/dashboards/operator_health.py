"""The dashboard of the operator itself: does it act, how fast, what fails. Pure."""

from grafana_foundation_sdk.builders import dashboard as builders

import parts
from parts import now, over_time

SCRAPED = 'job=~"$job", instance=~"$instance"'
NOT_SCRAPED = "No operator is scraped at this time"


def build():
    board = parts.new(
        "fabricbench-operator",
        "fabricbench / Operator",
        "Whether the operator does its work: who leads, how long a pass over a run takes, what fails, how the API "
        "server answers, and what it costs.",
        "1h",
        "30s",
    )
    for variable in variables():
        board = board.with_variable(variable)
    rows = {
        "Now": summary(),
        "Passes over runs": (passes(), rates(), errors(), waiting(), statuses(), leading()),
        "API server": (latency(), slowest(), answers()),
        "Process": (memory(), processor()),
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
            "Replicas", "How many answer.", [now(f"count(fabricbench_leading{{{SCRAPED}}})")], "short", NOT_SCRAPED, 4
        ),
        parts.number(
            "Leading",
            "How many act. One does, or none for the seconds in which the lease changes hands.",
            [total("fabricbench_leading")],
            "short",
            NOT_SCRAPED,
            4,
            [(0, "red"), (1, "green"), (2, "red")],
        ),
        parts.number(
            "Waiting runs",
            "Runs that wait to be looked at.",
            [total("fabricbench_queue_depth")],
            "short",
            NOT_SCRAPED,
            4,
        ),
        parts.number(
            "Backing off",
            "Runs that are looked at again later because of an error.",
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
            "Passes that fail",
            "Of all passes in the last quarter of an hour.",
            [
                now(
                    f"(sum(rate(fabricbench_reconcile_errors_total{{{SCRAPED}}}[15m])) or vector(0))"
                    f" / (sum(rate(fabricbench_reconcile_duration_seconds_count{{{SCRAPED}}}[15m])) > 0)"
                )
            ],
            "percentunit",
            "No pass in a quarter of an hour",
            4,
            [(0, "green"), (0.01, "orange")],
        ),
    ]


def quantile(level, metric, by, more=""):
    labels = ", ".join(["le", *by])
    return f"histogram_quantile({level}, {rate(metric + '_bucket', labels, more)})"


def passes():
    metric = "fabricbench_reconcile_duration_seconds"
    return parts.lines(
        "Time of a pass",
        "From the beginning of a look at a run to its end. A pass that changes nothing takes microseconds; others wait "
        "for the API server.",
        [
            over_time(quantile(level, metric, ()), f"p{name}", f"P{name}")
            for level, name in ((0.5, "50"), (0.95, "95"), (0.99, "99"))
        ],
        "s",
        "No pass in this time",
        12,
    )


def rates():
    return parts.lines(
        "Passes",
        "Looks at runs, a second.",
        [over_time(rate("fabricbench_reconcile_duration_seconds_count", "instance"), "{{instance}}")],
        "ops",
        "No pass in this time",
        12,
    )


def errors():
    return parts.lines(
        "Passes that fail, by category",
        "The operator's log names runs and causes.",
        [over_time(rate("fabricbench_reconcile_errors_total", "category"), "{{category}}")],
        "ops",
        "No pass has failed since the operator began",
        12,
    )


def waiting():
    def depth(metric, legend, ref):
        return over_time(f"sum({metric}{{{SCRAPED}}})", legend, ref)

    return parts.lines(
        "Runs that wait",
        "To be looked at, and to be looked at again after an error.",
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
        "No status was computed in this time",
        12,
    )


def leading():
    return parts.lines(
        "Who leads",
        "1 for the replica that acts.",
        [over_time(f"max by (instance) (fabricbench_leading{{{SCRAPED}}})", "{{instance}}")],
        "short",
        NOT_SCRAPED,
        12,
    )


def latency():
    metric = "fabricbench_api_request_duration_seconds"
    return parts.lines(
        "Time to an answer",
        "Until the API server's answer begins, over all requests.",
        [
            over_time(quantile(level, metric, ()), f"p{name}", f"P{name}")
            for level, name in ((0.5, "50"), (0.95, "95"), (0.99, "99"))
        ],
        "s",
        "No request in this time",
        8,
    )


def slowest():
    return parts.lines(
        "Time to an answer, by verb",
        "99th percentile.",
        [over_time(quantile(0.99, "fabricbench_api_request_duration_seconds", ("verb",)), "{{verb}}")],
        "s",
        "No request in this time",
        8,
    )


def answers():
    return parts.lines(
        "Answers",
        "Requests a second, by verb and HTTP status; none: the API server did not answer. 404 and 409 are ordinary: "
        "something is not there yet, or is there already.",
        [over_time(rate("fabricbench_api_request_duration_seconds_count", "verb, status"), "{{verb}} {{status}}")],
        "reqps",
        "No request in this time",
        8,
    )


def memory():
    return parts.lines(
        "Memory of each replica",
        "Resident memory.",
        [over_time(f"max by (instance) (process_resident_memory_bytes{{{SCRAPED}}})", "{{instance}}")],
        "bytes",
        NOT_SCRAPED,
        12,
    )


def processor():
    return parts.lines(
        "CPU of each replica",
        "Processors in use.",
        [over_time(rate("process_cpu_seconds_total", "instance"), "{{instance}}")],
        "short",
        NOT_SCRAPED,
        12,
    )

"""Dashboard for one run: effects with their intervals, and whether the values can be trusted. Performs no I/O."""

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.models import dashboard

import parts
import run_panels
import scenario_panels
from selection import RUN, SCENARIO


def build():
    board = parts.new_dashboard(
        "fabricbench-campaign",
        "fabricbench / Campaign",
        "One BenchmarkRun: the effect of each variant at each size, and whether the values can be trusted. Panels "
        "show the values at the end of the time range. For a deleted run, select a range that ends while the run "
        "still existed.",
        "1h",
        "30s",
    )
    for variable in variables():
        board = board.with_variable(variable)
    board = board.with_row(builders.Row("Run"))
    for panel in run_panels.build():
        board = board.with_panel(panel)
    board = board.with_row(builders.Row("Scenario $scenario").repeat("scenario"))
    for panel in scenario_panels.build():
        board = board.with_panel(panel)
    return board


def variables():
    here = 'run_namespace="$namespace"'
    ratio = "fabricbench_comparison_ratio{" + SCENARIO + "}"
    quantiles = "smallest : 0,p50 : 0.5,p95 : 0.95,p99 : 0.99,p99.9 : 0.999,largest : 1"
    median = dashboard.VariableOption(selected=True, text="p50", value="0.5")
    # A run with too many series exports no arms, and a run that has just started has no comparisons yet.
    measured = '{__name__=~"fabricbench_(arm_valid|comparison_verdict)", ' + RUN + "}"
    return [
        parts.label_variable("namespace", "Namespace", "fabricbench_run_state", "run_namespace"),
        parts.label_variable("run", "Run", "fabricbench_run_state{" + here + "}", "run"),
        parts.label_variable("scenario", "Scenario", measured, "scenario", many=True),
        parts.label_variable("arm", "Compared arms", ratio, "arm", many=True),
        builders.CustomVariable("quantile").label("Latency quantile").values(quantiles).current(median),
    ]

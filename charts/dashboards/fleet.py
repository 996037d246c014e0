"""Dashboard for all runs: their states, the trend of one comparison, and deviating nodes and pairs. Performs no I/O."""

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import timeseries
from grafana_foundation_sdk.models import common

import parts
import transforms
import words
from parts import instant_query, properties, range_query
from selection import trusted

RUNS = 'run_namespace=~"$namespace"'
EACH = "run_namespace, run"
CELL = RUNS + ', run=~"$runs", scenario="$scenario", arm="$arm", size_bytes="$size"'
# Width in pixels of a column with a date and a time of day.
TIME_WIDTH = 170
COLORED_TEXT = common.TableColorTextCellOptions()
NO_RUNS = "No runs at this time"
NO_PAIRS = "No pairs were measured, or no pair deviates"
NO_NODES = "No pairs were measured"


def build():
    board = parts.new_dashboard(
        "fabricbench-fleet",
        "fabricbench / Fleet",
        "All BenchmarkRuns in the selected namespaces, the trend of one comparison across runs, and the nodes and "
        "pairs that deviate from the median. Tables show the end of the time range; the trend contains all runs that "
        "existed within it.",
        "7d",
        "1m",
    )
    for variable in variables():
        board = board.with_variable(variable)
    rows = {
        "Runs": (runs_by_state(), not_exported(), alerts(), runs()),
        "Trend of one comparison": (trend(), trend_table()),
        "Nodes and pairs": (nodes(), pairs()),
    }
    for title, panels in rows.items():
        board = board.with_row(builders.Row(title))
        for panel in panels:
            board = board.with_panel(panel)
    return board


def variables():
    def comparison_variable(name, title, label, labels, numbers=False):
        return parts.label_variable(name, title, "fabricbench_comparison_ratio{" + labels + "}", label, numbers=numbers)

    scenario = RUNS + ', scenario="$scenario"'
    arm = scenario + ', arm="$arm"'
    return [
        parts.label_variable("namespace", "Namespace", "fabricbench_run_state", "run_namespace", many=True),
        comparison_variable("scenario", "Trend: scenario", "scenario", RUNS),
        comparison_variable("arm", "arm", "arm", scenario),
        comparison_variable("metric", "metric", "metric", arm),
        comparison_variable("size", "size", "size_bytes", arm + ', metric="$metric"', numbers=True),
        builders.TextBoxVariable("runs").label("runs (regular expression)").default_value(".*"),
    ]


def runs_by_state():
    panel = (
        parts.time_series_panel(
            "Runs by state",
            "Number of runs in each state.",
            [range_query(f"sum by (state) (max by ({EACH}, state) (fabricbench_run_state{{{RUNS}}}))", "{{state}}")],
            "short",
            NO_RUNS,
            9,
        )
        .stacking(parts.common_builders.StackingConfig().mode(common.StackingMode.NORMAL))
        .fill_opacity(30)
        .decimals(0)
    )
    for state, color in words.STATE.items():
        panel = panel.override_by_name(state, fixed(color))
    return panel


def fixed(color, **values):
    return properties(color={"mode": "fixed", "fixedColor": color}, **values)


def not_exported():
    return parts.stat_panel(
        "Not exported",
        "Number of runs whose series are not exported. The operator exports a limited number of series; the newest "
        "runs take precedence.",
        [instant_query("sum(fabricbench_runs_without_series)")],
        "short",
        "No operator is scraped at this time",
        3,
        [(0, "green"), (1, "orange")],
    ).height(8)


def alerts():
    labels = ("severity", "alertname", "run_namespace", "run", "scenario", "arm", "size_bytes")
    firing = 'ALERTS{alertname=~"Fabricbench.+", alertstate="firing"}'
    columns = {label: label for label in labels} | {
        "alertname": "alert",
        "run_namespace": "namespace",
        "size_bytes": "size",
    }
    return parts.table_panel(
        "Alerts",
        "Firing fabricbench alerts, from the rules in the chart (prometheus.rules.enabled).",
        [instant_query(f"max by ({', '.join(labels)}) ({firing})")],
        [transforms.select_columns(columns, hidden=("Time", "Value"))],
        "No alerts are firing, or the rules are not installed",
        12,
        8,
    ).override_by_name("alert", properties(custom_width=260))


def runs():
    def state_set(metric, label, ref):
        return instant_query(f"max by ({EACH}, {label}) ({metric}{{{RUNS}}} == 1)", ref)

    regressed = (
        f"count by ({EACH}) (max by ({EACH}, scenario, size_bytes, arm, metric) ("
        f'fabricbench_comparison_verdict{{{RUNS}, verdict="Regressed"}} == 1)'
        f" and on ({EACH}, scenario, size_bytes, arm, metric) "
        f'fabricbench_comparison_ratio{{{RUNS}, primary="true", negative_control="false"}})'
    )

    def per_run(metric, more=""):
        return f"max by ({EACH}) ({metric}{{{RUNS}{more}}})"

    targets = [
        state_set("fabricbench_run_state", "state", "A"),
        state_set("fabricbench_run_outcome", "outcome", "B"),
        state_set("fabricbench_run_fabric_proof", "proof", "C"),
        instant_query(f"max by ({EACH}, provider, baseline) (fabricbench_run_info{{{RUNS}}})", "D"),
        instant_query(f"{per_run('fabricbench_run_blocks_done')} / ({per_run('fabricbench_run_blocks')} > 0)", "E"),
        instant_query(f"{regressed} or 0 * {per_run('fabricbench_run_state')}", "F"),
        instant_query(per_run("fabricbench_run_expectations", ', outcome="NotMet"'), "G"),
        instant_query(f"1000 * {per_run('fabricbench_run_created_timestamp_seconds')}", "H"),
        instant_query(f"1000 * {per_run('fabricbench_run_finished_timestamp_seconds')}", "I"),
    ]
    columns = {
        "run_namespace": "namespace",
        "run": "run",
        "state": "state",
        "outcome": "outcome",
        "proof": "fabric",
        "Value #E": "progress",
        "Value #F": "regressions",
        "Value #G": "missed",
        "provider": "provider",
        "baseline": "baseline",
        "Value #H": "created",
        "Value #I": "finished",
    }
    hidden = ("Time", "Value #A", "Value #B", "Value #C", "Value #D")
    url = (
        "/d/fabricbench-campaign?var-datasource=${datasource}&var-namespace=${__data.fields.namespace}"
        "&var-run=${__value.raw}&${__url_time_range}"
    )
    panel = (
        parts.table_panel(
            "All runs",
            "All runs in the selected namespaces. Each run name links to the dashboard for that run.",
            targets,
            [
                transforms.joined(),
                *transforms.sorted_by("Value #H", descending=True),
                transforms.select_columns(columns, hidden),
            ],
            NO_RUNS,
            parts.WIDTH,
            10,
        )
        .override_by_name("progress", properties(unit="percentunit", decimals=0))
        .override_by_regexp("/^(created|finished)$/", properties(unit="dateTimeAsIso", custom_width=TIME_WIDTH))
        .override_by_name("run", properties(links=[{"title": "Campaign", "url": url}]))
    )
    for name, colors in (("state", words.STATE), ("outcome", words.OUTCOME), ("fabric", words.PROOF)):
        panel = panel.override_by_name(name, colored_cells(colors))
    for name in ("regressions", "missed"):
        panel = panel.override_by_name(
            name,
            properties(thresholds=parts.thresholds([(1, "red")]).build(), custom_cellOptions=COLORED_TEXT),
        )
    return panel


def colored_cells(colors):
    return properties(mappings=words.mappings(colors), custom_cellOptions=COLORED_TEXT)


def trend_queries():
    """Queries for the comparison and finish time of each finished, trusted run that existed within the time range."""
    finished = f"max by ({EACH}) (last_over_time(fabricbench_run_finished_timestamp_seconds{{{RUNS}}}[$__range]))"

    good = f'last_over_time(fabricbench_run_outcome{{{RUNS}, outcome=~"Passed|Missed"}}[$__range]) == 1'

    def compared(metric):
        found = trusted(metric, CELL, 'metric="$metric"', "[$__range]")
        return f"max by ({EACH}) ({found} and on ({EACH}) ({good}))"

    def change(metric, ref):
        return instant_query(f"{compared(metric)} - 1", ref)

    return [
        instant_query(f"1000 * {finished} and on ({EACH}) {compared('fabricbench_comparison_ratio')}", "A"),
        change("fabricbench_comparison_ratio", "B"),
        change("fabricbench_comparison_ratio_lower", "C"),
        change("fabricbench_comparison_ratio_upper", "D"),
    ]


TREND = {
    "Value #A": "finished",
    "run_namespace": "namespace",
    "run": "run",
    "Value #B": "change",
    "Value #C": "lower end",
    "Value #D": "upper end",
}
NO_TREND = (
    "No finished, trusted run in this time range has this comparison. Select a scenario, arm, metric and size above"
)


def trend_steps(descending):
    return [
        transforms.joined(),
        transforms.select_columns(TREND),
        # This step must come after the renaming: a time column that has not been renamed would be dropped together with
        # the query's Time column.
        transforms.as_time("finished"),
        *transforms.sorted_by("finished", descending=descending),
    ]


def trend():
    panel = (
        parts.configure_panel(
            timeseries.Panel(),
            "$arm, $metric at $size bytes in $scenario",
            "Change relative to the baseline at the end of each finished run, with its interval. Suspect and "
            "untrusted runs and withheld verdicts are excluded. Only runs from the same environment are comparable: "
            "use fabricbench compare to check whether two runs are.",
            14,
            10,
        )
        .unit("percentunit")
        .no_value(NO_TREND)
        .draw_style(common.GraphDrawStyle.LINE)
        .show_points(common.VisibilityMode.ALWAYS)
        .point_size(6)
        .fill_opacity(0)
        .legend(parts.legend())
        .tooltip(parts.all_series_tooltip())
        .override_by_name("change", fixed("blue"))
        .override_by_name(
            "upper end",
            fixed("light-blue", custom_fillBelowTo="lower end", custom_fillOpacity=15, custom_lineWidth=0),
        )
        .override_by_name("lower end", fixed("light-blue", custom_lineWidth=0))
    )
    for target in trend_queries():
        panel = panel.with_target(target)
    for transformation in trend_steps(descending=False):
        panel = panel.with_transformation(transformation)
    return panel


def trend_table():
    return (
        parts.table_panel(
            "Trend by run",
            "Runs in the trend, newest first.",
            trend_queries(),
            trend_steps(descending=True),
            NO_TREND,
            10,
            10,
        )
        .override_by_regexp("/^(change|lower end|upper end)$/", properties(unit="percentunit", decimals=1))
        .override_by_name("finished", properties(unit="dateTimeAsIso", custom_width=TIME_WIDTH))
    )


def nodes():
    """Ranks nodes by all their pairs, because a single deviating pair does not show which of its nodes is the cause."""
    return outliers(
        "Nodes by deviation of their pairs",
        "Median deviation of a node's pairs over all scenarios and sizes in the run. A single slow pair changes the "
        "medians of its two nodes only slightly, but a slow node affects all of its pairs.",
        f"(max by ({EACH}, node) (fabricbench_node_deviation_ratio{{{RUNS}}}) - 1)",
        {"node": "node", "Value #B": "deviation", "run_namespace": "namespace", "run": "run"},
        NO_NODES,
        10,
    )


def pairs():
    found = f"max by ({EACH}, scenario, size_bytes, initiator, target) (fabricbench_pair_deviation_ratio{{{RUNS}}})"
    panel = outliers(
        "Pairs with the largest deviation",
        "Deviation of a pair's baseline from the median over all pairs in the run. Above 0, the pair's value is higher "
        "than the median: worse for latency, better for throughput. The operator exports only the largest deviations.",
        f"({found} - 1)",
        {
            "initiator": "initiator",
            "target": "target",
            "Value #B": "deviation",
            "scenario": "scenario",
            "size_bytes": "size",
            "run_namespace": "namespace",
            "run": "run",
        },
        NO_PAIRS,
        14,
    )
    return panel.with_transformation(transforms.as_number("size")).override_by_name("size", properties(unit="bytes"))


def outliers(title, description, deviation, columns, empty_text, width):
    """Table with the largest deviations in either direction.

    `deviation` is a parenthesized expression that returns deviations as fractions of the median.
    """
    largest = f"topk(50, abs{deviation})"
    return parts.table_panel(
        title,
        description,
        [instant_query(largest, "A"), instant_query(f"{deviation} and {largest}", "B")],
        [
            transforms.joined(),
            *transforms.sorted_by("Value #A", descending=True),
            transforms.select_columns(columns, hidden=("Time", "Value #A")),
        ],
        empty_text,
        width,
        10,
    ).override_by_name("deviation", properties(unit="percentunit", decimals=1))

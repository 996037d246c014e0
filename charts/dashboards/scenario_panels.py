"""Panels for one scenario: verdicts, effects with intervals, curves by size, evidence, values. Performs no I/O."""

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import xychart
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import xychart as xychart_models

import parts
import quantities
import transforms
import words
from parts import instant_query, properties
from selection import CELL, SCENARIO, trusted

NO_SIZES = "No data yet: curves appear when the first blocks finish"
# Matches all columns of a matrix except the first. This override must precede `size_column`, which renames the first column.
EXCEPT_SIZE = r"/^(?!size_bytes\\)/"
NO_COMPARISON = "No comparisons yet: they require several finished rounds"


def build():
    values, of_workloads = value_tables()
    return [verdicts(), effects(), interval(), *curves(), engagement(), comparisons(), values, sections(), *of_workloads]


def size_column(panel, column):
    """Names the first column of a matrix `size` and formats its values as bytes."""
    name = transforms.corner("size_bytes", column)
    return panel.override_by_name(name, properties(displayName="size", unit="bytes", custom_width=100))


def colored(colors, others=None):
    """Field properties that color the background of each cell according to its value."""
    plain = common.TableColoredBackgroundCellOptions(mode=common.TableCellBackgroundDisplayMode.BASIC)
    return properties(mappings=words.mappings(colors, others), custom_cellOptions=plain)


def verdicts():
    """Matrix with the verdicts. For an arm that is identical to the baseline, the cell shows Control instead."""
    controls = f'fabricbench_comparison_ratio{{{SCENARIO}, primary="true", negative_control="true"}}'
    outcomes = verdict_query("size_bytes, arm")
    is_control = f"max by (size_bytes, arm) ({outcomes}) and on (size_bytes, arm) {controls}"
    panel = parts.table_panel(
        "Verdicts",
        "Improved, Regressed: the whole interval lies beyond the margin. NoChange: the whole interval lies inside the "
        "margin, which shows equivalence. Inconclusive: the interval supports no other verdict. Control: the arm is "
        "identical to the baseline at this size, so there is no verdict. Any other value is the reason for "
        "withholding the verdict; see the report.",
        [
            instant_query(
                f"(({outcomes}) unless on (size_bytes, arm) {controls})\n"
                f'or\nlabel_replace({is_control}, "verdict", "Control", "", "")'
            )
        ],
        [*transforms.sorted_by("arm"), *transforms.by_size("arm", "verdict")],
        NO_COMPARISON,
        12,
        8,
    )
    return size_column(panel.override_by_regexp(EXCEPT_SIZE, colored(words.VERDICT, words.WITHHELD)), "arm")


def verdict_query(labels):
    """Query that returns one row per primary comparison, with the verdict, or the reason for withholding it, as `verdict`.

    If the operator does not export the reason, the verdict is None.
    """
    of_verdict = f"fabricbench_comparison_verdict{{{SCENARIO}}} == 1"
    reasons = f"fabricbench_comparison_withheld{{{SCENARIO}}} == 1"
    one = f"{CELL}, metric"
    withheld = f'fabricbench_comparison_verdict{{{SCENARIO}, verdict="None"}} == 1'
    named = f'label_replace(({reasons}) and on ({one}) ({withheld}), "verdict", "$1", "reason", "(.*)")'
    return f"max by ({labels}, verdict) ({named} or (({of_verdict}) unless on ({one}) ({reasons})))"


def effects():
    primary = trusted("fabricbench_comparison_ratio", SCENARIO, 'primary="true"')
    panel = parts.table_panel(
        "Change relative to the baseline",
        "Change in the scenario's primary metric: (arm / baseline) - 1. Lower is better for latencies and CPU time, "
        "higher for throughput and completions; the verdict takes this into account. Effects of control arms are "
        "noise. If a verdict is withheld, the effect is not shown.",
        [instant_query(f"max by (size_bytes, arm) ({primary}) - 1")],
        [*transforms.sorted_by("arm"), *transforms.by_size("arm", "Value")],
        NO_COMPARISON,
        12,
        8,
    )
    percent = properties(unit="percentunit", decimals=1)
    return size_column(panel.override_by_regexp(EXCEPT_SIZE, percent), "arm")


def size_chart(title, description, targets, transformations, unit, empty_text, width):
    """XY chart with curves over size. The size axis is logarithmic with base 2."""
    doubling = common_builders.ScaleDistributionConfig().type(common.ScaleDistribution.LOG).log(2).build()
    panel = (
        parts.configure_panel(xychart.Panel(), title, description, width, 9)
        .mapping(xychart_models.SeriesMapping.AUTO)
        .show(xychart_models.XYShowMode.POINTS_AND_LINES)
        .point_size(xychart.XychartFieldConfigPointSize().fixed(6))
        .line_width(1)
        .unit(unit)
        .no_value(empty_text)
        .legend(parts.legend())
        .tooltip(parts.all_series_tooltip())
        .override_by_regexp(
            "/^size/",
            properties(displayName="size", unit="bytes", custom_scaleDistribution=doubling, custom_axisLabel="size"),
        )
    )
    for target in targets:
        panel = panel.with_target(target)
    for transformation in transformations:
        panel = panel.with_transformation(transformation)
    return panel


def interval():
    """Chart with the change of one arm and its interval, repeated for each compared arm."""
    of_arm = SCENARIO + ', arm=~"$arm"'

    def change(metric, ref):
        primary = trusted(metric, of_arm, 'primary="true"')
        return instant_query(f"max by (size_bytes) ({primary}) - 1", ref)

    ends = properties(custom_lineStyle={"fill": "dash", "dash": [6, 6]}, custom_pointSize={"fixed": 2})
    return (
        size_chart(
            "$arm: change with confidence interval",
            "Change in the primary metric relative to the baseline at each size, with its interval. All intervals of "
            "a scenario hold simultaneously at the run's confidence level, so they remain valid if you select some of "
            "them afterwards. If a verdict is withheld, the point is not shown.",
            [
                change("fabricbench_comparison_ratio", "A"),
                change("fabricbench_comparison_ratio_lower", "B"),
                change("fabricbench_comparison_ratio_upper", "C"),
            ],
            [
                transforms.joined(),
                transforms.as_number("size_bytes"),
                *transforms.sorted_by("size_bytes"),
                transforms.select_columns(
                    {"size_bytes": "size", "Value #A": "change", "Value #B": "lower end", "Value #C": "upper end"}
                ),
            ],
            "percentunit",
            "This arm is not compared in this scenario",
            parts.WIDTH,
        )
        .repeat("arm")
        .repeat_direction("h")
        .max_per_row(3)
        .override_by_regexp("/ end$/", ends)
        .override_by_regexp(
            "/^(lower end|change|upper end)$/", properties(color={"mode": "fixed", "fixedColor": "blue"})
        )
    )


def curves():
    def by_arm(name, more=""):
        return [instant_query(f"max by (size_bytes, arm) ({quantities.ALL[name].metric}{{{SCENARIO}{more}}})")]

    steps = [*transforms.sorted_by("arm"), *transforms.by_size("arm", "Value")]
    return [
        size_chart(
            "Latency",
            "Selected quantile over all rounds and pairs. The latency is one-way for ping-pongs; for transfers, it is "
            "the time from post to completion; for calls, from a sample's first call to its reply; for memory "
            "footprints, from the message to its confirmation; and for parameter serving, from the publication of a "
            "version to its use.",
            by_arm("latencyP50Nanos", ', quantile_level="$quantile"'),
            steps,
            "s",
            NO_SIZES,
            8,
        ),
        size_chart(
            "Throughput",
            "Payload bytes per second, median of the rounds. Calls that move no bytes, such as local calls and calls "
            "over shared memory, have no throughput.",
            by_arm("bytesPerSecond"),
            steps,
            "Bps",
            NO_SIZES,
            8,
        ),
        size_chart(
            "CPU time per GiB",
            "CPU time of both sides in the measured window, including busy polling; median of the rounds.",
            by_arm("cpuNanosPerGib"),
            steps,
            "suffix:s/GiB",
            NO_SIZES,
            8,
        ),
    ]


def comparisons():
    labels = "size_bytes, arm, metric, primary, negative_control"

    def change(metric, ref):
        return instant_query(f"max by ({labels}) ({trusted(metric, SCENARIO)}) - 1", ref)

    columns = {
        "size_bytes": "size",
        "arm": "arm",
        "metric": "metric",
        "Value #A": "change",
        "Value #B": "lower end",
        "Value #C": "upper end",
        "verdict": "verdict",
        "primary": "primary",
        "negative_control": "control",
    }
    return (
        parts.table_panel(
            "Comparisons",
            "All compared metrics. Only the primary metric has verdicts. A control is an arm that is identical to the "
            "baseline at this size, so its effect is noise. If a verdict is withheld, the reason is shown instead, "
            "without values.",
            [
                change("fabricbench_comparison_ratio", "A"),
                change("fabricbench_comparison_ratio_lower", "B"),
                change("fabricbench_comparison_ratio_upper", "C"),
                instant_query(verdict_query("size_bytes, arm, metric"), "D"),
            ],
            [
                transforms.joined(),
                transforms.as_number("size_bytes"),
                *transforms.sorted_by("metric", "size_bytes", "arm"),
                transforms.select_columns(columns, hidden=("Time", "Value #D")),
            ],
            NO_COMPARISON,
            parts.WIDTH,
            10,
        )
        .override_by_name("size", properties(unit="bytes"))
        .override_by_regexp("/^(change|lower end|upper end)$/", properties(unit="percentunit", decimals=1))
        .override_by_name("verdict", colored(words.VERDICT, words.WITHHELD))
    )


def engagement():
    one = f"max by (size_bytes, arm, optimization, engagement) (fabricbench_arm_engagement{{{SCENARIO}}} == 1)"
    panel = parts.table_panel(
        "Did the optimizations take effect?",
        "Confirmed: there is evidence that the optimization took effect, beyond the fact that it was requested. "
        "RequestedOnly: the provider gives no such evidence. NotEngaged: the provider rejected the optimization, or "
        "messages exceeded its limit. NotApplicable: the optimization cannot have an effect, for example because "
        "there is only one rail or one post per burst.",
        [instant_query(f'label_join({one}, "requested", ": ", "arm", "optimization")')],
        [*transforms.sorted_by("requested"), *transforms.by_size("requested", "engagement")],
        "No arm of this scenario requests an optimization, or nothing has been measured yet",
        parts.WIDTH,
        7,
    )
    return size_column(panel.override_by_regexp(EXCEPT_SIZE, colored(words.ENGAGEMENT)), "requested")


# Tables of values. Each has a title, a description, the beginnings of its quantities' names, and further columns with a
# metric, a name and a unit. A quantity is a column of the first table that has a beginning of its name.
VALUE_TABLES = (
    (
        "Values",
        "Values for every arm at every size, over all rounds and pairs. An arm is shown as valid if it has at least one "
        "valid result.",
        ("latency", "bytesPerSecond", "completions", "cpu", "iterations"),
        (("fabricbench_arm_valid_rounds", "valid rounds", "short"), ("fabricbench_arm_valid", "valid", "bool_yes_no")),
    ),
    (
        "Calls and memory",
        "Calls between isolated processes, and the memory of processes that share a tensor. A slope above 0 reveals a leak.",
        ("call", "footprint"),
        (),
    ),
    (
        "Parameter serving",
        "Parameter staleness at each step of the workers. The lags exclude steps before the first version and workers "
        "without a version, which are counted separately.",
        ("serving",),
        (),
    ),
    ("Flows and directions", "Flows of the ManyToMany pattern, and the directions of bidirectional transfers.", ("flows", "directions"), ()),
    ("Disturbances", "Other work on the machines in the valid cases.", ("disturbance",), ()),
    ("Other workload values", "Values that only some workloads have.", ("",), ()),
)


def table_of(quantity):
    """The title of the table with the column of the quantity."""
    return next(title for title, _, beginnings, _ in VALUE_TABLES if quantity.name.startswith(beginnings))


def values_table(title, description, others, empty_text, height):
    """Table with a row for each size and arm, and a column for each of its quantities."""
    shown = [quantity for quantity in quantities.ALL.values() if table_of(quantity) == title]
    columns = [(quantity.metric, quantity.label, quantity.title, quantity.unit) for quantity in shown]
    columns += [(metric, "", name, unit) for metric, name, unit in others]
    refs = [parts.ref(index) for index in range(len(columns))]
    targets = [
        instant_query(f"max by (size_bytes, arm) ({metric}{{{SCENARIO}{more and ', ' + more}}})", ref)
        for ref, (metric, more, _, _) in zip(refs, columns)
    ]
    names = {"size_bytes": "size", "arm": "arm"}
    names |= {f"Value #{ref}": name for ref, (_, _, name, _) in zip(refs, columns)}
    panel = parts.table_panel(
        title,
        "\n".join([description, "", *(f"- {quantity.title}: {quantity.help}" for quantity in shown)]),
        targets,
        [
            transforms.joined(),
            transforms.as_number("size_bytes"),
            *transforms.sorted_by("size_bytes", "arm"),
            transforms.select_columns(names),
        ],
        empty_text,
        parts.WIDTH,
        height,
    ).override_by_name("size", properties(unit="bytes"))
    for _, _, name, unit in columns:
        panel = panel.override_by_name(name, properties(unit=unit))
    return panel


def value_tables():
    """The table of values that every workload has, and those of values that only some workloads have."""
    empty_text = "This workload has no such values, or nothing has been measured yet"
    first, *others = [(title, description, more) for title, description, _, more in VALUE_TABLES]
    return values_table(*first, NO_SIZES, 12), [values_table(*table, empty_text, 9) for table in others]


def sections():
    """Matrix with the section of each call or footprint, and the cause of failures and skips."""
    successful = f'fabricbench_arm_section{{{SCENARIO}, cause="None"}}'
    others = f'fabricbench_arm_section{{{SCENARIO}, cause!="None"}}'
    panel = parts.table_panel(
        "Call and footprint sections",
        "Successful: every case is valid. Failed: a case failed or is invalid. Skipped: no case ran, because the "
        "machine lacks something that the calls need. Failed and Skipped are followed by the cause.",
        [
            instant_query(
                f'max by (size_bytes, arm, result) (label_replace({successful}, "result", "$1", "section", "(.*)")\n'
                f'or\nlabel_join({others}, "result", ": ", "section", "cause"))'
            )
        ],
        [*transforms.sorted_by("arm"), *transforms.by_size("arm", "result")],
        "This workload has no sections, or nothing has been measured yet",
        parts.WIDTH,
        6,
    )
    return size_column(panel, "arm")

"""Panels for one scenario: verdicts, effects with intervals, curves by size, evidence, values. Performs no I/O."""

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import xychart
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import xychart as xychart_models

import parts
import transforms
import words
from parts import instant_query, properties
from selection import CELL, SCENARIO, trusted

NO_SIZES = "No data yet: curves appear when the first blocks finish"
# Matches all columns of a matrix except the first. This override must precede `size_column`, which renames the first column.
EXCEPT_SIZE = r"/^(?!size_bytes\\)/"
NO_COMPARISON = "No comparisons yet: they require several finished rounds"


def build():
    return [verdicts(), effects(), interval(), *curves(), engagement(), comparisons(), values()]


def size_column(panel, column):
    """Names the first column of a matrix `size` and formats its values as bytes."""
    name = transforms.corner("size_bytes", column)
    return panel.override_by_name(name, properties(displayName="size", unit="bytes", custom_width=100))


def colored(colors, others=None):
    """Field properties that color the background of each cell according to its value."""
    plain = common.TableColoredBackgroundCellOptions(mode=common.TableCellBackgroundDisplayMode.BASIC)
    return properties(mappings=words.mappings(colors, others), custom_cellOptions=plain)


def verdicts():
    """Matrix of the verdicts. For an arm that is identical to the baseline, the cell contains Control instead of a verdict."""
    controls = f'fabricbench_comparison_ratio{{{SCENARIO}, primary="true", negative_control="true"}}'
    outcomes = verdict_query("size_bytes, arm")
    is_control = f"max by (size_bytes, arm) ({outcomes}) and on (size_bytes, arm) {controls}"
    panel = parts.table_panel(
        "Verdicts",
        "Improved, Regressed: the whole interval lies beyond the margin. NoChange: the whole interval lies inside the "
        "margin, which shows equivalence. Inconclusive: the interval supports no other verdict. Control: the arm is identical to the baseline at this "
        "size, so there is no verdict. Any other value is the reason why the verdict is withheld; see the report.",
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
    """Query that returns one row for each primary comparison, with its verdict or the reason why it is withheld as `verdict`.

    The verdict is None if the operator does not export the reason.
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
        "Primary metric of the scenario: (arm / baseline) - 1. Lower is better for latencies and CPU time, higher for "
        "throughput and completions; the verdict takes this into account. Effects of control arms are noise. If a "
        "verdict is withheld, the effect is not shown.",
        [instant_query(f"max by (size_bytes, arm) ({primary}) - 1")],
        [*transforms.sorted_by("arm"), *transforms.by_size("arm", "Value")],
        NO_COMPARISON,
        12,
        8,
    )
    percent = properties(unit="percentunit", decimals=1)
    return size_column(panel.override_by_regexp(EXCEPT_SIZE, percent), "arm")


def size_chart(title, description, targets, transformations, unit, empty_text, width):
    """XY chart of curves by size. The size axis is logarithmic with base 2."""
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
    """Chart of the change of one arm with its interval, repeated for each compared arm."""
    of_arm = SCENARIO + ', arm=~"$arm"'

    def change(metric, ref):
        primary = trusted(metric, of_arm, 'primary="true"')
        return instant_query(f"max by (size_bytes) ({primary}) - 1", ref)

    ends = properties(custom_lineStyle={"fill": "dash", "dash": [6, 6]}, custom_pointSize={"fixed": 2})
    return (
        size_chart(
            "$arm: change with confidence interval",
            "Change of the primary metric relative to the baseline at each size, with its interval. The intervals of a "
            "scenario are simultaneous at the confidence level of the run, so they remain valid if you select some of them "
            "afterwards. If a verdict is withheld, the point is not shown.",
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
    def by_arm(metric, more=""):
        return [instant_query(f"max by (size_bytes, arm) ({metric}{{{SCENARIO}{more}}})")]

    steps = [*transforms.sorted_by("arm"), *transforms.by_size("arm", "Value")]
    return [
        size_chart(
            "Latency",
            "Selected quantile over all rounds and pairs: one-way latency for ping-pong, and time from post to completion for "
            "transfers.",
            by_arm("fabricbench_arm_latency_seconds", ', quantile="$quantile"'),
            steps,
            "s",
            NO_SIZES,
            8,
        ),
        size_chart(
            "Throughput",
            "Payload bytes per second, median of the rounds.",
            by_arm("fabricbench_arm_throughput_bytes_per_second"),
            steps,
            "Bps",
            NO_SIZES,
            8,
        ),
        size_chart(
            "CPU time per GiB",
            "CPU time of both sides in the measured window, including busy polling; median of the rounds.",
            by_arm("fabricbench_arm_cpu_seconds_per_gib"),
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
        "messages exceeded its limit. NotApplicable: the optimization cannot have an effect, for example with one rail "
        "or one post per burst.",
        [instant_query(f'label_join({one}, "requested", ": ", "arm", "optimization")')],
        [*transforms.sorted_by("requested"), *transforms.by_size("requested", "engagement")],
        "No arm of this scenario requests an optimization, or nothing has been measured yet",
        parts.WIDTH,
        7,
    )
    return size_column(panel.override_by_regexp(EXCEPT_SIZE, colored(words.ENGAGEMENT)), "requested")


def values():
    def of_arm(metric, ref, more=""):
        return instant_query(f"max by (size_bytes, arm) ({metric}{{{SCENARIO}{more}}})", ref)

    quantiles = {
        "A": ("0", "smallest"),
        "B": ("0.5", "p50"),
        "C": ("0.95", "p95"),
        "D": ("0.99", "p99"),
        "E": ("0.999", "p99.9"),
        "F": ("1", "largest"),
    }
    others = {
        "G": ("fabricbench_arm_throughput_bytes_per_second", "throughput", "Bps"),
        "H": ("fabricbench_arm_completions_per_second", "completions", "ops"),
        "I": ("fabricbench_arm_cpu_seconds_per_gib", "CPU time", "suffix:s/GiB"),
        "J": ("fabricbench_arm_valid_rounds", "valid rounds", "short"),
        "K": ("fabricbench_arm_valid", "valid", "bool_yes_no"),
    }
    targets = [
        of_arm("fabricbench_arm_latency_seconds", ref, f', quantile="{quantile}"')
        for ref, (quantile, _) in quantiles.items()
    ]
    targets += [of_arm(metric, ref) for ref, (metric, _, _) in others.items()]
    columns = {"size_bytes": "size", "arm": "arm"}
    columns |= {f"Value #{ref}": name for ref, (_, name) in quantiles.items()}
    columns |= {f"Value #{ref}": name for ref, (_, name, _) in others.items()}
    panel = (
        parts.table_panel(
            "Values",
            "Values of every arm at every size, over all rounds and pairs. Latencies are quantiles of the merged "
            "distribution, one-way for ping-pong; rates are medians of the rounds. An arm is shown as valid if it has at "
            "least one valid result.",
            targets,
            [
                transforms.joined(),
                transforms.as_number("size_bytes"),
                *transforms.sorted_by("size_bytes", "arm"),
                transforms.select_columns(columns),
            ],
            NO_SIZES,
            parts.WIDTH,
            12,
        )
        .unit("s")
        .override_by_name("size", properties(unit="bytes"))
    )
    for _, name, unit in others.values():
        panel = panel.override_by_name(name, properties(unit=unit))
    return panel

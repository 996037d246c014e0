"""Building blocks of all dashboards: queries, variables, panels, links. No I/O.

A query of the present state is instant and in table format, because sizes and names are labels and no time axis is
needed. Only metrics of the operator are drawn over time. Every expression first aggregates over the labels of the
scrape, because a run has the same values regardless of the replica or pod that exports them.
"""

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import prometheus, stat, table, timeseries
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

import words

DOCS = "https://fabricbench.dev/docs"
DATASOURCE = common.DataSourceRef(type_val="prometheus", uid="${datasource}")
WIDTH = 24


# Queries


def now(expression, ref="A"):
    """The state at the end of the time range: one row for each series, a column for each label."""
    return query(expression, ref).instant().format(PromQueryFormat.TABLE)


def over_time(expression, legend, ref="A"):
    """A line for each series."""
    return query(expression, ref).range().format(PromQueryFormat.TIME_SERIES).legend_format(legend)


def query(expression, ref):
    return prometheus.Dataquery().expr(expression).ref_id(ref).datasource(DATASOURCE)


# Variables


def datasource_variable():
    return builders.DatasourceVariable("datasource").label("Data source").type("prometheus")


def label_variable(name, title, metric, label, many=False, numbers=False):
    """The values of a label; `many` allows several and selects all of them initially."""
    sort = dashboard.VariableSort.NUMERICAL_ASC if numbers else dashboard.VariableSort.ALPHABETICAL_ASC
    variable = (
        builders.QueryVariable(name)
        .label(title)
        .datasource(DATASOURCE)
        .query({"query": f"label_values({metric}, {label})", "refId": name, "qryType": 1})
        .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(sort)
    )
    if many:
        everything = dashboard.VariableOption(selected=True, text=["All"], value=["$__all"])
        variable = variable.multi(True).include_all(True).current(everything)
    return variable


# Panels


def sized(panel, title, description, width, height):
    return panel.title(title).description(description).span(width).height(height).datasource(DATASOURCE)


def last_value(field):
    return common_builders.ReduceDataOptions().calcs(["lastNotNull"]).fields(field).values(False)


def word(title, description, expression, label, colors, nothing, width):
    """One label of the one series found, as a colored word."""
    return (
        sized(stat.Panel(), title, description, width, 4)
        .with_target(now(expression))
        .reduce_options(last_value(f"/^{label}$/"))
        .mappings(words.mappings(colors))
        .color_mode(common.BigValueColorMode.BACKGROUND)
        .graph_mode(common.BigValueGraphMode.NONE)
        .no_value(nothing)
    )


def number(title, description, targets, unit, nothing, width, steps=()):
    """Last values side by side; `steps` are (from, color)."""
    panel = (
        sized(stat.Panel(), title, description, width, 4)
        .reduce_options(last_value(""))
        .unit(unit)
        .thresholds(thresholds(steps))
        .graph_mode(common.BigValueGraphMode.NONE)
        .no_value(nothing)
    )
    for target in targets:
        panel = panel.with_target(target)
    return panel


def thresholds(steps):
    """Colors from a value on; no color below the first step."""
    all_steps = [dashboard.Threshold(value=None, color="text")]
    all_steps += [dashboard.Threshold(value=value, color=color) for value, color in steps]
    return builders.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(all_steps)


def listing(title, description, targets, transformations, nothing, width, height):
    """A table. Without the override, the text for an empty table would appear in every empty cell."""
    panel = (
        sized(table.Panel(), title, description, width, height)
        .no_value(nothing)
        .filterable(True)
        .override_by_regexp("/.*/", [dashboard.DynamicConfigValue("noValue", "–")])
    )
    for target in targets:
        panel = panel.with_target(target)
    for transformation in transformations:
        panel = panel.with_transformation(transformation)
    return panel


def lines(title, description, targets, unit, nothing, width, height=8):
    """Lines over time."""
    panel = (
        sized(timeseries.Panel(), title, description, width, height)
        .unit(unit)
        .min(0)
        .no_value(nothing)
        .line_width(1)
        .fill_opacity(5)
        .legend(legend())
        .tooltip(every_series())
    )
    for target in targets:
        panel = panel.with_target(target)
    return panel


def legend():
    return (
        common_builders.VizLegendOptions()
        .show_legend(True)
        .display_mode(common.LegendDisplayMode.LIST)
        .placement(common.LegendPlacement.BOTTOM)
    )


def every_series():
    return common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING)


def properties(**values):
    """Settings of a field: `custom_width=80` is `custom.width`."""
    return [
        dashboard.DynamicConfigValue(name.replace("custom_", "custom.", 1), value) for name, value in values.items()
    ]


# Dashboards


def new(uid, title, description, span, refresh):
    """A dashboard with its links to the others and to the documentation."""
    others = (
        builders.DashboardLink("fabricbench")
        .type(dashboard.DashboardLinkType.DASHBOARDS)
        .tags(["fabricbench"])
        .include_vars(True)
        .keep_time(True)
    )
    board = (
        builders.Dashboard(title)
        .uid(uid)
        .description(description)
        .tags(["fabricbench"])
        .timezone("browser")
        .time(f"now-{span}", "now")
        .refresh(refresh)
        .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
        .link(others)
        .with_variable(datasource_variable())
    )
    for name, page in (
        ("How it is measured", "methodology.md"),
        ("Metrics", "metrics.md"),
        ("Troubleshooting", "troubleshooting.md"),
    ):
        link = builders.DashboardLink(name).type(dashboard.DashboardLinkType.LINK).url(f"{DOCS}/{page}").icon("doc")
        board = board.link(link.target_blank(True))
    return board

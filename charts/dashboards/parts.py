"""Building blocks for all dashboards: queries, variables, panels, links. Reads the address of the site from Chart.yaml.

Queries for the current state are instant queries in table format, because sizes and names are labels and no time axis is
needed. Only operator metrics and the number of runs by state are queried over time. Every expression on runs first
aggregates away the target labels, because a run's values do not depend on the replica or pod that exports them.
"""

import re
from pathlib import Path

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import prometheus, stat, table, timeseries
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

import words

CHART = Path(__file__).resolve().parents[1] / "fabricbench/Chart.yaml"
DOCS = re.search(r"^home: (\S+)$", CHART.read_text(), re.MULTILINE)[1] + "/docs"
DATASOURCE = common.DataSourceRef(type_val="prometheus", uid="${datasource}")
WIDTH = 24


# Queries


def instant_query(expression, ref="A"):
    """Instant query at the end of the time range, with one row for each series and one column for each label."""
    return query(expression, ref).instant().format(PromQueryFormat.TABLE)


def range_query(expression, legend, ref="A"):
    """Range query with one line for each series."""
    return query(expression, ref).range().format(PromQueryFormat.TIME_SERIES).legend_format(legend)


def ref(index):
    """Name of a query: A to Z, then AA to ZZ."""
    first, second = divmod(index, 26)
    return (chr(ord("A") + first - 1) if first else "") + chr(ord("A") + second)


def query(expression, ref):
    return prometheus.Dataquery().expr(expression).ref_id(ref).datasource(DATASOURCE)


# Variables


def datasource_variable():
    return builders.DatasourceVariable("datasource").label("Data source").type("prometheus")


def label_variable(name, title, metric, label, many=False, numbers=False):
    """Variable that has the values of a label. `many` allows several values and initially selects all of them."""
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


def configure_panel(panel, title, description, width, height):
    return panel.title(title).description(description).span(width).height(height).datasource(DATASOURCE)


def last_value(field):
    return common_builders.ReduceDataOptions().calcs(["lastNotNull"]).fields(field).values(False)


def label_panel(title, description, expression, label, colors, empty_text, width):
    """Stat panel that shows one label of a single series, with a color for each value."""
    return (
        configure_panel(stat.Panel(), title, description, width, 4)
        .with_target(instant_query(expression))
        .reduce_options(last_value(f"/^{label}$/"))
        .mappings(words.mappings(colors))
        .color_mode(common.BigValueColorMode.BACKGROUND)
        .graph_mode(common.BigValueGraphMode.NONE)
        .no_value(empty_text)
    )


def stat_panel(title, description, targets, unit, empty_text, width, steps=()):
    """Stat panel that shows the last values side by side. Each element of `steps` is a lower bound and a color."""
    panel = (
        configure_panel(stat.Panel(), title, description, width, 4)
        .reduce_options(last_value(""))
        .unit(unit)
        .thresholds(thresholds(steps))
        .graph_mode(common.BigValueGraphMode.NONE)
        .no_value(empty_text)
    )
    for target in targets:
        panel = panel.with_target(target)
    return panel


def thresholds(steps):
    """Thresholds with a color for values at or above each step, and no color below the first step."""
    all_steps = [dashboard.Threshold(value=None, color="text")]
    all_steps += [dashboard.Threshold(value=value, color=color) for value, color in steps]
    return builders.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(all_steps)


def table_panel(title, description, targets, transformations, empty_text, width, height):
    """Table panel. An override prevents empty cells from showing the text that is meant for an empty table."""
    panel = (
        configure_panel(table.Panel(), title, description, width, height)
        .no_value(empty_text)
        .filterable(True)
        .override_by_regexp("/.*/", [dashboard.DynamicConfigValue("noValue", "–")])
    )
    for target in targets:
        panel = panel.with_target(target)
    for transformation in transformations:
        panel = panel.with_transformation(transformation)
    return panel


def time_series_panel(title, description, targets, unit, empty_text, width, height=8):
    """Panel that plots each series over time; the value axis starts at 0."""
    panel = (
        configure_panel(timeseries.Panel(), title, description, width, height)
        .unit(unit)
        .min(0)
        .no_value(empty_text)
        .line_width(1)
        .fill_opacity(5)
        .legend(legend())
        .tooltip(all_series_tooltip())
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


def all_series_tooltip():
    return common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING)


def properties(**values):
    """Field properties. Names such as `custom_width` are converted to `custom.width`."""
    return [
        dashboard.DynamicConfigValue(name.replace("custom_", "custom.", 1), value) for name, value in values.items()
    ]


# Dashboards


def new_dashboard(uid, title, description, span, refresh):
    """Dashboard with links to the other dashboards and to the documentation."""
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
        ("Methodology", "methodology.html"),
        ("Metrics", "metrics.html"),
        ("Troubleshooting", "troubleshooting.html"),
    ):
        link = builders.DashboardLink(name).type(dashboard.DashboardLinkType.LINK).url(f"{DOCS}/{page}").icon("doc")
        board = board.link(link.target_blank(True))
    return board

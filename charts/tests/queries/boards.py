"""Reads dashboards and expands their queries as Grafana does: substitutes variables and repeats panels."""

import dataclasses
import json
import re

RANGE_SECONDS = 30
# Variables that Grafana provides. The ranges are long enough to contain all scrapes of a test.
BUILT_IN = {"__range": f"{RANGE_SECONDS}s", "__rate_interval": f"{RANGE_SECONDS}s"}
LABEL_VALUES = re.compile(r"^label_values\((?P<metric>.*), (?P<label>\w+)\)$")


@dataclasses.dataclass(frozen=True)
class Query:
    """One query from one panel, with the variables in `selection` (name: value) substituted."""

    panel: str
    ref: str
    expression: str
    instant: bool
    selection: dict


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def substituted(text, selection):
    """Substitutes variables in `text`. A variable without a value is an error in the dashboard. `$1` is PromQL syntax."""

    def value(match):
        name = match[1] or match[2]
        return {**BUILT_IN, **selection}[name]

    return re.sub(r"\$(?:\{([a-z_]\w*)\}|([a-z_]\w*))", value, text)


def selections(board, api):
    """All combinations of variable values, as {name: value}. Multi-value variables take each value and all values
    combined."""
    found = [{}]
    for variable in board["templating"]["list"]:
        if variable["type"] != "datasource":
            found = [
                {**selection, variable["name"]: value}
                for selection in found
                for value in choices(variable, selection, api)
            ]
    return found


def choices(variable, selection, api):
    name, query = variable["name"], variable["query"]
    if variable["type"] == "custom":
        return [choice.split(" : ")[-1] for choice in query.split(",")]
    if variable["type"] == "textbox":
        return [query]
    match = LABEL_VALUES.match(substituted(query["query"], selection))
    values = api.values(match["label"], match["metric"])
    if not values:
        raise SystemExit(f"dashboard variable {name} has no values: {match[0]}")
    if not variable["multi"]:
        return values
    values = [escaped(value) for value in values]
    return [*values, "(" + "|".join(values) + ")"]


def is_all(value):
    """Whether the value selects all values. No arm, scenario or namespace name starts with a parenthesis."""
    return value.startswith("(")


def escaped(value):
    """Escapes a value as Grafana does for variables with several values: for a regular expression in a quoted string."""
    return re.sub(r"[$^*{}\[\]'+?.()|]", r"\\\\\g<0>", value.replace("\\", "\\" * 4))


def queries(board, api):
    """Yields each distinct query once.

    If a panel or its row is repeated for a variable, the panel gets one value of the variable; otherwise, it gets all
    values.
    """
    several = {variable["name"] for variable in board["templating"]["list"] if variable["multi"]}
    seen = set()
    for selection in selections(board, api):
        row = None
        for panel in board["panels"]:
            if panel["type"] == "row":
                row = panel
            repeated = {panel.get("repeat"), row.get("repeat")}
            if any(is_all(selection[name]) == (name in repeated) for name in several - {"datasource"}):
                continue
            for target in panel.get("targets", []):
                expression = substituted(target["expr"], selection)
                key = (panel["title"], target["refId"], expression)
                if key not in seen:
                    seen.add(key)
                    yield Query(panel["title"], target["refId"], expression, target["instant"], selection)

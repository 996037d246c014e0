"""The steps from rows with labels to what is shown, by the names that Grafana gives them. Pure.

A size is a label, so a text: it is made a number before anything is sorted by it.
"""

from grafana_foundation_sdk.models import dashboard


def step(name, **options):
    return dashboard.DataTransformerConfig(id_val=name, options=options)


def joined():
    """Rows of several queries that agree in the labels they share become one."""
    return step("merge")


def as_number(field):
    return step("convertFieldType", fields={}, conversions=[{"targetField": field, "destinationType": "number"}])


def as_time(field):
    """From milliseconds since 1970."""
    return step("convertFieldType", fields={}, conversions=[{"targetField": field, "destinationType": "time"}])


def sorted_by(*fields, descending=False):
    return [step("sortBy", fields={}, sort=[{"field": field, "desc": descending}]) for field in reversed(fields)]


def shown(names, hidden=("Time",)):
    """Columns in the order of `names` (from: to); those in `hidden` are left out."""
    return step(
        "organize",
        excludeByName={name: True for name in hidden},
        includeByName={},
        indexByName={name: index for index, name in enumerate(names)},
        renameByName={name: to for name, to in names.items() if name != to},
    )


def matrix(row, column, value):
    """A row for each value of `row`, a column for each of `column`. The first column is called as `corner` says."""
    return step("groupingToMatrix", rowField=row, columnField=column, valueField=value, emptyValue="null")


def corner(row, column):
    return f"{row}\\{column}"


def by_size(column, value):
    """Sizes downwards in their order, one column for each of `column`."""
    first = corner("size_bytes", column)
    return [matrix("size_bytes", column, value), as_number(first), *sorted_by(first)]

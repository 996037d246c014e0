"""Grafana transformations from labeled rows to displayed columns. Performs no I/O.

A size is a label and therefore a string. It is converted to a number before sorting.
"""

from grafana_foundation_sdk.models import dashboard


def step(name, **options):
    return dashboard.DataTransformerConfig(id_val=name, options=options)


def joined():
    """Merges rows from different queries if their common labels have equal values."""
    return step("merge")


def as_number(field):
    return step("convertFieldType", fields={}, conversions=[{"targetField": field, "destinationType": "number"}])


def as_time(field):
    """Converts milliseconds since the Unix epoch to a time."""
    return step("convertFieldType", fields={}, conversions=[{"targetField": field, "destinationType": "time"}])


def sorted_by(*fields, descending=False):
    return [step("sortBy", fields={}, sort=[{"field": field, "desc": descending}]) for field in reversed(fields)]


def select_columns(names, hidden=("Time",)):
    """Reorders and renames the columns according to `names` (from: to), and removes those in `hidden`."""
    return step(
        "organize",
        excludeByName={name: True for name in hidden},
        includeByName={},
        indexByName={name: index for index, name in enumerate(names)},
        renameByName={name: to for name, to in names.items() if name != to},
    )


def matrix(row, column, value):
    """Matrix with a row for each value of `row` and a column for each value of `column`. `corner` names its first column."""
    return step("groupingToMatrix", rowField=row, columnField=column, valueField=value, emptyValue="null")


def corner(row, column):
    return f"{row}\\{column}"


def by_size(column, value):
    """Matrix with a row for each size, in ascending order, and a column for each value of `column`."""
    first = corner("size_bytes", column)
    return [matrix("size_bytes", column, value), as_number(first), *sorted_by(first)]

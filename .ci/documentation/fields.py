"""Checks that the resource fields and chart values in the pages exist. Performs I/O."""

import json
import re
import subprocess

# `spec.variants[].image`, `spec.suspend: true`, `image.tag=TAG`
PATH = re.compile(r"^([a-z]\w*(?:\[\w*\])?(?:\.\w+(?:\[\w*\])?)+)(?:$|[=:])")
FILES = {"json", "jsonl", "md", "py", "rs", "sh", "yaml"}


def yaml_as_json(path):
    """Reads a YAML file."""
    read = subprocess.run(["yq", "--compact-output", ".", path], check=True, capture_output=True, text=True)
    return json.loads(read.stdout)


def check(root, all_pages):
    """Yields the fields and values that do not exist, with page and line."""
    resource = yaml_as_json(root / "charts/fabricbench/crds/benchmarkruns.yaml")
    schema = resource["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    values = yaml_as_json(root / "charts/fabricbench/values.yaml")
    for page in all_pages:
        for line, code in page.inline_code():
            found = PATH.match(code)
            if not found or found[1].rpartition(".")[2] in FILES:
                continue
            if reason := problem(found[1].split("."), schema, values):
                yield f"{page.path.relative_to(root)}:{line}: `{code}`: {reason}"


def problem(path, schema, values):
    """Returns the problem with a dotted path, or None if the path exists or is not a field."""
    names = [name.partition("[")[0] for name in path]
    spec = schema["properties"]["spec"]
    if names[0] in ("spec", "status"):
        return None if has_field(schema, names) else "the resource has no such field"
    in_spec, in_chart = names[0] in spec["properties"], names[0] in values
    if not in_spec and not in_chart:
        return None
    if in_spec and has_field(spec, names) or in_chart and has_value(values, names):
        return None
    return "neither the resource's spec nor the chart's values have this field"


def has_field(schema, names):
    """Whether an object of `schema` may have the field at the path `names`."""
    for name in names:
        while "items" in schema:
            schema = schema["items"]
        schema = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
        if not isinstance(schema, dict):
            return False
    return True


def has_value(values, names):
    """Whether the chart has the value. A map or list that is empty by default may contain anything."""
    for name in names:
        if values in ({}, []):
            return True
        if not isinstance(values, dict) or name not in values:
            return False
        values = values[name]
    return True

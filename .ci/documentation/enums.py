"""Checks that the documentation lists exactly the enum values, exit statuses and alerts that exist. Performs I/O."""

import re


def check(root, all_pages):
    """Yields values that are missing from the pages, and documented values that the code does not have."""
    page = {page.path.relative_to(root).as_posix(): page for page in all_pages}
    troubleshooting, verdicts = page["docs/troubleshooting.md"], page["docs/verdicts.md"]
    operator, crds = root / "operator/src", root / "crds/src"

    types = names(crds / "v1alpha1/condition_type.rs")
    reasons = names(crds / "v1alpha1/reason.rs")
    tables = ["Why a run waits", "Why an attempt was repeated", "Why a run failed"]
    documented = set().union(*(cells(troubleshooting, table, 0) for table in tables))
    yield from compare_sets("conditions", types, cells(troubleshooting, "Conditions", 0))
    yield from compare_sets("reasons", reasons, documented | cells(troubleshooting, "Conditions", 1))

    failures = variants(crds / "record/case/failure.rs", "FailureReason")
    yield from compare_sets("failures", failures, cells(troubleshooting, "Why a case failed", 0))
    invalid = variants(root / "operator/campaign/src/summarize/validity/case_check.rs", "Invalid")
    yield from compare_sets("invalid cases", invalid, cells(troubleshooting, "Why a case is invalid", 0))
    warnings = variants(crds / "record.rs", "WarningReason")
    yield from compare_sets("warnings", warnings, cells(troubleshooting, "Worker warnings", 0))
    status = set(re.findall(r"Exit::\w+ => (\d)", (operator / "commands/exit.rs").read_text()))
    yield from compare_sets("exit statuses", status, cells(troubleshooting, "Exit status", 0))
    categories = variants(operator / "metrics/operator/category.rs", "Category")
    yield from compare_sets("categories", categories, cells(troubleshooting, "Operator errors", 0))

    status = crds / "v1alpha1/status"
    comparison = status / "comparison.rs"
    yield from compare_sets("verdicts", variants(comparison, "Verdict"), cells(verdicts, "The verdict", 0))
    evidence = "Evidence: did the optimization take effect?"
    yield from compare_sets("evidence", variants(status / "optimization.rs", "Engagement"), cells(verdicts, evidence, 0))
    proof = "Proof: did the bytes use the requested fabric?"
    yield from compare_sets("proofs", variants(status / "environment.rs", "FabricProof"), cells(verdicts, proof, 0))
    outcomes = variants(comparison, "ExpectationOutcome")
    yield from compare_sets("expectations", outcomes, cells(verdicts, "Expectations", 0))
    yield from alerts(root, troubleshooting)


def compare_sets(what, code, documented):
    """Yields the differences between two sets. An empty set means that this check searches the wrong file or heading."""
    if not code or not documented:
        yield f"{what}: none found in the {'code' if not code else 'documentation'}"
    for word in sorted(code - documented):
        yield f"{what}: {word} is not documented"
    for word in sorted(documented - code):
        yield f"{what}: {word} is documented, but the code does not have it"


def cells(page, heading, column):
    """Returns the values in backticks in one column of the tables under `heading`."""
    rows = (line.split("|") for line in page.section(heading) if line.startswith("|"))
    words = (re.findall(r"`(\w+)`", row[column + 1]) for row in rows if len(row) > column + 2)
    return {word for found in words for word in found}


def names(file):
    """Returns the strings that an enum's `as_str` method returns."""
    return set(re.findall(r'=> "(\w+)"', file.read_text()))


def variants(file, enum):
    """Returns the names of an enum's variants."""
    found = re.search(rf"^pub(?:\([a-z]+\))? enum {enum} \{{\n(.*?)^\}}", file.read_text(), re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^    (\w+)(?:,| \{|\()", found[1], re.MULTILINE)) if found else set()


def alerts(root, page):
    """Checks that every alert has a heading, and a runbook URL that refers to it."""
    rules = "".join(file.read_text() for file in sorted((root / "charts/fabricbench/rules").glob("*.yaml")))
    headings = {text for _, _, text in page.headings() if text.startswith("Fabricbench")}
    yield from compare_sets("alerts", set(re.findall(r"- alert: (\w+)", rules)), headings)
    for alert, text in re.findall(r"- alert: (\w+)\n(.*?)(?=- alert:|\Z)", rules, re.DOTALL):
        if not re.search(rf"runbook_url: \S+/docs/troubleshooting\.html#{alert.lower()}$", text, re.MULTILINE):
            yield f"charts/fabricbench/rules: {alert} has no runbook_url of its own heading"

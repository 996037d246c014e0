"""Checks that the pages document every enum value of the API and every alert, and no others. Reads files."""

import re


def check(root, every):
    """Yields values that are missing in the pages, and documented values that the code does not have."""
    page = {page.path.relative_to(root).as_posix(): page for page in every}
    trouble, verdicts = page["docs/troubleshooting.md"], page["docs/verdicts.md"]
    operator, crds = root / "operator/src", root / "crds/src"

    types = names(crds / "v1alpha1/condition_type.rs")
    reasons = names(crds / "v1alpha1/reason.rs")
    tables = ["Why a run waits", "Why an attempt was repeated", "Why a run failed"]
    documented = set().union(*(cells(trouble, table, 0) for table in tables))
    yield from differ("conditions", types, cells(trouble, "Conditions", 0))
    yield from differ("reasons", reasons, documented | cells(trouble, "Conditions", 1))

    failures = variants(crds / "record/case.rs", "FailureReason")
    yield from differ("failures", failures, cells(trouble, "Why a case failed", 0))
    invalid = variants(root / "operator/campaign/src/summarize/validity.rs", "Invalid")
    yield from differ("invalid cases", invalid, cells(trouble, "Why a case is invalid", 0))
    warnings = variants(crds / "record.rs", "WarningReason")
    yield from differ("warnings", warnings, cells(trouble, "Warnings of workers", 0))
    status = set(re.findall(r"Exit::\w+ => (\d)", (operator / "commands/outcome.rs").read_text()))
    yield from differ("exit statuses", status, cells(trouble, "Exit status", 0))
    categories = variants(operator / "metrics/operator/category.rs", "Category")
    yield from differ("categories", categories, cells(trouble, "What the operator could not do", 0))

    status = crds / "v1alpha1/status.rs"
    yield from differ("verdicts", variants(status, "Verdict"), cells(verdicts, "The verdict", 0))
    evidence = "Evidence: did the optimization take part?"
    yield from differ("evidence", variants(status, "Engagement"), cells(verdicts, evidence, 0))
    proof = "Proof: did the bytes use that fabric?"
    yield from differ("proofs", variants(status, "FabricProof"), cells(verdicts, proof, 0))
    outcomes = variants(status, "ExpectationOutcome")
    yield from differ("expectations", outcomes, cells(verdicts, "Expectations", 0))
    yield from alerts(root, trouble)


def differ(what, code, documented):
    """Yields the differences between two sets. An empty set means that this check reads the wrong place."""
    if not code or not documented:
        yield f"{what}: none found in the {'code' if not code else 'documentation'}"
    for word in sorted(code - documented):
        yield f"{what}: {word} is not documented"
    for word in sorted(documented - code):
        yield f"{what}: {word} is documented, but the code does not have it"


def cells(page, heading, column):
    """Words in backticks that fill the cells of a column in the tables under `heading`."""
    rows = (line.split("|") for line in page.section(heading) if line.startswith("|"))
    words = (re.findall(r"`(\w+)`", row[column + 1]) for row in rows if len(row) > column + 2)
    return {word for found in words for word in found}


def names(file):
    """Texts that `as_str` of an enum returns."""
    return set(re.findall(r'=> "(\w+)"', file.read_text()))


def variants(file, enum):
    """Names of the variants of an enum."""
    found = re.search(rf"^pub enum {enum} \{{\n(.*?)^\}}", file.read_text(), re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^    (\w+)(?:,| \{|\()", found[1], re.MULTILINE)) if found else set()


def alerts(root, page):
    """Checks that every alert has a heading, to which its runbook URL refers."""
    rules = "".join(file.read_text() for file in sorted((root / "charts/fabricbench/rules").glob("*.yaml")))
    headings = {text for _, _, text in page.headings() if text.startswith("Fabricbench")}
    yield from differ("alerts", set(re.findall(r"- alert: (\w+)", rules)), headings)
    for address in re.findall(r"runbook_url: (\S+)", rules):
        file, _, anchor = address.partition("#")
        if not file.endswith("/docs/troubleshooting.md") or anchor not in page.anchors():
            yield f"charts/fabricbench/rules: {address}: no such heading"

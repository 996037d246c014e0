"""Runs every query of the dashboards and every rule in a real Prometheus, and compares what they find with the status.

Usage: check.py --fabricbench PROGRAM [--scrape URL]... FOLDER...

FOLDER is the output of a finished `fabricbench run`; its metrics are those of `fabricbench report FOLDER`. URL is a
running operator's /metrics. Prometheus is the one on PATH. Fails with all that is wrong: a query that Prometheus
refuses, one that finds nothing, a number that is not the status's, an alert that should fire or should not.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import boards
import expected
import prometheus

CHART = pathlib.Path(__file__).resolve().parents[2] / "fabricbench"
# Where nothing may be found: the operator has failed in nothing, no rule fires, two workers are one pair.
MAY_BE_EMPTY = {
    "operator": {("Passes that fail", "A")},
    "fleet": {
        ("Alerts", "A"),
        *((panel, ref) for panel in ("Nodes by their pairs' deviation", "Pairs that stand out") for ref in "ABC"),
    },
    "campaign": set(),
}
RULES_MAY_BE_EMPTY = {"run:fabricbench_comparison_ratio:regressed"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fabricbench", required=True)
    parser.add_argument("--scrape", action="append", default=[])
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    rules = sorted((CHART / "rules").glob("*.yaml"))
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        runs = [reported(arguments.fabricbench, folder, scratch) for folder in arguments.folders]
        with (
            prometheus.served(scratch) as texts,
            prometheus.running(scratch, texts + arguments.scrape, rules) as api,
        ):
            wrong = [line for board in MAY_BE_EMPTY for line in check_board(api, board, runs)]
            wrong += check_rules(api, runs)
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


def reported(fabricbench, folder, scratch):
    """The run in `folder`; its metrics are left in `scratch`."""
    run = boards.read(folder / "run.json")
    report = subprocess.run([fabricbench, "report", folder, "--format", "openmetrics"], capture_output=True, text=True)
    if report.returncode not in expected.OUTCOMES:
        raise SystemExit(f"fabricbench report {folder}: exit status {report.returncode}\n{report.stderr}")
    (scratch / f"{folder.name}.prom").write_text(report.stdout, encoding="utf-8")
    return expected.Run(run, report.returncode)


def check_board(api, name, runs):
    """Lines that say what is wrong with the dashboard `name`."""
    found_something, asked, compared = set(), set(), 0
    for query in boards.queries(boards.read(CHART / "dashboards" / f"{name}.json"), api):
        asked.add((query.panel, query.ref))
        try:
            found = api.rows(query.expression) if query.instant else api.lines(query.expression, boards.RANGE_SECONDS)
        except prometheus.QueryError as error:
            yield f"{name}: {query.panel} ({query.ref}): {error}\n  {query.expression}"
            continue
        if found:
            found_something.add((query.panel, query.ref))
        of_selection = [run for run in runs if name == "campaign" and run.is_selected(query.selection)]
        for run in of_selection:
            compared += 1
            want = expected.CAMPAIGN[query.panel, query.ref](run, query.selection)
            for line in expected.differences(found, want):
                yield f"{name}: {query.panel} ({query.ref}) of {run.name}: {line}\n  {query.expression}"
    for panel, ref in sorted(asked - found_something - MAY_BE_EMPTY[name]):
        yield f"{name}: {panel} ({ref}) finds nothing, whatever is chosen"
    print(f"{name}: {len(asked)} queries, {compared} answers compared with the status")


def check_rules(api, runs):
    groups = api.get("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    for rule in rules:
        if rule["health"] != "ok":
            yield f"rule {rule['name']}: {rule.get('lastError') or rule['health']}"
        if rule["type"] == "recording" and rule["name"] not in RULES_MAY_BE_EMPTY and not api.rows(rule["name"]):
            yield f"rule {rule['name']} records nothing"
    alerts = [alert["labels"] for alert in api.get("alerts")["alerts"] if alert["state"] == "firing"]
    fires = {
        (alert["alertname"], alert.get("run", ""), alert.get("scenario", ""), alert.get("arm", "")) for alert in alerts
    }
    want = {alert for run in runs for alert in run.alerts()}
    for alert in sorted(fires ^ want):
        yield f"{alert[0]} {'fires' if alert in fires else 'does not fire'}: {' '.join(alert[1:])}"
    print(
        f"rules: {len(rules)}, {len(fires)} alerts fire as the status says" if fires == want else f"rules: {len(rules)}"
    )


if __name__ == "__main__":
    main()

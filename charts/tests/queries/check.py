"""Runs every query of the dashboards and every rule in a real Prometheus, and compares what they find with the status.

Usage: check.py [--texts DIRECTORY] [--scrape URL]... [--then COMMAND] [--partly] RUN.json...

Prometheus is the one on PATH. It scrapes each URL, a running operator's /metrics, and each *.prom of DIRECTORY, the
metrics of a report. RUN.json is a finished BenchmarkRun that they describe. Without an operator, only the dashboard of
a campaign is queried. With --partly the runs do not contain everything that dashboards show, and a query may find nothing if
the status does not contain the value either. COMMAND is executed at the end, and no alert may fire after it. Prints all
problems: a query that is rejected or finds nothing, a value that differs from the status, an alert that should or should not
fire.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import boards
import expected
import prometheus
import status

CHART = pathlib.Path(__file__).resolve().parents[2] / "fabricbench"
# No reconciliation has failed in an operator that has just started.
MAY_BE_EMPTY = {("operator", "Failed reconciliations by category", "A")}
# An operator sends no requests if all runs are finished, so there is no ratio of failed requests.
RULES_MAY_BE_EMPTY = {"job:fabricbench_api_request_errors:ratio_rate5m"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=pathlib.Path)
    parser.add_argument("--scrape", action="append", default=[])
    parser.add_argument("--then", metavar="COMMAND")
    parser.add_argument("--partly", action="store_true")
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    runs = [status.Run(boards.read(path)) for path in arguments.runs]
    # The report of a campaign on one machine contains no metrics of the operator and no pairs of nodes.
    names = ["campaign", "fleet", "operator"] if arguments.scrape else ["campaign"]
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        rules = [impatient(path, directory) for path in sorted((CHART / "rules").glob("*.yaml"))]
        with prometheus.served(arguments.texts or directory) as texts:
            with prometheus.running(directory, texts + arguments.scrape, rules) as api:
                wrong = [line for name in names for line in check_board(api, name, runs, arguments.partly)]
                wrong += check_rules(api, runs, with_operator=bool(arguments.scrape))
                if arguments.then:
                    subprocess.run(arguments.then, shell=True, check=True)
                    prometheus.awaited(lambda: not firing(api), f"no alert fires after {arguments.then!r}")
                    print(f"no alert fires after {arguments.then!r}")
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


def impatient(path, directory):
    """Copies the rules without keep_firing_for, which promtool tests."""
    copy = directory / path.name
    copy.write_text(path.read_text(encoding="utf-8").replace("keep_firing_for: 5m", "keep_firing_for: 0s"), "utf-8")
    return copy


def check_board(api, name, runs, partly):
    """Problems of the dashboard `name`."""
    found_something, asked, compared = set(), set(), 0
    for query in boards.queries(boards.read(CHART / "dashboards" / f"{name}.json"), api):
        place = (name, query.panel, query.ref)
        asked.add(place)
        try:
            found = api.rows(query.expression) if query.instant else api.lines(query.expression, boards.RANGE_SECONDS)
        except prometheus.QueryError as error:
            yield f"{name}: {query.panel} ({query.ref}): {error}\n  {query.expression}"
            continue
        if found:
            found_something.add(place)
        want = expected.rows_of(place, runs, query.selection)
        if want is not None:
            compared += 1
            for line in status.differences(found, want):
                yield f"{name}: {query.panel} ({query.ref}): {line}\n  {query.expression}"
    for board, panel, ref in sorted(set() if partly else asked - found_something - MAY_BE_EMPTY):
        yield f"{board}: {panel} ({ref}) finds nothing, whatever is chosen"
    print(f"{name}: {len(asked)} queries, {compared} answers compared with the status")


def check_rules(api, runs, with_operator):
    groups = api.get("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    of_operator = {rule["name"] for rule in rules if rule["name"].startswith("job:")}
    may_be_empty = RULES_MAY_BE_EMPTY if with_operator else of_operator
    for rule in rules:
        if rule["health"] != "ok":
            yield f"rule {rule['name']}: {rule.get('lastError') or rule['health']}"
        if rule["type"] == "recording":
            found = api.rows(rule["name"])
            want = expected.RECORDED.get(rule["name"])
            if want is not None:
                for line in status.differences(nameless(found), want(runs)):
                    yield f"rule {rule['name']}: {line}"
            elif not found and rule["name"] not in may_be_empty:
                yield f"rule {rule['name']} records nothing"
    fires = firing(api)
    want = {alert for run in runs for alert in run.alerts()}
    for alert in sorted(fires ^ want):
        yield f"{' '.join(alert)}: {'fires' if alert in fires else 'does not fire'}"
    print(f"rules: {len(rules)}, alerts that fire: {', '.join(sorted(alert.name for alert in fires)) or 'none'}")


def firing(api):
    alerts = api.get("alerts")["alerts"]
    return {status.Alert.of(alert["labels"]) for alert in alerts if alert["state"] == "firing"}


def nameless(rows):
    return {frozenset(label for label in labels if label[0] != "__name__"): value for labels, value in rows.items()}


if __name__ == "__main__":
    main()

"""Executes every dashboard query and every rule in a real Prometheus server and compares the results with the status.

Usage: check.py [--texts DIRECTORY] [--scrape URL]... [--token FILE] [--then COMMAND] [--partly] RUN.json...

The prometheus binary must be in PATH. Prometheus scrapes each URL (/metrics of a running operator), with the bearer token in
FILE, and each *.prom file in DIRECTORY (the metrics of a report). RUN.json is a finished BenchmarkRun that these metrics describe. Without an
operator, only the Campaign dashboard is queried. With --partly, queries may return no result, because the runs do not
contain all values that the dashboards display. COMMAND is executed at the end; afterwards, all alerts must resolve.
Prints all problems: queries that are rejected or return no result, values that differ from the status, alerts that fire
unexpectedly, and alerts that do not fire.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import boards
import expected
import of_campaign
import prometheus
import status

CHART = pathlib.Path(__file__).resolve().parents[2] / "fabricbench"
# An operator that has just started has no failed reconciliations.
MAY_BE_EMPTY = {("operator", "Failed reconciliations by category", "A")}
# If all runs are finished, the operator sends no requests, so there is no ratio of failed requests.
RULES_MAY_BE_EMPTY = {"job:fabricbench_api_request_errors:ratio_rate5m"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=pathlib.Path)
    parser.add_argument("--scrape", action="append", default=[])
    parser.add_argument("--token", type=pathlib.Path)
    parser.add_argument("--then", metavar="COMMAND")
    parser.add_argument("--partly", action="store_true")
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    runs = [status.Run(boards.read(path)) for path in arguments.runs]
    # The report of a campaign on one machine contains no operator metrics and no node pairs.
    names = ["campaign", "fleet", "operator"] if arguments.scrape else ["campaign"]
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        rules = [without_keep_firing(path, directory) for path in sorted((CHART / "rules").glob("*.yaml"))]
        with prometheus.served(arguments.texts or directory) as texts:
            with prometheus.running(directory, texts, arguments.scrape, arguments.token, rules) as api:
                wrong = [line for name in names for line in check_board(api, name, runs, arguments.partly)]
                wrong += check_rules(api, runs, with_operator=bool(arguments.scrape))
                if arguments.then:
                    subprocess.run(arguments.then, shell=True, check=True)
                    prometheus.wait_until(lambda: not firing(api), f"alerts to resolve after {arguments.then!r}")
                    print(f"no alert is firing after {arguments.then!r}")
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


def without_keep_firing(path, directory):
    """Copies the rules without keep_firing_for, which is tested with promtool."""
    copy = directory / path.name
    copy.write_text(path.read_text(encoding="utf-8").replace("keep_firing_for: 5m", "keep_firing_for: 0s"), "utf-8")
    return copy


def check_board(api, name, runs, partly):
    """Yields the problems in dashboard `name`."""
    nonempty, executed, compared = set(), set(), 0
    for query in boards.queries(boards.read(CHART / "dashboards" / f"{name}.json"), api):
        place = (name, query.panel, query.ref)
        executed.add(place)
        try:
            found = api.rows(query.expression) if query.instant else api.latest(query.expression, boards.RANGE_SECONDS)
        except prometheus.QueryError as error:
            yield f"{name}: {query.panel} ({query.ref}): {error}\n  {query.expression}"
            continue
        if found or (name == "campaign" and of_campaign.may_be_absent(place[1:], query.expression)):
            nonempty.add(place)
        want = expected.rows_of(place, query, runs)
        if want is not None:
            compared += 1
            for line in status.differences(found, want):
                yield f"{name}: {query.panel} ({query.ref}): {line}\n  {query.expression}"
    for board, panel, ref in sorted(set() if partly else executed - nonempty - MAY_BE_EMPTY):
        yield f"{board}: {panel} ({ref}) returns no result for any selection"
    print(f"{name}: {len(executed)} queries, {compared} results compared with the status")


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
                for line in status.differences(without_names(found), want(runs)):
                    yield f"rule {rule['name']}: {line}"
            elif not found and rule["name"] not in may_be_empty:
                yield f"rule {rule['name']} records nothing"
    fires = firing(api)
    want = {alert for run in runs for alert in run.alerts()}
    for alert in sorted(fires ^ want):
        yield f"{' '.join(alert)}: {'fires unexpectedly' if alert in fires else 'does not fire'}"
    print(f"rules: {len(rules)}, firing alerts: {', '.join(sorted(alert.name for alert in fires)) or 'none'}")


def firing(api):
    alerts = api.get("alerts")["alerts"]
    return {status.Alert.of(alert["labels"]) for alert in alerts if alert["state"] == "firing"}


def without_names(rows):
    return {frozenset(label for label in labels if label[0] != "__name__"): value for labels, value in rows.items()}


if __name__ == "__main__":
    main()

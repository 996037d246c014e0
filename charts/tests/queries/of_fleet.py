"""Expected results of the Fleet dashboard, computed only from the runs' statuses. Performs no I/O."""

from of_campaign import progress
from status import row, rows, size


def pairs(run):
    """Deviation of each pair from the median pair, by run, scenario, size and nodes."""
    return rows(
        row(
            one["deviationPpm"] / 1e6,
            run_namespace=run.namespace,
            run=run.name,
            scenario=one["scenario"],
            size_bytes=size(one),
            initiator=one["initiator"],
            target=one["target"],
        )
        for one in run.status.get("pairs", [])
    )


def nodes(run):
    """Median deviation of each node's pairs, by run and node."""
    return rows(
        row(one["deviationPpm"] / 1e6, run_namespace=run.namespace, run=run.name, node=one["name"])
        for one in run.status.get("nodes", [])
    )


def distances(deviations):
    return {labels: abs(deviation) for labels, deviation in deviations.items()}


def per_run(value):
    """Function that computes a query result with one row for each run, except runs for which `value` returns None."""

    def of_runs(runs, _):
        known = [(run, value(run)) for run in runs]
        return rows(
            row(number, run_namespace=run.namespace, run=run.name, **labels)
            for run, found in known
            if found is not None
            for number, labels in [found]
        )

    return of_runs


def count(outcome):
    return lambda run: ([one["outcome"] for one in run.status.get("expectations", [])].count(outcome), {})


def proof(run):
    return (1, {"proof": run.status["fabric"]["proof"]}) if "fabric" in run.status else None


def run_info(run):
    return 1, {"provider": run.status["fabric"]["provider"], "baseline": run.baseline}


def trend(field, scale=1e-6):
    """The selected comparison in each trusted run that has it."""

    def of_run(runs, selection):
        return rows(
            row(one[field] * scale, run_namespace=run.namespace, run=run.name)
            for run in runs
            if run.is_trusted()
            for one in run.shown(run.comparisons(selection))
            if (one["arm"], one["metric"], size(one)) == (selection["arm"], selection["metric"], selection["size"])
            if field in one
        )

    return of_run


def finish_times(runs, selection):
    compared_runs = {dict(labels)["run"] for labels in trend("effectPpm")(runs, selection)}
    return per_run(lambda run: (run.finished * 1000, {}) if run.name in compared_runs else None)(runs, selection)


TREND = "$arm, $metric at $size bytes in $scenario"

FLEET = {
    ("All runs", "A"): per_run(lambda run: (1, {"state": run.status["state"]})),
    ("All runs", "B"): per_run(lambda run: (1, {"outcome": run.status["outcome"]})),
    ("All runs", "C"): per_run(proof),
    ("All runs", "D"): per_run(run_info),
    ("All runs", "E"): per_run(lambda run: (progress(run, None)[frozenset()], {})),
    ("All runs", "F"): per_run(lambda run: (len(run.regressions()), {})),
    ("All runs", "G"): per_run(count("NotMet")),
    ("All runs", "H"): per_run(lambda run: (run.created * 1000, {})),
    ("All runs", "I"): per_run(lambda run: (run.finished * 1000, {})),
    (TREND, "A"): finish_times,
    (TREND, "B"): trend("effectPpm"),
    (TREND, "C"): trend("lowerPpm"),
    (TREND, "D"): trend("upperPpm"),
    ("Trend by run", "A"): finish_times,
    ("Trend by run", "B"): trend("effectPpm"),
    ("Trend by run", "C"): trend("lowerPpm"),
    ("Trend by run", "D"): trend("upperPpm"),
    ("Nodes by deviation of their pairs", "A"): lambda runs, _: rows(distances(nodes(run)) for run in runs),
    ("Nodes by deviation of their pairs", "B"): lambda runs, _: rows(nodes(run) for run in runs),
    ("Pairs with the largest deviation", "A"): lambda runs, _: rows(distances(pairs(run)) for run in runs),
    ("Pairs with the largest deviation", "B"): lambda runs, _: rows(pairs(run) for run in runs),
}

"""Expected results of dashboards and recording rules for finished runs. Performs no I/O."""

import of_campaign
import of_fleet
from status import Run, row, rows, size


def ratios(runs, select):
    return rows(
        row(
            1 + one["effectPpm"] / 1e6,
            run_namespace=run.namespace,
            run=run.name,
            scenario=one["scenario"],
            size_bytes=size(one),
            arm=one["arm"],
            metric=one["metric"],
        )
        for run in runs
        for one in select(run)
        if "effectPpm" in one
    )


def claims(run):
    """Effects of the variants in a finished, trusted run."""
    found = [one for one in run.status["comparisons"] if one["primary"] and not one["negativeControl"]]
    return run.shown(found) if run.is_trusted() else []


RECORDED = {
    "run:fabricbench_comparison_ratio:max": lambda runs: ratios(runs, claims),
    "run:fabricbench_comparison_ratio:regressed": lambda runs: ratios(runs, Run.regressions),
    "run:fabricbench_run_blocks_done:ratio": lambda runs: of_fleet.per_run(
        lambda run: (of_campaign.progress(run, None)[frozenset()], {})
    )(runs, None),
}


def rows_of(place, query, runs):
    """Expected result of `query` at `place` (board, panel, ref), or None if the status does not contain it."""
    selection = query.selection
    board, *panel = place
    panel = tuple(panel)
    if board == "fleet" and panel in of_fleet.FLEET:
        return of_fleet.FLEET[panel](runs, selection)
    if board == "campaign":
        [run] = [run for run in runs if run.is_selected(selection)]
        return of_campaign.expected_rows(panel, query.expression, run, selection)
    return None

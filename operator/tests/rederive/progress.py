"""Derives a run's block counts, and the share of its plan that it does not need."""

import math


def derive(run):
    """The fields of `progress`, which depend on the analyses so far."""
    measured = {
        (case["pass"], case["round"], case["scenario"], case["sizeBytes"], case["arm"])
        for block in run.records.blocks.values()
        for case in block
    }
    planned = [(block, gang) for block in blocks(run.plan) for gang in run.plan.gangs()]
    needed = [(block, [name for name in gang if is_needed(run, block, name)]) for block, gang in planned]
    needed = [(block, names) for block, names in needed if names]
    fields = {"blocksTotal": len(needed), "blocksSkipped": None, "savedPercent": None}
    fields["blocksDone"] = sum(all((*block, name) in measured for name in names) for block, names in needed)
    if run.plan.analyses:
        cases = sum(len(names) for _, names in planned)
        saved = cases - sum(len(names) for _, names in needed)
        fields["blocksSkipped"] = len(planned) - len(needed)
        fields["savedPercent"] = math.floor(100 * saved / cases + 0.5)
    return fields


def blocks(plan):
    """Pass, round, scenario and size of every block that each gang measures."""
    for scenario in plan.scenarios:
        for length in scenario.sizes:
            if scenario.integrity:
                yield "integrity", 0, scenario.name, length
            if scenario.has_pilot:
                yield "pilot", 0, scenario.name, length
            for number in range(1, plan.rounds + 1):
                yield "measure", number, scenario.name, length


def is_needed(run, block, name):
    """Whether an arm must be measured in a block, according to the analyses so far."""
    _, number, *cell = block
    analyses = run.plan.analyses
    if not analyses or not number:
        return True
    return (*cell, name) in run.stopping.stages[next(index for index, last in enumerate(analyses) if number <= last)]

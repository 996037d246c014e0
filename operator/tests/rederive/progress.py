"""Derives the number of blocks of a run, and the share of its plan that it does not need."""


def derive(run):
    """The fields of `progress`, which depend on the analyses so far."""
    plan = run.plan
    cells = {scenario: [(scenario.name, length) for length in scenario.sizes] for scenario in plan.scenarios}
    first = [cell for scenario, of_scenario in cells.items() if scenario.integrity for cell in of_scenario]
    first += [cell for scenario, of_scenario in cells.items() if scenario.has_pilot for cell in of_scenario]
    rounds = [cell for of_scenario in cells.values() for cell in of_scenario]
    planned, needed = [], []
    for gang in plan.gangs():
        planned += [len(gang)] * (len(first) + plan.rounds * len(rounds))
        needed += [len(gang)] * len(first)
        for number in range(1, plan.rounds + 1):
            needed += [sum((*cell, name) in of_round(run, number) for name in gang) for cell in rounds]
    blocks = sum(map(bool, needed))
    fields = {"blocksTotal": blocks, "blocksSkipped": None, "savedPercent": None}
    if plan.analyses:
        fields["blocksSkipped"] = len(planned) - blocks
        fields["savedPercent"] = int(100 * (sum(planned) - sum(needed)) / sum(planned) + 0.5)
    return fields


def of_round(run, number):
    """The cells that a round measures."""
    analyses = run.plan.analyses
    if not analyses:
        return set(run.plan.cells())
    return run.stopping.stages[next(index for index, last in enumerate(analyses) if number <= last)]

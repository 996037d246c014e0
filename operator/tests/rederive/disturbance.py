"""Other work on the machines and interfaces in the valid cases of an arm at a size."""


def derive(run, key):
    """The values by field. A value is None if it is unknown."""
    cases = [case for case in run.valid(key) if case.measured]
    queues, foreign = [], []
    for number in (0, 1):
        sides = [(case, number) for case in cases if case.sides[number].get("contention")]
        queues.append(share(map(waiting, sides)))
        if not starts_processes(run, key):
            foreign.append(share(foreign_cpu(run, *side) for side in sides))
    counted = [case.foreign for case in cases if case.foreign is not None]
    return {
        "runQueuePpm": largest(queues),
        "foreignCpuPpm": largest(foreign),
        "foreignBytes": sum(counted) if counted else None,
    }


def starts_processes(run, key):
    """Whether a case starts processes, whose CPU time is not in the records."""
    scenario = run.plan.scenario(key[0])
    return scenario.is_command or (scenario.uses_channels and run.plan.is_off_fabric(key))


def largest(shares):
    known = [one for one in shares if one is not None]
    return round(max(known) * 1e6) if known else None


def share(parts):
    """The sum of the first elements divided by the sum of the second ones; None if there are no parts."""
    sums = [sum(column) for column in zip(*(part for part in parts if part), strict=True)]
    return max(sums[0], 0) / sums[1] if sums and sums[1] else None


def waiting(side):
    """Time of the longest wait in a run queue and of the interval."""
    case, number = side
    contention = case.sides[number]["contention"]
    longest = contention.get("longestRunQueueNanos")
    return None if longest is None else (longest, contention["intervalNanos"])


def foreign_cpu(run, case, number):
    """CPU time of other processes, and the time of the CPUs."""
    own = case.sides[number]["contention"]
    if own.get("busyNanos") is None or own.get("cpus") is None:
        return None
    used = {}
    for other in run.cases:
        if not other.measured or place(other) != place(case):
            continue
        for rank, side in zip(other.pair, other.sides, strict=True):
            theirs = side.get("contention")
            same = run.records.node(case.stream, case.pair[number]) == run.records.node(other.stream, rank)
            if theirs and same and overlap(case, own, other, theirs) and cpus(own) & cpus(theirs):
                if theirs.get("ownNanos") is None:
                    return None
                used[rank] = max(used.get(rank, 0), theirs["ownNanos"])
    return own["busyNanos"] - sum(used.values()), own["intervalNanos"] * len(cpus(own))


def place(case):
    return case.stream, case.record["block"], case.key[2]


def overlap(case, own, other, theirs):
    starts = case.record["startedNanos"], other.record["startedNanos"]
    return starts[0] < starts[1] + theirs["intervalNanos"] and starts[1] < starts[0] + own["intervalNanos"]


def cpus(contention):
    """The CPUs in a list such as 0-3,8."""
    found = set()
    for part in filter(None, (contention.get("cpus") or "").split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found

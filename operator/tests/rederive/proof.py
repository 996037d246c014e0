"""Decides whether a case's bytes used the requested fabric."""

from . import serving
from .endpoints import is_requested
from .traffic import COVERAGE, is_looped_back

# Proofs, from the weakest to the strongest.
PROOFS = ("Contradicted", "Shared", "Declared", "Verified")


def of_case(case, readings, records, endpoints, transport):
    """The proof of a measured case, if the run has no cases without measurements. `readings` are the readings that include
    the case."""
    facts = [endpoints.of_case(case, rank) for rank in case.pair]
    if not all(is_requested(one, transport) for one in facts if one):
        return "Contradicted"
    if is_looped_back(case, records):
        return "Declared"
    if not all(reading.cases[case].covered() for reading in readings):
        return "Contradicted"
    if not readings or not all(reading.total().covered() for reading in readings):
        return "Declared"
    if not every_rail_is_counted(case):
        return "Declared"
    return "Shared" if any(reading.foreign() for reading in readings) else "Verified"


def places(case, records):
    """The block, the arm and the host of each worker."""
    return {(case.record["block"], case.key[2], records.host(case.stream, rank)) for rank in case.pair}


def every_rail_is_counted(case):
    """Whether every rail that carried the initiator's payload has an interface with counters."""
    if case.scenario.mode and not serving.is_on_fabric(case.scenario):
        return False
    # In the Pull mode of parameter serving, only the target posts.
    posted = case.sides[0].get("posted") or (case.scenario.mode and case.sides[1].get("posted"))
    if not posted or sum(posted["counters"]["bytesPerRail"]) < posted["payloadBytes"] * COVERAGE:
        return False
    counted = {rail for side in case.sides for delta in side.get("interfaces", []) for rail in delta["rails"]}
    return all(rail in counted for rail, sent in enumerate(posted["counters"]["bytesPerRail"]) if sent)


def weakest(cases):
    """The weakest proof of these cases; None if none of them was measured."""
    return min((case.proof for case in cases if case.proof), key=PROOFS.index, default=None)

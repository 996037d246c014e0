"""Derives the outcome of a finished run."""

from . import comparisons, progress, proof


def derive(run, compared, expectations):
    """The first outcome whose condition holds."""
    blocks = progress.derive(run)
    untrusted = any(one.primary and one.withheld in comparisons.UNTRUSTED for one in compared)
    unusable = not all(run.valid(key) for key in run.plan.cells())
    if (
        blocks["blocksDone"] < blocks["blocksTotal"]
        or unusable
        or proof.weakest(run.cases) == "Contradicted"
        or untrusted
    ):
        return "Untrusted"
    if any(one.primary and one.withheld in comparisons.SUSPECT for one in compared):
        return "Suspect"
    missed = "NotMet" in expectations or any(one.verdict == "Regressed" for one in compared)
    return "Missed" if missed else "Passed"

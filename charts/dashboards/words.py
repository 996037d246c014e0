"""The closed words of states, outcomes, proofs and verdicts, and their colours. Pure."""

from grafana_foundation_sdk.models import dashboard

STATE = {"Pending": "yellow", "Running": "blue", "Suspended": "purple", "Complete": "green", "Failed": "red"}
OUTCOME = {"Passed": "green", "Missed": "orange", "Untrusted": "red"}
PROOF = {"Verified": "green", "Declared": "yellow", "Contradicted": "red"}
VERDICT = {
    "Improved": "green",
    "NoChange": "blue",
    "Regressed": "red",
    "Inconclusive": "yellow",
    "Control": "transparent",
    "None": "transparent",
}
# Of any reason why a verdict is withheld: they are the operator's words, and it may learn more.
WITHHELD = "orange"
ENGAGEMENT = {"Confirmed": "green", "RequestedOnly": "yellow", "NotEngaged": "orange", "NotApplicable": "transparent"}
EXPECTATION = {"Met": "green", "NotMet": "orange", "Inconclusive": "yellow"}


# A cell that says None would look as if something were broken.
SHOWN = {"None": "no verdict", "Control": "control"}


def mappings(colors, others=None):
    """Each word in its colour, as it is but for those in `SHOWN`; any other word in the colour `others`."""
    options = {
        word: dashboard.ValueMappingResult(text=SHOWN.get(word, word), color=color, index=index)
        for index, (word, color) in enumerate(colors.items())
    }
    every = [dashboard.ValueMap(options=options)]
    if others:
        result = dashboard.ValueMappingResult(color=others, index=len(options))
        every.append(dashboard.RegexMap(dashboard.DashboardRegexMapOptions(pattern="/.+/", result=result)))
    return every

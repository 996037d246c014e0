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
ENGAGEMENT = {"Confirmed": "green", "RequestedOnly": "yellow", "NotEngaged": "orange", "NotApplicable": "transparent"}
EXPECTATION = {"Met": "green", "NotMet": "orange", "Inconclusive": "yellow"}


# A cell that says None would look as if something were broken.
SHOWN = {"None": "no verdict", "Control": "control"}


def mappings(colors):
    """Each word in its colour, as it is but for those in `SHOWN`."""
    options = {
        word: dashboard.ValueMappingResult(text=SHOWN.get(word, word), color=color, index=index)
        for index, (word, color) in enumerate(colors.items())
    }
    return [dashboard.ValueMap(options=options)]

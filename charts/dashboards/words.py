"""Colors of states, outcomes, proofs and verdicts. Performs no I/O."""

from grafana_foundation_sdk.models import dashboard

STATE = {"Pending": "yellow", "Running": "blue", "Suspended": "purple", "Complete": "green", "Failed": "red"}
OUTCOME = {"Passed": "green", "Missed": "orange", "Suspect": "yellow", "Untrusted": "red"}
PROOF = {"Verified": "green", "Declared": "yellow", "Shared": "orange", "Contradicted": "red"}
VERDICT = {
    "Improved": "green",
    "NoChange": "blue",
    "Regressed": "red",
    "Inconclusive": "yellow",
    "Control": "transparent",
    "None": "transparent",
}
# All reasons for a withheld verdict have the same color, because a newer operator may export other reasons.
WITHHELD = "orange"
ENGAGEMENT = {"Confirmed": "green", "RequestedOnly": "yellow", "NotEngaged": "orange", "NotApplicable": "transparent"}
EXPECTATION = {"Met": "green", "NotMet": "orange", "Inconclusive": "yellow"}


# Displayed texts for values that would otherwise be unclear: for example, None would look like an error.
SHOWN = {"None": "no verdict", "Control": "control"}


def mappings(colors, others=None):
    """Maps each value to its color and to its text in `SHOWN`, if any. Other values get the color `others`."""
    options = {
        word: dashboard.ValueMappingResult(text=SHOWN.get(word, word), color=color, index=index)
        for index, (word, color) in enumerate(colors.items())
    }
    every = [dashboard.ValueMap(options=options)]
    if others:
        result = dashboard.ValueMappingResult(color=others, index=len(options))
        every.append(dashboard.RegexMap(dashboard.DashboardRegexMapOptions(pattern="/.+/", result=result)))
    return every

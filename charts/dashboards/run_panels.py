"""Panels of a run as a whole: did it run, is it good enough, can it be trusted, what did it run on. Pure."""

from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

import parts
import transforms
import words
from parts import now, properties
from selection import RUN


def every():
    return [*answers(), *progress(), conditions(), environment()]


def state_set(metric, label):
    return f"max by ({label}) ({metric}{{{RUN}}} == 1)"


def answers():
    """Did it run, is it good enough, can it be trusted: each in a word."""
    regressed = (
        "(count(max by (scenario, size_bytes, arm, metric) ("
        f'fabricbench_comparison_verdict{{{RUN}, verdict="Regressed"}} == 1)'
        " and on (scenario, size_bytes, arm, metric) "
        f'fabricbench_comparison_ratio{{{RUN}, primary="true", negative_control="false"}})'
        f" or 0 * max(fabricbench_run_state{{{RUN}}}))"
    )
    return [
        parts.word(
            "State",
            "What the run is doing.",
            state_set("fabricbench_run_state", "state"),
            "state",
            words.STATE,
            "No such run at this time",
            4,
        ),
        parts.word(
            "Outcome",
            "Passed: complete, no expectation missed, no regression. Missed: complete, and one of both. Untrusted: not "
            "complete, or its numbers cannot be trusted. As the exit status of fabricbench report: 0, 1, 3.",
            state_set("fabricbench_run_outcome", "outcome"),
            "outcome",
            words.OUTCOME,
            "Not finished",
            4,
        ),
        parts.word(
            "Fabric",
            "Verified: byte counters of the interfaces cover the payload. Declared: only the library's word. "
            "Contradicted: counters show other bytes than were claimed, and no number of the run counts.",
            state_set("fabricbench_run_fabric_proof", "proof"),
            "proof",
            words.PROOF,
            "Nothing is measured yet",
            4,
        ),
        parts.number(
            "Regressions",
            "Comparisons of the primary metric, control arms left out, whose whole interval lies beyond the margin on "
            "the worse side.",
            [now(regressed)],
            "short",
            "No such run at this time",
            4,
            [(0, "green"), (1, "red")],
        ),
        expectations(),
    ]


def expectations():
    metric = f"fabricbench_run_expectations{{{RUN}}}"
    panel = parts.number(
        "Expectations",
        "What became of the expectations in the spec.",
        [
            now(f"max by (outcome) ({metric}) and on () (sum({metric}) > 0)")
            .format(PromQueryFormat.TIME_SERIES)
            .legend_format("{{outcome}}")
        ],
        "short",
        "The spec expects nothing",
        8,
    )
    for outcome, color in words.EXPECTATION.items():
        panel = panel.override_by_name(outcome, properties(thresholds=parts.thresholds([(1, color)]).build()))
    return panel


def progress():
    created = f"max(fabricbench_run_created_timestamp_seconds{{{RUN}}})"
    finished = f"max(fabricbench_run_finished_timestamp_seconds{{{RUN}}})"
    return [
        parts.number(
            "Progress",
            "Blocks whose last record verified, of all blocks of the plan.",
            [now(f"max(fabricbench_run_blocks_done{{{RUN}}}) / (max(fabricbench_run_blocks{{{RUN}}}) > 0)")],
            "percentunit",
            "Not planned yet",
            4,
        ).decimals(0),
        parts.number(
            "Created",
            "When the run was created.",
            [now(f"1000 * {created}")],
            "dateTimeAsIso",
            "No such run at this time",
            4,
        ),
        parts.number(
            "Finished", "When it completed or failed.", [now(f"1000 * {finished}")], "dateTimeAsIso", "Not finished", 4
        ),
        parts.number(
            "Took",
            "From creation to its end, waiting included.",
            [now(f"{finished} - {created}")],
            "s",
            "Not finished",
            4,
        ),
        parts.number(
            "Series not exported",
            "The operator exports a bounded number of series of one run. Where this is not 0, panels below show a "
            "part; the report has everything.",
            [now(f"max(fabricbench_run_series_dropped{{{RUN}}})")],
            "short",
            "No such run at this time",
            8,
            [(0, "green"), (1, "orange")],
        ),
    ]


def conditions():
    return parts.listing(
        "Conditions",
        "The conditions of the run with their reasons. The message of each stands in the object: kubectl describe "
        "bench.",
        [now(f"max by (condition, reason) (fabricbench_run_condition{{{RUN}}})")],
        [transforms.shown({"condition": "condition", "Value": "status", "reason": "reason"})],
        "No such run at this time",
        8,
        8,
    ).override_by_name(
        "status",
        properties(
            mappings=[
                dashboard.ValueMap(
                    options={
                        "0": dashboard.ValueMappingResult(text="False", index=0),
                        "1": dashboard.ValueMappingResult(text="True", index=1),
                    }
                )
            ],
            custom_width=80,
        ),
    )


def environment():
    """Kind and value of everything the numbers hold for."""

    def renamed(metric, label, kind):
        moved = f'label_replace({metric}{{{RUN}, {label}!=""}}, "value", "$1", "{label}", "(.*)")'
        return f'max by (kind, value) (label_replace({moved}, "kind", "{kind}", "", ""))'

    everything = [
        f"max by (kind, value) (fabricbench_run_environment_info{{{RUN}}})",
        renamed("fabricbench_run_info", "provider", "provider"),
        renamed("fabricbench_run_info", "baseline", "baseline"),
        renamed("fabricbench_run_node_info", "node", "node"),
    ]
    return parts.listing(
        "Environment",
        "What the numbers hold for: provider as the library returned it, nodes, kernels, processors, libraries, how "
        "the sides waited for completions, and the arm that the others are compared with.",
        [now("\nor\n".join(everything))],
        [
            transforms.shown({"kind": "kind", "value": "value"}, hidden=("Time", "Value")),
            *transforms.sorted_by("kind", "value"),
        ],
        "No worker has reported yet",
        16,
        8,
    ).override_by_name("kind", properties(custom_width=120))

"""Panels for the whole run: state, outcome, fabric, expectations, progress, environment. Performs no I/O."""

from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

import parts
import transforms
import words
from parts import instant_query, properties
from selection import RUN


def build():
    return [*summary(), *progress(), conditions(), environment()]


def state_set(metric, label):
    return f"max by ({label}) ({metric}{{{RUN}}} == 1)"


def summary():
    """Panels with the state, outcome, fabric proof, number of regressions and expectation outcomes."""
    regressed = (
        "(count(max by (scenario, size_bytes, arm, metric) ("
        f'fabricbench_comparison_verdict{{{RUN}, verdict="Regressed"}} == 1)'
        " and on (scenario, size_bytes, arm, metric) "
        f'fabricbench_comparison_ratio{{{RUN}, primary="true", negative_control="false"}})'
        f" or 0 * max(fabricbench_run_state{{{RUN}}}))"
    )
    return [
        parts.label_panel(
            "State",
            "State of the run.",
            state_set("fabricbench_run_state", "state"),
            "state",
            words.STATE,
            "The run does not exist at this time",
            4,
        ),
        parts.label_panel(
            "Outcome",
            "Passed: complete, no expectation missed, no regression. Missed: complete, with a missed expectation or a "
            "regression. Suspect: complete, but a control shows a change; repeat the run. Untrusted: not complete, or "
            "values cannot be trusted. fabricbench report exits with status 0 for Passed, 1 for Missed, and 3 "
            "otherwise.",
            state_set("fabricbench_run_outcome", "outcome"),
            "outcome",
            words.OUTCOME,
            "Not finished",
            4,
        ),
        parts.label_panel(
            "Fabric",
            "Verified: interface byte counters cover the payload. Declared: only the library reports the fabric. "
            "Shared: the interfaces also carried other traffic. "
            "Contradicted: counters do not match the reported payload, and the affected comparisons have no verdict.",
            state_set("fabricbench_run_fabric_proof", "proof"),
            "proof",
            words.PROOF,
            "Nothing has been measured yet",
            4,
        ),
        parts.stat_panel(
            "Regressions",
            "Comparisons on the primary metric whose whole interval lies beyond the margin on the worse side, "
            "excluding control arms.",
            [instant_query(regressed)],
            "short",
            "The run does not exist at this time",
            4,
            [(0, "green"), (1, "red")],
        ),
        expectations(),
    ]


def expectations():
    metric = f"fabricbench_run_expectations{{{RUN}}}"
    panel = parts.stat_panel(
        "Expectations",
        "Outcomes of the expectations in the spec.",
        [
            instant_query(f"max by (outcome) ({metric}) and on () (sum({metric}) > 0)")
            .format(PromQueryFormat.TIME_SERIES)
            .legend_format("{{outcome}}")
        ],
        "short",
        "The spec has no expectations",
        8,
    )
    for outcome, color in words.EXPECTATION.items():
        panel = panel.override_by_name(outcome, properties(thresholds=parts.thresholds([(1, color)]).build()))
    return panel


def progress():
    created = f"max(fabricbench_run_created_timestamp_seconds{{{RUN}}})"
    finished = f"max(fabricbench_run_finished_timestamp_seconds{{{RUN}}})"
    return [
        parts.stat_panel(
            "Progress",
            "Fraction of planned blocks whose records are complete and verified.",
            [instant_query(f"max(fabricbench_run_blocks_done{{{RUN}}}) / (max(fabricbench_run_blocks{{{RUN}}}) > 0)")],
            "percentunit",
            "The run has no plan yet",
            4,
        ).decimals(0),
        parts.stat_panel(
            "Created",
            "Creation time of the run.",
            [instant_query(f"1000 * {created}")],
            "dateTimeAsIso",
            "The run does not exist at this time",
            4,
        ),
        parts.stat_panel(
            "Finished", "Time at which the run completed or failed.", [instant_query(f"1000 * {finished}")], "dateTimeAsIso", "Not finished", 4
        ),
        parts.stat_panel(
            "Duration",
            "Time from the creation of the run to its end, including time spent waiting.",
            [instant_query(f"{finished} - {created}")],
            "s",
            "Not finished",
            4,
        ),
        parts.stat_panel(
            "Series not exported",
            "The operator exports a limited number of series for each run. If this is not 0, the panels below are "
            "incomplete; the report is complete.",
            [instant_query(f"max(fabricbench_run_series_dropped{{{RUN}}})")],
            "short",
            "The run does not exist at this time",
            8,
            [(0, "green"), (1, "orange")],
        ),
    ]


def conditions():
    return parts.table_panel(
        "Conditions",
        "The run's conditions and their reasons. Use kubectl describe bench to see the messages.",
        [instant_query(f"max by (condition, reason) (fabricbench_run_condition{{{RUN}}})")],
        [transforms.select_columns({"condition": "condition", "Value": "status", "reason": "reason"})],
        "The run does not exist at this time",
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
    """Table with the kind and the value of each environment property."""

    def renamed(metric, label, kind):
        moved = f'label_replace({metric}{{{RUN}, {label}!=""}}, "value", "$1", "{label}", "(.*)")'
        return f'max by (kind, value) (label_replace({moved}, "kind", "{kind}", "", ""))'

    everything = [
        f"max by (kind, value) (fabricbench_run_environment_info{{{RUN}}})",
        renamed("fabricbench_run_info", "provider", "provider"),
        renamed("fabricbench_run_info", "baseline", "baseline"),
        renamed("fabricbench_run_node_info", "node", "node"),
    ]
    return parts.table_panel(
        "Environment",
        "Measurement environment: the provider reported by the library, nodes, kernels, CPUs, libraries, polling mode "
        "and baseline.",
        [instant_query("\nor\n".join(everything))],
        [
            transforms.select_columns({"kind": "kind", "value": "value"}, hidden=("Time", "Value")),
            *transforms.sorted_by("kind", "value"),
        ],
        "No worker has reported yet",
        16,
        8,
    ).override_by_name("kind", properties(custom_width=120))

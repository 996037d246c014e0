"""Label selectors for the variables of the Campaign dashboard, and a query for trusted effects. Performs no I/O."""

RUN = 'run_namespace="$namespace", run="$run"'
SCENARIO = RUN + ', scenario=~"$scenario"'
# Labels that identify a verdict, regardless of the metric.
CELL = "run_namespace, run, scenario, size_bytes, arm"


def trusted(metric, labels, more="", window=""):
    """Query for the series of a comparison metric, excluding comparisons whose verdict is withheld.

    `labels` are selectors that also apply to the verdict metric, `more` are selectors for `metric` only, and `window`
    is a range such as `[5m]`. If a verdict is withheld, the cause of the effect is unknown. Control arms have no
    verdict and are included, because they show the noise.
    """

    def series(name, *selected):
        found = name + "{" + ", ".join(one for one in (labels, *selected) if one) + "}"
        return f"last_over_time({found}{window})" if window else found

    claims = series(metric, more, 'negative_control="false"')
    withheld = series("fabricbench_comparison_verdict", 'verdict="None"')
    controls = series(metric, more, 'negative_control="true"')
    return f"({controls} or ({claims} unless on ({CELL}) ({withheld} == 1)))"

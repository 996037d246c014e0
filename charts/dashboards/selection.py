"""Label selectors of the variables of the Campaign dashboard, and the effects that may be shown. Performs no I/O."""

RUN = 'run_namespace="$namespace", run="$run"'
SCENARIO = RUN + ', scenario=~"$scenario"'
# Labels that identify a verdict, regardless of the metric.
CELL = "run_namespace, run, scenario, size_bytes, arm"


def trusted(metric, labels, more="", window=""):
    """A metric of comparisons selected by `labels`, which every comparison has, and `more`; `window` as in `[5m]`.

    Effects with a withheld verdict may have any cause and are excluded. Control arms have no verdict and are kept,
    because they show the noise.
    """

    def series(name, *selected):
        found = name + "{" + ", ".join(one for one in (labels, *selected) if one) + "}"
        return f"last_over_time({found}{window})" if window else found

    claims = series(metric, more, 'negative_control="false"')
    withheld = series("fabricbench_comparison_verdict", 'verdict="None"')
    controls = series(metric, more, 'negative_control="true"')
    return f"({controls} or ({claims} unless on ({CELL}) ({withheld} == 1)))"

"""What the variables of the Campaign dashboard choose, as labels, and which effects may be shown. Pure."""

RUN = 'run_namespace="$namespace", run="$run"'
SCENARIO = RUN + ', scenario=~"$scenario"'
# What a verdict is given to, or withheld from, whatever the metric.
CELL = "run_namespace, run, scenario, size_bytes, arm"


def trusted(metric, labels, more="", window=""):
    """A metric of comparisons at `labels`, which no comparison is without, and `more`; `window` as in `[5m]`.

    Where the verdict is withheld the effect may be of anything, and is left out. Control arms have no verdict to give,
    and stay: what they show is the noise.
    """

    def series(name, *selected):
        found = name + "{" + ", ".join(one for one in (labels, *selected) if one) + "}"
        return f"last_over_time({found}{window})" if window else found

    claims = series(metric, more, 'negative_control="false"')
    withheld = series("fabricbench_comparison_verdict", 'verdict="None"')
    controls = series(metric, more, 'negative_control="true"')
    return f"({controls} or ({claims} unless on ({CELL}) ({withheld} == 1)))"

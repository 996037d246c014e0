"""What the variables of the Campaign dashboard choose, as labels. Pure."""

RUN = 'run_namespace="$namespace", run="$run"'
SCENARIO = RUN + ', scenario=~"$scenario"'

# shellcheck shell=bash
# The cluster for the tests of the operator, the images and the chart. Sourced by .ci/test-cluster and by each of these
# tests.

# shellcheck source=.ci/lib/exit.sh
. "$(dirname "${BASH_SOURCE[0]}")/exit.sh"

# Each of the operator's tests uses a pair of nodes, and three pairs keep two cores busy.
CLUSTER_NODES=6

# cluster_up: starts a cluster if none is running. The cluster is then removed when the script ends.
cluster_up() {
    if testbed/testbed kubeconfig >/dev/null 2>&1; then return; fi
    at_exit 'testbed/testbed down'
    testbed/testbed up --nodes "$CLUSTER_NODES"
}

# All images that do not need a base image from the user.
# shellcheck disable=SC2034  # used by the tests
PRODUCT_IMAGES=(operator runner:{runner,baseline,fi-inject,doorbell,coalesce,combined})

# images_load IMAGE...: builds the images' binaries, and loads the images into each node.
images_load() {
    .ci/portable images
    testbed/testbed load "$@"
}

# shellcheck shell=bash
# Before the first test file: records the state of the machine, starts a cluster and loads the image that test pods use.
# After the last test file: removes the cluster, even after failures.

setup_suite() {
    bats_require_minimum_version 1.5.0
    load lib/common
    if [ -e "$SITE" ]; then
        echo "a cluster exists: run testbed down first (the tests kill and recreate their own cluster)" >&2
        return 1
    fi
    : >"$BATS_SUITE_TMPDIR/cluster-created"
    machine_listing >"$BATS_SUITE_TMPDIR/machine-before"
    "$TESTBED" up --nodes 2
    probe_load
}

teardown_suite() {
    load lib/common
    # This function is also called if setup found an existing cluster, which must not be removed.
    [ -e "$BATS_SUITE_TMPDIR/cluster-created" ] || return 0
    "$TESTBED" api-only down
    "$TESTBED" down
}

# shellcheck shell=bash
# Before the first test file: a listing of the machine, a cluster, and the image that the tests run in pods.
# After the last: the cluster goes, whatever failed.

setup_suite() {
    bats_require_minimum_version 1.5.0
    load lib/common
    if [ -e "$SITE" ]; then
        echo "a cluster is up or half down: testbed down first (the tests kill and rebuild theirs)" >&2
        return 1
    fi
    : >"$BATS_SUITE_TMPDIR/ours"
    machine_listing >"$BATS_SUITE_TMPDIR/machine-before"
    "$TESTBED" up --nodes 2
    load lib/images
    probe_load
}

teardown_suite() {
    load lib/common
    # It is called after a refused setup, too: the cluster that stood in the way is not ours to take down.
    [ -e "$BATS_SUITE_TMPDIR/ours" ] || return 0
    "$TESTBED" api-only down
    "$TESTBED" down
}

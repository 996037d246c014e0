# shellcheck shell=bash
# Every name, address, port and folder of the testbed. Sourced by all commands; does nothing itself.
# shellcheck disable=SC2034  # used by the other files

CACHE=$(realpath -m -- "${FABRICBENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fabricbench}/testbed")
STATE=$(realpath -m -- "${FABRICBENCH_TESTBED_STATE:-/var/lib/fabricbench-testbed}")

# Of a cluster that is there, without a number: as many as it has.
NODE_COUNT=${FABRICBENCH_TESTBED_NODES:-$(cat "$STATE/cluster/node-count" 2>/dev/null || echo 2)}
NODE_COUNT_MAX=4
NODE_DISK=${FABRICBENCH_TESTBED_NODE_DISK:-12G}
CLUSTER_PORT=${FABRICBENCH_TESTBED_PORT:-16443}
API_ONLY_PORT=${FABRICBENCH_TESTBED_API_ONLY_PORT:-16444}
# Huge pages of 2 MiB that `up` adds to what the machine has, and `down` takes away again.
HUGE_PAGES=${FABRICBENCH_TESTBED_HUGE_PAGES:-32}

# Network namespaces: the control plane's holds the bridge that joins the nodes, so that the
# machine's own namespace gains no link, no route and no rule.
CONTROL_NETNS=fbt-control
API_ONLY_NETNS=fbt-api-only
BRIDGE=nodes
BRIDGE_MTU=9000
CONTROL_ADDRESS=10.231.0.1
NODE_RANGE=10.231.0.0/24
POD_RANGE=10.232.0.0/16
SERVICE_RANGE=10.233.0.0/16
SERVICE_FIRST=10.233.0.1
DNS_ADDRESS=10.233.0.10

# What the nodes claim to be.
INSTANCE_TYPE=p5.48xlarge
ZONE=us-east-1a
EFA_COUNT=32
GPU_COUNT=8

KUBELET_FOLDER=/var/lib/kubelet
# Root's alone: in a folder of all, anyone could hold the lock.
LOCK_FOLDER=/run/fabricbench-testbed
CGROUP=fabricbench-testbed
# In the environment of every process that is started: by it `down` finds those whose record is lost.
MARK=FABRICBENCH_TESTBED_MEMBER

# A site is one control plane with its own folder and namespace: the cluster's, or api-only's.
use_cluster() {
    SITE=$STATE/cluster SITE_NETNS=$CONTROL_NETNS SITE_PORT=$CLUSTER_PORT SITE_COMMAND=""
}

use_api_only() {
    SITE=$STATE/api-only SITE_NETNS=$API_ONLY_NETNS SITE_PORT=$API_ONLY_PORT SITE_COMMAND="api-only "
}

node_index() { printf '%s' "${1#node-}"; }
node_netns() { printf 'fbt-%s' "$1"; }
node_address() { printf '10.231.0.%d' $((10 + $(node_index "$1"))); }
node_pod_range() { printf '10.232.%d.0/24' "$(node_index "$1")"; }
node_folder() { printf '%s/nodes/%s' "$SITE" "$1"; }

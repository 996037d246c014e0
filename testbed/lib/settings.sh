# shellcheck shell=bash
# The testbed's names, addresses, ports and directories. Sourced by all commands; has no side effects.
# shellcheck disable=SC2034  # the variables are used by other files

CACHE=$(realpath -m -- "${FABRICBENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fabricbench}/testbed")
STATE=$(realpath -m -- "${FABRICBENCH_TESTBED_STATE:-/var/lib/fabricbench-testbed}")

NODE_COUNT_MAX=6
NODE_DISK=${FABRICBENCH_TESTBED_NODE_DISK:-12G}
# Free space that a new cluster requires, in GiB. The nodes' disks are sparse files, so they need less than their
# nominal size.
FREE_GIB=${FABRICBENCH_TESTBED_FREE_GIB:-6}
# Free space, in GiB, that building a module requires for the compiled Kubernetes packages and the binaries.
BUILD_GIB=6
# Interval of the messages while a module is built.
PROGRESS_SECONDS=20
CLUSTER_PORT=${FABRICBENCH_TESTBED_PORT:-16443}
API_ONLY_PORT=${FABRICBENCH_TESTBED_API_ONLY_PORT:-16444}
# Number of 2 MiB huge pages that `up` adds to the machine's existing ones and `down` removes.
HUGE_PAGES=${FABRICBENCH_TESTBED_HUGE_PAGES:-32}

# Network namespaces. The control-plane namespace contains the bridge that connects the nodes, so that no link, route or
# rule is added to the host network namespace.
CONTROL_NETNS=fbt-control
API_ONLY_NETNS=fbt-api-only
BRIDGE=nodes
BRIDGE_MTU=9000
# Bridge of the pods on each node.
POD_BRIDGE=pods
# Multicast groups that the nodes forward.
MULTICAST_GROUPS=239.255.0.0/16
CONTROL_ADDRESS=10.231.0.1
NODE_RANGE=10.231.0.0/24
POD_RANGE=10.232.0.0/16
SERVICE_RANGE=10.233.0.0/16
SERVICE_FIRST=10.233.0.1
DNS_ADDRESS=10.233.0.10

# Instance type, zone and devices that the nodes report.
INSTANCE_TYPE=p5.48xlarge
ZONE=us-east-1a
EFA_COUNT=32
GPU_COUNT=8

KUBELET_DIR=/var/lib/kubelet
# The directory is accessible only to root: in a world-writable directory, any user could hold the lock.
LOCK_DIR=/run/fabricbench-testbed
CGROUP=fabricbench-testbed
# Environment variable that is set in every testbed process, so that `down` finds processes without a record.
MARK=FABRICBENCH_TESTBED_MEMBER

# A site is a control plane with its own directory and network namespace: either the cluster's or that of `api-only`.
use_cluster() {
    SITE=$STATE/cluster SITE_NETNS=$CONTROL_NETNS SITE_PORT=$CLUSTER_PORT SITE_COMMAND=""
    use_fixed_settings
}

use_api_only() {
    SITE=$STATE/api-only SITE_NETNS=$API_ONLY_NETNS SITE_PORT=$API_ONLY_PORT SITE_COMMAND="api-only "
    use_fixed_settings
}

# use_fixed_settings: reads the settings that the first `up` of a site fixes. For a site that is up, they default to its values.
use_fixed_settings() {
    NODE_COUNT=${FABRICBENCH_TESTBED_NODES:-$(cat "$SITE/node-count" 2>/dev/null || echo 2)}
    # A release series of Kubernetes: a directory tools/kubernetes-SERIES.
    KUBERNETES=${FABRICBENCH_TESTBED_KUBERNETES:-$(cat "$SITE/kubernetes" 2>/dev/null || echo 1.37)}
}

node_index() { printf '%s' "${1#node-}"; }
node_netns() { printf 'fbt-%s' "$1"; }
node_address() { printf '10.231.0.%d' $((10 + $(node_index "$1"))); }
node_pod_range() { printf '10.232.%d.0/24' "$(node_index "$1")"; }
node_dir() { printf '%s/nodes/%s' "$SITE" "$1"; }

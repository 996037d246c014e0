# shellcheck shell=bash
# What several test files use.
# shellcheck disable=SC2034  # they do

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TESTBED=$HERE/testbed
for part in settings report process tools node; do
    # shellcheck source=/dev/null
    . "$HERE/lib/$part.sh"
done
export PATH=$PATH:/usr/sbin:/sbin
use_cluster

PROBE_IMAGE=fabricbench.dev/probe:dev

# namespace_fresh NAME: an empty one that admits restricted pods only.
namespace_fresh() {
    kubectl delete namespace "$1" --ignore-not-found --wait
    kubectl create namespace "$1"
    kubectl label namespace "$1" pod-security.kubernetes.io/enforce=restricted "team=$1"
    await 30 "the service account of $1" kubectl -n "$1" get serviceaccount default
}

# apply NAMESPACE FILE [NAME=VALUE]...
apply() {
    render "$HERE/tests/manifests/$2" "IMAGE=$PROBE_IMAGE" "${@:3}" | kubectl -n "$1" apply -f -
}

# probe NAMESPACE POD ARGUMENT...: in a running pod.
probe() { kubectl -n "$1" exec "$2" -- probe "${@:3}"; }

# services_serve NAMESPACE POD...: awaits that each pod reaches the services of all: kube-proxy follows a moment later.
services_serve() {
    local from to
    for from in "${@:2}"; do
        for to in "${@:2}"; do
            await 20 "service $to for $from" probe "$1" "$from" ask tcp "$to.$1.svc.cluster.local:80"
        done
    done
}

# machine_listing: what a testbed could leave behind on the machine.
machine_listing() {
    local hierarchy
    echo "== processes"
    # Zombies are no longer ours: the machine's first process reaps them when it likes.
    pgrep -af "$STATE|^$CACHE/tools|containerd-shim|^/pause" | cut -d' ' -f2- | grep -v '<defunct>' | sort || true
    members
    echo "== links, routes, rules"
    ip -o link show | cut -d: -f2 | sort
    ip route show table all
    iptables-save | grep -v '^#' || true
    ipset list -name
    echo "== namespaces, mounts, loop devices"
    ls /run/netns 2>/dev/null || true
    findmnt -rno TARGET | sort
    losetup --list --noheadings --output NAME,BACK-FILE
    echo "== cgroups, huge pages"
    for hierarchy in $(findmnt -rnt cgroup,cgroup2 -o TARGET); do find "$hierarchy" -maxdepth 1 -type d; done | sort
    cat /proc/sys/vm/nr_hugepages
    echo "== files"
    ls -d "$STATE" /var/lib/kubelet /var/lib/cni /run/containerd 2>/dev/null || true
}

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
# Seconds that a condition may take on a machine that does other things too. A test that passes does not wait so long.
PATIENCE=180

# namespace_fresh NAME: an empty one that admits restricted pods only.
namespace_fresh() {
    kubectl delete namespace "$1" --ignore-not-found --wait
    kubectl create namespace "$1"
    kubectl label namespace "$1" pod-security.kubernetes.io/enforce=restricted "team=$1"
    await "$PATIENCE" "the service account of $1" kubectl -n "$1" get serviceaccount default
}

# apply NAMESPACE FILE [NAME=VALUE]...: the image is the tests' own, unless IMAGE= names another.
apply() {
    # The first value for a name is the one that is filled in.
    render "$HERE/tests/manifests/$2" "${@:3}" "IMAGE=$PROBE_IMAGE" | kubectl -n "$1" apply -f -
}

# pods_ready NAMESPACE: all of them.
pods_ready() { kubectl -n "$1" wait pod --all --for=condition=Ready --timeout="${PATIENCE}s"; }

# job_completes NAMESPACE JOB: awaits its end; a Job that fails is shown, at once.
job_completes() {
    await "$PATIENCE" "the end of job $2" job_ended "$1" "$2" || true
    if job_condition "$1" "$2" Complete; then return 0; fi
    kubectl -n "$1" describe job "$2"
    kubectl -n "$1" describe pods -l "job-name=$2"
    kubectl -n "$1" logs -l "job-name=$2" --prefix --tail=20
    return 1
}

job_ended() { job_condition "$1" "$2" Complete || job_condition "$1" "$2" Failed; }

job_condition() {
    [ "$(kubectl -n "$1" get job "$2" -o "jsonpath={.status.conditions[?(@.type=='$3')].status}")" = True ]
}

# probe NAMESPACE POD ARGUMENT...: in a running pod.
probe() { kubectl -n "$1" exec "$2" -- probe "${@:3}"; }

# reaches NAMESPACE POD tcp|udp HOST:PORT NAME: awaits that pod NAME answers. One question may be late on a busy machine.
reaches() { await "$PATIENCE" "$5 at $4 ($3) to answer $2" answer_is "$5" "$1" "$2" ask "$3" "$4"; }

answer_is() { [ "$(probe "${@:2}")" = "$1" ]; }

# services_serve NAMESPACE POD...: awaits that each pod reaches the services of all: kube-proxy follows a moment later.
services_serve() {
    local from to
    for from in "${@:2}"; do
        for to in "${@:2}"; do
            reaches "$1" "$from" tcp "$to.$1.svc.cluster.local:80" "$to"
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
    ip route show table all | sed 's/ expires [0-9]*sec//'
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
    ls -d "$STATE" /var/lib/kubelet /var/lib/cni /run/containerd "$LOCK_FOLDER" 2>/dev/null || true
}

# shellcheck shell=bash
# Helpers shared by the test files.
# shellcheck disable=SC2034  # the variables are used by the test files

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TESTBED=$HERE/testbed
for part in settings report process tools node; do
    # shellcheck source=/dev/null
    . "$HERE/lib/$part.sh"
done
export PATH=$PATH:/usr/sbin:/sbin
use_cluster

PROBE_IMAGE=fabricbench.dev/probe:dev
# Timeout for a condition, in seconds. It is long enough for a busy machine; passing tests usually wait much less.
TIMEOUT=180

# probe_load: builds the probe image if its source has changed, and loads it into each node.
probe_load() {
    local context=$CACHE/images/context/probe
    mkdir -p "$context"
    (cd "$HERE/tests/probe" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$context/probe" .)
    cp "$HERE/tests/probe/Dockerfile" "$context/"
    "$TESTBED" load "$context"
}

# fresh_namespace NAME: creates an empty namespace that admits only restricted pods.
fresh_namespace() {
    kubectl delete namespace "$1" --ignore-not-found --wait
    kubectl create namespace "$1"
    kubectl label namespace "$1" pod-security.kubernetes.io/enforce=restricted "team=$1"
    await "$TIMEOUT" "the service account of $1" kubectl -n "$1" get serviceaccount default
}

# apply NAMESPACE FILE [NAME=VALUE]...: applies a manifest. IMAGE defaults to the probe image.
apply() {
    # The first value given for a name takes precedence.
    render "$HERE/tests/manifests/$2" "${@:3}" "IMAGE=$PROBE_IMAGE" | kubectl -n "$1" apply -f -
}

# pods_ready NAMESPACE: waits until all pods are Ready.
pods_ready() { kubectl -n "$1" wait pod --all --for=condition=Ready --timeout="${TIMEOUT}s"; }

# job_completes NAMESPACE JOB: waits until the Job ends. If the Job failed or did not end in time, prints details and
# fails.
job_completes() {
    await "$TIMEOUT" "the end of job $2" job_ended "$1" "$2" || true
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

# probe NAMESPACE POD ARGUMENT...: runs the probe in a running pod.
probe() { kubectl -n "$1" exec "$2" -- probe "${@:3}"; }

# reaches NAMESPACE POD tcp|udp HOST:PORT NAME: waits until pod NAME responds. A single query may time out on a busy machine.
reaches() { await "$TIMEOUT" "$5 at $4 ($3) to respond to $2" response_is "$5" "$1" "$2" query "$3" "$4"; }

response_is() { [ "$(probe "${@:2}")" = "$1" ]; }

# services_serve NAMESPACE POD...: waits until each pod reaches the services of all pods. Services do not work
# immediately, because kube-proxy updates its rules with a delay.
services_serve() {
    local from to
    for from in "${@:2}"; do
        for to in "${@:2}"; do
            reaches "$1" "$from" tcp "$to.$1.svc.cluster.local:80" "$to"
        done
    done
}

# machine_listing: prints everything that a testbed could leave behind on the machine.
machine_listing() {
    local hierarchy
    echo "== processes"
    # Zombies are excluded, because it is not known when the machine's init process reaps them.
    pgrep -af "$STATE|^$CACHE/tools|containerd-shim|^/pause" | cut -d' ' -f2- | grep -v '<defunct>' | sort || true
    marked_pids
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
    ls -d "$STATE" /var/lib/kubelet /var/lib/cni /run/containerd "$LOCK_DIR" 2>/dev/null || true
}

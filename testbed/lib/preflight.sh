# shellcheck shell=bash
# Checks the requirements before anything is created. One message lists all missing programs or, if there are none, all
# missing kernel features.

# The programs that build images.
IMAGE_PROGRAMS=(buildah flock jq mmdebstrap)

preflight() {
    local missing=()
    [ "$(uname -s)" = Linux ] || fail "unsupported system $(uname -s): the testbed needs Linux"
    [ "$(uname -m)" = x86_64 ] || [ "$(uname -m)" = aarch64 ] ||
        fail "unsupported architecture $(uname -m): the testbed needs x86_64 or aarch64"
    programs_check cluster "${IMAGE_PROGRAMS[@]}" containerd ctr runc iptables ipset conntrack smcrouted socat ip nsenter setsid \
        findmnt losetup mkfs.ext4 openssl curl gcc /usr/lib/cni/bridge
    missing_kernel_features missing
    if [ ${#missing[@]} -gt 0 ]; then
        fail "this kernel or container does not support: ${missing[*]}"
    fi
}

# free_space DIRECTORY VARIABLE GIB PURPOSE: fails if the directory's file system has less than GIB of free space.
free_space() {
    local existing=$1 free
    until [ -e "$existing" ]; do existing=$(dirname "$existing"); done
    free=$(($(df --output=avail -B1 "$existing" | tail -n 1) >> 30))
    [ "$free" -ge "$3" ] ||
        fail "the file system of $1 has $free GiB of free space, but $4 needs $3 GiB: free some, or set $2 to a directory in another file system"
}

# programs_check TARGET PROGRAM...: fails if a program is missing. TARGET is the argument of .ci/setup that installs them.
programs_check() {
    local target=$1 program missing=()
    shift
    for program in "$@"; do command -v "$program" >/dev/null || missing+=("$program"); done
    [ ${#missing[@]} -eq 0 ] ||
        fail "missing programs: ${missing[*]} (on Debian and Ubuntu, run .ci/setup $target)"
}

# missing_kernel_features ARRAY: tries each feature in a temporary network namespace and appends those that do not work
# to ARRAY.
missing_kernel_features() {
    local -n feature_array=$1
    unshare --net true 2>/dev/null || {
        feature_array+=("network namespaces")
        return 0
    }
    try_kernel "veth links" 'ip link add name try0 type veth peer name try1' "$1"
    try_kernel "bridges" 'ip link add name try0 type bridge' "$1"
    try_kernel "iptables with comments and conntrack states" \
        'iptables -A INPUT -m comment --comment x -m conntrack --ctstate ESTABLISHED -j ACCEPT' "$1"
    try_kernel "iptables NAT" 'iptables -t nat -A OUTPUT -j RETURN' "$1"
    try_kernel "ipset" 'ipset create a hash:net && iptables -A INPUT -m set --match-set a src -j ACCEPT' "$1"
    try_kernel "multicast routing" 'test -e /proc/net/ip_mr_vif' "$1"
    load_bridge_filter
    try_kernel "filtering of bridged packets (br_netfilter)" 'test -e /proc/sys/net/bridge/bridge-nf-call-iptables' "$1"
    grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || feature_array+=("overlayfs")
    [ -e /dev/loop-control ] || modprobe loop 2>/dev/null || feature_array+=("loop devices")
    findmnt -n /sys/fs/cgroup >/dev/null || feature_array+=("cgroups at /sys/fs/cgroup")
}

# load_bridge_filter: loads br_netfilter and disables its default, which would also filter traffic on the machine's
# other bridges.
load_bridge_filter() {
    local switch=/proc/sys/net/bridge/bridge-nf-call-iptables
    if [ -e "$switch" ] || ! modprobe br_netfilter 2>/dev/null; then return 0; fi
    echo 0 >"$switch"
}

# try_kernel FEATURE COMMAND ARRAY: appends FEATURE to ARRAY if COMMAND fails.
try_kernel() {
    local -n try_array=$3
    unshare --net bash -c "$2" >/dev/null 2>&1 || try_array+=("$1")
}

# shellcheck shell=bash
# What must be there before anything is touched. Everything that is missing is named in one message.

preflight() {
    local missing=()
    [ "$(uname -s)" = Linux ] || fail "needs Linux"
    [ "$(uname -m)" = x86_64 ] || [ "$(uname -m)" = aarch64 ] || fail "needs x86_64 or aarch64, not $(uname -m)"
    missing_programs missing
    if [ ${#missing[@]} -gt 0 ]; then
        fail "missing programs: ${missing[*]} (on Debian and Ubuntu: .ci/setup cluster)"
    fi
    missing_kernel_parts missing
    if [ ${#missing[@]} -gt 0 ]; then
        fail "this kernel or container does not allow: ${missing[*]}"
    fi
}

# missing_programs ARRAY
missing_programs() {
    local -n found_missing=$1
    local program
    for program in containerd ctr runc buildah mmdebstrap iptables ipset conntrack socat ip nsenter setsid flock \
        findmnt losetup mkfs.ext4 openssl jq curl gcc; do
        command -v "$program" >/dev/null || found_missing+=("$program")
    done
    [ -x /usr/lib/cni/bridge ] || found_missing+=("/usr/lib/cni/bridge")
}

# missing_kernel_parts ARRAY: tried in a namespace that is thrown away.
missing_kernel_parts() {
    local -n lacking=$1
    unshare --net true 2>/dev/null || {
        lacking+=("network namespaces")
        return 0
    }
    try_kernel "veth links" 'ip link add name try0 type veth peer name try1' "$1"
    try_kernel "bridges" 'ip link add name try0 type bridge' "$1"
    try_kernel "iptables with comments and conntrack states" \
        'iptables -A INPUT -m comment --comment x -m conntrack --ctstate ESTABLISHED -j ACCEPT' "$1"
    try_kernel "iptables NAT" 'iptables -t nat -A OUTPUT -j RETURN' "$1"
    try_kernel "ipset" 'ipset create a hash:net && iptables -A INPUT -m set --match-set a src -j ACCEPT' "$1"
    bridge_filter_loaded
    try_kernel "filtering of bridged packets (br_netfilter)" 'test -e /proc/sys/net/bridge/bridge-nf-call-iptables' "$1"
    grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || lacking+=("overlayfs")
    [ -e /dev/loop-control ] || modprobe loop 2>/dev/null || lacking+=("loop devices")
    findmnt -n /sys/fs/cgroup >/dev/null || lacking+=("cgroups at /sys/fs/cgroup")
}

# bridge_filter_loaded: as a module, it would filter what crosses the machine's own bridges, too, until told not to.
bridge_filter_loaded() {
    local switch=/proc/sys/net/bridge/bridge-nf-call-iptables
    if [ -e "$switch" ] || ! modprobe br_netfilter 2>/dev/null; then return 0; fi
    echo 0 >"$switch"
}

# try_kernel WHAT COMMAND ARRAY
try_kernel() {
    local -n try_missing=$3
    unshare --net bash -c "$2" >/dev/null 2>&1 || try_missing+=("$1")
}

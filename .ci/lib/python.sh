# shellcheck shell=bash
# Installs locked Python packages. Sourced by the scripts that use them.

# locked_packages NAME LOCK: prints a directory with exactly the packages in LOCK, a requirements file with hashes. It is separate, so
# that other Python programs are not affected.
locked_packages() {
    local cache=${FABRICBENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fabricbench} directory
    directory=$cache/$1-$(sha256sum "$2" | cut -c 1-16)
    if [ ! -d "$directory" ]; then
        rm -rf "$directory.part"
        mkdir -p "$cache"
        PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --require-hashes --no-deps --only-binary=:all: \
            --target "$directory.part" --requirement "$2" >&2
        mv -T "$directory.part" "$directory"
    fi
    printf '%s\n' "$directory"
}

# shellcheck shell=bash
# Builds the cluster's binaries from the pinned modules in tools/, and from policy/ and dra/. A build's name
# contains a digest of all its inputs, so that an unchanged module is not built again.

TOOLS=$HERE/tools

# tool_module MODULE: prints the source directory of the module. `kubernetes` is the module of the selected series.
tool_module() {
    case $1 in
        policy | dra) printf '%s/%s' "$HERE" "$1" ;;
        kubernetes) printf '%s/kubernetes-%s' "$TOOLS" "$KUBERNETES" ;;
        *) printf '%s/%s' "$TOOLS" "$1" ;;
    esac
}

# tool_dir MODULE: prints the directory of the module's binaries, whether it exists or not.
tool_dir() {
    local module digest
    module=$(tool_module "$1")
    digest=$({
        find "$module" -type f \( -name '*.go' -o -name 'go.*' \) ! -name '*_test.go' | sort | xargs cat
        tool_flags "$module"
        uname -m
    } | sha256sum | cut -c1-16)
    printf '%s/tools/%s-%s' "$CACHE" "${module##*/}" "$digest"
}

# tool_flags DIRECTORY: prints the linker flags of the module in the directory.
tool_flags() {
    printf -- '-s -w'
    if [[ $1 == */kubernetes-* ]]; then
        # Without a version, every component reports v0.0.0, and kubelets are rejected as too new.
        local part=k8s.io/component-base/version version minor
        version=$(module_version "$1")
        minor=${version#v1.}
        printf -- ' -X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s' \
            "$part" "$version" "$part" "$part" "${minor%%.*}"
    fi
}

# module_version DIRECTORY: prints the version of Kubernetes that the module in the directory builds.
module_version() { awk '{sub(/^require /, "")} $1 == "k8s.io/kubernetes" {print $2}' "$1/go.mod"; }

# kubernetes_version: prints the version of Kubernetes in the selected series, such as v1.37.2.
kubernetes_version() { module_version "$(tool_module kubernetes)"; }

# kubernetes_series: prints the series of Kubernetes, the oldest first.
kubernetes_series() {
    local module
    for module in "$TOOLS"/kubernetes-*; do printf '%s\n' "${module##*/kubernetes-}"; done | sort -V
}

# kubernetes_check: fails unless the selected series of Kubernetes exists.
kubernetes_check() {
    kubernetes_series | grep -qxF -- "$KUBERNETES" ||
        fail "unknown FABRICBENCH_TESTBED_KUBERNETES '$KUBERNETES' (series: $(kubernetes_series | xargs))"
}

# tool_build MODULE: builds the module unless it is already built.
tool_build() {
    local module=$1 source dir part package=tool
    source=$(tool_module "$module")
    [ -e "$source/go.mod" ] || fail "unknown tool module $module (modules: $(cd "$TOOLS" && printf '%s ' *))"
    dir=$(tool_dir "$module")
    [ ! -d "$dir" ] || return 0
    # Another command may be building the same module.
    [ "${build_lock-}" ] || { mkdir -p "$CACHE" && exec {build_lock}>"$CACHE/build.lock"; }
    flock "$build_lock"
    [ ! -d "$dir" ] || return 0
    go_is_new || fail "Go is missing or too old: building $module needs Go 1.26 or newer (https://go.dev/dl)"
    free_space "$CACHE" FABRICBENCH_CACHE "$BUILD_GIB" "building $module"
    say "building $module (only once; takes minutes)"
    case $module in coredns | policy | dra) package=. ;; esac
    # The module is built in a temporary directory, because an interrupted build must not count as built.
    mkdir -p "$(dirname "$dir")"
    part=$(mktemp -d "$dir.XXXXXX")
    # The arguments of `go list` must be those of `go build`, which prints each package that it compiles.
    if ! (cd "$source" && export GOCACHE=$CACHE/go-build CGO_ENABLED=0 &&
        total=$(go list -mod=readonly -deps "$package" | wc -l) &&
        go build -v -trimpath -buildvcs=false -mod=readonly -ldflags "$(tool_flags "$source")" -o "$part/" "$package" 2>&1 |
        tool_progress "$module" "$total"); then
        rm -rf "$part"
        fail "failed to build $module"
    fi
    # Go names a binary after its package directory, which is `server` for etcd.
    if [ "$module" = etcd ]; then mv "$part/server" "$part/etcd"; fi
    mv --no-target-directory "$part" "$dir"
}

# tool_progress MODULE TOTAL: reads the output of `go build -v`, which prints the name of each package that it compiles. Prints the
# number of packages every PROGRESS_SECONDS, and every other line.
tool_progress() {
    local module=$1 total=$2 started=$SECONDS next=$((SECONDS + PROGRESS_SECONDS)) count=0 line status
    while true; do
        status=0
        IFS= read -r -t 1 line || status=$?
        if [ "$status" = 0 ]; then
            if [[ $line =~ ^[A-Za-z0-9._~/-]+$ ]]; then count=$((count + 1)); else printf '%s\n' "$line" >&2; fi
        elif [ "$status" -le 128 ]; then
            break
        fi
        if [ "$SECONDS" -ge "$next" ]; then
            say "building $module: $count of at most $total packages compiled after $((SECONDS - started)) s"
            next=$((SECONDS + PROGRESS_SECONDS))
        fi
    done
}

go_is_new() { [[ $(cd / && go env GOVERSION 2>/dev/null) =~ ^go1\.([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 26 ]; }

# tools_up MODULE...: builds the modules that have not been built. The compiled packages, which take 4 GiB, are then removed.
tools_up() {
    local module build_lock=
    for module in "$@"; do tool_build "$module"; done
    if [ "$build_lock" ]; then
        rm -rf "$CACHE/go-build"
        exec {build_lock}>&-
    fi
}

# tool MODULE BINARY: prints the path of the binary.
tool() { printf '%s/%s' "$(tool_dir "$1")" "$2"; }

kubernetes() { tool kubernetes "$1"; }

kubectl() { "$(kubernetes kubectl)" --kubeconfig "$SITE/kubeconfig" "$@"; }

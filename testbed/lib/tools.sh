# shellcheck shell=bash
# The cluster's programs, built from the pinned modules in tools/ and from policy/. A build is named by a digest of all
# that goes into it, so a second call finds it and does nothing.

TOOLS=$HERE/tools

# tool_module MODULE: its folder.
tool_module() {
    if [ "$1" = policy ]; then printf '%s/policy' "$HERE"; else printf '%s/%s' "$TOOLS" "$1"; fi
}

# tool_folder MODULE: where its binaries lie, or will.
tool_folder() {
    local digest
    digest=$({
        find "$(tool_module "$1")" -type f \( -name '*.go' -o -name 'go.*' \) ! -name '*_test.go' | sort | xargs cat
        tool_flags "$1"
        uname -m
    } | sha256sum | cut -c1-16)
    printf '%s/tools/%s-%s' "$CACHE" "$1" "$digest"
}

# tool_flags MODULE: the linker's flags.
tool_flags() {
    printf -- '-s -w'
    if [ "$1" = kubernetes ]; then
        # Without a version every component calls itself v0.0.0, and kubelets are refused as too new.
        local part=k8s.io/component-base/version version minor
        version=$(kubernetes_version)
        minor=${version#v1.}
        printf -- ' -X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s' \
            "$part" "$version" "$part" "$part" "${minor%%.*}"
    fi
}

kubernetes_version() { awk '$1 == "k8s.io/kubernetes" {print $2}' "$TOOLS/kubernetes/go.mod"; }

# tool_build MODULE: builds it unless that was done.
tool_build() {
    local module=$1 folder part what=tool
    [ -e "$(tool_module "$module")/go.mod" ] || fail "no tool module $module (there are: $(cd "$TOOLS" && printf '%s ' *))"
    folder=$(tool_folder "$module")
    [ ! -d "$folder" ] || return 0
    go_is_new || fail "Go is missing or old (1.25 or newer, https://go.dev/dl): $module is built from source"
    say "building $module (once; minutes)"
    if [ "$module" = policy ]; then what=.; fi
    # A folder of its own, as another command may build the same; the first to end wins.
    mkdir -p "$(dirname "$folder")"
    part=$(mktemp -d "$folder.XXXXXX")
    if ! (cd "$(tool_module "$module")" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -mod=readonly \
        -ldflags "$(tool_flags "$module")" -o "$part/" "$what"); then
        rm -rf "$part"
        fail "$module did not build"
    fi
    # Go names a program after its package's folder, and etcd's is called server.
    if [ "$module" = etcd ]; then mv "$part/server" "$part/etcd"; fi
    mv --no-target-directory "$part" "$folder" 2>/dev/null || rm -rf "$part"
    [ -d "$folder" ] || fail "$folder could not be made"
}

go_is_new() { [[ $(cd / && go env GOVERSION 2>/dev/null) =~ ^go1\.([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 25 ]; }

# tools_up MODULE...
tools_up() {
    local module
    for module in "$@"; do tool_build "$module"; done
}

# tool MODULE PROGRAM: the program's path.
tool() { printf '%s/%s' "$(tool_folder "$1")" "$2"; }

kubernetes() { tool kubernetes "$1"; }

kubectl() { "$(kubernetes kubectl)" --kubeconfig "$SITE/kubeconfig" "$@"; }

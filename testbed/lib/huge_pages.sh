# shellcheck shell=bash
# Huge pages are allocated machine-wide: `up` records their original number and `down` restores it.

HUGE_PAGES_FILE=/proc/sys/vm/nr_hugepages

# huge_pages_up: must run before the kubelets start, because they detect huge pages only once.
huge_pages_up() {
    local record=$SITE/huge-pages-before
    if [ -e "$record" ] || [ "$HUGE_PAGES" = 0 ] || [ ! -w "$HUGE_PAGES_FILE" ]; then return 0; fi
    grep -q '^Hugepagesize: *2048 kB' /proc/meminfo || return 0
    cat "$HUGE_PAGES_FILE" >"$record.part"
    mv "$record.part" "$record"
    if ! echo $(($(<"$record") + HUGE_PAGES)) 2>/dev/null >"$HUGE_PAGES_FILE"; then
        say "the machine provides no huge pages, so the nodes provide none"
    fi
}

huge_pages_down() {
    local record=$SITE/huge-pages-before
    [ -e "$record" ] || return 0
    cat "$record" >"$HUGE_PAGES_FILE"
    rm -f "$record"
}

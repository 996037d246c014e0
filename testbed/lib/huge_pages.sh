# shellcheck shell=bash
# Huge pages belong to the machine: what was there before is written down, and restored.

HUGE_PAGES_FILE=/proc/sys/vm/nr_hugepages

# huge_pages_up: before the kubelets, which look once, when they start.
huge_pages_up() {
    local record=$SITE/huge-pages-before
    if [ -e "$record" ] || [ "$HUGE_PAGES" = 0 ] || [ ! -w "$HUGE_PAGES_FILE" ]; then return 0; fi
    grep -q '^Hugepagesize: *2048 kB' /proc/meminfo || return 0
    cat "$HUGE_PAGES_FILE" >"$record.part"
    mv "$record.part" "$record"
    if ! echo $(($(<"$record") + HUGE_PAGES)) 2>/dev/null >"$HUGE_PAGES_FILE"; then
        say "the machine gives no huge pages: the nodes offer none"
    fi
}

huge_pages_down() {
    local record=$SITE/huge-pages-before
    [ -e "$record" ] || return 0
    cat "$record" >"$HUGE_PAGES_FILE"
    rm -f "$record"
}

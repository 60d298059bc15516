# What the demonstrations have in common; each reads it with `source`, in the repository's folder.
#
#   DEMO_RUNS=runs  where runs and pages go
#   PLIMSOLL=FILE   the program
self=$(basename "$0" .sh)
plimsoll=${PLIMSOLL:-$PWD/target/release/plimsoll}
runs=${DEMO_RUNS:-$PWD/runs}

say() { printf '%s\n' "$*"; }
fail() { printf '%s: %s\n' "$self" "$*" >&2; exit 1; }
# need PROGRAM PACKAGE
need() {
    command -v "$1" >/dev/null || {
        printf 'missing: %s; install it: apt-get install %s\n' "$1" "$2" >&2
        exit 2
    }
}
# The path of a page that is about to be made.
new_page() { printf '%s/%s-%s.html\n' "$runs" "$1" "$(date -u +%Y%m%dT%H%M%SZ)"; }
# The folder of the experiment that was run last; others may lie there too.
last_experiment() {
    local stores
    stores=$(ls -td "$runs"/*/experiment.sqlite)
    dirname "${stores%%$'\n'*}"
}

[ -x "$plimsoll" ] || {
    printf 'missing: %s; build it: make build\n' "$plimsoll" >&2
    exit 2
}
mkdir -p "$runs"

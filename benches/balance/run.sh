#!/usr/bin/env bash
# Measures the balancers of pools beside each other: the tables in RESULTS.md.
#   benches/balance/run.sh changes [--quick] [--only KIND,…]   100 changes of a pool, and a control
#   benches/balance/run.sh rate [--quick] [--only KIND,…]      requests a second on a core, added latency
#   benches/balance/run.sh affinity [--only KIND,…]            the same server for a client, as one joins
#   benches/balance/run.sh self-test                           how steady the self-test of instances is
#   benches/balance/run.sh faults [--times 5] [--only NAME,…] what is lost by faults, and how soon all is well
# PLIMSOLL names the program; `make bench-balance` sets it. nginx and haproxy are installed where
# that may be done; what stays absent is said.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export PLIMSOLL="${PLIMSOLL:-$PWD/target/release/plimsoll}"
export PYTHONDONTWRITEBYTECODE=1
export PATH="$PATH:/usr/sbin"

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

absent=()
for pair in nginx:nginx-light haproxy:haproxy wrk:wrk; do
    command -v "${pair%%:*}" >/dev/null || absent+=("${pair#*:}")
done
if [ "${#absent[@]}" -gt 0 ] && command -v apt-get >/dev/null; then
    printf 'installing: %s\n' "${absent[*]}"
    DEBIAN_FRONTEND=noninteractive as_root apt-get install --yes --no-install-recommends \
        "${absent[@]}" >/dev/null 2>&1 || printf 'could not be installed: %s\n' "${absent[*]}"
fi

case "${1:-}" in
    changes | rate | affinity | self-test | faults) what=$1; shift; exec python3 "benches/balance/$what.py" "$@" ;;
    *) sed -n '2,9s/^# //p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac

#!/usr/bin/env bash
# Which cluster of web caches? The 28 of a published study, simulated: `make demo-caches`.
#
# Sends the same requests, which are made up, through each cluster of examples/cache/screening.toml
# and through a single cache, and ends with the path of a report and the best cluster. Set, if
# wanted:
#
#   SEEDS=3         how many times all is done, each time with other requests; 2 at least
#   DEMO_FOR=30m    how long the requests of each last, in the caches' time
#   DEMO_RUNS=runs  where the runs and the report go
#   PLIMSOLL=FILE   the program
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/lib.sh
need jq jq
plan=examples/cache/screening.toml
seeds=${SEEDS:-3}
[ "$seeds" -ge 2 ] || fail "SEEDS=$seeds gives no intervals; say 2 or more"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
report=$(new_page demo-caches)
say "28 clusters of three caches and a single cache, simulated ($plan)."
"$plimsoll" cache simulate "$plan" --seeds "$seeds" --set "load.for=${DEMO_FOR:-30m}" \
    --out "$runs" --report "$report" --json >"$work/clusters.json" 2>"$work/said" || {
    code=$?
    cat "$work/said" >&2
    exit "$code"
}

# Means over the seeds, the best hit ratio first.
say
jq -r '
    def percent: . * 1000 | round | "\(. / 10 | floor).\(. % 10)%";
    def mean($figure): .replications.figures[$figure].mean;
    ["cluster", "policy", "protocol", "hits", "bytes", "response"],
    (.results | sort_by(mean("miss_ratio"))[]
        | [.cluster, .levels.policy, .levels.protocol, (1 - mean("miss_ratio") | percent),
            (1 - mean("byte_miss_ratio") | percent),
            (mean("response_mean_ms") * 10 | round / 10 | "\(.) ms")]) | @tsv' \
    "$work/clusters.json" |
    awk -F '\t' '{ printf "%-11s%-18s%-17s%7s%8s%10s\n", $1, $2, $3, $4, $5, $6 }'

say
say 'The report, for a browser:'
say "$report"
jq -r '
    def percent: . * 1000 | round | "\(. / 10 | floor).\(. % 10)";
    def miss: .replications.figures.miss_ratio.mean;
    .results as $all
    | ($all | map(select(.cluster != "single")) | sort_by(miss)) as $clusters
    | $clusters[0] as $best
    # Those that find the same objects share the first place, as those do that ask in other words.
    | ($clusters | map(select(miss == ($best | miss)))) as $first
    | def each(f): $first | map(f) | unique | join(" or ");
    each(.levels.protocol | split(":")[0] | ascii_upcase) as $protocols
    | $best.replications.difference_from_first.miss_ratio as $less
    | "The \(each(.cluster)) with \($protocols) and \(each(.levels.policy)) has the best hit ratio"
      + " of the \($clusters | length) clusters: \(1 - ($best | miss) | percent)%, \(
            -$less.mean | percent)"
      + " (95%: \(-$less.ci95[1] | percent) to \(-$less.ci95[0] | percent)) points more than one such cache alone."' "$work/clusters.json"

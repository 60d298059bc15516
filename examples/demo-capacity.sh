#!/usr/bin/env bash
# Four sizes of a server in two minutes: what each sustains, and what a request costs on it. What
# `make demo-capacity` shows.
#
# Searches the capacity of each size of examples/capacity/sizes.toml, and ends with the path of a
# report and the size that serves a request most cheaply. The servers are started on ports of this
# host, and are ended again. Set, if wanted:
#
#   SLO=p90<16ms    what must hold
#   DEMO_RUNS=runs  where the runs and the report go
#   PLIMSOLL=FILE   the program
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/lib.sh
need jq jq
plan=examples/capacity/sizes.toml

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say "Four sizes of a server, each searched for its capacity ($plan)."
say
with=()
[ -z "${SLO:-}" ] || with=(--set "measure.slo=$SLO")
code=0
"$plimsoll" run "$plan" --new --out "$runs" "${with[@]}" || code=$?
# 3: some size keeps the SLO at no rate; 4, 5: some search has not ended. Each is told below.
case $code in 0 | 3 | 4 | 5) ;; *) exit "$code" ;; esac
folder=$(last_experiment)
"$plimsoll" analyse "$folder" --json >"$work/experiment.json" || [ "$?" -le 5 ]

# A line for each size in the order of the plan: what its search found.
jq -r '(.experiment.factors[0].levels | to_entries | map({(.value): .key}) | add) as $order
    | .cells | map(select(.run)) | sort_by($order[.factors.size])[] | "\(.factors.size) \(.run)"' \
    "$work/experiment.json" >"$work/runs"
[ -s "$work/runs" ] || fail 'no search was made'
while read -r size run; do
    jq -c --arg size "$size" '{$size, ended, bound, slo, rate: .estimate_per_s, ci95, cost}' \
        "$folder/$run/artifacts/capacity.json"
done <"$work/runs" >"$work/found.jsonl"

words='
    def found: .ended == "found" and .bound == null and .rate and .ci95 and .cost;
    def per_million($rate): .cost.price_per_hour / ($rate * 3600) * 1e6;
    def fixed($digits): pow(10; $digits) as $tens | . * $tens | round
        | "\(. / $tens | floor).\("0000\(. % $tens)"[-$digits:])";
    def money: "$" + fixed(3);'
say
jq -rs "$words"'
    ["size", "capacity", "95%", "an hour", "a million requests", "95%"],
    (.[] | if found
        then [.size, "\(.rate | round)/s", "\(.ci95[0] | round) to \(.ci95[1] | round)",
            "$" + (.cost.price_per_hour | fixed(2)), (per_million(.rate) | money),
            "\(per_million(.ci95[1]) | money) to \(per_million(.ci95[0]) | money)"]
        else [.size, "not known: " + .ended] end) | @tsv' "$work/found.jsonl" |
    awk -F '\t' '{ printf "%-8s%10s%15s%9s%20s%18s\n", $1, $2, $3, $4, $5, $6 }'

report=$(new_page demo-capacity)
mapfile -t searches < <(awk -v folder="$folder" '{ print folder "/" $2 }' "$work/runs")
"$plimsoll" report "${searches[@]}" -o "$report" --title 'four sizes of a server' >/dev/null
say
[ "$code" != 5 ] || {
    say 'This host was too busy to send requests in time: that is exit code 5. Try again when it'
    say 'is idle.'
}
say 'The report, for a browser:'
say "$report"
jq -rs "$words"'
    length as $all
    | map(select(found)) | sort_by(per_million(.rate))
    | if length < 2
      then "\(length) of \($all) searches found a capacity: no size can be called the cheapest."
      else .[0] as $best | .[1] as $next
      | "The \($best.size) server serves a million requests most cheaply, for \($best
            | per_million(.rate) | money), at up to \($best.rate | round)/s under \($best.slo)"
        + (if ($best | per_million(.ci95[0])) < ($next | per_million(.ci95[1]))
            then "; the next is the \($next.size) one, for "
            else "; but the \($next.size) one may be as cheap, for " end)
        + ($next | per_million(.rate) | money)
        + (if length < $all then "; of \($all - length) of \($all) sizes it is not known." else "." end)
      end' "$work/found.jsonl"

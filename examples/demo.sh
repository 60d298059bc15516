#!/usr/bin/env bash
# Three policies in charge of real servers for a morning in two minutes: what `make demo` shows.
#
# Simulates examples/elastic/demo.toml, runs it on servers that it starts on ports of this host, and
# ends with the path of a report that holds both against each other. With TRACE it is a day of yours
# instead, on one server: see examples/day.sh. Set, if wanted:
#
#   TRACE=FILE      a trace (CSV) or an access log
#   DEMO_TO=6h      until when of the day's profile, which begins at 05:00; the morning from 2h on
#   DEMO_RUNS=runs  where the runs and the report go
#   PLIMSOLL=FILE   the program
set -euo pipefail

[ -z "${TRACE:-}" ] || exec bash "$(dirname "${BASH_SOURCE[0]}")/day.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/lib.sh
plan=examples/elastic/demo.toml

say "A morning of a web site under three policies, each in charge of servers of its own ($plan)."
say
code=0
"$plimsoll" run "$plan" --new --out "$runs" --set "load.profile.to=${DEMO_TO:-6h}" || code=$?
say
case $code in
    0) say 'Some policy held the SLO.' ;;
    3) say 'No policy held the SLO: that is what exit code 3 tells a script.' ;;
    5) say 'This host was too busy to send requests in time: that is exit code 5. Try again when it'
       say 'is idle.' ;;
    *) exit "$code" ;;
esac
report=$(new_page demo)
"$plimsoll" report "$(last_experiment)" -o "$report" >/dev/null
say 'The report, for a browser:'
say "$report"

#!/usr/bin/env bash
# Three Squids, two of which die: how long are clients still sent there? `make demo-shoal`.
#
# Runs examples/shoal/run.sh, and ends with the path of the registry's own page, as it was after
# both deaths, and how long each dead cache was still on the list. Needs Squid, RabbitMQ, curl, and
# root or user namespaces. Set, if wanted:
#
#   TTL=10s         how long a cache is listed after its last heartbeat
#   DEMO_RUNS=runs  where the page goes
#   PLIMSOLL=FILE   the program
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/lib.sh

page=$(new_page demo-shoal)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say 'A registry, a broker, three Squids with their agents, and a client (examples/shoal/run.sh).'
say
# It ends by itself on an interrupt, which it gets as well.
PLIMSOLL=$plimsoll PAGE=$page examples/shoal/run.sh | tee "$work/said"

# A line's own words: "Squid killed: no client is sent to ADDRESS any more after X s".
seconds() { sed -n "s/^$1: .* after \([0-9.]*\) s$/\1/p" "$work/said"; }
alone=$(seconds 'Squid killed')
together=$(seconds 'Squid and agent killed')
[ -n "$alone" ] && [ -n "$together" ] || fail 'it is not told when the dead caches left the list'
grep -q '</html>' "$page" || fail "the registry's page is not whole: $page"
say
say "The registry's page after that, for a browser:"
say "$page"
LC_ALL=C printf 'Clients were still sent to a dead cache for %.1f s where %s, and for %.1f s where %s.\n' \
    "$alone" 'its agent lived' "$together" 'its agent died with it'

#!/usr/bin/env bash
# Brings the jars of a Cassandra into a folder, by Maven: about 100 of them, some minutes. Tests
# find them by PLIMSOLL_CASSANDRA_JARS, and skip by name without.
set -euo pipefail

[ "$#" -eq 1 ] || { printf 'usage: %s FOLDER\n' "$0" >&2; exit 2; }
folder=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
command -v mvn >/dev/null || { printf 'mvn is not installed (Debian: maven)\n' >&2; exit 4; }
mvn --batch-mode --quiet --file "$here/pom.xml" dependency:copy-dependencies \
    -DoutputDirectory="$folder"
printf '%s jars in %s\n' "$(find "$folder" -name '*.jar' | wc -l)" "$folder"
printf 'export PLIMSOLL_CASSANDRA_JARS=%s\n' "$folder"

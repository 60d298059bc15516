#!/usr/bin/env bash
# Builds the program as it is given away: one static, stripped file that needs nothing of the host
# that it runs on, and tries it in an empty root where the rights are there.
#
#   packaging/dist.sh       prints the program's path
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { printf 'dist: %s\n' "$*" >&2; exit 1; }
# More than this, MB, is a mistake in how it was built. It was 28.9 MB with all drivers and Parquet in
# it, 27.7 MB where all that is not ours is built for size.
most=30

# With a target that is named, build scripts and macros are left as the host needs them.
target=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" \
    PLIMSOLL_COMMIT=$(git rev-parse --short=12 HEAD 2>/dev/null || true) \
    cargo build --profile dist --package plimsoll --features parquet --target "$target" >&2
program=${CARGO_TARGET_DIR:-target}/$target/dist/plimsoll
# Symbols serve debuggers alone.
if command -v strip >/dev/null; then strip --strip-all "$program"; fi

# Of a static program that may lie anywhere, ldd says so; of one that may not, it says no.
if ldd "$program" 2>/dev/null | grep -qv 'statically linked'; then
    fail "$program is not static"
fi
size=$(stat -c %s "$program")
[ "$size" -le $((most * 1000000)) ] || fail "$program has $size bytes: more than $most MB"
if [ "$(id -u)" = 0 ]; then
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    cp "$program" "$root/plimsoll"
    chroot "$root" /plimsoll --version >&2
fi
printf '%s\n' "$program"

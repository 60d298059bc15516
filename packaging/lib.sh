# What the scripts of this folder have in common; each reads it with `source`, in the repository's
# folder.
self=$(basename "$0" .sh)

fail() { printf '%s: %s\n' "$self" "$*" >&2; exit 1; }
# need PROGRAM HOW
need() {
    command -v "$1" >/dev/null || { echo "missing: $1; install it: $2" >&2; exit 2; }
}

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
# The same sources give the same files.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}

# The program that is packed: PLIMSOLL, else the static one, which is built.
program() {
    if [ -z "${PLIMSOLL:-}" ]; then
        need cargo 'see .ci/toolchain' && packaging/dist.sh
    elif [ -x "$PLIMSOLL" ]; then
        realpath -- "$PLIMSOLL"
    else
        fail "there is no program at $PLIMSOLL"
    fi
}

# What lies beside the program in every form: completions, man pages, licences, and the licences of
# what it is made of. THIRD_PARTY names a file that has these already.
beside() { # PROGRAM FOLDER
    local program=$1 folder=$2 shell
    mkdir -p "$folder"/{completions,man/man1}
    for shell in bash zsh fish; do
        "$program" completions "$shell" >"$folder/completions/plimsoll.$shell"
    done
    "$program" man "$folder/man/man1"
    cp LICENSE-APACHE LICENSE-MIT "$folder/"
    if [ -n "${THIRD_PARTY:-}" ]; then
        cp "$THIRD_PARTY" "$folder/THIRD-PARTY"
    else
        python3 packaging/third_party.py >"$folder/THIRD-PARTY"
    fi
}

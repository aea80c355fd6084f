#!/usr/bin/env bash
# Makes the virtual environment that everything else starts from: core/bootstrap.sh FOLDER
set -euo pipefail
venv=$1
here=$(dirname "$0")

say() { printf '%s\n' "$*" >&2; }

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "python3: found $(python3 --version 2>&1 || true); install Python 3.11 or newer and put it first on PATH"
    exit 1
fi

# Recreated if it is incomplete, if its Python was upgraded since, or if its folder was moved.
if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    printf 'python environment: %s\n' "$venv"
    rm -rf "$venv"
    if ! python3 -m venv "$venv" >/dev/null 2>&1; then
        # Debian ships the standard library's venv without pip in a package of its own.
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            {
                apt-get update || true # one source among several may be out of reach
                DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends python3-venv || true
            } >/dev/null 2>&1
        fi
        rm -rf "$venv"
        if ! python3 -m venv "$venv" >/dev/null; then
            say "python3 -m venv failed; install your system's package for it (Debian: apt-get install python3-venv), then run the command again"
            exit 1
        fi
    fi
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
packages() {
    # uv installs the others in a second. Python compiles what is imported, at the first time; pip would compile all.
    "$venv/bin/python" -m pip install --disable-pip-version-check --quiet --no-compile "$(grep -o '^uv==[^ ]*' "$here/requirements.txt")" &&
        "$venv/bin/python" -P "$here/../toolchain/pip_settings.py" --quiet -r "$here/requirements.txt"
}
if ! packages >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    say "Python packages could not be installed; check the network, the free disk space and pip's configuration, then run the command again"
    exit 1
fi

# `import tensorplane` finds this checkout, also from a moved one: relative to the environment's folder of packages.
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
realpath --relative-to="$site" "$here/../runtime" >"$site/tensorplane-checkout.pth"

#!/bin/sh
# The TypeScript decoder against streams that the C encoder made: tests/proto/twin.mjs does the
# work on the sources bundled by esbuild. 77 = skipped.
set -eu
web="$1/client/web"
if ! command -v node >/dev/null 2>&1; then
    echo "skipped: no node"
    exit 77
fi
if [ ! -d "$web/node_modules/zstddec" ] || [ ! -d "$web/node_modules/esbuild" ]; then
    echo "skipped: no npm packages in client/web (npm ci there)"
    exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$web"
node_modules/esbuild/bin/esbuild src/proto/index.ts --bundle --format=esm --platform=neutral \
    --main-fields=module,main --log-level=warning --outfile="$out/proto.mjs"
exec node "$1/tests/proto/twin.mjs" "$out/proto.mjs" "$1/tests/proto/golden"

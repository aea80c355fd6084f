#!/usr/bin/env bash
# Makes the messages here anew: csi.proto (Apache 2.0) comes from CSI's Go module, checked against Go's checksum
# database. grpcio-tools is the newest one whose output runs on the protobuf that Pulumi's SDK allows.
set -euo pipefail
SPEC=github.com/container-storage-interface/spec@v1.12.0
TOOLS=grpcio-tools==1.76.0
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
folder=$(go mod download -json "$SPEC" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
cp "$folder/csi.proto" "$here/registration.proto" .
chmod u+w ./*.proto
python3 -m venv tools
tools/bin/pip install --quiet "$TOOLS"
tools/bin/python -m grpc_tools.protoc -I . --python_out="$here" --pyi_out="$here" csi.proto registration.proto

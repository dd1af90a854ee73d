#!/usr/bin/env bash
# Names of the stacks that a change touches, as a JSON list: those whose file changed, or every one when the program did.
# Usage: changed-stacks.sh BASE [PLATFORM]: since the common ancestor with BASE; only stacks on PLATFORM.
set -euo pipefail
base=$1 platform=${2:-}
changed=$(git diff --name-only "$base...HEAD")
if grep -qE '^(stacks/.*\.ts|components/|benchmarks/|policies/|package(-lock)?\.json|Pulumi\.yaml)' <<<"$changed"; then
  files=$(git ls-files 'stacks/Pulumi.*.yaml')
else
  files=$(grep -E '^stacks/Pulumi\.[^/]+\.yaml$' <<<"$changed" || true)
fi
names=()
for file in $files; do
  [ -e "$file" ] || continue
  [ -z "$platform" ] || grep -qE "^ +type: $platform *(#.*)?$" "$file" || continue
  name=${file#stacks/Pulumi.}
  names+=("\"${name%.yaml}\"")
done
(IFS=,; echo "[${names[*]-}]")

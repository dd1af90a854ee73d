#!/usr/bin/env bash
# Names of the stacks that a change touches, as a JSON list: the stacks whose file changed, or every stack when the program did.
# The program is every file that is not listed here as something else, so that a new folder counts.
# Usage: changed-stacks.sh BASE [PLATFORM]: since the common ancestor with BASE; only stacks on PLATFORM.
set -euo pipefail
base=$1 platform=${2:-}
stack_file='^stacks/Pulumi\.[^/]+\.yaml$'
other='^(docs|examples|tests)/|^\.|\.md$|^LICENSE$|^vitest\.config\.|^stacks/schema\.json$'
changed=$(git diff --name-only "$base...HEAD")
if grep -vE "$stack_file" <<<"$changed" | grep -vE "$other" | grep -q .; then
  files=$(git ls-files 'stacks/Pulumi.*.yaml')
else
  files=$(grep -E "$stack_file" <<<"$changed" || true)
fi
names=()
for file in $files; do
  [ -e "$file" ] || continue
  [ -z "$platform" ] || grep -qE "^ +type: $platform *(#.*)?$" "$file" || continue
  name=${file#stacks/Pulumi.}
  names+=("\"${name%.yaml}\"")
done
(IFS=,; echo "[${names[*]-}]")

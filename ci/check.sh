#!/usr/bin/env bash
# Annotates the findings, writes them for code scanning, and fails as `agentry check` does.
set -euo pipefail
. "$ACTION_PATH/ci/arguments.sh"
options=()
if [ -n "$since" ]; then options+=("--changed-since=$since"); fi
if [ "${INPUT_DENY_WARNINGS:-false}" = true ]; then options+=(--deny-warnings); fi
if [ -n "${INPUT_SARIF:-}" ]; then
  # Its exit code is that of the second run, which shows the findings.
  "$AGENTRY" check "${options[@]}" --format sarif -- "${paths[@]}" > "$INPUT_SARIF" || true
  printf 'sarif=%s\n' "$INPUT_SARIF" >> "$GITHUB_OUTPUT"
fi
"$AGENTRY" check "${options[@]}" --format github -- "${paths[@]}"

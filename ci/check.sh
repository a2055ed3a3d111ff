#!/usr/bin/env bash
# Annotates the findings, writes them for code scanning, and fails as `agentry check` does.
set -euo pipefail
. "$ACTION_PATH/ci/arguments.sh"
# An empty array is written `${options[@]+…}`: the bash of macOS takes `${options[@]}` for an unset variable.
options=()
if [ -n "$since" ]; then options+=("--changed-since=$since"); fi
if [ "${INPUT_DENY_WARNINGS:-false}" = true ]; then options+=(--deny-warnings); fi
if [ -n "${INPUT_SARIF:-}" ]; then
  # The pull request may have put a link there, to a file outside of the repository.
  if [ -L "$INPUT_SARIF" ]; then
    echo "::error::the file for code scanning is a link; remove it from the repository"
    exit 2
  fi
  # Its exit code is that of the second run, which shows the findings.
  "$AGENTRY" check ${options[@]+"${options[@]}"} --format sarif -- "${paths[@]}" > "$INPUT_SARIF" || true
  printf 'sarif=%s\n' "$INPUT_SARIF" >> "$GITHUB_OUTPUT"
fi
"$AGENTRY" check ${options[@]+"${options[@]}"} --format github -- "${paths[@]}"

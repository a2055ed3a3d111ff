#!/usr/bin/env bash
# Finds the program, or builds it from the source of the action. Nothing is downloaded but crates.
set -euo pipefail
if [ -n "${INPUT_AGENTRY:-}" ]; then
  agentry=$INPUT_AGENTRY
else
  cargo install --quiet --locked --path "$ACTION_PATH/crates/agentry" --root "$RUNNER_TEMP/agentry"
  agentry=$RUNNER_TEMP/agentry/bin/agentry
fi
"$agentry" --version
printf 'agentry=%s\n' "$agentry" >> "$GITHUB_OUTPUT"

#!/usr/bin/env bash
# Writes what agents may do more than at the base. Exit code 1 of `policy diff` means that one does.
set -euo pipefail
. "$ACTION_PATH/ci/arguments.sh"
if [ -z "$since" ]; then
  echo "nothing to compare with: no pull request, and no input \`since\`"
  exit 0
fi
report=$RUNNER_TEMP/agentry-gains.md
code=0
"$AGENTRY" policy diff "--since=$since" --format markdown -- "${paths[@]}" > "$report" || code=$?
if [ ! -s "$report" ]; then
  echo "::error::agentry could not compare the agents with ${since//$'\n'/ }"
  exit 2
fi
case $code in
  0) gained=false ;;
  # An agent that cannot be compared counts as one that gained.
  *) gained=true ;;
esac
printf 'gained=%s\nreport=%s\n' "$gained" "$report" >> "$GITHUB_OUTPUT"
cat "$report" >> "$GITHUB_STEP_SUMMARY"
if [ "$gained" = true ] && [ "${INPUT_DENY_GAINS:-false}" = true ]; then
  echo "::error::agents may do more than before; see the summary"
  exit 1
fi

#!/usr/bin/env bash
# Keeps one comment on the pull request. Without a gain a comment is only updated, never begun.
set -euo pipefail
if [ -z "${PULL_REQUEST:-}" ]; then exit 0; fi
mark='<!-- agentry: what agents gained -->'
body=$RUNNER_TEMP/agentry-comment.md
{ printf '%s\n' "$mark"; cat "$REPORT"; } > "$body"
comments="repos/$REPOSITORY/issues/$PULL_REQUEST/comments"
# Only a comment of this workflow's own account is edited: anyone may write the mark.
own="[.[] | select(.user.type == \"Bot\" and (.body | startswith(\"$mark\")))][0].id // empty"
known=$(gh api --paginate "$comments" --jq "$own" | head -n 1)
if [ -n "$known" ]; then
  gh api --silent --method PATCH "repos/$REPOSITORY/issues/comments/$known" --field "body=@$body"
elif [ "$GAINED" = true ]; then
  gh api --silent --method POST "$comments" --field "body=@$body"
fi

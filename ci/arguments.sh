# Read by the other scripts: `paths` as an array, and `since`, the commit to compare with or nothing.
paths=()
while IFS= read -r path; do
  if [ -n "$path" ]; then paths+=("$path"); fi
done <<< "${INPUT_PATHS:-.}"
if [ "${#paths[@]}" -eq 0 ]; then paths=(.); fi
since=${INPUT_SINCE:-}
if [ "$since" = all ]; then
  since=
elif [ -z "$since" ]; then
  since=${BASE_SHA:-}
fi
# A shallow clone does not have the base of a pull request.
if [ -n "$since" ] && ! git rev-parse --verify --quiet --end-of-options "$since^{commit}" > /dev/null; then
  git fetch --quiet --no-tags --depth=1 --end-of-options origin "$since" || true
fi

#!/bin/sh
# Lists the links of a Markdown file, one a line: `ok`, `missing` or `web`, then the link.
directory=$(dirname "$1")
sed 's/](/\n](/g' "$1" | sed -n 's/^](\([^) ]*\)).*/\1/p' | while read -r link; do
  case "$link" in
    *://*) echo "web $link" ;;
    *) if [ -e "$directory/${link%%#*}" ]; then echo "ok $link"; else echo "missing $link"; fi ;;
  esac
done

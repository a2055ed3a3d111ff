# Comfort on top of `cargo xtask`, which needs nothing but Rust.

# list recipes
default:
    @just --list

# everything CI does, in the same order
ci *args:
    cargo xtask ci {{ args }}

# run tests; `just test -p agentry-text`
test *args:
    cargo xtask test {{ args }}

# clippy and tidy
lint:
    cargo clippy --workspace --all-targets -- -D warnings
    cargo xtask tidy

# format the code
fmt:
    cargo fmt --all

# say whether the code is formatted
fmt-check:
    cargo fmt --all -- --check

# rewrite the files that are written from the code
generate:
    cargo xtask generate

# rustdoc without warnings, links checked
docs:
    cargo xtask docs

# licences, bans and sources of the dependencies
deny:
    cargo xtask deny

# fuzz one reader or all; `just fuzz yaml --seconds 30`
fuzz *args:
    cargo xtask fuzz {{ args }}

# render made-up policies for every target; `just policies 500`
policies *args:
    cargo xtask policies {{ args }}

# ask the real clients about rendered agents; `just conformance opencode`
conformance *args:
    cargo xtask conformance {{ args }}

# measure
bench *args:
    cargo xtask bench {{ args }}

# accept changed snapshots after looking at them
review:
    cargo insta review

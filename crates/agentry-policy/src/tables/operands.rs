//! Which arguments of well-known programs are files that they read or write, or web addresses.
//!
//! The table serves rules about files: `cat .env` is a way to read `.env`. A program that is not in
//! it is judged by the rules about commands alone.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// Its contents are read.
    Read,
    /// It is made, changed or deleted.
    Write,
    /// An address is fetched.
    Fetch,
}

/// What the operands of a program are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operands {
    /// No files.
    Nothing,
    /// Files that are read.
    Read,
    /// Files that are written.
    Write,
    /// Files that are read and written.
    Both,
    /// The last one is written, the others are read.
    Copy,
    /// The same, and the others are gone afterwards.
    Move,
    /// The first one is written, the others are read.
    Pack,
    /// Like [`Operands::Copy`], but `host:path` is a file elsewhere.
    Remote,
    /// Files behind a revision: `HEAD:.env`.
    Revision,
    /// Web addresses.
    Web,
}

/// One row; options are written with their dashes and separated by spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The programs, by their base names, or one with a subcommand.
    pub names: &'static [&'static str],
    /// What its operands are.
    pub operands: Operands,
    /// So many operands come first that are no files: a pattern, a mode.
    pub skip: usize,
    /// Options that take the place of those.
    pub instead: &'static str,
    /// Options with a value that is no file.
    pub valued: &'static str,
    /// Options with a file that is read.
    pub reads: &'static str,
    /// Options with a file that is written.
    pub writes: &'static str,
    /// Options that make the operands written as well.
    pub in_place: &'static str,
}

const fn row(names: &'static [&'static str], operands: Operands) -> Row {
    let none = "";
    Row {
        names,
        operands,
        skip: 0,
        instead: none,
        valued: none,
        reads: none,
        writes: none,
        in_place: none,
    }
}

/// The row of a program, by its base name, or with its subcommand.
pub fn row_of(name: &str) -> Option<&'static Row> {
    BY_NAME.get(name).copied()
}

static BY_NAME: LazyLock<HashMap<&str, &Row>> = LazyLock::new(|| {
    ROWS.iter().flat_map(|row| row.names.iter().map(move |name| (*name, row))).collect()
});

/// The table. An option that takes no value must not stand among those that do: it would hide the
/// file behind it.
pub const ROWS: &[Row] = &[
    row(
        &[
            "b2sum",
            "bzcat",
            "bzmore",
            "cat",
            "cksum",
            "cmp",
            "colordiff",
            "comm",
            "diff3",
            "expand",
            "gcat",
            "gtac",
            "hd",
            "hexdump",
            "lzcat",
            "md5sum",
            "more",
            "most",
            "nm",
            "objdump",
            "pr",
            "readelf",
            "rev",
            "sdiff",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "sum",
            "tac",
            "tsort",
            "unexpand",
            "view",
            "wc",
            "xzcat",
            "zcat",
            "zless",
            "zmore",
            "zstdcat",
        ],
        Operands::Read,
    ),
    Row {
        valued: "-l -r -H -m --language --line-range --highlight-line --style --theme --paging --color --map-syntax --wrap --tabs",
        ..row(&["bat", "batcat"], Operands::Read)
    },
    Row {
        valued: "-w --wrap --width",
        ..row(&["base32", "base64", "basenc", "fmt", "fold"], Operands::Read)
    },
    Row { valued: "-b -d -f -h -i -l -n -s -v -w", ..row(&["nl"], Operands::Read) },
    Row {
        valued: "-f -t --from-code --to-code",
        writes: "-o --output",
        ..row(&["iconv"], Operands::Read)
    },
    Row {
        valued: "-n -c --lines --bytes --pid -s --sleep-interval",
        ..row(&["head", "tail", "ghead", "gtail"], Operands::Read)
    },
    Row {
        valued: "-b -h -j -p -P -t -x -y -z",
        reads: "-k -T",
        writes: "-o -O --log-file --LOG-FILE",
        ..row(&["less"], Operands::Read)
    },
    Row {
        valued: "-d -f -c -b --delimiter --fields --characters --bytes --output-delimiter",
        ..row(&["cut"], Operands::Read)
    },
    Row { valued: "-d --delimiters", ..row(&["paste"], Operands::Read) },
    Row { valued: "-s -o -c -N -H -R", ..row(&["column"], Operands::Read) },
    Row { valued: "-t -1 -2 -j -e -o -a -v", ..row(&["join"], Operands::Read) },
    Row {
        valued: "-k -t -S -T --key --field-separator --buffer-size --parallel --batch-size",
        reads: "--files0-from --random-source",
        writes: "-o --output",
        ..row(&["sort", "gsort"], Operands::Read)
    },
    Row { valued: "-f -s -w", ..row(&["uniq"], Operands::Copy) },
    Row { valued: "-n -i --head-count", writes: "-o --output", ..row(&["shuf"], Operands::Read) },
    Row { valued: "-l -b -n -a -C --lines --bytes --number", ..row(&["split"], Operands::Read) },
    Row { valued: "-b -f -n", ..row(&["csplit"], Operands::Read) },
    Row { valued: "-c -g -l -o -s", ..row(&["xxd"], Operands::Copy) },
    Row { valued: "-A -j -N -t", ..row(&["od"], Operands::Read) },
    Row { valued: "-n -t -e -T", ..row(&["strings"], Operands::Read) },
    Row {
        valued: "-U -C -L -x -I -W --exclude --label --width --ignore-matching-lines",
        reads: "-X --exclude-from --from-file --to-file",
        writes: "--output",
        ..row(&["diff", "gdiff"], Operands::Read)
    },
    Row {
        skip: 1,
        instead: "-e -f --regexp --file",
        valued: "-A -B -C -m -d -D -e --regexp --include --exclude --exclude-dir --context --max-count --after-context --before-context --binary-files --label",
        reads: "-f --file --exclude-from",
        ..row(
            &[
                "ag", "bzgrep", "egrep", "fgrep", "ggrep", "grep", "rgrep", "ugrep", "xzgrep",
                "zegrep", "zgrep",
            ],
            Operands::Read,
        )
    },
    Row {
        skip: 1,
        instead: "-e -f --regexp --file --files --type-list",
        valued: "-A -B -C -m -d -e -g -t -T -M -E -j -r --regexp --context --max-count --after-context --before-context --color --glob --iglob --type --type-not --threads --replace --max-depth --sort --sortr --encoding --max-columns --max-filesize --engine",
        reads: "-f --file --ignore-file",
        ..row(&["rg"], Operands::Read)
    },
    Row {
        skip: 1,
        instead: "-e -f --expression --file",
        valued: "-e -l --expression --line-length",
        reads: "-f --file",
        in_place: "-i --in-place",
        ..row(&["sed", "gsed"], Operands::Read)
    },
    Row {
        skip: 1,
        instead: "-f --file",
        valued: "-F -v -e --field-separator --assign",
        reads: "-f --file -i --include",
        ..row(&["awk", "gawk", "mawk", "nawk", "original-awk"], Operands::Read)
    },
    Row {
        skip: 1,
        instead: "-f --from-file",
        valued: "--indent --arg --argjson -L",
        reads: "-f --from-file --rawfile --slurpfile",
        in_place: "-i --inplace",
        ..row(&["gojq", "jaq", "jq", "yq"], Operands::Read)
    },
    Row {
        valued: "-S --suffix --no-preserve --sparse",
        writes: "-t --target-directory",
        ..row(&["cp", "gcp"], Operands::Copy)
    },
    Row {
        valued: "-m -o -g -S --mode --owner --group --suffix",
        writes: "-t --target-directory",
        ..row(&["ginstall", "install"], Operands::Copy)
    },
    Row {
        valued: "-S --suffix",
        writes: "-t --target-directory",
        ..row(&["gmv", "mv"], Operands::Move)
    },
    Row {
        valued: "-S --suffix",
        writes: "-t --target-directory",
        ..row(&["gln", "link", "ln"], Operands::Copy)
    },
    Row {
        valued: "-e --rsh -f --filter --exclude --include --bwlimit --port --timeout -B -M --chmod --chown",
        reads: "--exclude-from --include-from --files-from --password-file",
        writes: "--log-file --partial-dir --backup-dir -T --temp-dir --write-batch",
        ..row(&["rsync"], Operands::Remote)
    },
    Row {
        valued: "-c -J -l -o -P -S -X -D",
        reads: "-i -F",
        ..row(&["scp", "sftp"], Operands::Remote)
    },
    row(
        &[
            "grm",
            "gtee",
            "gunlink",
            "mkfifo",
            "mknod",
            "rm",
            "rmdir",
            "shred",
            "srm",
            "tee",
            "trash",
            "trash-put",
            "unlink",
        ],
        Operands::Write,
    ),
    Row { valued: "-m --mode", ..row(&["gmkdir", "mkdir"], Operands::Write) },
    Row { valued: "-d -t --date --time", ..row(&["gtouch", "touch"], Operands::Write) },
    Row { valued: "-s -l -o --size --length", ..row(&["fallocate"], Operands::Write) },
    Row { valued: "-s --size", ..row(&["gtruncate", "truncate"], Operands::Write) },
    Row {
        skip: 1,
        instead: "--reference",
        ..row(
            &["chattr", "chgrp", "chmod", "chown", "gchmod", "gchown", "setfacl"],
            Operands::Write,
        )
    },
    row(
        &[
            "bunzip2", "bzip2", "gunzip", "gzip", "lz4", "lzma", "unlzma", "unxz", "unzstd", "xz",
            "zstd",
        ],
        Operands::Both,
    ),
    Row { valued: "-P -n -t -b", ..row(&["zip"], Operands::Pack) },
    Row { valued: "-P", writes: "-d", ..row(&["unzip", "zipinfo"], Operands::Read) },
    row(&[".", "source"], Operands::Read),
    row(
        &["code", "ed", "emacs", "ex", "hx", "micro", "nano", "nvim", "pico", "subl", "vi", "vim"],
        Operands::Read,
    ),
    Row {
        valued: "-X -H -A -u -x -e -m -r -y -Y -w -C -P -Q -U -z --request --header --user-agent --user --proxy --referer --max-time --range --write-out --connect-timeout --retry --retry-delay --retry-max-time --limit-rate --resolve --interface --max-redirs --url-query",
        reads: "-T -K -E -d -F -b --upload-file --config --cert --key --cacert --netrc-file --data --data-binary --data-ascii --data-raw --data-urlencode --form --json --cookie --variable",
        writes: "-o -c -D --output --output-dir --cookie-jar --dump-header --trace --trace-ascii --stderr --etag-save --hsts --alt-svc --libcurl",
        ..row(&["curl"], Operands::Web)
    },
    Row {
        valued: "-U -t -T -w -Q -l -A -R -D -I -X -e --user-agent --header --tries --timeout --wait --limit-rate --level --method --body-data --post-data --user --password --execute",
        reads: "-i --input-file --post-file --body-file --load-cookies --certificate --private-key --ca-certificate --config",
        writes: "-O -o -a -P --output-document --output-file --append-output --directory-prefix --save-cookies",
        ..row(&["wget", "wget2"], Operands::Web)
    },
    Row {
        valued: "-U -S -G -O -l --diff-filter --word-diff-regex --since --until --author",
        ..row(&["git diff", "git difftool"], Operands::Read)
    },
    Row {
        valued: "-L -S --since --date",
        reads: "--contents",
        ..row(&["git annotate", "git blame"], Operands::Read)
    },
    Row {
        skip: 1,
        instead: "-e -f",
        valued: "-e -A -B -C -m --threads --max-depth",
        reads: "-f",
        ..row(&["git grep"], Operands::Read)
    },
    Row { valued: "-t", ..row(&["git hash-object"], Operands::Read) },
    Row {
        valued: "-n -S -G --since --until --author -L",
        ..row(&["git cat-file", "git show"], Operands::Revision)
    },
    Row {
        valued: "-m -C -c --message --author --date --cleanup --trailer",
        reads: "-F --file -t --template",
        ..row(&["git commit", "git notes", "git tag"], Operands::Nothing)
    },
    Row { valued: "-s --source", ..row(&["git restore"], Operands::Write) },
    row(&["git rm"], Operands::Write),
    row(&["git mv"], Operands::Move),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_row() {
        let names: Vec<&str> = ROWS.iter().flat_map(|row| row.names).copied().collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names.iter().skip(at + 1).any(|other| other == name), "{name} twice");
        }
        assert_eq!(row_of("cat").map(|row| row.operands), Some(Operands::Read));
        assert_eq!(row_of("echo"), None);
    }
}

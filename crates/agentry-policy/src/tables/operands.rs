//! Which arguments of well-known programs are files that they read or write, or web addresses.
//!
//! The table serves rules about files: `cat .env` is a way to read `.env`. A program that is not in
//! it is judged by the rules about commands alone.

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
    ROWS.iter().find(|row| row.names.contains(&name))
}

/// The table.
pub const ROWS: &[Row] = &[
    row(
        &[
            "bat",
            "batcat",
            "bzcat",
            "cat",
            "cmp",
            "comm",
            "fmt",
            "gcat",
            "lzcat",
            "md5sum",
            "more",
            "most",
            "nl",
            "rev",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
            "cksum",
            "sum",
            "tac",
            "tsort",
            "unexpand",
            "view",
            "xzcat",
            "zcat",
            "zless",
            "zmore",
            "zstdcat",
            "gtac",
            "iconv",
            "wc",
            "base32",
            "base64",
            "basenc",
            "fold",
            "expand",
            "pr",
            "hexdump",
            "hd",
            "readelf",
            "nm",
            "objdump",
            "colordiff",
            "sdiff",
            "diff3",
        ],
        Operands::Read,
    ),
    Row {
        valued: "-n -c --lines --bytes --pid -s --sleep-interval",
        ..row(&["head", "tail", "ghead", "gtail"], Operands::Read)
    },
    Row {
        valued: "-b -h -j -k -o -O -p -P -t -T -x -y -z",
        writes: "-o -O --log-file --LOG-FILE",
        ..row(&["less"], Operands::Read)
    },
    Row {
        valued: "-d -f -c -b -s --delimiter --fields --output-delimiter --delimiters",
        ..row(&["cut", "paste", "column", "join"], Operands::Read)
    },
    Row {
        valued: "-k -t -S -T --key --field-separator --buffer-size --parallel --batch-size",
        reads: "--files0-from --random-source",
        writes: "-o --output",
        ..row(&["sort", "gsort"], Operands::Read)
    },
    Row { valued: "-f -s -w", ..row(&["uniq"], Operands::Copy) },
    Row { valued: "-n -i --head-count", writes: "-o --output", ..row(&["shuf"], Operands::Read) },
    Row {
        valued: "-l -b -n -a -C --lines --bytes --number",
        ..row(&["split", "csplit"], Operands::Read)
    },
    Row {
        valued: "-n -s -l -c -o -g -A -j -N -S -w",
        ..row(&["xxd", "od", "strings"], Operands::Read)
    },
    Row {
        valued: "-U -C -L -x -X -I -W --exclude --label --width --color --ignore-matching-lines",
        reads: "--from-file --to-file",
        writes: "--output",
        ..row(&["diff", "gdiff"], Operands::Read)
    },
    Row {
        skip: 1,
        instead: "-e -f --regexp --file --files",
        valued: "-A -B -C -m -d -D -e -g -t -T -M -E -j -r --regexp --include --exclude --exclude-dir --context --max-count --color --colour --glob --iglob --type --type-not --threads --replace --after-context --before-context --max-depth --sort --sortr --binary-files --label",
        reads: "-f --file --exclude-from --ignore-file",
        ..row(
            &[
                "ag", "egrep", "fgrep", "grep", "ggrep", "rg", "rgrep", "ugrep", "zgrep", "zegrep",
                "xzgrep", "bzgrep",
            ],
            Operands::Read,
        )
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
        ..row(&["jq", "gojq", "jaq", "yq"], Operands::Read)
    },
    Row {
        valued: "-S --suffix --preserve --no-preserve --reflink --sparse --backup --context",
        writes: "-t --target-directory",
        ..row(&["cp", "gcp"], Operands::Copy)
    },
    Row {
        valued: "-m -o -g -S --mode --owner --group --suffix",
        writes: "-t --target-directory",
        ..row(&["install", "ginstall"], Operands::Copy)
    },
    Row {
        valued: "-S --suffix --backup",
        writes: "-t --target-directory",
        ..row(&["mv", "gmv"], Operands::Move)
    },
    Row {
        valued: "-S --suffix --backup",
        writes: "-t --target-directory",
        ..row(&["ln", "gln", "link"], Operands::Copy)
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
            "mkfifo",
            "rm",
            "rmdir",
            "shred",
            "srm",
            "tee",
            "trash",
            "trash-put",
            "unlink",
            "gunlink",
            "mknod",
        ],
        Operands::Write,
    ),
    Row { valued: "-m -Z --mode", ..row(&["mkdir", "gmkdir"], Operands::Write) },
    Row { valued: "-d -t --date --time", ..row(&["touch", "gtouch"], Operands::Write) },
    Row { valued: "-s --size", ..row(&["truncate", "fallocate", "gtruncate"], Operands::Write) },
    Row {
        skip: 1,
        instead: "--reference",
        ..row(
            &["chmod", "chown", "chgrp", "gchmod", "gchown", "setfacl", "chattr"],
            Operands::Write,
        )
    },
    row(
        &[
            "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "unlzma", "zstd", "unzstd",
            "lz4",
        ],
        Operands::Both,
    ),
    Row { valued: "-i -x -P -n -t -b", ..row(&["zip"], Operands::Pack) },
    Row { valued: "-x -P", writes: "-d", ..row(&["unzip", "zipinfo"], Operands::Read) },
    Row { valued: "-r --relocate", ..row(&[".", "source"], Operands::Read) },
    row(
        &["vi", "vim", "nvim", "nano", "emacs", "ed", "ex", "pico", "micro", "hx", "code", "subl"],
        Operands::Read,
    ),
    Row {
        valued: "-X -H -A -u -x -e -m -r -y -Y -w -C -P -Q -U -z --request --header --user-agent --user --proxy --referer --max-time --range --write-out --connect-timeout --retry --retry-delay --retry-max-time --limit-rate --resolve --interface --max-redirs --url-query",
        reads: "-T -K -E -d -F -b -n --upload-file --config --cert --key --cacert --netrc-file --data --data-binary --data-ascii --data-raw --data-urlencode --form --json --cookie --variable",
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
        valued: "-U -S -G -W --unified --stat --format --diff-filter --color -M -C -O -l --word-diff-regex --relative --since --until --author",
        ..row(&["git diff", "git difftool"], Operands::Read)
    },
    Row {
        valued: "-L -S --since --date",
        reads: "--contents",
        ..row(&["git blame", "git annotate"], Operands::Read)
    },
    Row {
        skip: 1,
        instead: "-e -f",
        valued: "-e -A -B -C -m -O --threads --max-depth",
        reads: "-f",
        ..row(&["git grep"], Operands::Read)
    },
    Row { valued: "-t", ..row(&["git hash-object"], Operands::Read) },
    Row {
        valued: "-n -S -G --format --pretty --since --until --author -L",
        ..row(&["git show", "git cat-file"], Operands::Revision)
    },
    Row {
        valued: "-m -C -c --message --author --date --cleanup --trailer",
        reads: "-F --file -t --template",
        ..row(&["git commit", "git tag", "git notes"], Operands::Nothing)
    },
    row(&["git rm", "git restore", "git clean"], Operands::Write),
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

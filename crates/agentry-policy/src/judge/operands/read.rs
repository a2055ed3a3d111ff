//! The files and addresses among the arguments of a command.

use super::tar;
use crate::argv::{Arg, Piece, Word};
use crate::judge::spelling::subcommand;
use crate::pattern::command::base_name;
use crate::tables::operands::{Operands, Row, Touch, row_of};

/// What a command does to a file or an address that it was given.
pub(super) type Touched = (Touch, Word);

/// The files and addresses that `argv` names, as far as the program is known.
pub(super) fn touched(argv: &[Arg]) -> Vec<Touched> {
    let name = argv.first().and_then(Arg::literal).map_or("", base_name);
    let rest = argv.get(1..).unwrap_or_default();
    match name {
        "dd" | "gdd" => keyed(rest),
        "openssl" => openssl(rest),
        "tar" | "gtar" | "bsdtar" => tar::touched(rest),
        "git" => {
            let Some(at) = subcommand("git", argv) else { return Vec::new() };
            let verb = argv.get(at).and_then(Arg::literal).unwrap_or_default();
            match row_of(&format!("git {verb}")) {
                Some(row) => Reader::new(row).read(argv.get(at + 1..).unwrap_or_default()),
                None => Vec::new(),
            }
        }
        name => row_of(name).map_or_else(Vec::new, |row| Reader::new(row).read(rest)),
    }
}

/// `dd if=x of=y`
fn keyed(words: &[Arg]) -> Vec<Touched> {
    let word = |arg: &Arg| {
        let read = behind(arg, "if=").map(|word| (Touch::Read, word));
        read.or_else(|| behind(arg, "of=").map(|word| (Touch::Write, word)))
    };
    words.iter().filter_map(word).collect()
}

/// `openssl enc -in x -out y`
fn openssl(words: &[Arg]) -> Vec<Touched> {
    let pairs = words.iter().zip(words.iter().skip(1));
    let touched = pairs.filter_map(|(option, value)| {
        let touch = match option.literal()?.trim_start_matches('-') {
            "in" | "inkey" | "key" | "kfile" | "sign" | "CAfile" => Touch::Read,
            "out" | "keyout" => Touch::Write,
            _ => return None,
        };
        Some((touch, word_of(value).clone()))
    });
    touched.collect()
}

/// Reads arguments by one row of the table.
struct Reader<'a> {
    row: &'a Row,
    operands: Vec<Word>,
    found: Vec<Touched>,
    skip: usize,
    in_place: bool,
    /// Whether an option says where the operands go.
    has_target: bool,
    /// Whether links are made that hold a path, not a file.
    is_symbolic: bool,
}

impl<'a> Reader<'a> {
    fn new(row: &'a Row) -> Self {
        let (operands, found) = (Vec::new(), Vec::new());
        Self {
            row,
            operands,
            found,
            skip: row.skip,
            in_place: false,
            has_target: false,
            is_symbolic: false,
        }
    }

    fn read(mut self, words: &[Arg]) -> Vec<Touched> {
        let mut rest = words.iter();
        let mut is_ended = false;
        while let Some(arg) = rest.next() {
            let start = start(arg);
            if is_ended || !start.starts_with('-') || start == "-" {
                self.operands.push(word_of(arg).clone());
            } else if arg.literal() == Some("--") {
                is_ended = true;
            } else if start.starts_with("--") {
                self.long(arg, &mut rest);
            } else {
                self.short(arg, &mut rest);
            }
        }
        self.finish()
    }

    fn long<'w>(&mut self, arg: &Arg, rest: &mut impl Iterator<Item = &'w Arg>) {
        let text = start(arg).to_owned();
        match text.split_once('=') {
            Some((name, _)) => {
                let value = behind(arg, &format!("{name}="));
                self.option(name, value);
            }
            None if self.takes_value(&text) => {
                if matches!(text.as_str(), "--rawfile" | "--slurpfile" | "--arg" | "--argjson") {
                    rest.next();
                }
                let value = rest.next().map(word_of).cloned();
                self.option(&text, value);
            }
            None => self.option(&text, None),
        }
    }

    fn short<'w>(&mut self, arg: &Arg, rest: &mut impl Iterator<Item = &'w Arg>) {
        let text = start(arg).to_owned();
        for (at, letter) in text.char_indices().skip(1) {
            let name = format!("-{letter}");
            let end = at + letter.len_utf8();
            if has(self.row.in_place, &name) {
                // What follows is the suffix of the copy.
                return self.option(&name, None);
            }
            if self.takes_value(&name) {
                let joined = behind(arg, text.get(..end).unwrap_or_default());
                let value = joined.filter(|value| !value.pieces.is_empty());
                let value = value.or_else(|| rest.next().map(word_of).cloned());
                return self.option(&name, value);
            }
            self.option(&name, None);
        }
    }

    fn takes_value(&self, name: &str) -> bool {
        let Row { valued, reads, writes, .. } = self.row;
        [valued, reads, writes].iter().any(|options| has(options, name))
    }

    fn option(&mut self, name: &str, value: Option<Word>) {
        if has(self.row.instead, name) {
            self.skip = 0;
        }
        self.in_place |= has(self.row.in_place, name);
        self.is_symbolic |= matches!(name, "-s" | "--symbolic") && self.row.names.contains(&"ln");
        let Some(value) = value else { return };
        if has(self.row.writes, name) {
            self.has_target |= matches!(name, "-t" | "--target-directory");
            self.found.push((Touch::Write, value));
        } else if has(self.row.reads, name) {
            let is_curl = self.row.names.contains(&"curl");
            let file = if is_curl { curl_file(name, &value) } else { Some(value) };
            self.found.extend(file.map(|file| (Touch::Read, file)));
        }
    }

    fn finish(mut self) -> Vec<Touched> {
        let operands: Vec<Word> = self.operands.drain(..).skip(self.skip).collect();
        let count = operands.len();
        if self.is_symbolic && !self.has_target {
            return links(&operands);
        }
        for (at, word) in operands.into_iter().enumerate() {
            let is_last = at + 1 == count && count > 1 && !self.has_target;
            let touches: &[Touch] = match self.row.operands {
                Operands::Nothing => &[],
                Operands::Read | Operands::Revision if !self.in_place => &[Touch::Read],
                Operands::Read | Operands::Revision | Operands::Both => {
                    &[Touch::Read, Touch::Write]
                }
                Operands::Write => &[Touch::Write],
                Operands::Copy | Operands::Remote | Operands::Move if is_last => &[Touch::Write],
                Operands::Pack if at == 0 => &[Touch::Write],
                Operands::Copy | Operands::Remote | Operands::Pack => &[Touch::Read],
                Operands::Move => &[Touch::Read, Touch::Write],
                Operands::Web => &[Touch::Fetch],
            };
            let word = match self.row.operands {
                Operands::Remote if is_remote(&word) => continue,
                Operands::Revision => match path_of(&word) {
                    Some(path) => path,
                    None => continue,
                },
                _ => word,
            };
            self.found.extend(touches.iter().map(|touch| (*touch, word.clone())));
        }
        self.found
    }
}

/// `ln -s target link`: the target is seen from where the link is, or from inside of a directory.
fn links(operands: &[Word]) -> Vec<Touched> {
    let Some((link, targets)) = operands.split_last() else { return Vec::new() };
    let mut found = vec![(Touch::Write, link.clone())];
    let inside = first(link).to_owned();
    let beside = inside.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
    for target in targets {
        let is_known = link.literal().is_some() && !first(target).starts_with('/');
        let from = |directory: &str| {
            if directory.is_empty() && !inside.starts_with('/') {
                return target.clone();
            }
            tar::below(directory, target)
        };
        if is_known {
            found.extend([&beside, &inside].map(|directory| (Touch::Read, from(directory))));
        } else {
            found.push((Touch::Read, target.clone()));
        }
    }
    if targets.is_empty() {
        found.push((Touch::Read, link.clone()));
    }
    found
}

/// The file in a value of an option of `curl`: `@file`, `name=@file`, `name@file`.
fn curl_file(name: &str, value: &Word) -> Option<Word> {
    let text = first(value);
    match name {
        "-d" | "--data" | "--data-binary" | "--data-ascii" | "--json" => without(value, "@"),
        "--data-raw" => None,
        "-F" | "--form" => {
            let (name, file) = text.split_once('=')?;
            let file = file.strip_prefix(['@', '<'])?;
            let end = file.find(';').unwrap_or(file.len());
            match value.literal() {
                Some(_) => Some(Word::text(file.get(..end).unwrap_or_default())),
                None => without(value, text.get(..name.len() + 2)?),
            }
        }
        "--data-urlencode" | "--variable" => {
            let (name, _) = text.split_once('@')?;
            without(value, &format!("{name}@"))
        }
        "-b" | "--cookie" if text.contains('=') => None,
        _ => Some(value.clone()),
    }
}

/// `host:path`
fn is_remote(word: &Word) -> bool {
    let text = first(word);
    let host = text.split('/').next().unwrap_or_default();
    host.contains(':')
}

/// The path behind a revision.
fn path_of(word: &Word) -> Option<Word> {
    let text = first(word);
    let (revision, _) = text.split_once(':')?;
    without(word, &format!("{revision}:"))
}

/// Whether a list of options contains one.
fn has(options: &str, wanted: &str) -> bool {
    options.split(' ').any(|option| option == wanted)
}

pub(super) fn word_of(arg: &Arg) -> &Word {
    let (Arg::One(word) | Arg::Some(word) | Arg::Many(word)) = arg;
    word
}

/// What an argument certainly starts with.
fn start(arg: &Arg) -> &str {
    first(word_of(arg))
}

pub(super) fn first(word: &Word) -> &str {
    match word.pieces.first() {
        Some(Piece::Text(text)) => text,
        _ => "",
    }
}

pub(super) fn behind(arg: &Arg, prefix: &str) -> Option<Word> {
    without(word_of(arg), prefix)
}

/// The word behind a text that it starts with.
fn without(word: &Word, prefix: &str) -> Option<Word> {
    let (Piece::Text(text), rest) = word.pieces.split_first()? else { return None };
    let text = text.strip_prefix(prefix)?;
    let own = (!text.is_empty()).then(|| Piece::Text(text.to_owned()));
    Some(Word { pieces: own.into_iter().chain(rest.iter().cloned()).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_among_arguments() {
        let cases = [
            ("cat a -n b", "<a <b"),
            ("cat -- -a", "<-a"),
            ("head -n 5 a", "<a"),
            ("head -n5 a", "<a"),
            ("head -5 a", "<a"),
            ("grep -rn x a", "<a"),
            ("grep -E x a", "<a"),
            ("grep -r x a", "<a"),
            ("grep -T x a", "<a"),
            ("rg -g b x a", "<a"),
            ("od -c a", "<a"),
            ("cut -f1 -s a", "<a"),
            ("paste -s a", "<a"),
            ("cp --backup a b", "<a >b"),
            ("cp --preserve a b", "<a >b"),
            ("mv --backup a b", "<a >a >b"),
            ("git diff -W a", "<a"),
            ("git diff --stat a", "<a"),
            ("git diff -M a", "<a"),
            ("curl -n u", "^u"),
            ("mkdir -Z a", ">a"),
            ("base64 -w 0 a", "<a"),
            ("tar cf - -C /x a b", "<a <b </x/a </x/b"),
            ("tar cf x.tgz --directory=/x a", ">x.tgz <a </x/a"),
            ("grep -e x a", "<a"),
            ("grep -f p a", "<p <a"),
            ("grep -A 3 -e x a", "<a"),
            ("sed -n 1,2p a", "<a"),
            ("sed -i.bak s/a/b/ a", "<a >a"),
            ("awk -F: {print} a", "<a"),
            ("jq --rawfile x a . b", "<a <b"),
            ("cp a b c", "<a <b >c"),
            ("cp -t d a", ">d <a"),
            ("mv a b", "<a >a >b"),
            ("ln a b", "<a >b"),
            ("ln -s ../a b/c", ">b/c <b/../a <b/c/../a"),
            ("ln -s a b", ">b <a <b/a"),
            ("ln -s a", ">a <a"),
            ("ln -s /a b", ">b </a"),
            ("dd if=a of=b", "<a >b"),
            ("tar czf a b c", ">a <b <c"),
            ("tar -c -f a b", ">a <b"),
            ("tar xf a b", "<a"),
            ("tar c a", "<a"),
            ("zip a b", ">a <b"),
            ("chmod +x a", ">a"),
            ("curl -d @a -o b u", "<a >b ^u"),
            ("curl -F x=@a;type=b u", "<a ^u"),
            ("curl -X POST -d a=b u", "^u"),
            ("wget -qO- u", ">- ^u"),
            ("git diff --no-index a b", "<a <b"),
            ("git -C x show HEAD:a", "<a"),
            ("git show HEAD", ""),
            ("git commit -m a -F b", "<b"),
            ("scp a h:b", "<a"),
            ("scp h:b a", ">a"),
            ("echo a", ""),
            ("openssl enc -in a -out b", "<a >b"),
            ("tee a b", ">a >b"),
            ("sort -o a b", ">a <b"),
        ];
        for (line, expected) in cases {
            let argv: Vec<Arg> = line.split(' ').map(Arg::text).collect();
            let shown = touched(&argv).into_iter().map(|(touch, word)| {
                let mark = match touch {
                    Touch::Read => '<',
                    Touch::Write => '>',
                    Touch::Fetch => '^',
                };
                format!("{mark}{}", word.literal().unwrap_or("?"))
            });
            assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{line}");
        }
    }
}

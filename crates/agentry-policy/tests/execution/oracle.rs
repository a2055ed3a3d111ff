//! Judges what a line really did by the rules that allowed it.

use agentry_policy::Section;

use super::rule_sets::RuleSet;
use super::sandbox::{Called, Effects, Sandbox};

/// Programs that only run others, which are seen themselves.
const TRANSPARENT: &[&str] =
    &["env", "xargs", "timeout", "nohup", "nice", "time", "setsid", "stdbuf"];
/// Shells, transparent as well unless they run a file.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash"];
/// So often a line is tried in a shorter form.
const TRIES: usize = 400;

/// Runs lines and judges what they did.
pub(crate) struct Oracle {
    sandbox: Sandbox,
}

/// What came of a line that was allowed.
pub(crate) enum Result {
    /// It did not end.
    Nothing,
    /// All of so many commands were allowed.
    Fine(usize),
    /// It did what the rules do not allow.
    Hole(String),
}

impl Oracle {
    /// An oracle with stand-ins of these names.
    pub(crate) fn new(names: Vec<String>) -> std::result::Result<Self, String> {
        Ok(Self { sandbox: Sandbox::new(names)? })
    }

    /// Runs a line that the rules allow.
    pub(crate) fn run(&mut self, line: &str, set: &RuleSet) -> Result {
        match self.sandbox.run(line) {
            None => Result::Nothing,
            Some(mut effects) => match hole(found_as_usual(&mut effects, line), set) {
                Some(what) => Result::Hole(what),
                None => Result::Fine(effects.calls.len()),
            },
        }
    }

    /// The shortest line that can be made of `line` by leaving parts out, is still allowed and still
    /// does what it may not.
    pub(crate) fn shrink(&mut self, line: &str, set: &RuleSet) -> String {
        let mut best: Vec<char> = line.chars().collect();
        let mut tries = 0;
        let mut size = best.len().div_ceil(2);
        while size > 0 && tries < TRIES {
            let mut start = 0;
            while start < best.len() && tries < TRIES {
                tries += 1;
                let end = (start + size).min(best.len());
                let shorter: String = best[..start].iter().chain(&best[end..]).collect();
                let holds =
                    set.allows(&shorter) && matches!(self.run(&shorter, set), Result::Hole(_));
                if holds {
                    best = shorter.chars().collect();
                } else {
                    start += size;
                }
            }
            size /= 2;
        }
        best.into_iter().collect()
    }
}

/// `command -p` looks for programs in the usual places.
fn found_as_usual<'e>(effects: &'e mut Effects, line: &str) -> &'e Effects {
    if line.contains("command") && line.contains("-p") {
        effects.calls.iter_mut().for_each(Called::forget_folder);
    }
    effects
}

/// What of the effects the rules do not allow.
fn hole(effects: &Effects, set: &RuleSet) -> Option<String> {
    // A script that the rules let run may do what it likes.
    let is_script = |call: &Called| is_script(&call.words()) && set.allows_command(&call.words());
    if set.is_open() || effects.calls.iter().any(is_script) {
        return None;
    }
    let called = effects.calls.iter().find_map(|call| wrong_call(call, set));
    called.or_else(|| {
        // What an allowed command writes by itself is no matter of the rules about files.
        if effects.calls.iter().any(writes) {
            return None;
        }
        let wrong = |path: &&String| !set.allows_path(Section::Edit, path);
        let path = effects.changes.iter().find(wrong)?;
        Some(format!("`{path}` was changed"))
    })
}

fn writes(call: &Called) -> bool {
    let is_action = |word: &String| word == "-delete" || word.starts_with("-f");
    call.argv.first().is_some_and(|name| name.ends_with("find")) && call.argv.iter().any(is_action)
}

fn wrong_call(call: &Called, set: &RuleSet) -> Option<String> {
    let Called { argv: _, directory, is_untouched, variables } = call;
    let words = without_actions(call.words());
    if !is_transparent(&words) && !set.allows_command(&words) {
        return Some(format!("{words:?} ran"));
    }
    if !is_untouched {
        return Some(format!("{words:?} ran with a variable that changes what runs"));
    }
    let mut names = ["FOO", "BAR"].into_iter().filter(|name| variables.contains(name));
    if let Some(name) = names.find(|name| !set.allows_variable(name)) {
        return Some(format!("{words:?} was given `{name}`"));
    }
    let is_inside = directory == "/workspace" || directory.starts_with("/workspace/");
    let is_free = is_inside || set.allows_path(Section::ExternalDirectory, directory);
    (!is_free).then(|| format!("{words:?} ran in `{directory}`"))
}

/// What `find` does itself: the commands that it runs are seen themselves.
fn without_actions(words: Vec<&str>) -> Vec<&str> {
    if !words.first().is_some_and(|name| name.ends_with("find")) {
        return words;
    }
    let mut own: Vec<&str> = Vec::new();
    let mut rest = words.into_iter();
    while let Some(word) = rest.next() {
        if !matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir") {
            own.push(word);
            continue;
        }
        let mut before = "";
        for word in rest.by_ref() {
            if word == ";" || (word == "+" && before == "{}") {
                break;
            }
            before = word;
        }
    }
    own
}

fn is_transparent(argv: &[&str]) -> bool {
    match name(argv) {
        name if SHELLS.contains(&name) => !is_script(argv),
        name => name.is_empty() || TRANSPARENT.contains(&name),
    }
}

/// Whether a shell runs a file.
fn is_script(argv: &[&str]) -> bool {
    let rest = argv.get(1..).unwrap_or_default();
    let has_text = rest.iter().any(|word| word.starts_with(['-', '+']) && word.contains('c'));
    let has_file = rest.iter().any(|word| !word.starts_with(['-', '+']));
    SHELLS.contains(&name(argv)) && has_file && !has_text
}

/// What a command is called, wherever it lies.
fn name<'a>(argv: &[&'a str]) -> &'a str {
    let name = argv.first().copied().unwrap_or_default();
    ["/bin/", "/usr/bin/"].iter().find_map(|at| name.strip_prefix(at)).unwrap_or(name)
}

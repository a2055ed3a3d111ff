//! Finds loops that never end: `while :; do ls; done`, `until false; do ls; done`.

use brush_parser::ast::{
    AndOr, AndOrList, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, Pipeline,
    SimpleCommand,
};

use super::raw_command::RawCommand;
use super::test::{TestToken, tokens};

/// Commands that always succeed, as far as a loop is concerned.
const SUCCEEDING: &[&str] = &[
    ":", "true", "cd", "date", "echo", "export", "printf", "pwd", "set", "sleep", "unset", "wait",
];

/// Whether a loop runs as long as its condition is `wanted`, the condition never changes, and nothing in the
/// body leaves the loop.
pub(super) fn is_endless(condition: &CompoundList, wanted: bool, body: &CompoundList) -> bool {
    let last = condition.0.last().map(|item| &item.0);
    let holds = last.and_then(constant).is_some_and(|holds| holds.may_be(wanted));
    holds && !leaves(condition, LoopDepth::Own) && !leaves(body, LoopDepth::Own)
}

/// The result of a condition that never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConstantResult {
    Known(bool),
    /// It is always the same, but the analysis does not compute it.
    Either,
}

impl ConstantResult {
    fn may_be(self, wanted: bool) -> bool {
        self == Self::Either || self == Self::Known(wanted)
    }

    fn negated(self) -> Self {
        match self {
            Self::Known(holds) => Self::Known(!holds),
            Self::Either => Self::Either,
        }
    }
}

fn constant(list: &AndOrList) -> Option<ConstantResult> {
    let mut result = pipeline(&list.first)?;
    for next in &list.additional {
        result = match (next, result) {
            (AndOr::And(_), ConstantResult::Known(false))
            | (AndOr::Or(_), ConstantResult::Known(true)) => result,
            (AndOr::And(next) | AndOr::Or(next), _) => pipeline(next)?,
        };
    }
    Some(result)
}

fn pipeline(pipeline: &Pipeline) -> Option<ConstantResult> {
    let result = match pipeline.seq.last()? {
        Command::Simple(simple) => simple_result(simple)?,
        Command::ExtendedTest(test, _) => {
            let all = tokens(&test.expr);
            let words: Vec<&str> = all.iter().map(text).collect();
            of_test(&words)?
        }
        Command::Compound(CompoundCommand::BraceGroup(group), _) => {
            constant(&group.list.0.last()?.0)?
        }
        Command::Compound(CompoundCommand::Subshell(group), _) => {
            constant(&group.list.0.last()?.0)?
        }
        Command::Compound(..) | Command::Function(_) => return None,
    };
    Some(if pipeline.bang { result.negated() } else { result })
}

fn text<'a>(token: &'a TestToken<'_>) -> &'a str {
    match token {
        TestToken::Operator(text) => text,
        TestToken::Operand(text) => text,
    }
}

fn simple_result(command: &SimpleCommand) -> Option<ConstantResult> {
    let raw = RawCommand::new(command);
    let words: Option<Vec<&str>> = raw.words.iter().map(Option::as_deref).collect();
    let words = words?;
    match words.split_first() {
        // An assignment without a command succeeds, unless it runs something.
        None => {
            let runs = |raw: &String| raw.contains(['$', '`']);
            (!raw.assignments.iter().any(runs)).then_some(ConstantResult::Known(true))
        }
        Some((name, _)) if SUCCEEDING.contains(name) => Some(ConstantResult::Known(true)),
        Some((&"false", _)) => Some(ConstantResult::Known(false)),
        Some((&"test", rest)) => of_test(rest),
        Some((&"[", rest)) => of_test(rest.split_last()?.1),
        Some(_) => None,
    }
}

/// Returns the result of a test, if nothing in it can change: no variable and no file.
fn of_test(words: &[&str]) -> Option<ConstantResult> {
    let is_file = |word: &&str| {
        let letter = word.strip_prefix('-').filter(|letter| letter.len() == 1);
        let is_unary = letter.is_some_and(|letter| !matches!(letter, "n" | "z" | "o" | "a"));
        is_unary || matches!(*word, "-nt" | "-ot" | "-ef")
    };
    if words.iter().any(|word| word.contains(['$', '`'])) || words.iter().any(is_file) {
        return None;
    }
    let plain = |word: &str| word.trim_matches(['"', '\'']).to_owned();
    Some(match words {
        [] => ConstantResult::Known(false),
        [word] | ["-n", word] => ConstantResult::Known(!plain(word).is_empty()),
        ["-z", word] => ConstantResult::Known(plain(word).is_empty()),
        [left, "=" | "==" | "-eq", right] => ConstantResult::Known(plain(left) == plain(right)),
        [left, "!=" | "-ne", right] => ConstantResult::Known(plain(left) != plain(right)),
        ["!", rest @ ..] => of_test(rest)?.negated(),
        _ => ConstantResult::Either,
    })
}

/// Whether `break` ends the loop that is examined, or a loop inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopDepth {
    Own,
    Inner,
}

/// Whether a command of the list may leave the loop.
fn leaves(list: &CompoundList, depth: LoopDepth) -> bool {
    list.0.iter().any(|item| {
        let others = item.0.additional.iter().map(|next| match next {
            AndOr::And(pipeline) | AndOr::Or(pipeline) => pipeline,
        });
        std::iter::once(&item.0.first)
            .chain(others)
            .any(|pipeline| pipeline.seq.iter().any(|command| command_leaves(command, depth)))
    })
}

fn command_leaves(command: &Command, depth: LoopDepth) -> bool {
    match command {
        Command::Simple(simple) => simple_leaves(simple, depth),
        Command::Compound(compound, _) => compound_leaves(compound, depth),
        Command::Function(_) | Command::ExtendedTest(..) => false,
    }
}

fn simple_leaves(command: &SimpleCommand, depth: LoopDepth) -> bool {
    let name = command.word_or_name.as_ref().map_or("", |word| word.value.as_str());
    let suffix = || command.suffix.iter().flat_map(|suffix| &suffix.0);
    let counts = || suffix().any(|item| matches!(item, CommandPrefixOrSuffixItem::Word(_)));
    match name {
        "exit" | "return" | "exec" => true,
        // `break 2` inside another loop may end this one.
        "break" => depth == LoopDepth::Own || counts(),
        _ => false,
    }
}

fn compound_leaves(compound: &CompoundCommand, depth: LoopDepth) -> bool {
    match compound {
        CompoundCommand::BraceGroup(group) => leaves(&group.list, depth),
        CompoundCommand::IfClause(clause) => {
            let others = clause.elses.iter().flatten().map(|other| &other.body);
            std::iter::once(&clause.then).chain(others).any(|list| leaves(list, depth))
                || leaves(&clause.condition, depth)
        }
        CompoundCommand::CaseClause(clause) => {
            clause.cases.iter().filter_map(|case| case.cmd.as_ref()).any(|list| leaves(list, depth))
        }
        CompoundCommand::ForClause(clause) => leaves(&clause.body.list, LoopDepth::Inner),
        CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
            leaves(&clause.1.list, LoopDepth::Inner)
        }
        // What happens in a subshell or a coprocess does not end a loop outside.
        CompoundCommand::Subshell(_)
        | CompoundCommand::Coprocess(_)
        | CompoundCommand::Arithmetic(_)
        | CompoundCommand::ArithmeticForClause(_) => false,
    }
}

//! Flattens the tree of brush into the list that is compared with tree-sitter's.

use brush_parser::ast::{
    AndOr, AndOrList, CaseItem, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList,
    ExtendedTestExpr, FunctionDefinition, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect,
    Pipeline, ProcessSubstitutionKind, Program, SeparatorOperator, SimpleCommand, SubshellCommand,
};

use crate::shell::item::{ShellItem, assignment, body, joined};
use crate::shell::word;

/// Lists the contents of `program` in the order of their effect, and returns its nesting depth.
pub(super) fn flat(program: &Program) -> (Vec<ShellItem>, usize) {
    let mut flat = BrushItems { items: Vec::new(), depth: 0, deepest: 0 };
    program.complete_commands.iter().for_each(|list| flat.list(list));
    (flat.items, flat.deepest)
}

struct BrushItems {
    items: Vec<ShellItem>,
    depth: usize,
    deepest: usize,
}

impl BrushItems {
    fn mark(&mut self, mark: &'static str) {
        self.items.push(ShellItem::Mark(mark));
    }

    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            self.and_or(&item.0);
            if matches!(item.1, SeparatorOperator::Async) {
                self.mark("&");
            }
        }
    }

    fn and_or(&mut self, list: &AndOrList) {
        self.pipeline(&list.first);
        for next in &list.additional {
            let (mark, pipeline) = match next {
                AndOr::And(pipeline) => ("&&", pipeline),
                AndOr::Or(pipeline) => ("||", pipeline),
            };
            self.mark(mark);
            self.pipeline(pipeline);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        // Tree-sitter reads `time` as a command, so the same tokens are made here.
        if let Some(timed) = &pipeline.timed {
            self.items.push(ShellItem::Name("time".to_owned()));
            if timed.is_posix_output() {
                self.items.push(ShellItem::Word("-p".to_owned()));
            }
        }
        if pipeline.bang {
            self.mark("!");
        }
        for (index, command) in pipeline.seq.iter().enumerate() {
            if index > 0 {
                self.mark("|");
            }
            let first = self.items.len();
            self.command(command);
            if pipeline.timed.is_some() && index == 0 {
                self.demote(first);
            }
        }
    }

    /// Turns a command name into a plain word, because tree-sitter reads `time` as the command.
    fn demote(&mut self, first: usize) {
        if let Some(item) = self.items.get_mut(first)
            && let ShellItem::Name(name) = item
        {
            *item = ShellItem::Word(std::mem::take(name));
        }
    }

    fn command(&mut self, command: &Command) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.kind_of_command(command);
        self.depth -= 1;
    }

    fn kind_of_command(&mut self, command: &Command) {
        match command {
            Command::Simple(command) => self.simple(command),
            Command::Compound(command, redirects) => {
                self.compound(command);
                redirects.iter().flat_map(|list| &list.0).for_each(|item| self.redirect(item));
            }
            Command::Function(function) => self.function(function),
            Command::ExtendedTest(test, redirects) => {
                self.mark("[[");
                self.test(&test.expr);
                self.mark("]]");
                redirects.iter().flat_map(|list| &list.0).for_each(|item| self.redirect(item));
            }
        }
    }

    fn function(&mut self, function: &FunctionDefinition) {
        self.items.push(ShellItem::Bound(function.fname.value.clone()));
        self.compound(&function.body.0);
        let redirects = function.body.1.iter().flat_map(|list| &list.0);
        redirects.for_each(|item| self.redirect(item));
    }

    fn simple(&mut self, command: &SimpleCommand) {
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.part(item, true);
        }
        if let Some(name) = &command.word_or_name {
            self.items.push(ShellItem::Name(joined(&name.value)));
            self.inside(&name.value);
        }
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.part(item, false);
        }
    }

    fn part(&mut self, part: &CommandPrefixOrSuffixItem, is_prefix: bool) {
        match part {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
            CommandPrefixOrSuffixItem::AssignmentWord(_, word) if is_prefix => {
                self.items.push(ShellItem::Assign(assignment(&word.value)));
                self.inside(&word.value);
            }
            CommandPrefixOrSuffixItem::Word(word)
            | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => self.word(&word.value),
            CommandPrefixOrSuffixItem::ProcessSubstitution(kind, inner) => {
                self.process(kind, inner);
            }
        }
    }

    fn word(&mut self, raw: &str) {
        self.items.push(ShellItem::Word(joined(raw)));
        self.inside(raw);
    }

    fn inside(&mut self, raw: &str) {
        self.items.extend(word::substitutions(raw).into_iter().map(ShellItem::Inside));
    }

    fn process(&mut self, kind: &ProcessSubstitutionKind, inner: &SubshellCommand) {
        self.mark(match kind {
            ProcessSubstitutionKind::Read => "<(",
            ProcessSubstitutionKind::Write => ">(",
        });
        self.list(&inner.list);
        self.mark(")");
    }

    fn compound(&mut self, command: &CompoundCommand) {
        match command {
            CompoundCommand::BraceGroup(group) => self.enclosed("{", &group.list, "}"),
            CompoundCommand::Subshell(group) => self.enclosed("(", &group.list, ")"),
            CompoundCommand::ForClause(clause) => {
                self.mark("for");
                self.items.push(ShellItem::Bound(clause.variable_name.clone()));
                clause.values.iter().flatten().for_each(|value| self.word(&value.value));
                self.enclosed("do", &clause.body.list, "done");
            }
            CompoundCommand::CaseClause(clause) => {
                self.mark("case");
                self.word(&clause.value.value);
                clause.cases.iter().for_each(|item| self.case(item));
                self.mark("esac");
            }
            CompoundCommand::IfClause(clause) => {
                self.enclosed("if", &clause.condition, "then");
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    match &other.condition {
                        Some(condition) => self.enclosed("elif", condition, "then"),
                        None => self.mark("else"),
                    }
                    self.list(&other.body);
                }
                self.mark("fi");
            }
            CompoundCommand::WhileClause(clause) => {
                self.mark("while");
                self.list(&clause.0);
                self.enclosed("do", &clause.1.list, "done");
            }
            CompoundCommand::UntilClause(clause) => {
                self.mark("until");
                self.list(&clause.0);
                self.enclosed("do", &clause.1.list, "done");
            }
            CompoundCommand::Coprocess(clause) => {
                self.mark("coproc");
                self.command(&clause.body);
            }
            CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => {
                self.mark("((");
            }
        }
    }

    fn enclosed(&mut self, opening: &'static str, list: &CompoundList, closing: &'static str) {
        self.mark(opening);
        self.list(list);
        self.mark(closing);
    }

    fn case(&mut self, item: &CaseItem) {
        item.patterns.iter().for_each(|pattern| self.word(&pattern.value));
        item.cmd.iter().for_each(|list| self.list(list));
    }

    fn test(&mut self, expression: &ExtendedTestExpr) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        match expression {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner);
            }
            ExtendedTestExpr::UnaryTest(_, word) => self.word(&word.value),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.word(&left.value);
                self.word(&right.value);
            }
        }
        self.depth -= 1;
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            // Brush adds this one itself for `|&`.
            IoRedirect::File(_, _, IoFileRedirectTarget::Fd(_)) => {}
            IoRedirect::File(descriptor, kind, target) => {
                self.operator(*descriptor, operator(kind));
                match target {
                    IoFileRedirectTarget::Filename(word)
                    | IoFileRedirectTarget::Duplicate(word) => self.target(&word.value),
                    IoFileRedirectTarget::ProcessSubstitution(kind, inner) => {
                        self.process(kind, inner);
                    }
                    IoFileRedirectTarget::Fd(_) => {}
                }
            }
            IoRedirect::HereDocument(descriptor, here) => {
                self.operator(*descriptor, if here.remove_tabs { "<<-" } else { "<<" });
                let delimiter = here.here_end.value.clone();
                self.items.push(ShellItem::Here(delimiter, body(&here.doc.value)));
                if here.requires_expansion {
                    let found = word::substitutions_of_text(&here.doc.value);
                    self.items.extend(found.into_iter().map(ShellItem::Inside));
                }
            }
            IoRedirect::HereString(descriptor, word) => {
                self.operator(*descriptor, "<<<");
                self.target(&word.value);
            }
            IoRedirect::OutputAndError(word, appends) => {
                self.operator(None, if *appends { "&>>" } else { "&>" });
                self.target(&word.value);
            }
        }
    }

    fn operator(&mut self, descriptor: Option<i32>, operator: &str) {
        let descriptor = descriptor.map(|number| number.to_string()).unwrap_or_default();
        self.items.push(ShellItem::Redirect(format!("{descriptor}{operator}")));
    }

    fn target(&mut self, raw: &str) {
        self.items.push(ShellItem::Target(joined(raw)));
        self.inside(raw);
    }
}

/// Returns the operator of a redirection.
fn operator(kind: &IoFileRedirectKind) -> &'static str {
    match kind {
        IoFileRedirectKind::Read => "<",
        IoFileRedirectKind::Write => ">",
        IoFileRedirectKind::Append => ">>",
        IoFileRedirectKind::ReadAndWrite => "<>",
        IoFileRedirectKind::Clobber => ">|",
        IoFileRedirectKind::DuplicateInput => "<&",
        IoFileRedirectKind::DuplicateOutput => ">&",
    }
}

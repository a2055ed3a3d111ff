//! Walks over the tree of a program: every command becomes parts, whether it is reached or not.

use std::rc::Rc;

use brush_parser::ast::{
    AndOr, AndOrList, CaseClauseCommand, CaseItemPostAction, Command, CommandPrefixOrSuffixItem,
    CompoundCommand, CompoundList, ExtendedTestExprCommand, ForClauseCommand, FunctionDefinition,
    IfClauseCommand, IoFileRedirectTarget, IoRedirect, Pipeline, Program, RedirectList,
    SeparatorOperator, SimpleCommand,
};

use super::analyser::ShellAnalyser;
use super::current_dirs::CurrentDirs;
use super::flow::{ShellFlow, either};
use super::loop_effects::LoopEffects;
use super::raw_command::{RawCommand, ShellRedirect};
use super::state::{ShellState, VariableValue};
use super::test::TestToken;
use super::{CommandRole, PartEffect, endless};
use crate::argv::{ShellArg, ShellWord, WordPiece};

/// A loop over at most this many literal words is analysed word by word.
const MAX_ROUNDS: usize = 16;

/// How many nested compound commands are followed, in all nested texts together.
const MAX_COMPOUNDS: usize = 48;

impl ShellAnalyser<'_> {
    pub(super) fn program(&mut self, program: &Program, mut state: ShellState) -> ShellState {
        if self.depth == 1 {
            self.last = last(program).map(std::ptr::from_ref);
        }
        for list in &program.complete_commands {
            state = self.list(list, state).after();
        }
        state
    }

    fn list(&mut self, list: &CompoundList, state: ShellState) -> ShellFlow {
        let mut flow = ShellFlow::both(state);
        for item in &list.0 {
            let state = flow.after();
            flow = match item.1 {
                SeparatorOperator::Async => {
                    self.job(&item.0, &state);
                    let mut state = state;
                    state.set("!", VariableValue::Number);
                    ShellFlow::both(state)
                }
                SeparatorOperator::Sequence => self.and_or(&item.0, state),
            };
        }
        flow
    }

    /// Analyses a job in the background. One that runs only builtins has no rule of its own.
    fn job(&mut self, list: &AndOrList, state: &ShellState) {
        let found = self.parts.len();
        self.and_or(list, state.clone());
        let has = |role: CommandRole| {
            self.parts.iter().skip(found).any(
                |part| matches!(&part.what, PartEffect::Command(command) if command.role == role),
            )
        };
        if has(CommandRole::Glue) && !has(CommandRole::Own) && self.jobs == 0 {
            self.jobs += 1;
            self.lasting("&", "a job of builtins in the background", state);
        }
    }

    fn and_or(&mut self, list: &AndOrList, state: ShellState) -> ShellFlow {
        let mut flow = self.pipeline(&list.first, state);
        for next in &list.additional {
            flow = match next {
                AndOr::And(pipeline) => {
                    let next = self.pipeline(pipeline, flow.success());
                    flow.and(next)
                }
                AndOr::Or(pipeline) => {
                    let next = self.pipeline(pipeline, flow.failure());
                    flow.or(next)
                }
            };
        }
        flow
    }

    fn pipeline(&mut self, pipeline: &Pipeline, state: ShellState) -> ShellFlow {
        let is_simple = matches!(pipeline.seq.as_slice(), [Command::Simple(_)]);
        self.is_last = is_simple && self.last == Some(std::ptr::from_ref(pipeline));
        let flow = match pipeline.seq.as_slice() {
            [] => ShellFlow::both(state),
            [one] => self.one(one, state),
            several => {
                let mut last = state.clone();
                let mut input = state.input.clone();
                for command in several {
                    let mut own = state.clone();
                    own.input.clone_from(&input);
                    input = self.printed(command, &own);
                    last = self.one(command, own).after();
                }
                last.input.clone_from(&state.input);
                // Some shells run the last command of a pipeline themselves, others in a subshell.
                ShellFlow::both(state.or(&last))
            }
        };
        if pipeline.bang { flow.negated() } else { flow }
    }

    fn one(&mut self, command: &Command, mut state: ShellState) -> ShellFlow {
        match command {
            Command::Simple(command) => {
                self.processes(command, state.clone());
                self.simple(&RawCommand::new(command), state)
            }
            Command::Compound(compound, redirects) => {
                self.redirected(redirects.as_ref(), &mut state);
                self.compound(compound, state)
            }
            Command::Function(function) => ShellFlow::both(self.function(function, state)),
            Command::ExtendedTest(test, redirects) => {
                self.redirected(redirects.as_ref(), &mut state);
                self.extended_test(test, state)
            }
        }
    }

    /// Analyses the commands of process substitutions.
    fn processes(&mut self, command: &SimpleCommand, mut state: ShellState) {
        LoopEffects::by_simple(command).forget(&mut state);
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        for item in prefix.chain(suffix) {
            match item {
                CommandPrefixOrSuffixItem::ProcessSubstitution(_, inner) => {
                    self.list(&inner.list, state.clone());
                }
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.process(redirect, &state),
                _ => {}
            }
        }
    }

    fn process(&mut self, redirect: &IoRedirect, state: &ShellState) {
        if let IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, inner)) =
            redirect
        {
            self.list(&inner.list, state.clone());
        }
    }

    fn redirected(&mut self, redirects: Option<&RedirectList>, state: &mut ShellState) {
        let Some(redirects) = redirects else { return };
        let all: Vec<ShellRedirect> = redirects.0.iter().map(ShellRedirect::new).collect();
        if all.iter().any(|redirect| redirect.is_input) {
            state.input = self.process_output(redirects, state);
        }
        let text = RawCommand { redirects: all.clone(), ..RawCommand::default() }.text();
        self.redirects(&text, &all, state);
        // They may also run before the other redirections set a variable, which is unknown by now.
        redirects.0.iter().for_each(|redirect| self.process(redirect, state));
    }

    /// Returns the names that `< <(find …)` provides as input, if that is the only redirection.
    fn process_output(
        &mut self,
        redirects: &RedirectList,
        state: &ShellState,
    ) -> Option<Rc<[ShellWord]>> {
        let [IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, inner))] =
            redirects.0.as_slice()
        else {
            return None;
        };
        let [item] = inner.list.0.as_slice() else { return None };
        match item.0.first.seq.as_slice() {
            [command] if item.0.additional.is_empty() => self.printed(command, state),
            _ => None,
        }
    }

    /// Analyses a compound command, up to the limit of nesting.
    fn compound(&mut self, compound: &CompoundCommand, state: ShellState) -> ShellFlow {
        if self.compounds >= MAX_COMPOUNDS {
            self.unclear("…", "too much nesting", &state);
            return ShellFlow::both(state);
        }
        self.compounds += 1;
        let flow = self.kind_of_compound(compound, state);
        self.compounds -= 1;
        flow
    }

    fn kind_of_compound(&mut self, compound: &CompoundCommand, state: ShellState) -> ShellFlow {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list, state),
            CompoundCommand::Subshell(group) => {
                self.list(&group.list, state.clone());
                ShellFlow::both(state)
            }
            CompoundCommand::IfClause(clause) => self.if_clause(clause, state),
            CompoundCommand::ForClause(clause) => ShellFlow::both(self.for_clause(clause, state)),
            CompoundCommand::CaseClause(clause) => ShellFlow::both(self.case_clause(clause, state)),
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                let wanted = matches!(compound, CompoundCommand::WhileClause(_));
                if endless::is_endless(&clause.0, wanted, &clause.1.list) {
                    self.lasting("while", "a loop without an end", &state);
                }
                ShellFlow::both(self.while_clause(&clause.0, &clause.1.list, state))
            }
            CompoundCommand::Coprocess(clause) => {
                self.unclear("coproc", "a coprocess", &state);
                self.one(&clause.body, state.clone());
                ShellFlow::both(state)
            }
            CompoundCommand::Arithmetic(_) => self.opaque("(( … ))", state),
            CompoundCommand::ArithmeticForClause(clause) => {
                self.list(&clause.body.list, state.clone());
                self.opaque("for (( … ))", state)
            }
        }
    }

    fn opaque(&mut self, text: &str, mut state: ShellState) -> ShellFlow {
        self.unclear(text, "arithmetic on something unknown can run commands", &state);
        state.forget_all();
        ShellFlow::both(state)
    }

    fn if_clause(&mut self, clause: &IfClauseCommand, state: ShellState) -> ShellFlow {
        let mut condition = self.list(&clause.condition, state);
        let mut flow = self.list(&clause.then, condition.success());
        let mut has_else = false;
        for other in clause.elses.iter().flatten() {
            let start = condition.failure();
            let next = match &other.condition {
                Some(list) => {
                    condition = self.list(list, start);
                    self.list(&other.body, condition.success())
                }
                None => {
                    has_else = true;
                    self.list(&other.body, start)
                }
            };
            // Either branch may have run, so the states are merged.
            flow.ok = either(flow.ok, next.ok);
            flow.fail = either(flow.fail, next.fail);
        }
        if !has_else {
            // Without `else`, the body may have been skipped.
            flow.ok = either(flow.ok, Some(condition.failure()));
        }
        flow
    }

    fn while_clause(
        &mut self,
        condition: &CompoundList,
        body: &CompoundList,
        mut state: ShellState,
    ) -> ShellState {
        // Later rounds start with values of earlier ones, so changed variables are unknown from the start.
        LoopEffects::by(&[condition, body], &self.functions).forget(&mut state);
        let flow = self.list(condition, state.clone());
        let after = self.list(body, flow.success()).after();
        state.or(&after).or(&flow.after())
    }

    fn for_clause(&mut self, clause: &ForClauseCommand, mut state: ShellState) -> ShellState {
        let text = format!("for {}", clause.variable_name);
        let values = match &clause.values {
            Some(values) => {
                let simple = RawCommand {
                    words: values.iter().map(|word| Some(word.value.clone())).collect(),
                    ..RawCommand::default()
                };
                self.arguments(&simple, &text, &mut state)
            }
            None => vec![ShellArg::Many(ShellWord::any())],
        };
        let body = &clause.body.list;
        LoopEffects::by(&[body], &self.functions).forget(&mut state);
        let rounds = state.rounds;
        let known: Option<Vec<VariableValue>> = values.iter().map(value_of).collect();
        let followed = known.filter(|all| all.len() * rounds <= MAX_ROUNDS && !all.is_empty());
        self.store(&text, &clause.variable_name, VariableValue::Unknown, &mut state);
        let mut after = state.clone();
        match followed {
            Some(known) => {
                state.rounds = rounds * known.len();
                for value in known {
                    let mut round = state.clone();
                    round.set(&clause.variable_name, value);
                    after = after.or(&self.list(body, round).after());
                }
            }
            None => after = after.or(&self.list(body, state).after()),
        }
        after.rounds = rounds;
        // After the loop the variable has the last value, or none if there were no words.
        after.set(&clause.variable_name, VariableValue::Unknown);
        after
    }

    fn case_clause(&mut self, clause: &CaseClauseCommand, mut state: ShellState) -> ShellState {
        self.expand("case", &mut state, |words| words.value(&clause.value.value));
        let mut after = state.clone();
        let mut falls = None;
        for case in &clause.cases {
            for pattern in &case.patterns {
                self.expand("case", &mut state, |words| words.value(&pattern.value));
            }
            let Some(list) = &case.cmd else { continue };
            let start = either(Some(state.clone()), falls.take()).unwrap_or_else(|| state.clone());
            let end = self.list(list, start).after();
            after = after.or(&end);
            // `;&` and `;;&` may continue with the next case.
            if !matches!(case.post_action, CaseItemPostAction::ExitCase) {
                falls = Some(end);
            }
        }
        after
    }

    /// Analyses a function; its body may run at any time, with any arguments.
    fn function(&mut self, function: &FunctionDefinition, mut state: ShellState) -> ShellState {
        let name = function.fname.value.clone();
        let is_plain =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte));
        if !is_plain {
            self.unclear(&name, "the name of a function is not literal", &state);
        }
        let mut inside = state.clone();
        inside.forget_all();
        inside.bases = CurrentDirs::Unknown;
        if name == "read" && self.reads_apart {
            self.unclear(&name, "a function that gets a variable of `read`", &state);
        }
        self.functions.insert(name.clone());
        self.redirected(function.body.1.as_ref(), &mut inside);
        self.defining.push(name.clone());
        self.compound(&function.body.0, inside);
        self.defining.pop();
        state.define(&name);
        state
    }

    fn extended_test(
        &mut self,
        test: &ExtendedTestExprCommand,
        mut state: ShellState,
    ) -> ShellFlow {
        if let Err(why) = super::test::check(&test.expr, &state) {
            self.unclear("[[ … ]]", why, &state);
        }
        let mut argv = vec![ShellArg::text("[[")];
        for token in super::test::tokens(&test.expr) {
            argv.push(ShellArg::One(match token {
                TestToken::Operator(operator) => ShellWord::text(operator),
                TestToken::Operand(raw) => {
                    self.expand("[[ … ]]", &mut state, |words| words.value(raw))
                }
            }));
        }
        argv.push(ShellArg::text("]]"));
        self.free("[[ … ]]", argv, &state);
        if state.variable("BASH_REMATCH").is_some() {
            state.set("BASH_REMATCH", VariableValue::Unknown);
        }
        ShellFlow::both(state)
    }
}

/// Returns the value of a loop variable for one argument of the loop, if some of its text is known.
fn value_of(value: &ShellArg) -> Option<VariableValue> {
    match value.literal() {
        Some(text) => Some(VariableValue::Text(text.to_owned())),
        None if value.word().pieces.contains(&WordPiece::Any) => None,
        // The words of a list are split already.
        None => Some(VariableValue::Name(value.word().clone())),
    }
}

/// Returns the last pipeline of a program.
fn last(program: &Program) -> Option<&Pipeline> {
    let list = &program.complete_commands.last()?.0.last()?.0;
    Some(match list.additional.last() {
        Some(AndOr::And(pipeline) | AndOr::Or(pipeline)) => pipeline,
        None => &list.first,
    })
}

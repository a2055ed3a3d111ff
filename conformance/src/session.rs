//! Runs a client once against the scripted model, and interprets the result.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::clients::{Action, Driver, Role, Start, Verdict};
use crate::install::Installed;
use crate::process::{self, Finished};
use crate::scratch::{CALLED, SECRET, Scratch, content};
use crate::script::{Call, Script};
use crate::server::{Conversation, Record, Server};
use crate::source::{Kept, Wish};

/// The script of the agent that the user starts.
const MAIN: &str = "main";
/// The script of the agent that a task is delegated to.
const SUB: &str = "sub";
/// A session that ends early is followed by another with the remaining calls; more than this is a loop.
const MOST_SESSIONS: usize = 40;

/// How a client presents an agent to its model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Listing {
    /// The system prompt.
    pub(crate) system_prompt: String,
    /// The offered tools.
    pub(crate) tools: BTreeSet<String>,
    /// The model.
    pub(crate) model: String,
    /// The settings of the model.
    pub(crate) parameters: Value,
    /// `primary`, `subagent` or `all`, where the client reports it.
    pub(crate) mode: Option<String>,
    /// The limit of turns, where the client reports it.
    pub(crate) steps: Option<u64>,
    /// The description that other agents see.
    pub(crate) description: Option<String>,
    /// Whether the client does not start it at all, because it has no tools.
    pub(crate) is_absent: bool,
}

/// The result of a session.
#[derive(Debug)]
pub(crate) struct Played {
    /// The requests to the model.
    pub(crate) record: Record,
    /// The output of the client.
    pub(crate) finished: Finished,
    /// The log of the stand-ins.
    pub(crate) log: String,
}

impl Played {
    /// The first request that played `script`.
    pub(crate) fn opening(&self, script: &str) -> Option<&Conversation> {
        let mut exchanges = self.record.exchanges.iter();
        exchanges.find(|it| it.script == Some(script)).map(|it| &it.conversation)
    }

    /// The result of a call that was sent to the model.
    pub(crate) fn result(&self, id: &str) -> Option<&str> {
        let exchanges = self.record.exchanges.iter().rev();
        let mut results = exchanges.flat_map(|it| &it.conversation.results);
        results.find(|result| result.id == id).map(|result| result.text.as_str())
    }

    /// The log of the stand-ins between this call and the next request.
    fn evidence(&self, script: &str, step: usize) -> &str {
        let mark = |step: usize| {
            let mut exchanges = self.record.exchanges.iter();
            exchanges.find(|it| it.script == Some(script) && it.step == step).map(|it| it.mark)
        };
        let start = mark(step).unwrap_or(self.log.len());
        let end = mark(step + 1).unwrap_or(self.log.len());
        self.log.get(start..end).unwrap_or_default()
    }

    /// Whether a task was delegated.
    pub(crate) fn is_delegated(&self) -> bool {
        self.opening(SUB).is_some()
    }

    /// Everything that the user's agent is sent before it delegates a task.
    pub(crate) fn opening_text(&self) -> String {
        let Some(opening) = self.opening(MAIN) else { return String::new() };
        let mut texts = vec![opening.system.clone()];
        texts.extend(opening.user.iter().cloned());
        for tool in &opening.tools {
            texts.push(tool.description.clone());
            strings(&tool.schema, &mut texts);
        }
        texts.join("\n")
    }

    /// The details to explain a client that did not behave as expected.
    fn complaint(&self) -> String {
        let Finished { stderr, stdout, code, timed_out, time } = &self.finished;
        let tail = |text: &str| {
            let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            let cut = |line: &str| line.chars().take(300).collect::<String>();
            let last = lines.iter().skip(lines.len().saturating_sub(6));
            last.map(|line| cut(line)).collect::<Vec<_>>().join("\n    ")
        };
        let end =
            if *timed_out { "ran out of time".to_owned() } else { format!("ended with {code:?}") };
        let asked = self.record.exchanges.len();
        let strays = self.record.strays.join("; ");
        format!(
            "the client {end} after {:.1} s and {asked} requests to its model; strays: {strays}\n    {}\n    {}",
            time.as_secs_f64(),
            tail(stderr),
            tail(stdout)
        )
    }
}

/// An agent in a client, ready to be tested.
pub(crate) struct Subject<'a> {
    /// The client on this disk.
    pub(crate) installed: &'a Installed,
    /// The directories it runs in, with the agent's files.
    pub(crate) scratch: &'a Scratch,
    /// The agent's name.
    pub(crate) agent: &'a str,
}

impl Subject<'_> {
    fn listing(&self, opening: &Conversation, played: &Played) -> Listing {
        let mut listing = Listing {
            system_prompt: opening.system.clone(),
            tools: opening.tools.iter().map(|tool| tool.name.clone()).collect(),
            model: opening.model.clone(),
            parameters: opening.parameters.clone(),
            ..Listing::default()
        };
        let start = self.start(Some(self.agent), "", "");
        self.driver().describe(&start, played, &mut listing);
        listing
    }

    /// The presentation of the agent, and the verdict of each action, in as few sessions as the client
    /// allows.
    pub(crate) fn ask(
        &self,
        role: Role,
        actions: &[Action],
        kept: &[Kept],
    ) -> Result<(Listing, Vec<Verdict>), String> {
        let (listing, mut verdicts) = self.session(role, actions, kept)?;
        for _ in 0..MOST_SESSIONS {
            let rest = actions.get(verdicts.len()..).unwrap_or_default();
            if rest.is_empty() {
                return Ok((listing, verdicts));
            }
            verdicts.extend(self.session(role, rest, kept)?.1);
        }
        Err(format!("more than {MOST_SESSIONS} sessions"))
    }

    /// The verdicts of one session: of all actions, or up to the one that ended it.
    fn session(
        &self,
        role: Role,
        actions: &[Action],
        kept: &[Kept],
    ) -> Result<(Listing, Vec<Verdict>), String> {
        let calls: Vec<Option<Call>> =
            actions.iter().map(|action| self.driver().call(action, self.scratch, role)).collect();
        let played = self.play(role, calls.iter().flatten().cloned().collect())?;
        let name = script_of(role);
        let Some(opening) = played.opening(name) else {
            // Some clients do not start an agent without tools; then no call can run.
            if has_no_tools(&played.finished.stdout) {
                let listing = Listing { is_absent: true, ..Listing::default() };
                return Ok((listing, vec![Verdict::Unavailable; actions.len()]));
            }
            return Err(format!("`{}` was never started: {}", self.agent, played.complaint()));
        };
        let offered: BTreeSet<&str> = opening.tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut verdicts = Vec::new();
        let mut step = 0;
        for (action, call) in actions.iter().zip(&calls) {
            let Some(call) = call else {
                verdicts.push(Verdict::Unavailable);
                continue;
            };
            let is_offered = offered.contains(call.tool.as_str());
            let Some(verdict) = self.verdict(&played, (name, step), (action, is_offered)) else {
                break;
            };
            let result = played.result(&format!("call_{name}_{step}")).unwrap_or_default();
            let is_search = matches!(action, Action::Grep(..) | Action::Glob(_));
            step += 1;
            verdicts.push(match verdict {
                Verdict::Ran if is_search => found(result, action, kept),
                verdict => verdict,
            });
        }
        if verdicts.is_empty() {
            return Err(played.complaint());
        }
        Ok((self.listing(opening, &played), verdicts))
    }

    /// The verdict of the call at an index of the script; `None` if the session ended before it.
    ///
    /// An unclear result counts as executed, so that it is looked at.
    fn verdict(
        &self,
        played: &Played,
        place: (&str, usize),
        what: (&Action, bool),
    ) -> Option<Verdict> {
        let ((name, step), (action, is_offered)) = (place, what);
        let id = format!("call_{name}_{step}");
        let result = played.result(&id);
        let was_made =
            played.record.exchanges.iter().any(|it| it.script == Some(name) && it.step == step);
        let proof = match action {
            // A sandbox may keep a stand-in from writing its log, but not from printing.
            Action::Bash(_) => {
                let is_called = result.is_some_and(|text| text.contains(CALLED));
                is_called || !played.evidence(name, step).is_empty()
            }
            Action::Write(path) => self.scratch.project().join(path).exists(),
            Action::Read(_) => result.is_some_and(|text| text.contains(SECRET)),
            Action::List(_)
            | Action::Glob(_)
            | Action::Grep(..)
            | Action::Fetch(_)
            | Action::Search(_) => false,
        };
        if proof {
            return Some(Verdict::Ran);
        }
        let refusal = guarded(result.unwrap_or_default())
            .or_else(|| self.driver().refusal(played, &id, result.unwrap_or_default()));
        match (refusal, result) {
            // The result is only an error message about an unknown tool.
            (_, Some(_)) if !is_offered => Some(Verdict::Unavailable),
            (Some(verdict), _) if was_made => Some(verdict),
            (_, Some(_)) => Some(Verdict::Ran),
            _ => None,
        }
    }

    /// Runs the client once, with these calls in the script of the agent.
    fn play(&self, role: Role, calls: Vec<Call>) -> Result<Played, String> {
        let driver = self.driver();
        let agent = Script {
            last: driver.farewell().filter(|_| role == Role::Sub),
            ..Script::new(script_of(role), calls)
        };
        let mut scripts = vec![agent];
        if role == Role::Sub {
            let task =
                format!("{}: look at the files and review them", Script::new(SUB, vec![]).cue());
            scripts.insert(0, Script::new(MAIN, driver.delegate(self.agent, &task)));
        }
        // The evidence of an earlier session must not count for this one.
        fs::write(self.scratch.log(), "").map_err(|error| error.to_string())?;
        let server = Server::start(scripts, &self.scratch.log())?;
        let address = server.address();
        let prompt = Script::new(MAIN, vec![]).cue();
        let started = (role == Role::Main).then_some(self.agent);
        let start = self.start(started, &address, &prompt);
        driver.prepare(&start)?;
        // Not `?` yet: the server must be stopped first.
        let finished = process::run(&mut driver.command(&start), driver.limit());
        let record = server.finish();
        let log = fs::read_to_string(self.scratch.log()).unwrap_or_default();
        let played = Played { record, finished: finished?, log };
        self.scratch.keep(&format!("{played:#?}"));
        Ok(played)
    }

    fn start<'b>(&'b self, agent: Option<&'b str>, model: &'b str, prompt: &'b str) -> Start<'b> {
        Start { installed: self.installed, scratch: self.scratch, model, agent, prompt }
    }

    fn driver(&self) -> &'static dyn Driver {
        self.installed.client.driver()
    }
}

/// Every text in a value.
fn strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, texts)),
        Value::Object(members) => members.values().for_each(|member| strings(member, texts)),
        _ => {}
    }
}

/// The text between two markers.
pub(crate) fn between(text: &str, start: &str, end: &str) -> Option<String> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(found, _)| found.to_owned())
}

/// Whether a client reports that the agent has no tools: it cannot be tested then.
fn has_no_tools(output: &str) -> bool {
    output.contains("would be spawned with zero tools") || output.contains("\"tools\":[]")
}

/// The verdict in the text of our own hooks.
fn guarded(result: &str) -> Option<Verdict> {
    let words = result.split("agentry: ").nth(1)?;
    let reason = words.lines().next().unwrap_or_default().to_owned();
    // Without a user, `ask` is a refusal that says so. The deciding part comes first.
    let asks =
        reason.starts_with("needs approval") || reason.contains("nobody is there to be asked");
    Some(if asks { Verdict::Asked } else { Verdict::Refused(reason) })
}

/// The verdict of a search that was executed, by the content or the names of these files in its result.
fn found(result: &str, action: &Action, kept: &[Kept]) -> Verdict {
    let is_shown = |file: &str| match action {
        Action::Grep(..) => result.contains(content(file).trim()),
        _ => result.contains(file),
    };
    let shown = kept.iter().filter(|(file, _)| is_shown(file)).map(|(_, wish)| *wish);
    match shown.max() {
        None => Verdict::Partly,
        Some(Wish::Deny) => Verdict::Ran,
        Some(_) => Verdict::Unasked,
    }
}

fn script_of(role: Role) -> &'static str {
    match role {
        Role::Main => MAIN,
        Role::Sub => SUB,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_judged_by_the_worst_that_it_shows() {
        let kept = [("drafts/idea.md", Wish::Ask), ("private/plan.md", Wish::Deny)];
        let cases = [
            ("README.md", Verdict::Partly),
            ("README.md\ndrafts/idea.md", Verdict::Unasked),
            ("drafts/idea.md\nprivate/plan.md", Verdict::Ran),
        ];
        for (result, expected) in cases {
            assert_eq!(found(result, &Action::Glob("**".to_owned()), &kept), expected, "{result}");
        }
    }
}

//! Compares one agent in one client with its source, call by call.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::calls::Case;
use crate::client::Client;
use crate::clients::{Role, Verdict};
use crate::install::Installed;
use crate::rendering::{self, Gap, Guard, Order, Placed, Rendering};
use crate::scratch::{FILES, Scratch, content};
use crate::session::{Listing, Subject};
use crate::source::{Source, Wish};
use crate::suite::House;

/// The comparison of a client's verdict with the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The same verdict.
    Same,
    /// The client refuses or asks more than the source.
    Stricter,
    /// Milder, as the rendering reported.
    Gap,
    /// Milder than the source: a defect.
    Milder,
    /// Not the verdict of `policy why`, although the guard is there: a defect.
    Different,
}

impl Judgement {
    /// Whether the result is a defect.
    pub(crate) fn is_defect(self) -> bool {
        matches!(self, Self::Milder | Self::Different)
    }
}

/// One call in one client.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// What was called.
    pub(crate) case: Case,
    /// The verdict of the source.
    pub(crate) wish: Wish,
    /// What the client did.
    pub(crate) verdict: Verdict,
    /// The comparison of the two.
    pub(crate) judgement: Judgement,
}

/// The results of one agent in one role of one client.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    /// The agent.
    pub(crate) agent: String,
    /// Its role.
    pub(crate) role: Role,
    /// The variant of the guard.
    pub(crate) guard: Guard,
    /// Why there are no results.
    pub(crate) note: Option<String>,
    /// How long it took.
    pub(crate) time: Duration,
    /// The tools that the client offers.
    pub(crate) tools: Vec<String>,
    /// The problems of the presentation to the model.
    pub(crate) complaints: Vec<String>,
    /// One for each call.
    pub(crate) rows: Vec<Row>,
}

impl Sheet {
    /// Whether the sheet makes the suite fail.
    pub(crate) fn is_defect(&self) -> bool {
        !self.complaints.is_empty() || self.rows.iter().any(|row| row.judgement.is_defect())
    }

    fn empty(order: Order<'_>, role: Role) -> Self {
        Self {
            agent: order.agent.to_owned(),
            role,
            guard: order.guard,
            note: None,
            time: Duration::ZERO,
            tools: Vec::new(),
            complaints: Vec::new(),
            rows: Vec::new(),
        }
    }
}

/// The sheets of one agent in one variant: one for each role that it can have.
pub(crate) fn ask(
    house: &House,
    installed: &Installed,
    order: Order<'_>,
    suite: (&Source, &[Case]),
) -> Vec<Sheet> {
    let mut sheets: Vec<Sheet> = Vec::new();
    for role in [Role::Main, Role::Sub] {
        let is_failing = matches!(order.guard, Guard::Broken | Guard::Unloaded);
        // One role is enough to show what a failing hook does, and each session is slow.
        if is_failing && !sheets.is_empty() {
            break;
        }
        let found = sheet(house, installed, (order, role), suite);
        sheets.extend(found.unwrap_or_else(|error| {
            Some(Sheet { complaints: vec![error], ..Sheet::empty(order, role) })
        }));
    }
    sheets
}

/// The agent in one role; `None` where it does not run.
fn sheet(
    house: &House,
    installed: &Installed,
    (order, role): (Order<'_>, Role),
    (source, cases): (&Source, &[Case]),
) -> Result<Option<Sheet>, String> {
    let start = Instant::now();
    let Order { agent, client, guard } = order;
    let name = format!("{}-{agent}-{guard:?}-{role:?}", client.name()).to_lowercase();
    let scratch = scratch(house, &name)?;
    let rendering = match rendering::place(house, &scratch, order)? {
        Placed::Done(rendering) => rendering,
        // A refusal does not depend on the role, so it is reported once.
        Placed::Refused(why) if role == Role::Main => {
            return Ok(Some(Sheet { note: Some(why), ..Sheet::empty(order, role) }));
        }
        Placed::Refused(_) | Placed::Nothing => return Ok(None),
    };
    if !places(&source.shown, client.driver().roles(&scratch)).contains(&role) {
        return Ok(None);
    }
    let subject = Subject { installed, scratch: &scratch, agent };
    let actions: Vec<_> = cases.iter().map(Case::action).collect();
    let (listing, verdicts) = subject.ask(role, &actions, &source.kept)?;
    let mut rows = Vec::new();
    for ((case, verdict), wish) in cases.iter().zip(verdicts).zip(&source.wishes) {
        let wish = *wish;
        // Where everything may be shown, nothing was left out.
        let is_whole = match verdict {
            Verdict::Partly => wish == Wish::Allow,
            Verdict::Unasked => wish < Wish::Deny,
            _ => false,
        };
        let verdict = if is_whole { Verdict::Ran } else { verdict };
        let judgement = judge(wish, &verdict, case, (&rendering, guard));
        let is_unasked = must_ask(order, case, wish) && answer(&verdict, wish, guard) == Wish::Deny;
        let judgement = if is_unasked { Judgement::Different } else { judgement };
        rows.push(Row { case: case.clone(), wish, verdict, judgement });
    }
    Ok(Some(Sheet {
        time: start.elapsed(),
        complaints: if listing.is_absent {
            Vec::new()
        } else {
            complaints(&listing, &source.shown, role)
        },
        tools: listing.tools.into_iter().collect(),
        rows,
        ..Sheet::empty(order, role)
    }))
}

/// A project with the agents of the suite and readable files.
pub(crate) fn scratch(house: &House, name: &str) -> Result<Scratch, String> {
    let scratch = Scratch::new(&house.target.join("conformance/runs").join(name))?;
    for path in FILES {
        scratch.write_project(path, &content(path))?;
    }
    rendering::copy(&house.home.join("workspace"), &scratch.project())
        .map_err(|error| format!("the workspace of the suite: {error}"))?;
    Ok(scratch)
}

/// The roles that the agent is meant for and the client supports; else all that the client supports.
fn places<'a>(wanted: &Value, possible: &'a [Role]) -> &'a [Role] {
    let meant = match wanted["mode"].as_str() {
        Some("primary") => Role::Main,
        Some("subagent") => Role::Sub,
        _ => return possible,
    };
    let place = possible.iter().position(|role| *role == meant);
    place.and_then(|place| possible.get(place..=place)).unwrap_or(possible)
}

/// The fields of an agent that every client must keep.
fn complaints(listing: &Listing, wanted: &Value, role: Role) -> Vec<String> {
    let mut complaints = Vec::new();
    let system = wanted["system"].as_str().unwrap_or_default().trim();
    if !listing.system_prompt.contains(system) {
        complaints.push("its model is not told its prompt".to_owned());
    }
    let description = wanted["description"].as_str();
    if role == Role::Sub && listing.description.as_deref() != description {
        let found = &listing.description;
        complaints.push(format!("others are told `{found:?}`, not its description"));
    }
    let steps = wanted["max_turns"].as_u64();
    if listing.steps.is_some() && listing.steps != steps {
        complaints.push(format!("its steps are {:?}, not {steps:?}", listing.steps));
    }
    complaints
}

/// The agent that asks about everything.
const ASKER: &str = "asker";

/// Whether the client must ask about a call: commands, changes and fetches of the agent that asks about all, in
/// clients that show a question to a run without a person.
fn must_ask(order: Order<'_>, case: &Case, wish: Wish) -> bool {
    order.agent == ASKER
        && order.guard == Guard::Without
        && matches!(order.client, Client::OpenCode | Client::ClaudeCode)
        && matches!(case.section, "bash" | "edit" | "webfetch")
        && wish == Wish::Ask
}

/// The verdict of the client.
fn answer(verdict: &Verdict, wish: Wish, guard: Guard) -> Wish {
    match verdict {
        // Without the guard, a result that shows nothing denied is as good as a refusal.
        Verdict::Partly if guard != Guard::With => wish,
        Verdict::Ran | Verdict::Partly | Verdict::Unasked => Wish::Allow,
        Verdict::Asked => Wish::Ask,
        Verdict::Refused(_) | Verdict::Unavailable => Wish::Deny,
    }
}

fn judge(wish: Wish, verdict: &Verdict, case: &Case, how: (&Rendering, Guard)) -> Judgement {
    let (rendering, guard) = how;
    // What is denied was left out, so that only the question about the rest is missing.
    if wish == Wish::Deny && *verdict == Verdict::Unasked && guard == Guard::Without {
        return judge(Wish::Ask, &Verdict::Ran, case, how);
    }
    let answer = answer(verdict, wish, guard);
    let of_section = |gap: &&Gap| gap.section == case.section || gap.section == "permissions";
    let excuses =
        |gap: &Gap| excuses(gap, case, guard) || (wish == Wish::Ask && skips(gap, case, guard));
    let is_known = rendering.gaps.iter().filter(of_section).any(excuses);
    if answer == wish {
        Judgement::Same
    } else if guard == Guard::Unloaded && answer > Wish::Allow {
        // Without its hook the client may ask where the source denies, but must execute nothing.
        Judgement::Stricter
    } else if answer < wish {
        if is_known { Judgement::Gap } else { Judgement::Milder }
    } else if guard == Guard::With && *verdict != Verdict::Unavailable {
        Judgement::Different
    } else {
        Judgement::Stricter
    }
}

/// The names of the gaps that explain each blind spot.
const TRAPS: &[(&str, &[&str])] = &[
    ("option", &["other spellings", "dangerous options"]),
    ("redirection", &["redirections", "lines that are no plain words"]),
    ("environment", &["variables", "other spellings", "lines that are no plain words"]),
    ("substitution", &["nested", "lines that are no plain words"]),
    ("nested", &["nested"]),
    ("files", &["files of commands", "commands"]),
    ("address", &["addresses of commands", "commands"]),
    ("session", &["session"]),
    ("secret", &["files with secrets", "secrets", "Pi looks at no call"]),
];

/// The commands of the table that clients run at once because they only read.
const QUIET: &[&str] = &["ls", "echo", "git status", "git log"];
/// A line with one of these does more than one such command.
const MORE: &[char] = &[';', '&', '|', '<', '>', '$', '`'];

/// Whether a gap says that the client skips the question about this call.
fn skips(gap: &Gap, case: &Case, guard: Guard) -> bool {
    let line = case.subject.as_str();
    let starts = |words: &&str| {
        line.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let is_quiet = !line.contains(MORE) && QUIET.iter().any(starts);
    let at_once = gap.detail.contains("runs it at once") && is_quiet;
    let never = gap.detail.contains("never asks about it");
    guard == Guard::Without && (at_once || never)
}

/// Whether a gap of the section explains this call. Under the guard the verdict is that of `policy why`,
/// except for calls that the client never asks about, which are reported by name.
fn excuses(gap: &Gap, case: &Case, guard: Guard) -> bool {
    if guard != Guard::Without {
        return gap.detail.contains(&format!("would not ask about `{}`", case.subject));
    }
    let trap = TRAPS.iter().find(|(trap, _)| case.trap.as_deref() == Some(*trap));
    trap.is_some_and(|(_, names)| names.iter().any(|name| gap.detail.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_judged_against_the_source() {
        use Judgement::{Different, Gap, Milder, Same, Stricter};
        let refused = || Verdict::Refused(String::new());
        let trap = Some("nested");
        let other = Some("redirection");
        let cases = [
            (Wish::Allow, Verdict::Ran, None, Guard::Without, Same),
            (Wish::Allow, Verdict::Asked, None, Guard::Without, Stricter),
            (Wish::Allow, Verdict::Asked, None, Guard::With, Different),
            (Wish::Allow, Verdict::Unavailable, None, Guard::With, Stricter),
            (Wish::Ask, Verdict::Ran, None, Guard::Without, Milder),
            (Wish::Ask, Verdict::Ran, trap, Guard::Without, Gap),
            (Wish::Ask, Verdict::Ran, other, Guard::Without, Milder),
            (Wish::Ask, Verdict::Ran, trap, Guard::With, Milder),
            (Wish::Deny, Verdict::Ran, trap, Guard::Broken, Milder),
            (Wish::Deny, Verdict::Asked, None, Guard::With, Milder),
            (Wish::Deny, refused(), None, Guard::With, Same),
            (Wish::Deny, Verdict::Asked, None, Guard::Unloaded, Stricter),
            (Wish::Ask, Verdict::Ran, None, Guard::Unloaded, Milder),
            (Wish::Allow, refused(), None, Guard::Broken, Stricter),
            (Wish::Deny, Verdict::Partly, None, Guard::Without, Same),
            (Wish::Deny, Verdict::Ran, None, Guard::Without, Milder),
            (Wish::Ask, Verdict::Partly, None, Guard::With, Milder),
            (Wish::Deny, Verdict::Unasked, None, Guard::Without, Milder),
            (Wish::Deny, Verdict::Unasked, trap, Guard::Without, Gap),
            (Wish::Deny, Verdict::Unasked, trap, Guard::With, Milder),
        ];
        for (wish, verdict, trap, guard, expected) in cases {
            let trap = trap.map(str::to_owned);
            let case = Case { tool: "bash", section: "bash", trap, subject: String::new() };
            let rendering = rendering("nested shells: OpenCode does not check inside `sh -c`");
            let found = judge(wish, &verdict, &case, (&rendering, guard));
            assert_eq!(found, expected, "{wish:?} {verdict:?} {guard:?}");
        }
    }

    fn rendering(detail: &str) -> Rendering {
        let gap = Gap { section: "bash".to_owned(), detail: detail.to_owned() };
        Rendering { gaps: vec![gap] }
    }

    #[test]
    fn a_skipped_question_is_a_gap_and_a_denial_is_not() {
        let rendering =
            rendering("`ls` is ask in the source, and Gemini runs it at once, like others");
        let cases = [
            (Wish::Ask, "ls -l", Judgement::Gap),
            (Wish::Ask, "git log --oneline -5", Judgement::Gap),
            (Wish::Ask, "make all", Judgement::Milder),
            (Wish::Ask, "git push origin main", Judgement::Milder),
            (Wish::Ask, "git log; make all", Judgement::Milder),
            (Wish::Deny, "ls -l", Judgement::Milder),
        ];
        for (wish, subject, expected) in cases {
            let (tool, subject) = ("bash", subject.to_owned());
            let case = Case { tool, section: "bash", trap: None, subject };
            let found = judge(wish, &Verdict::Ran, &case, (&rendering, Guard::Without));
            assert_eq!(found, expected, "{wish:?}");
        }
    }

    #[test]
    fn session_gaps_do_not_excuse_milder_commands() {
        let rendering = rendering("session: Codex gives an agent the sandbox, the approvals, the");
        for wish in [Wish::Ask, Wish::Deny] {
            let (tool, subject) = ("bash", "make all".to_owned());
            let case = Case { tool, section: "bash", trap: None, subject };
            let found = judge(wish, &Verdict::Ran, &case, (&rendering, Guard::Without));
            assert_eq!(found, Judgement::Milder, "{wish:?}");
        }
    }

    #[test]
    fn reported_guard_limits_are_gaps() {
        let rendering = rendering("without the guard Claude Code would not ask about `ls`, which");
        for (subject, expected) in [("ls", Judgement::Gap), ("ls -l", Judgement::Milder)] {
            let (tool, subject) = ("bash", subject.to_owned());
            let case = Case { tool, section: "bash", trap: None, subject };
            let found = judge(Wish::Ask, &Verdict::Ran, &case, (&rendering, Guard::With));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn every_trap_of_the_call_table_is_named() {
        let table = crate::calls::read(include_str!("../calls.txt")).expect("a table");
        for trap in table.iter().filter_map(|case| case.trap.as_deref()) {
            assert!(TRAPS.iter().any(|(known, _)| *known == trap), "{trap}");
        }
    }
}

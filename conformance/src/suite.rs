//! Agents × clients × calls: what each client lets happen, beside what the source wants.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::calls::{self, Case};
use crate::client::Client;
use crate::clients::{Role, Verdict};
use crate::install::{self, Installed};
use crate::rendering::{self, Guard, Order, Rendering};
use crate::report;
use crate::scratch::{SECRET, Scratch};
use crate::session::{Listing, Subject};
use crate::source::{self, Wish};

/// Two clients at a time: they wait for each other's disk more than for each other's processor.
const WORKERS: usize = 2;

/// Where everything is.
#[derive(Debug, Clone)]
pub(crate) struct House {
    /// The program under test.
    pub(crate) agentry: PathBuf,
    /// For build products, installed clients and scratch projects.
    pub(crate) target: PathBuf,
    /// This crate: agents and fixtures.
    pub(crate) home: PathBuf,
    /// Whether a client that is missing is installed.
    pub(crate) install: bool,
}

impl House {
    /// The same, with the clients that are there.
    pub(crate) fn installed_only(&self) -> Self {
        Self { install: false, ..self.clone() }
    }
}

/// What a client's answer is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// Just what the source wants.
    Same,
    /// More is refused or asked than the source wants.
    Stricter,
    /// Milder, where the rendering said so.
    Gap,
    /// Milder than the source: a defect.
    Milder,
    /// Not the answer of `policy why`, although the guard is there: a defect.
    Different,
}

impl Judgement {
    /// Whether nothing may be handed over like this.
    pub(crate) fn is_defect(self) -> bool {
        matches!(self, Self::Milder | Self::Different)
    }
}

/// One call in one client.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// What was called.
    pub(crate) case: Case,
    /// What the source wants.
    pub(crate) wish: Wish,
    /// What the client did.
    pub(crate) verdict: Verdict,
    /// What that is worth.
    pub(crate) judgement: Judgement,
}

/// One agent in one place of one client.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    /// The agent.
    pub(crate) agent: String,
    /// Where it ran.
    pub(crate) role: Role,
    /// With or without the guard.
    pub(crate) guard: Guard,
    /// Written by hand.
    pub(crate) is_sample: bool,
    /// The tools that its model is offered.
    pub(crate) tools: Vec<String>,
    /// What is wrong with that.
    pub(crate) complaints: Vec<String>,
    /// One a call.
    pub(crate) rows: Vec<Row>,
}

/// All of one client.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Which.
    pub(crate) client: Client,
    /// How long its installation took, if it was not there.
    pub(crate) installing: Duration,
    /// How long it was asked.
    pub(crate) asking: Duration,
    /// The sheets, or why there are none.
    pub(crate) sheets: Result<Vec<Sheet>, Miss>,
}

/// Why a client has no sheets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// It cannot be had here.
    Skipped(String),
    /// It was there and did not answer.
    Failed(String),
}

/// Asks the clients and prints what they say; whether no answer is a defect.
pub(crate) fn run(house: &House, clients: &[Client]) -> Result<bool, String> {
    let agents = agents(house)?;
    let table = fs::read_to_string(house.home.join("calls.txt"));
    let cases = calls::read(&table.map_err(|error| format!("the table of calls: {error}"))?)?;
    let queue = Mutex::new(clients.iter().copied().collect::<VecDeque<_>>());
    let outcomes = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(client) = next() {
                    let outcome = ask(house, client, &agents, &cases);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|outcome| outcome.client);
    report::print(&outcomes);
    Ok(!outcomes.iter().any(Outcome::is_defect))
}

impl Outcome {
    /// Whether it is a reason to fail.
    pub(crate) fn is_defect(&self) -> bool {
        match &self.sheets {
            Ok(sheets) => sheets.iter().any(Sheet::is_defect),
            Err(Miss::Skipped(_)) => false,
            Err(Miss::Failed(_)) => true,
        }
    }
}

impl Sheet {
    fn is_defect(&self) -> bool {
        !self.complaints.is_empty() || self.rows.iter().any(|row| row.judgement.is_defect())
    }
}

/// The names of the agents of the suite.
fn agents(house: &House) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(house.home.join("workspace/agents"));
    let entries = entries.map_err(|error| format!("the agents of the suite: {error}"))?;
    let directories = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        directories.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn ask(house: &House, client: Client, agents: &[String], cases: &[Case]) -> Outcome {
    let start = Instant::now();
    let installed = match install::find(client, &house.target) {
        None if !house.install => Err("it is not installed".to_owned()),
        None => install::install(client, &house.target),
        Some(installed) => Ok(installed),
    };
    let installing = start.elapsed();
    let sheets = match installed {
        Err(reason) => Err(Miss::Skipped(reason)),
        Ok(installed) => sheets(house, &installed, agents, cases).map_err(Miss::Failed),
    };
    Outcome { client, installing, asking: start.elapsed().saturating_sub(installing), sheets }
}

fn sheets(
    house: &House,
    installed: &Installed,
    agents: &[String],
    cases: &[Case],
) -> Result<Vec<Sheet>, String> {
    let mut sheets = Vec::new();
    for agent in agents {
        for guard in Guard::ALL {
            // What a failing hook does is the same for both, and a start is dear.
            let is_once = matches!(guard, Guard::Broken | Guard::Unloaded);
            let before = sheets.len();
            for role in [Role::Main, Role::Sub] {
                if is_once && sheets.len() > before {
                    break;
                }
                let order = Order { agent, client: installed.client, guard };
                sheets.extend(sheet(house, installed, (order, role), cases)?);
            }
        }
    }
    Ok(sheets)
}

/// One agent in one place; nothing where it was not rendered so.
fn sheet(
    house: &House,
    installed: &Installed,
    (order, role): (Order<'_>, Role),
    cases: &[Case],
) -> Result<Option<Sheet>, String> {
    let Order { agent, client, guard } = order;
    let name = format!("{}-{agent}-{guard:?}-{role:?}", client.name()).to_lowercase();
    let scratch = Scratch::new(&house.target.join("conformance/runs").join(&name))?;
    for (path, text) in [("README.md", SECRET), (".env", SECRET)] {
        scratch.write_project(path, text)?;
    }
    rendering::copy(&house.home.join("workspace"), &scratch.project())
        .map_err(|error| format!("the workspace of the suite: {error}"))?;
    let Some(rendering) = rendering::place(house, &scratch, order)? else { return Ok(None) };
    let wanted = source::show(&house.agentry, &scratch.project(), &format!("agents/{agent}"))?;
    if !client.driver().roles(&scratch).contains(&role) || !serves(&wanted, role) {
        return Ok(None);
    }
    let subject = Subject { installed, scratch: &scratch, agent };
    let actions: Vec<_> = cases.iter().map(Case::action).collect();
    let (listing, verdicts) =
        subject.ask(role, &actions).map_err(|error| format!("{name}: {error}"))?;
    let mut rows = Vec::new();
    for (case, verdict) in cases.iter().zip(verdicts) {
        let place = format!("agents/{agent}");
        let call = (place.as_str(), case.section, case.subject.as_str());
        let wish = source::why(&house.agentry, &scratch.project(), call)?;
        let judgement = judge(wish, &verdict, case, (&rendering, guard));
        rows.push(Row { case: case.clone(), wish, verdict, judgement });
    }
    let complaints = complaints(&listing, &wanted, role);
    let is_sample = rendering.is_sample;
    let tools = listing.tools.into_iter().collect();
    Ok(Some(Sheet { agent: agent.to_owned(), role, guard, is_sample, tools, complaints, rows }))
}

/// Whether an agent of this mode is meant to run there.
fn serves(wanted: &Value, role: Role) -> bool {
    match wanted["mode"].as_str() {
        Some("primary") => role == Role::Main,
        Some("subagent") => role == Role::Sub,
        _ => true,
    }
}

/// What an agent must have kept in every client.
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

fn judge(wish: Wish, verdict: &Verdict, case: &Case, how: (&Rendering, Guard)) -> Judgement {
    let (rendering, guard) = how;
    let answer = match verdict {
        Verdict::Ran => Wish::Allow,
        Verdict::Asked => Wish::Ask,
        Verdict::Refused(_) | Verdict::Unavailable => Wish::Deny,
    };
    let is_known = case.trap.is_some() && rendering.gaps.iter().any(|gap| gap == case.section);
    if answer == wish {
        Judgement::Same
    } else if guard == Guard::Unloaded && answer > Wish::Allow {
        // Without its hook it may ask about what is denied, and must do nothing unasked.
        Judgement::Stricter
    } else if answer < wish {
        if is_known { Judgement::Gap } else { Judgement::Milder }
    } else if guard == Guard::With && *verdict != Verdict::Unavailable {
        Judgement::Different
    } else {
        Judgement::Stricter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judgements() {
        use Judgement::{Different, Gap, Milder, Same, Stricter};
        let refused = || Verdict::Refused(String::new());
        let trap = Some("nested");
        let cases = [
            (Wish::Allow, Verdict::Ran, None, Guard::Without, Same),
            (Wish::Allow, Verdict::Asked, None, Guard::Without, Stricter),
            (Wish::Allow, Verdict::Asked, None, Guard::With, Different),
            (Wish::Allow, Verdict::Unavailable, None, Guard::With, Stricter),
            (Wish::Ask, Verdict::Ran, None, Guard::Without, Milder),
            (Wish::Ask, Verdict::Ran, trap, Guard::Without, Gap),
            (Wish::Deny, Verdict::Asked, None, Guard::With, Milder),
            (Wish::Deny, refused(), None, Guard::With, Same),
            (Wish::Deny, Verdict::Asked, None, Guard::Unloaded, Stricter),
            (Wish::Ask, Verdict::Ran, None, Guard::Unloaded, Milder),
            (Wish::Allow, refused(), None, Guard::Broken, Stricter),
        ];
        for (wish, verdict, trap, guard, expected) in cases {
            let trap = trap.map(str::to_owned);
            let case = Case { section: "bash", trap, subject: String::new() };
            let rendering = Rendering { gaps: vec!["bash".to_owned()], is_sample: false };
            let found = judge(wish, &verdict, &case, (&rendering, guard));
            assert_eq!(found, expected, "{wish:?} {verdict:?} {guard:?}");
        }
    }
}

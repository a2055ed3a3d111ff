//! The conditions for a start: a run checks them before the first request to a model, and the guard before every
//! call.

use agentry_model::{Agent, AgentStatus};

/// Why an agent does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartRefusal {
    /// Its status is `disabled`.
    Disabled,
    /// Required variables are not set.
    Unset(Vec<String>),
    /// Required variables are denied by its policy.
    Denied(Vec<String>),
    /// A tool must succeed first, which only a run can try: it checks this last condition itself.
    Startup(String),
}

impl std::fmt::Display for StartRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Disabled => f.write_str("its status is `disabled`"),
            Self::Unset(names) => {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                let verb = if names.len() == 1 { "is" } else { "are" };
                write!(f, "it needs {}, which {verb} not set", names.join(", "))
            }
            Self::Denied(names) => {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                write!(f, "it needs {}, which its policy denies", names.join(", "))
            }
            Self::Startup(tool) => {
                write!(f, "`{tool}` must succeed before it starts, and only `agentry run` runs it")
            }
        }
    }
}

/// Returns warnings for the user if the agent may start, or why it may not.
pub fn gate(
    agent: &Agent,
    is_set: &dyn Fn(&str) -> bool,
    is_denied: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>, StartRefusal> {
    let status = agent.identity.status.as_ref().map(|status| status.value);
    if status == Some(AgentStatus::Disabled) {
        return Err(StartRefusal::Disabled);
    }
    let needed = || agent.requirements.env.iter().flatten().map(|name| name.value.clone());
    // Denied variables come first: setting them would not help.
    let denied: Vec<String> = needed().filter(|name| is_denied(name)).collect();
    if !denied.is_empty() {
        return Err(StartRefusal::Denied(denied));
    }
    let unset: Vec<String> = needed().filter(|name| !is_set(name)).collect();
    if !unset.is_empty() {
        return Err(StartRefusal::Unset(unset));
    }
    if let Some(tool) = &agent.requirements.startup {
        return Err(StartRefusal::Startup(tool.value.clone()));
    }
    let old = status == Some(AgentStatus::Deprecated);
    Ok(old
        .then(|| "it is deprecated: it works, and should not be used any more".to_owned())
        .into_iter()
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_text::{FileId, Span, Spanned};

    fn field<T>(value: T) -> Spanned<T> {
        Spanned::new(value, Span::start_of(FileId::BUILT_IN))
    }

    #[test]
    fn unmet_start_conditions_are_refused() {
        let agent = |status: Option<AgentStatus>, env: &[&str], startup: Option<&str>| {
            let mut agent = Agent::default();
            agent.identity.status = status.map(field);
            agent.requirements.env =
                Some(env.iter().map(|name| field((*name).to_owned())).collect());
            agent.requirements.startup = startup.map(|tool| field(tool.to_owned()));
            agent
        };
        let unset =
            |names: &[&str]| StartRefusal::Unset(names.iter().map(|it| (*it).to_owned()).collect());
        let cases = [
            (agent(None, &[], None), Ok(0)),
            (agent(Some(AgentStatus::Active), &["SET"], None), Ok(0)),
            (agent(Some(AgentStatus::Deprecated), &[], None), Ok(1)),
            (agent(Some(AgentStatus::Disabled), &["OTHER"], None), Err(StartRefusal::Disabled)),
            (agent(None, &["SET", "OTHER", "MORE"], None), Err(unset(&["OTHER", "MORE"]))),
            (
                agent(None, &["SET", "SECRET"], None),
                Err(StartRefusal::Denied(vec!["SECRET".into()])),
            ),
            (agent(None, &[], Some("check")), Err(StartRefusal::Startup("check".to_owned()))),
        ];
        for (agent, expected) in cases {
            let found = gate(&agent, &|name| name == "SET", &|name| name == "SECRET")
                .map(|remarks| remarks.len());
            assert_eq!(found, expected, "{agent:?}");
        }
    }

    #[test]
    fn start_refusals_name_the_missing_requirement() {
        let cases = [
            (StartRefusal::Disabled, "its status is `disabled`"),
            (StartRefusal::Denied(vec!["A".into()]), "it needs `A`, which its policy denies"),
            (StartRefusal::Unset(vec!["A".into()]), "it needs `A`, which is not set"),
            (
                StartRefusal::Unset(vec!["A".into(), "B".into()]),
                "it needs `A`, `B`, which are not set",
            ),
        ];
        for (closed, expected) in cases {
            assert_eq!(closed.to_string(), expected);
        }
    }
}

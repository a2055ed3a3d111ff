//! The tools `skill` and `skill_step` under a policy: what the model gets, what is refused, who is asked.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use agentry_compile::formats::skill::SkillNeeds;
use agentry_compile::model::{SkillStep, StepKind};
use agentry_compile::policy::{Action, Section};
use agentry_compile::text::{FileId, SourceFiles, Span, Spanned};
use agentry_compile::{LoadableSkill, MemoryWorld, SkillDirectory};
use serde_json::{Value, json};

use super::SkillShelf;
use crate::approval::Approvals;
use crate::commands::RefusedCommands;
use crate::conversation::ToolCall;
use crate::driver::guarded_tools::{GuardedTools, SharedRun};
use crate::driver::interfaces::{AbsentApprover, CallDecision, RunTools as _};
use crate::event::{ApprovalAnswer, CallJudgement};
use crate::redact::Redactor;
use crate::rulebook::Rulebook;
use crate::skill::progress::{SkillProgress, StepCounts};
use crate::tool::testing::{TestRules, judge};
use crate::tool::{CallLocation, EditorFiles, ToolExtras, Toolbox};

const TITLES: [(&str, StepKind); 5] = [
    ("Parse", StepKind::Deterministic),
    ("Confirm", StepKind::HumanGate),
    ("Write", StepKind::Adaptive),
    ("Same", StepKind::Adaptive),
    ("Same", StepKind::HumanGate),
];

fn skill(name: &str, allowed: Option<&[&str]>) -> LoadableSkill {
    let at = Span::start_of(FileId(0));
    let step =
        |(title, kind): &(&str, StepKind)| SkillStep { title: (*title).to_owned(), kind: *kind };
    LoadableSkill {
        pinned: Vec::new(),
        line: 1,
        name: name.to_owned(),
        description: "Does it".to_owned(),
        path: format!("skills/{name}/SKILL.md"),
        file: format!("skills/{name}/SKILL.md"),
        folder: Some(SkillDirectory {
            path: format!("skills/{name}"),
            files: vec!["references/a.md".to_owned()],
        }),
        steps: TITLES.iter().map(step).collect(),
        allowed_tools: allowed
            .map(|names| names.iter().map(|it| Spanned::new((*it).to_owned(), at)).collect()),
        needs: SkillNeeds {
            body: format!("Body of {name}."),
            dependencies: vec!["other".to_owned()],
            ..SkillNeeds::default()
        },
        is_optional: false,
    }
}

/// A run with these skills, and the state that its driver would have.
struct TestRun {
    tools: GuardedTools,
    approvals: Arc<Approvals>,
    progress: SkillProgress,
    calls: usize,
}

impl TestRun {
    fn new(skills: Vec<LoadableSkill>, says: &[TestRules<'_>]) -> Self {
        let files = [
            ("skills/x/SKILL.md", "x"),
            ("skills/x/references/a.md", "Reference."),
            ("skills/x/.env", "KEY=1"),
            ("skills/other.md", "Secret."),
        ];
        let world = Arc::new(MemoryWorld::new(files.map(|(path, text)| (path.to_owned(), text))));
        let judge = judge(says, "/".as_ref());
        let shelf = SkillShelf::new(skills, world.clone(), judge.clone());
        let mut toolbox = Toolbox::of(&Agent::default(), &judge, ToolExtras::default());
        shelf.tools().into_iter().for_each(|tool| toolbox.add(tool));
        let approvals = Arc::<Approvals>::default();
        let root = PathBuf::from("/");
        let place = CallLocation {
            workspace: root.clone(),
            directory: root,
            run: PathBuf::from("/nowhere"),
            home: None,
            protected: Vec::new(),
            hidden: Vec::new(),
            editor: EditorFiles::default(),
        };
        let rulebook =
            Rulebook { world, judge, protected: Vec::new(), sources: SourceFiles::default() };
        let shared = SharedRun {
            rulebook,
            approvals: Arc::clone(&approvals),
            place: Mutex::new(place),
            images: None,
            commands: Arc::new(RefusedCommands("no".to_owned())),
            person: Arc::new(AbsentApprover::Denies),
            output: Arc::new(|_| {}),
            redactor: Arc::new(Redactor::new(Vec::new())),
        };
        let tools = GuardedTools::new(toolbox, Arc::new(shared));
        Self { tools, approvals, progress: SkillProgress::default(), calls: 0 }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> ToolCall {
        self.calls += 1;
        ToolCall { id: format!("c{}", self.calls), tool: tool.to_owned(), arguments, opaque: None }
    }

    /// The decision about a call, with earlier approvals.
    fn judge(&mut self, tool: &str, arguments: Value) -> CallDecision {
        let call = self.call(tool, arguments);
        self.approvals.weighed(self.tools.judge(&call))
    }

    /// Runs a call as the driver does; `is_approved` is the person's answer.
    async fn run(
        &mut self,
        tool: &str,
        arguments: Value,
        is_approved: bool,
    ) -> Result<String, String> {
        let call = self.call(tool, arguments);
        let decision = self.approvals.weighed(self.tools.judge(&call));
        match decision.verdict {
            CallJudgement::Allow => {}
            CallJudgement::Ask if is_approved => {}
            _ => return Err(decision.reason),
        }
        let output = self.tools.run(&call).await;
        if output.failed {
            return Err(output.text);
        }
        if let Some(note) = self.tools.skill_note(&call) {
            self.progress.note(call.id.clone(), note);
        }
        self.progress.apply(&call.id, &output.text);
        self.tools.follow_skills(&self.progress);
        Ok(output.text)
    }

    async fn step(&mut self, step: impl Into<Value>, status: &str) -> Result<String, String> {
        let arguments = json!({"skill": "x", "step": step.into(), "status": status});
        self.run("skill_step", arguments, false).await
    }
}

use agentry_compile::model::Agent;

#[tokio::test]
async fn a_loaded_skill_lists_its_files_and_steps() {
    let mut run = TestRun::new(vec![skill("x", None), skill("other", None)], &[]);
    let text = run.run("skill", json!({"name": "x"}), false).await.unwrap();
    for part in [
        "all of it is in `/skills/x/SKILL.md`",
        "Its folder is `/skills/x`.",
        "`references/a.md`",
        "load `other` as well",
        "2. Confirm (human gate",
        "Body of x.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let again = run.run("skill", json!({"name": "X"}), false).await.unwrap();
    assert_eq!(again, "the skill `x` is loaded already: its text is in this conversation");
    let unknown = run.run("skill", json!({"name": "../x"}), false).await.unwrap_err();
    assert_eq!(unknown, "there is no skill `../x`; there are `x`, `other`");
}

#[tokio::test]
async fn files_are_read_inside_the_folder_of_a_loaded_skill() {
    let mut run = TestRun::new(vec![skill("x", None)], &[]);
    let file = |file: &str| json!({"name": "x", "file": file});
    let early = run.run("skill", file("references/a.md"), false).await.unwrap_err();
    assert_eq!(early, "load the skill `x` before you read its files");
    run.run("skill", json!({"name": "x"}), false).await.unwrap();
    assert_eq!(run.run("skill", file("references/a.md"), false).await.unwrap(), "Reference.");
    for path in
        ["../other.md", "references/../../other.md", "/skills/other.md", ".env", "none.md", "."]
    {
        assert!(run.run("skill", file(path), false).await.is_err(), "{path}");
    }
}

#[tokio::test]
async fn skill_rules_match_by_name() {
    let cases: [(&[TestRules<'_>], CallJudgement); 4] = [
        (&[], CallJudgement::Allow),
        (&[(Section::Bash, Action::Deny, &[])], CallJudgement::Allow),
        (&[(Section::Skill, Action::Ask, &[])], CallJudgement::Ask),
        (&[(Section::Skill, Action::Allow, &["x:deny"])], CallJudgement::Deny),
    ];
    for (says, expected) in cases {
        let mut run = TestRun::new(vec![skill("x", None)], says);
        assert_eq!(run.judge("skill", json!({"name": "X"})).verdict, expected, "{says:?}");
    }
}

#[tokio::test]
async fn only_the_user_approves_a_human_gate() {
    let all = Section::ALL.iter().map(|section| (*section, Action::Allow, [].as_slice()));
    let all: Vec<TestRules<'_>> = all.collect();
    let mut run = TestRun::new(vec![skill("x", None)], &all);
    assert_eq!(run.step(1, "done").await.unwrap_err(), "the skill `x` is not loaded");
    run.run("skill", json!({"name": "x"}), false).await.unwrap();
    run.step(1, "done").await.unwrap();
    let gates = [
        json!(2),
        json!("2"),
        json!("Confirm"),
        json!(" CONFIRM "),
        json!("2. confirm"),
        json!("step 2: Confirm"),
    ];
    for gate in gates {
        for status in ["done", "Completed", "passed", "approved"] {
            let arguments = json!({"skill": "X", "step": gate, "status": status});
            let CallDecision { verdict, exact, rules, .. } = run.judge("skill_step", arguments);
            assert_eq!(verdict, CallJudgement::Ask, "{gate} {status}");
            assert!(exact.is_empty() && rules.is_empty(), "no approval for the run covers it");
        }
    }
    // An approval of everything does not help either.
    run.approvals.note(&ApprovalAnswer::Always(vec![String::new()]));
    assert!(run.step(2, "done").await.unwrap_err().contains("only the person can pass"));
    for (step, status) in [(2, "skipped"), (3, "started"), (3, "done"), (4, "skipped")] {
        let refused = run.step(step, status).await.unwrap_err();
        assert!(refused.starts_with("refused: "), "{step} {status}: {refused}");
    }
    assert!(run.step("end", "done").await.unwrap_err().contains("the person has not passed it"));
    let started = run.step(2, "started").await.unwrap();
    assert!(started.contains("report it as `done`"), "{started}");
    assert!(run.step(3, "done").await.is_err(), "a start passes nothing");
    run.step(2, "failed").await.unwrap();
    assert!(run.step(3, "done").await.is_err(), "a failure passes nothing");
    let gate = json!({"skill": "x", "step": 2, "status": "done"});
    let passed = run.run("skill_step", gate, true).await.unwrap();
    assert_eq!(passed, "the person has passed step 2 of 5 «Confirm»");
    run.step(3, "done").await.unwrap();
    let counts = StepCounts { deterministic: 1, adaptive: 1, human_gate: 1 };
    assert_eq!(run.progress.counts(), counts);
    run.step(1, "started").await.unwrap();
    assert!(run.step(3, "done").await.is_err(), "a new round closes the gate");
}

#[tokio::test]
async fn ambiguous_steps_are_refused() {
    let mut run = TestRun::new(vec![skill("x", None)], &[]);
    run.run("skill", json!({"name": "x"}), false).await.unwrap();
    let cases = [
        json!("same"),
        json!(0),
        json!(6),
        json!("0"),
        json!("Confirmed"),
        json!("2. Parse"),
        json!(""),
        json!("99999999999999999999"),
        json!("1e0"),
        json!(-1),
        json!(null),
        json!([2]),
        json!("２"),
    ];
    for step in cases {
        let refused = run.step(step.clone(), "done").await;
        assert!(refused.is_err(), "{step}: {refused:?}");
    }
    assert!(run.step(1, "whatever").await.unwrap_err().starts_with("the status is `started`"));
    assert_eq!(run.progress.counts(), StepCounts::default());
}

#[tokio::test]
async fn a_resumed_process_asks_again_about_a_gate() {
    let mut run = TestRun::new(vec![skill("x", None)], &[]);
    run.run("skill", json!({"name": "x"}), false).await.unwrap();
    // A resumed process has the approval in its journal, but has not judged the call itself.
    let gate = run.call("skill_step", json!({"skill": "x", "step": 2, "status": "done"}));
    let output = run.tools.run(&gate).await;
    assert!(output.failed && output.text.contains("make the call again"), "{output:?}");
}

#[tokio::test]
async fn allowed_tools_only_narrow_while_a_skill_is_active() {
    let says: &[TestRules<'_>] = &[
        (Section::Bash, Action::Allow, &["rm *:deny"]),
        (Section::Edit, Action::Allow, &[]),
        (Section::Read, Action::Allow, &["secret.txt:deny"]),
    ];
    let allowed = ["Read", "Bash(git log:*)", "Bash(rm:*)"];
    let mut run = TestRun::new(vec![skill("x", Some(&allowed))], says);
    let write = json!({"path": "a.txt", "content": "a"});
    let cases = [
        ("read", json!({"path": "a.txt"}), CallJudgement::Allow),
        ("read", json!({"path": "secret.txt"}), CallJudgement::Deny),
        ("bash", json!({"command": "git log -3"}), CallJudgement::Allow),
        ("bash", json!({"command": "git status"}), CallJudgement::Deny),
        ("bash", json!({"command": "rm a"}), CallJudgement::Deny),
        ("write", write.clone(), CallJudgement::Deny),
        ("todo", json!({}), CallJudgement::Allow),
        ("skill", json!({"name": "x"}), CallJudgement::Allow),
    ];
    assert_eq!(run.judge("write", write.clone()).verdict, CallJudgement::Allow);
    run.run("skill", json!({"name": "x"}), false).await.unwrap();
    for (tool, arguments, expected) in cases {
        let decision = run.judge(tool, arguments.clone());
        assert_eq!(decision.verdict, expected, "{tool} {arguments}: {}", decision.reason);
    }
    let refused = run.judge("write", write.clone()).reason;
    assert!(refused.ends_with("while the skill `x` is in use"), "{refused}");
    for (step, is_gate) in [(1, false), (2, true), (3, false), (4, false), (5, true)] {
        let arguments = json!({"skill": "x", "step": step, "status": "done"});
        assert_eq!(run.judge("write", write.clone()).verdict, CallJudgement::Deny, "{step}");
        run.run("skill_step", arguments, is_gate).await.unwrap();
    }
    assert_eq!(run.judge("write", write).verdict, CallJudgement::Allow, "all steps are done");
}

#[tokio::test]
async fn a_user_only_skill_is_not_loaded_by_a_model() {
    let mut only = skill("x", None);
    only.needs.is_for_people = true;
    let mut run = TestRun::new(vec![only], &[]);
    let refused = run.run("skill", json!({"name": "x"}), false).await.unwrap_err();
    assert_eq!(refused, "only people can load the skill `x`");
}

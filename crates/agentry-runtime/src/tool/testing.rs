//! A test run for tools: a real policy, a real directory, and commands without a sandbox.

use agentry_posix::fd::OwnedFd;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;

use agentry_compile::policy::path::LinkResolver;
use agentry_compile::policy::{
    Action, Judge, LayerSource, PathAnchors, Permissions, PolicyLayer, Section, SectionCall,
    SectionRules, layer,
};
use agentry_compile::text::{FileId, Span, Spanned};

use super::{
    BoxedFuture, BuiltInTool, CallLocation, CommandStreams, EditorFiles, StartedCommand, ToolHost,
    ToolOutput, ToolTouch, real,
};
use crate::event::CallJudgement;

/// A workspace and a run directory, removed on drop.
pub(super) struct TestWorkspace {
    directory: tempfile::TempDir,
}

/// The run of a test.
pub(super) struct TestHost {
    judge: Judge,
    pub(super) place: Mutex<CallLocation>,
    /// Whether a command is under way.
    pub(super) has_commands: bool,
    granted: Mutex<Vec<ToolTouch>>,
    /// The user's answer.
    pub(super) answer: Option<String>,
    /// The paths that were stored before a change.
    pub(super) kept: Mutex<Vec<PathBuf>>,
    /// The output that was shown.
    pub(super) shown: Mutex<String>,
}

/// The rules of one section: its intent, and the rules.
pub(crate) type TestRules<'a> = (Section, Action, &'a [&'a str]);

impl TestWorkspace {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["work", "run"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    /// Returns a path in the workspace.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("work").join(name)
    }

    /// Writes a file in the workspace.
    pub(super) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Returns the text of a file in the workspace.
    pub(super) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns a run that may do everything in its workspace.
    pub(super) fn host(&self) -> TestHost {
        let all = |section| (section, Action::Allow, [].as_slice());
        self.judged(&[Section::Bash, Section::Edit, Section::Read, Section::Websearch].map(all))
    }

    /// Returns a run with these rules.
    pub(super) fn judged(&self, test_rules: &[TestRules<'_>]) -> TestHost {
        let root = self.directory.path().canonicalize().unwrap();
        let place = CallLocation {
            workspace: root.join("work"),
            directory: root.join("work"),
            run: root.join("run"),
            home: Some(root.join("home")),
            protected: vec![root.join("work/agentry.toml"), root.join("work/agents/own")],
            hidden: vec![root.join("work/.own-home")],
            editor: EditorFiles::default(),
        };
        TestHost {
            judge: judge(test_rules, &root.join("work")),
            place: Mutex::new(place),
            has_commands: false,
            granted: Mutex::default(),
            answer: None,
            kept: Mutex::default(),
            shown: Mutex::default(),
        }
    }
}

/// Returns a judge with these rules.
pub(crate) fn judge(test_rules: &[TestRules<'_>], workspace: &Path) -> Judge {
    let places = anchors(workspace);
    Judge::new(vec![rules_layer(test_rules, workspace)], places)
}

/// Returns one layer with these rules.
pub(crate) fn rules_layer(test_rules: &[TestRules<'_>], workspace: &Path) -> PolicyLayer {
    let at = Span::start_of(FileId(0));
    let sections = test_rules.iter().map(|(section, intent, rules)| SectionRules {
        section: Spanned::new(*section, at),
        intent: Some(Spanned::new(*intent, at)),
        rules: rules.iter().map(|rule| Spanned::new(rule.parse().unwrap(), at)).collect(),
    });
    let permissions = Permissions { sections: sections.collect() };
    layer(LayerSource::User, &permissions, &anchors(workspace))
}

fn anchors(workspace: &Path) -> PathAnchors {
    let workspace = workspace.to_str().unwrap().to_owned();
    PathAnchors { workspace, home: None, ignores_case: false }
}

struct TestDisk;

impl LinkResolver for TestDisk {
    fn resolve(&self, path: &str) -> Option<String> {
        real(Path::new(path))?.into_os_string().into_string().ok()
    }
}

impl TestHost {
    /// Grants everything that a call touches, like an approval.
    pub(super) fn grant(&self, tool: &dyn BuiltInTool, arguments: &serde_json::Value) {
        *self.granted.lock().unwrap() = tool.touches(arguments, &self.place()).unwrap();
    }

    /// Judges what a call touches, then runs it.
    pub(super) async fn call(
        &self,
        tool: &dyn BuiltInTool,
        arguments: serde_json::Value,
    ) -> ToolOutput {
        let touches = match tool.touches(&arguments, &self.place()) {
            Ok(touches) => touches,
            Err(why) => return ToolOutput::failed(why),
        };
        for touch in &touches {
            let (verdict, reason) = self.judge(touch);
            if verdict != CallJudgement::Allow {
                return ToolOutput::failed(format!("{verdict:?}: {reason}"));
            }
        }
        *self.granted.lock().unwrap() = touches;
        tool.run(arguments, self).await
    }
}

impl ToolHost for TestHost {
    fn has_commands(&self) -> bool {
        self.has_commands
    }

    fn place(&self) -> CallLocation {
        self.place.lock().unwrap().clone()
    }

    fn move_to(&self, directory: PathBuf) {
        self.place.lock().unwrap().directory = directory;
    }

    fn granted(&self) -> Vec<ToolTouch> {
        self.granted.lock().unwrap().clone()
    }

    fn judge(&self, touch: &ToolTouch) -> (CallJudgement, String) {
        let directory = self.place().directory;
        let directory = directory.to_str().unwrap();
        let call = SectionCall { section: touch.section, subject: &touch.subject, directory };
        let verdict = self.judge.judge(call, &TestDisk);
        let reason = verdict.reasons.first().map_or(String::new(), |reason| reason.rule.clone());
        let judgement = match verdict.action {
            Action::Allow => CallJudgement::Allow,
            Action::Ask => CallJudgement::Ask,
            Action::Deny => CallJudgement::Deny,
        };
        (judgement, reason)
    }

    fn before_change(&self, path: &Path) -> io::Result<()> {
        self.kept.lock().unwrap().push(path.to_owned());
        Ok(())
    }

    fn redacted(&self, text: &str) -> String {
        text.replace("hush-secret", "[redacted]")
    }

    fn show(&self, piece: &str) {
        self.shown.lock().unwrap().push_str(piece);
    }

    fn ask<'a>(&'a self, _: &'a str, _: &'a [String]) -> BoxedFuture<'a, Option<String>> {
        let answer = self.answer.clone();
        Box::pin(async move { answer })
    }

    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand> {
        let CommandStreams { input, output, errors } = streams;
        let stdio = |stream: OwnedFd| Stdio::from(stream);
        let mut child = tokio::process::Command::new(&argv[0])
            .args(&argv[1..])
            .current_dir(directory)
            .stdin(stdio(input))
            .stdout(stdio(output))
            .stderr(stdio(errors))
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = TestProcessGroup(child.id());
        let ended = async move { child.wait().await.map(|status| status.code()) };
        Ok(StartedCommand { ended: Box::pin(ended), guard: Box::new(group) })
    }
}

/// A process group that is killed on drop.
struct TestProcessGroup(Option<u32>);

impl Drop for TestProcessGroup {
    fn drop(&mut self) {
        let id = self.0.and_then(|id| i32::try_from(id).ok());
        if let Some(id) = id.and_then(agentry_posix::process::Pid::from_raw) {
            let _ = agentry_posix::process::kill_process_group(
                id,
                agentry_posix::process::Signal::KILL,
            );
        }
    }
}

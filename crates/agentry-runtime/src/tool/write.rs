//! `write`: writes a whole file.

use agentry_compile::policy::Section;
use agentry_compile::text::report::counted;
use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{ToolFileChange, carry_out};
use super::files::{self, touch};
use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, arguments,
};
use crate::event::CallClass;

/// Writes files.
pub(super) struct WriteTool;

#[derive(Deserialize)]
struct WriteInput {
    path: String,
    content: String,
}

impl BuiltInTool for WriteTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write".to_owned(),
            description:
                "Writes a file, whole; what was there is replaced. Missing directories are \
                          made. To change a part of a file, use `edit`."
                    .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, absolute or relative to the working directory"},
                    "content": {"type": "string", "description": "All that is to be in it"}
                },
                "required": ["path", "content"],
                "additionalProperties": false
            }),
        }
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::Write
    }

    fn touches(&self, given: &Value, place: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let WriteInput { path, .. } = arguments(given)?;
        let path = files::resolve(&path, place)?;
        files::unprotected(&path, place)?;
        Ok(vec![touch(Section::Edit, &path)])
    }

    fn preview(&self, given: &Value, place: &CallLocation) -> Option<String> {
        let given: WriteInput = arguments(given).ok()?;
        let path = files::resolve(&given.path, place).ok()?;
        let before = place.editor.contents(&path).ok()?;
        let after = Some(given.content.into_bytes());
        Some(ToolFileChange { name: given.path, path, before, after, like: None }.diff())
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move { write(&arguments, host).into() })
    }
}

fn write(given: &Value, host: &dyn ToolHost) -> Result<String, String> {
    let WriteInput { path: name, content } = arguments(given)?;
    let path = files::permitted(Section::Edit, &name, host)?;
    let editor = host.place().editor;
    let before = editor.contents(&path).map_err(|error| files::why(&name, &error))?;
    let done = match &before {
        Some(before) if before.bytes == content.as_bytes() && !before.is_unsaved => {
            return Ok(format!("`{name}` is like this already"));
        }
        Some(_) => "replaced",
        None => "made",
    };
    let message = format!("{done} `{name}`: {}", counted(content.lines().count(), "line"));
    let after = Some(content.into_bytes());
    carry_out(&[ToolFileChange { name, path, before, after, like: None }], host)?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use agentry_compile::policy::Action;

    use super::super::testing::TestWorkspace;
    use super::*;

    #[tokio::test]
    async fn write_creates_and_replaces_files() {
        let world = TestWorkspace::new();
        world.file("old", "old");
        std::fs::create_dir_all(world.path("agents/own")).unwrap();
        std::fs::create_dir(world.path("dir")).unwrap();
        let big = "zeile 🦀\r\n".repeat(1 << 20);
        let cases = [
            ("new", "one\ntwo", Ok("made `new`: 2 lines")),
            ("new", "one\ntwo", Ok("`new` is like this already")),
            ("a/b/c", "", Ok("made `a/b/c`: 0 lines")),
            ("old", "new\n", Ok("replaced `old`: 1 line")),
            ("big", &big, Ok("made `big`: 1048576 lines")),
            ("dir", "x", Err("`dir`: it is a directory")),
            ("old/x", "x", Err("it is not known where `old/x` leads")),
            ("agentry.toml", "x", Err(" is protected from every tool")),
            ("agents/own/../own/agent.toml", "x", Err(" is protected from every tool")),
            (".git/config", "[core]\nfsmonitor = x\n", Err(" is protected from every tool")),
            ("a/.git", "gitdir: /x\n", Err(" is protected from every tool")),
            ("a/.claude/settings.json", "{}", Err(" is protected from every tool")),
            ("a/b/agentry.toml", "", Err(" is protected from every tool")),
            (".own-home/consent/x", "x", Err(" belongs to Agentry itself")),
        ];
        for (path, content, expected) in cases {
            let arguments = json!({"path": path, "content": content});
            let host = world.host();
            let output = host.call(&WriteTool, arguments).await;
            match expected {
                Ok(text) => {
                    assert_eq!(output, ToolOutput::done(text), "{path}");
                    assert_eq!(world.text(path), content, "{path}");
                }
                Err(text) => assert!(output.failed && output.text.contains(text), "{output:?}"),
            }
            let kept = expected.is_ok_and(|text| !text.contains("already"));
            assert_eq!(host.kept.lock().unwrap().len(), usize::from(kept), "{path}");
        }
    }

    #[tokio::test]
    async fn write_judges_the_symlink_target() {
        let world = TestWorkspace::new();
        world.file("private/key", "hush");
        agentry_posix::unix::fs::symlink(world.path("private/key"), world.path("link")).unwrap();
        let rules = (Section::Edit, Action::Allow, ["private/**:deny"].as_slice());
        let host = world.judged(&[rules]);
        let output = host.call(&WriteTool, json!({"path": "link", "content": "x"})).await;
        assert_eq!(output.text, "Deny: private/**:deny");
        // The link is created after the judgement.
        let arguments = json!({"path": "later", "content": "x"});
        host.grant(&WriteTool, &arguments);
        agentry_posix::unix::fs::symlink(world.path("private/key"), world.path("later")).unwrap();
        assert!(WriteTool.run(arguments, &host).await.failed);
        assert_eq!(world.text("private/key"), "hush");
    }

    #[test]
    fn write_previews_a_diff() {
        let world = TestWorkspace::new();
        world.file("a", "one\n");
        let place = world.host().place();
        let preview = WriteTool.preview(&json!({"path": "a", "content": "two\n"}), &place);
        assert_eq!(preview.unwrap(), "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n");
    }
}

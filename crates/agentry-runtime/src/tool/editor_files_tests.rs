//! Files with changes that are not saved: what tools see of them, and what an editor cannot do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agentry_compile::policy::{Action, Section};
use serde_json::json;

use super::super::edit::EditTool;
use super::super::patch::PatchTool;
use super::super::read::ReadTool;
use super::super::testing::{TestHost, TestWorkspace};
use super::super::write::WriteTool;
use super::super::{BuiltInTool, ToolHost as _};
use super::*;

/// An editor with these texts, that are not saved.
#[derive(Default)]
struct TestEditor {
    open: Mutex<BTreeMap<PathBuf, String>>,
    asked: Mutex<Vec<PathBuf>>,
    /// Whether it saves what it says that it saved.
    lies: bool,
}

impl OpenFiles for TestEditor {
    fn text(&self, path: &Path) -> Option<String> {
        self.asked.lock().unwrap().push(path.to_owned());
        self.open.lock().unwrap().get(path).cloned()
    }

    fn save(&self, path: &Path, text: &str) -> Result<(), String> {
        if !self.lies {
            std::fs::write(path, text).map_err(|error| error.to_string())?;
        }
        self.open.lock().unwrap().insert(path.to_owned(), text.to_owned());
        Ok(())
    }
}

fn with_editor(host: TestHost, editor: &Arc<TestEditor>) -> TestHost {
    host.place.lock().unwrap().editor = EditorFiles(Some(editor.clone()));
    host
}

fn open(world: &TestWorkspace, files: &[(&str, &str)]) -> Arc<TestEditor> {
    let editor = TestEditor::default();
    let open = files.iter().map(|(name, text)| (real(world, name), (*text).to_owned()));
    editor.open.lock().unwrap().extend(open);
    Arc::new(editor)
}

fn real(world: &TestWorkspace, name: &str) -> PathBuf {
    world.path("").canonicalize().unwrap().join(name)
}

#[tokio::test]
async fn unsaved_text_is_read_and_edited_and_saved_by_the_editor() {
    let world = TestWorkspace::new();
    world.file("a.txt", "one\ntwo\n");
    world.file("plain.txt", "disk\n");
    let editor = open(&world, &[("a.txt", "one\nTWO\n"), ("plain.txt", "disk\n")]);
    let host = with_editor(world.host(), &editor);
    let read = host.call(&ReadTool, json!({"path": "a.txt"})).await;
    assert_eq!(read.text, "     1\tone\n     2\tTWO\n");
    let edit = json!({"path": "a.txt", "old_string": "TWO", "new_string": "three"});
    // The person who approves sees the change against what the editor shows.
    let preview = EditTool.preview(&edit, &host.place()).unwrap();
    assert!(preview.contains("-TWO\n+three"), "{preview}");
    let edited = host.call(&EditTool, edit).await;
    assert!(!edited.failed && edited.text.contains("-TWO\n+three"), "{edited:?}");
    assert_eq!(world.text("a.txt"), "one\nthree\n");
    assert_eq!(editor.open.lock().unwrap()[&real(&world, "a.txt")], "one\nthree\n");
    assert_eq!(*host.kept.lock().unwrap(), [real(&world, "a.txt")], "kept for undo");
    // What is saved is replaced as always, and the editor sees it on disk.
    editor.open.lock().unwrap().insert(real(&world, "plain.txt"), "disk\n".to_owned());
    let written = host.call(&WriteTool, json!({"path": "plain.txt", "content": "new\n"})).await;
    assert!(!written.failed, "{written:?}");
    assert_eq!(editor.open.lock().unwrap()[&real(&world, "plain.txt")], "disk\n");
}

#[tokio::test]
async fn an_editor_that_does_not_save_fails_the_call() {
    let world = TestWorkspace::new();
    world.file("a.txt", "one\n");
    let editor = Arc::new(TestEditor { lies: true, ..TestEditor::default() });
    editor.open.lock().unwrap().insert(real(&world, "a.txt"), "ONE\n".to_owned());
    let host = with_editor(world.host(), &editor);
    let written = host.call(&WriteTool, json!({"path": "a.txt", "content": "two\n"})).await;
    assert_eq!(written.text, "nothing was changed: `a.txt`: the editor did not save it");
    assert_eq!(world.text("a.txt"), "one\n");
}

/// An editor follows links: while another process of the run could make one, it writes nothing.
#[tokio::test]
async fn an_editor_saves_nothing_while_a_command_is_under_way() {
    let world = TestWorkspace::new();
    world.file("a.txt", "one\n");
    let editor = open(&world, &[("a.txt", "ONE\n")]);
    let mut host = with_editor(world.host(), &editor);
    host.has_commands = true;
    let written = host.call(&WriteTool, json!({"path": "a.txt", "content": "two\n"})).await;
    assert!(written.failed && written.text.contains("ask the user to save it"), "{written:?}");
    assert_eq!(world.text("a.txt"), "one\n");
}

#[tokio::test]
async fn a_patch_of_several_files_refuses_unsaved_ones() {
    let world = TestWorkspace::new();
    world.file("a.txt", "one\n");
    world.file("b.txt", "one\n");
    let editor = open(&world, &[("a.txt", "ONE\n")]);
    let host = with_editor(world.host(), &editor);
    let patch = "*** Begin Patch\n*** Delete File: a.txt\n*** Delete File: b.txt\n*** End Patch\n";
    let output = host.call(&PatchTool, json!({"patch": patch})).await;
    assert!(output.failed && output.text.contains("change it alone"), "{output:?}");
    let patch = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n";
    let output = host.call(&PatchTool, json!({"patch": patch})).await;
    assert!(output.failed && output.text.contains("not saved"), "{output:?}");
    assert_eq!((world.text("a.txt"), world.text("b.txt")), ("one\n".into(), "one\n".into()));
}

/// The policy comes first: an editor is not asked about a file that the agent may not read.
#[tokio::test]
async fn an_editor_is_asked_only_about_permitted_files() {
    let world = TestWorkspace::new();
    world.file("private/key", "hush\n");
    let editor = open(&world, &[("private/key", "HUSH\n"), ("missing.txt", "only here\n")]);
    let rules = (Section::Read, Action::Allow, ["private/**:deny"].as_slice());
    let host = with_editor(world.judged(&[rules]), &editor);
    let output = host.call(&ReadTool, json!({"path": "private/key"})).await;
    assert!(output.failed && !output.text.contains("HUSH"), "{output:?}");
    // A file that is only in the editor is not there.
    let output = host.call(&ReadTool, json!({"path": "missing.txt"})).await;
    assert_eq!(output.text, "`missing.txt`: it does not exist");
    assert_eq!(*editor.asked.lock().unwrap(), [] as [PathBuf; 0]);
}

#[test]
fn texts_are_compared_without_line_ends() {
    let cases = [
        ("a\r\nb\r\n", "a\nb\n", true),
        ("\u{feff}a\n", "a\n", true),
        ("a\n", "a\n", true),
        ("a\n", "a", false),
        ("a\n", "b\n", false),
    ];
    for (on_disk, in_editor, expected) in cases {
        assert_eq!(is_same(in_editor, on_disk), expected, "{on_disk:?} {in_editor:?}");
    }
}

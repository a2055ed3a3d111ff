//! Files that are open in the editor. A run asks for their texts only after its policy permitted the path, and has
//! them saved only where the user has changes that are not on disk.

use agentry_acp::EditorPort;

use crate::command::steered_run::RunSteering;

/// Passes a request for a text on to the editor, and its answer back.
pub(super) fn read(
    (editor, session): (EditorPort, String),
    (request, path): (u64, String),
    steering: RunSteering,
) {
    tokio::spawn(async move {
        let answer = editor.read_file(&session, &path).await;
        steering.answer_file(request, &answer);
    });
}

/// Lets the editor save a text.
pub(super) fn write(
    (editor, session): (EditorPort, String),
    (request, path, text): (u64, String, String),
    steering: RunSteering,
) {
    tokio::spawn(async move {
        let answer = editor.write_file(&session, &path, &text).await;
        steering.answer_file(request, &answer.map(|()| String::new()));
    });
}

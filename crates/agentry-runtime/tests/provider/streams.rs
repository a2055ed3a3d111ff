//! Streams as servers send them, written by hand: `WIRE-WHAT.sse` in `streams/`.

use agentry_mcp::EventStream;
use agentry_runtime::ModelFailure;
use agentry_runtime::provider::{AnswerDelta, ModelAnswer};
use proptest::prelude::*;

use crate::server::Protocol;
use crate::wire;

fn protocol(name: &str) -> Protocol {
    match name.split('-').next() {
        Some("anthropic") => Protocol::Anthropic,
        Some("chat") => Protocol::Chat,
        Some("responses") => Protocol::Responses,
        Some("gemini") => Protocol::Gemini,
        _ => Protocol::Ollama,
    }
}

/// Reads a stream in pieces of a given size.
fn read(
    protocol: Protocol,
    bytes: &[u8],
    size: usize,
    show: &mut dyn FnMut(AnswerDelta),
) -> Result<ModelAnswer, ModelFailure> {
    let mut reader = wire(protocol).reader("scripted");
    let mut events = EventStream::new(1 << 20).with_json_lines();
    for piece in bytes.chunks(size) {
        for event in events.take(piece).expect("no event is too long") {
            reader.take(&event, show)?;
        }
    }
    if let Some(event) = events.last() {
        reader.take(&event, show)?;
    }
    reader.finish()
}

fn described(protocol: Protocol, bytes: &[u8]) -> String {
    let mut shown = Vec::new();
    let read = read(protocol, bytes, bytes.len().max(1), &mut |delta| shown.push(delta));
    let answered = match read {
        Err(failure) => format!("{:?}: {}", failure.kind, failure.message),
        Ok(answered) => {
            let message = serde_json::to_string_pretty(&answered.message.blocks).expect("JSON");
            let usage = answered.usage;
            format!(
                "{message}\nread {}, cached {}, stored {}, written {}{}",
                usage.input,
                usage.cached,
                answered.stored,
                usage.output,
                if answered.truncated { ", cut off" } else { "" }
            )
        }
    };
    let shown: Vec<String> = shown.iter().map(|delta| format!("{delta:?}")).collect();
    format!("{}\n\n{answered}", shown.join("\n"))
}

#[test]
fn recorded_streams_are_parsed_in_any_chunk_size() {
    for (name, protocol, bytes) in all() {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_suffix(format!("{name}.sse"));
        settings.bind(|| insta::assert_snapshot!(described(protocol, &bytes)));
        let whole = read(protocol, &bytes, bytes.len(), &mut |_| ());
        for size in [1, 2, 7, 64, 1_000] {
            assert_eq!(read(protocol, &bytes, size, &mut |_| ()), whole, "{name} {size}");
        }
    }
}

/// A truncated stream is a failure or the whole answer, never a part of one.
#[test]
fn truncated_streams_never_give_partial_answers() {
    for (name, protocol, bytes) in all() {
        let Ok(whole) = read(protocol, &bytes, bytes.len(), &mut |_| ()) else { continue };
        for end in 0..bytes.len() {
            if let Ok(answered) = read(protocol, &bytes[..end], 4_096, &mut |_| ()) {
                assert_eq!(answered.message, whole.message, "{name} {end}");
                assert_eq!(answered.truncated, whole.truncated, "{name} {end}");
            }
        }
    }
}

/// Returns every stream with its name, sorted by name.
fn all() -> Vec<(String, Protocol, Vec<u8>)> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/provider/streams");
    let files = std::fs::read_dir(directory).expect("streams").filter_map(Result::ok);
    let mut files: Vec<_> = files.map(|file| file.path()).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "sse"));
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        (name.to_owned(), protocol(name), std::fs::read(path).expect("a stream"))
    };
    files.iter().map(read).collect()
}

proptest! {
    /// No input makes a reader panic.
    #[test]
    fn damaged_streams_never_panic(which in 0_usize..64, at in 0_usize..8_192, byte: u8, other in 0_usize..8_192) {
        let streams = all();
        let (_, protocol, mut bytes) = streams[which % streams.len()].clone();
        let (at, other) = (at % bytes.len(), other % bytes.len());
        bytes[at] = byte;
        bytes.swap(at / 2, other);
        let _ = read(protocol, &bytes, 512, &mut |_| ());
    }

    #[test]
    fn streams_of_another_protocol_never_panic(which in 0_usize..64, wrong in 0_usize..5) {
        let streams = all();
        let (_, _, bytes) = &streams[which % streams.len()];
        let _ = read(crate::server::PROTOCOLS[wrong], bytes, 512, &mut |_| ());
    }
}

//! MCP servers that ask the user, end in a call, or speak either era of the protocol.
#![cfg(target_os = "linux")]

use serde_json::json;

use crate::run::with;
use crate::server::{Server, Turn};
use crate::terminal::Terminal;
use crate::test::Test;

/// One server for both eras: `sh server.sh MODE`. It asks before it answers.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { say "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
answered() {
  case "$1" in
  *'"action":'*) printf '%s' "$1" | sed -e 's/.*"action":"\([a-z]*\)".*/\1/';;
  *) printf refused;;
  esac
}
content() { printf '%s' "$1" | sed -n -e 's/.*"city":"\([A-Za-z]*\)".*/ \1/p'; }
asked='{"message":"where to?","requestedSchema":{"type":"object","properties":{"city":{"type":"string","title":"City"},"days":{"type":"integer","title":"Days"}},"required":["city"]}}'
echo start >> starts
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  case "$line" in
  *'"method":"server/discover"'*)
    if [ "$1" = newer ]; then
      say '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}'
    else printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; fi;;
  *'"method":"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}';;
  *'"method":"tools/list"'*)
    say '{"tools":[{"name":"book","description":"Books","inputSchema":{"type":"object"}}]}';;
  *'"method":"tools/call"'*)
    echo call >> calls
    if [ "$1" = dies ] && [ "$(wc -l < starts)" -lt 2 ]; then exit 9; fi
    if [ "$1" = dies ]; then text alive
    elif [ "$1" = newer ]; then
      case "$line" in
      *inputResponses*) text "$(answered "$line")$(content "$line")";;
      *) say "{\"resultType\":\"input_required\",\"inputRequests\":{\"q\":{\"method\":\"elicitation/create\",\"params\":$asked}},\"requestState\":\"s\"}";;
      esac
    else
      printf '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":%s}\n' "$asked"
      read -r reply
      text "$(answered "$reply")$(content "$reply")"
    fi;;
  *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id";;
  esac
done
"#;

fn agent(mode: &str) -> Test {
    let definition = format!(
        "name: helper\nversion: 1.0.0\ndescription: Helps\nsoul: You help.\n\
         trust: {{filesystem: full, network: none, exec: sandboxed}}\n\
         tools: {{mcp: [{{name: local, command: sh, args: [server.sh, {mode}]}}]}}\n\
         x-agentry: {{permissions: {{mcp: {{intent: allow}}, edit: {{intent: allow}}}}}}\n"
    );
    Test::new().file("helper.agent", definition).file("server.sh", SERVER)
}

fn booking() -> Server {
    Server::playing([Turn::call("local__book", json!({})).into(), Turn::text("Booked.").into()])
}

/// Waits for a question and for the line that takes its answer: keys from before that count for nothing.
fn is_asked(terminal: &mut Terminal<'_>, question: &str) -> String {
    let shown = terminal.sees(question);
    terminal.sees("answer › ");
    shown
}

/// The person sees who asks and what for, types each field, and may decline. The call is made once.
#[test]
fn a_server_question_is_shown_to_the_user() {
    for mode in ["older", "newer"] {
        let test = agent(mode);
        let model = booking();
        let mut terminal = Terminal::new(&test, &model, "run helper.agent go --yes");
        let shown = is_asked(&mut terminal, "answer it?");
        assert!(shown.contains("the MCP server `local` asks: where to?"), "{mode}: {shown}");
        assert!(shown.contains("it wants to know: City, Days"), "{mode}: {shown}");
        terminal.types("yes");
        is_asked(&mut terminal, "local: City");
        terminal.types("Ulm");
        is_asked(&mut terminal, "local: Days");
        // What does not fit is asked about again.
        terminal.types("many");
        is_asked(&mut terminal, "local: Days: ");
        terminal.types("3");
        terminal.sees("Booked.");
        terminal.ends(0);
        let result = model.asked()[1].results[0].1.clone();
        assert_eq!(result, "accept Ulm", "{mode}");

        let model = booking();
        let mut terminal = Terminal::new(&test, &model, "run helper.agent go --yes");
        is_asked(&mut terminal, "answer it?");
        terminal.types("no");
        terminal.sees("Booked.");
        terminal.ends(0);
        assert_eq!(model.asked()[1].results[0].1, "decline", "{mode}");
    }
}

/// Without a person there is nobody to ask, and the model cannot answer in their place.
#[test]
fn unattended_server_questions_are_declined() {
    for (mode, expected) in [("older", "refused"), ("newer", "cancel")] {
        let test = agent(mode);
        let model = booking();
        with(&test, &model, &["run", "helper.agent", "go", "--yes"]).exits(0);
        let result = model.asked()[1].results[0].1.clone();
        assert!(result.contains(expected), "{mode}: {result}");
    }
}

/// A server that ended in a call is started again for the next one; the call that it ended in is not repeated.
#[test]
fn a_server_that_ended_is_started_again() {
    let test = agent("dies");
    let model = Server::playing([
        Turn::call("local__book", json!({})).into(),
        Turn::call("local__book", json!({})).into(),
        Turn::text("Done.").into(),
    ]);
    with(&test, &model, &["run", "helper.agent", "go", "--yes"]).exits(0);
    let asked = model.asked();
    assert!(asked[1].results[0].1.contains("it ended with the exit code 9"), "{asked:?}");
    assert_eq!(asked[2].results[1].1, "alive");
    assert_eq!(test.read("starts"), "start\nstart\n");
    assert_eq!(test.read("calls"), "call\ncall\n");
}

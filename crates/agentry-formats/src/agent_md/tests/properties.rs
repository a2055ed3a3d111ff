//! Properties of any text: it can be read, and the result survives a round trip.

use agentry_model::{Agent, AgentInstructions, losses};
use agentry_text::{Data, FileId, Severity, Span, Spanned};
use proptest::prelude::*;

use super::{data, read, written};

/// Markdown that could end the section it is written into.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("## System\n"),
        Just("# Title\n"),
        Just("## Rules"),
        Just("## Tools\n"),
        Just("# Avatar\n"),
        Just("### Sub\n"),
        Just("\n"),
        Just("\n\n"),
        Just("```js\n"),
        Just("```\n"),
        Just("~~~\n"),
        Just("text "),
        Just("Words.\n"),
        Just("===\n"),
        Just("---\n"),
        Just("- item\n"),
        Just("> quote\n"),
        Just("    code\n"),
        Just("\t"),
        Just(" "),
        Just("<!-- "),
        Just("-->\n"),
        Just("<div>\n"),
        Just("![a](b.png)"),
        Just("[x]: y\n"),
        Just("title: x\n"),
        Just("*"),
        Just("\\"),
        Just("`"),
        Just("é🤖"),
        Just("\r\n"),
        Just("\r"),
        Just(": # "),
        Just("return {};\n"),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn spanned(text: &str) -> Spanned<String> {
    Spanned::new(text.to_owned(), Span::start_of(FileId::BUILT_IN))
}

/// Pieces of code that nest when repeated, or look as if they did.
fn code() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("("),
        Just(")"),
        Just("["),
        Just("]"),
        Just("{"),
        Just("}"),
        Just("`"),
        Just("${"),
        Just("/"),
        Just("\""),
        Just("'"),
        Just("\n"),
        Just(";"),
        Just(","),
        Just("=>"),
        Just("="),
        Just("!"),
        Just("- "),
        Just("a"),
        Just("1"),
        Just("?"),
        Just(":"),
        Just("if(a)"),
        Just("else "),
        Just("for(;;)"),
        Just("do "),
        Just("function f()"),
        Just("async "),
        Just("await "),
        Just("class A extends "),
        Just("new "),
        Just("typeof "),
        Just("return "),
        Just("."),
        Just("..."),
        Just("**"),
        Just("//"),
        Just("/*"),
        Just("*/"),
        Just("\\"),
        Just("<"),
        Just("try{"),
        Just("switch(a){case "),
        Just("get a()"),
        Just("#"),
        Just("@a "),
        Just("yield "),
        Just("import("),
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn deep_code_never_overflows(piece in code(), levels in 1..3_000_usize) {
        let code = piece.repeat(levels);
        drop(read("help_helper.agent.md", &format!("# T\n\n## Tools\n\n~~~js\n{code}\n~~~\n")));
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC{0,400}", mixed in markdown()) {
        drop(read("help_helper.agent.md", &text));
        drop(read("help_helper.agent.md", &format!("---\n{text}\n---\n{mixed}")));
        drop(read("help_helper.agent.md", &format!("# T\n\n## Tools\n\n```js\n{text}\n```\n{mixed}")));
    }

    #[test]
    fn any_code_is_read_without_a_panic(code in "[a-c(){}\\[\\];,.=>:?!+*/`$\"'\n -]{0,80}") {
        drop(read("help_helper.agent.md", &format!("# T\n\n## Tools\n\n```js\nreturn {code}\n```\n")));
        drop(read("help_helper.agent.md", &format!("# T\n\n## Tools\n\n{code}\n")));
    }

    #[test]
    fn texts_round_trip(
        title in "[ -~é]{0,20}",
        description in markdown(),
        system in markdown(),
        rules in markdown(),
        avatar in "[ -~]{0,20}",
        code in markdown(),
    ) {
        let mut agent = Agent::default();
        agent.identity.display_name = Some(spanned(&title));
        agent.identity.description = Some(spanned(&description));
        agent.identity.avatar = Some(spanned(&avatar));
        agent.instructions = AgentInstructions { system: Some(spanned(&system)), rules: Some(spanned(&rules)), ..AgentInstructions::default() };
        agent.tools.source = vec![spanned(&code)];
        let text = written(&agent, "help_helper.agent.md");
        let (result, _, _) = read("help_helper.agent.md", &text);
        let mut lost = losses(&data(&agent), &data(&result));
        lost.retain(|loss| !(title.is_empty() && loss.field == "display_name"));
        prop_assert!(lost.is_empty(), "{lost:?}\n{text}");
    }

    #[test]
    fn read_agents_round_trip(body in markdown(), system in markdown()) {
        let text = format!("---\nsystem: {}\nx-a: 1\n---\n{body}", Data::str(&system).to_json());
        let (agent, _, _) = read("help_helper.agent.md", &text);
        let again = written(&agent, "help_helper.agent.md");
        let (result, found, _) = read("help_helper.agent.md", &again);
        let lost = losses(&data(&agent), &data(&result));
        let kept = |field: &str| !matches!(field, "notes");
        prop_assert!(!lost.iter().any(|loss| kept(&loss.field)), "{lost:?}\n{again}");
        let of_tools = |code: &str| ("AG1020".."AG1035").contains(&code);
        let errors = found.iter().filter(|found| found.severity == Severity::Error && !of_tools(found.rule.code));
        prop_assert_eq!(errors.count(), 0, "{}", again);
    }
}

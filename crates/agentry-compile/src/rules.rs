//! The rules about files, before a format reads their text.

use agentry_text::rules;

rules! {
    /// Every rule about files, in code order.
    pub(crate) RULES = [
        UNREADABLE: "AG0001".make_bad(directory_for_file),
        TOO_LARGE: "AG0002".make_bad(large_file),
        NOT_UTF8: "AG0003".make_bad(latin_1),
        LEAVES_ROOT: "AG0004".make_bad(link_out),
        TOO_MANY_FILES: "AG0005".make_bad(many_files),
        AMBIGUOUS_DIRECTORY: "AG0006",
        BAD_SUPPRESSION: "AG0007",
        UNUSED_SUPPRESSION: "AG0008",
        NAME_TAKEN: "AG0009",
        UNSET_VARIABLE: "AG0010",
        FAILED_POLICY_TEST: "AG0016",
    ]
}

const MANIFEST: &[u8] = b"name: helper\ndescription: Answers questions\n";

fn file(path: &str, bytes: impl Into<Vec<u8>>) -> (String, Vec<u8>) {
    (path.to_owned(), bytes.into())
}

fn directory_for_file() -> Vec<(String, Vec<u8>)> {
    vec![file("helper/agent.yaml", MANIFEST), file("helper/SOUL.md/x", "")]
}

fn large_file() -> Vec<(String, Vec<u8>)> {
    vec![file("helper.agent", vec![b'#'; 1024 * 1024 + 1])]
}

fn latin_1() -> Vec<(String, Vec<u8>)> {
    vec![file("helper.agent", b"name: helper\ndescription: caf\xe9\n")]
}

fn link_out() -> Vec<(String, Vec<u8>)> {
    vec![file("helper/agent.yaml", MANIFEST), file("helper/SOUL.md", "-> /etc/passwd")]
}

fn many_files() -> Vec<(String, Vec<u8>)> {
    let skill = |at| {
        let text =
            format!("---\nname: s{at}\ndescription: Answers question {at}\n---\nAnswer it.\n");
        file(&format!("helper/skills/s{at}.md"), text)
    };
    let instructions = file("helper/instructions.md", "You answer questions.\n");
    (0..10_001).map(skill).chain([instructions]).collect()
}

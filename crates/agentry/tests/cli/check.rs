//! `agentry check`: the four reports, and how it ends.

use crate::test::{BROKEN, HELPER, Test, WARNED};

#[test]
fn nothing_is_wrong() {
    let test = Test::new().file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    checked 1 agent: all good
    --- exit 0
    "#);
}

#[test]
fn people_read_findings() {
    let test = Test::new().file("agents/broken.agent", BROKEN).file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    warning[AG0101]: the manifest has no field `team`
     --> agents/broken.agent:4:1
      |
    4 | team: support
      | ^^^^

    error[AG0104]: `filesystem` cannot be `readwrite`
     --> agents/broken.agent:5:21
      |
    5 | trust: {filesystem: readwrite}
      |                     ^^^^^^^^^
      |
      = help: use one of `none`, `read-only`, `scoped`, `full`

    checked 2 agents: 1 error, 1 warning
    --- exit 1
    "#);
}

#[test]
fn programs_read_findings() {
    let test = Test::new().file("broken.agent", BROKEN).file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check --format json"), @r#"
    $ agentry check --format json
    --- stdout
    {
      "agents": [
        {
          "path": "broken.agent",
          "format": "manifest",
          "name": "broken"
        },
        {
          "path": "helper.agent",
          "format": "manifest",
          "name": "helper"
        }
      ],
      "diagnostics": [
        {
          "code": "AG0101",
          "name": "unknown-field",
          "severity": "warning",
          "message": "the manifest has no field `team`",
          "path": "broken.agent",
          "line": 4,
          "column": 1,
          "end_line": 4,
          "end_column": 5,
          "hint": null,
          "fix": null,
          "related": []
        },
        {
          "code": "AG0104",
          "name": "unknown-value",
          "severity": "error",
          "message": "`filesystem` cannot be `readwrite`",
          "path": "broken.agent",
          "line": 5,
          "column": 21,
          "end_line": 5,
          "end_column": 30,
          "hint": "use one of `none`, `read-only`, `scoped`, `full`",
          "fix": null,
          "related": []
        }
      ],
      "summary": {
        "agents": 2,
        "errors": 1,
        "warnings": 1,
        "notes": 0
      }
    }
    --- exit 1
    "#);
}

#[test]
fn json_without_findings() {
    let test = Test::new();
    insta::assert_snapshot!(test.run("check --format json"), @r#"
    $ agentry check --format json
    --- stdout
    {
      "agents": [],
      "diagnostics": [],
      "summary": {
        "agents": 0,
        "errors": 0,
        "warnings": 0,
        "notes": 0
      }
    }
    --- stderr
    note: no agent found in `.`
      = help: agents are `*.agent` and `*.agent.md` files, and directories with `agent.toml`, `agent.yaml`, `agent.json` or `instructions.md`
    --- exit 0
    "#);
}

#[test]
fn code_scanning_reads_findings() {
    let test = Test::new().file("broken.agent", BROKEN);
    insta::assert_snapshot!(test.run("check --format sarif"), @r#"
    $ agentry check --format sarif
    --- stdout
    {
      "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
      "version": "2.1.0",
      "runs": [
        {
          "tool": {
            "driver": {
              "name": "agentry",
              "semanticVersion": "0.1.0",
              "rules": [
                {
                  "id": "AG0001",
                  "name": "UnreadableFile",
                  "shortDescription": {
                    "text": "unreadable file"
                  },
                  "fullDescription": {
                    "text": "A file that cannot be read (no permission, a directory or a device in its place, an error of the disk) may say anything; the agent is not used without it.",
                    "markdown": "A file that cannot be read (no permission, a directory or a device in its place, an error of the disk) may say anything; the agent is not used without it."
                  },
                  "help": {
                    "text": "A file that cannot be read (no permission, a directory or a device in its place, an error of the disk) may say anything; the agent is not used without it.",
                    "markdown": "A file that cannot be read (no permission, a directory or a device in its place, an error of the disk) may say anything; the agent is not used without it.\n\nBad: a directory where the file should be\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0002",
                  "name": "FileTooLarge",
                  "shortDescription": {
                    "text": "file too large"
                  },
                  "fullDescription": {
                    "text": "No file of an agent may be larger than 1 MiB. What is larger is data, not a definition, and would fill the context of every model.",
                    "markdown": "No file of an agent may be larger than 1 MiB. What is larger is data, not a definition, and would fill the context of every model."
                  },
                  "help": {
                    "text": "No file of an agent may be larger than 1 MiB. What is larger is data, not a definition, and would fill the context of every model.",
                    "markdown": "No file of an agent may be larger than 1 MiB. What is larger is data, not a definition, and would fill the context of every model.\n\nBad: a manifest of more than 1 MiB\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0003",
                  "name": "NotUtf8",
                  "shortDescription": {
                    "text": "not utf8"
                  },
                  "fullDescription": {
                    "text": "Definitions are UTF-8 text. Bytes in another encoding would be read as other characters by other programs.",
                    "markdown": "Definitions are UTF-8 text. Bytes in another encoding would be read as other characters by other programs."
                  },
                  "help": {
                    "text": "Definitions are UTF-8 text. Bytes in another encoding would be read as other characters by other programs.",
                    "markdown": "Definitions are UTF-8 text. Bytes in another encoding would be read as other characters by other programs.\n\nBad: a manifest with the byte 0xE9, which is `é` in Latin-1\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0004",
                  "name": "LinkLeavesAgent",
                  "shortDescription": {
                    "text": "link leaves agent"
                  },
                  "fullDescription": {
                    "text": "A link that leads out of the agent's directory would pull any file of the machine into the agent, and its digest would not cover it.",
                    "markdown": "A link that leads out of the agent's directory would pull any file of the machine into the agent, and its digest would not cover it."
                  },
                  "help": {
                    "text": "A link that leads out of the agent's directory would pull any file of the machine into the agent, and its digest would not cover it.",
                    "markdown": "A link that leads out of the agent's directory would pull any file of the machine into the agent, and its digest would not cover it.\n\nBad: `SOUL.md` is a link to `/etc/passwd`\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0005",
                  "name": "TooManyFiles",
                  "shortDescription": {
                    "text": "too many files"
                  },
                  "fullDescription": {
                    "text": "More than 10,000 files take part in the agent; something that is no agent was taken for one.",
                    "markdown": "More than 10,000 files take part in the agent; something that is no agent was taken for one."
                  },
                  "help": {
                    "text": "More than 10,000 files take part in the agent; something that is no agent was taken for one.",
                    "markdown": "More than 10,000 files take part in the agent; something that is no agent was taken for one.\n\nBad: a directory with 10,001 skills\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0006",
                  "name": "AmbiguousDirectory",
                  "shortDescription": {
                    "text": "ambiguous directory"
                  },
                  "fullDescription": {
                    "text": "A directory with the main files of two formats could be either agent; which one runs must not depend on the program that looks.",
                    "markdown": "A directory with the main files of two formats could be either agent; which one runs must not depend on the program that looks."
                  },
                  "help": {
                    "text": "A directory with the main files of two formats could be either agent; which one runs must not depend on the program that looks.",
                    "markdown": "A directory with the main files of two formats could be either agent; which one runs must not depend on the program that looks.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nBad, `helper/agent.yaml`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0007",
                  "name": "BadSuppression",
                  "shortDescription": {
                    "text": "bad suppression"
                  },
                  "fullDescription": {
                    "text": "A suppression names a rule that exists and says why: `# agentry: allow(unknown-field) read by our own tooling`. Without a reason nobody can tell later whether it still holds.",
                    "markdown": "A suppression names a rule that exists and says why: `# agentry: allow(unknown-field) read by our own tooling`. Without a reason nobody can tell later whether it still holds."
                  },
                  "help": {
                    "text": "A suppression names a rule that exists and says why: `# agentry: allow(unknown-field) read by our own tooling`. Without a reason nobody can tell later whether it still holds.",
                    "markdown": "A suppression names a rule that exists and says why: `# agentry: allow(unknown-field) read by our own tooling`. Without a reason nobody can tell later whether it still holds.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n# agentry: allow(unknown-field)\nteam: support\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n# agentry: allow(unknown-field) read by our own tooling\nteam: support\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG0008",
                  "name": "UnusedSuppression",
                  "shortDescription": {
                    "text": "unused suppression"
                  },
                  "fullDescription": {
                    "text": "The suppression hides nothing any more; left in place it would hide the next finding.",
                    "markdown": "The suppression hides nothing any more; left in place it would hide the next finding."
                  },
                  "help": {
                    "text": "The suppression hides nothing any more; left in place it would hide the next finding.",
                    "markdown": "The suppression hides nothing any more; left in place it would hide the next finding.\n\nBad, `helper.agent`:\n\n```text\n# agentry: allow(unknown-field) read by our own tooling\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG0009",
                  "name": "NameTaken",
                  "shortDescription": {
                    "text": "name taken"
                  },
                  "fullDescription": {
                    "text": "Agents are called by their names; two agents of one name in a workspace cannot both be meant.",
                    "markdown": "Agents are called by their names; two agents of one name in a workspace cannot both be meant."
                  },
                  "help": {
                    "text": "Agents are called by their names; two agents of one name in a workspace cannot both be meant.",
                    "markdown": "Agents are called by their names; two agents of one name in a workspace cannot both be meant.\n\nBad, `agents/helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nBad, `agents/helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nBad, `more/helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers other questions\"\n```\n\nBad, `more/helper/system-prompt.md`:\n\n```text\nYou answer other questions.\n```\n\nGood, `agents/helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `agents/helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0011",
                  "name": "BidiControl",
                  "shortDescription": {
                    "text": "bidi control"
                  },
                  "fullDescription": {
                    "text": "Characters that set the direction of text make a line look different from what a program or a model reads: a reviewer sees one instruction, the agent gets another.",
                    "markdown": "Characters that set the direction of text make a line look different from what a program or a model reads: a reviewer sees one instruction, the agent gets another."
                  },
                  "help": {
                    "text": "Characters that set the direction of text make a line look different from what a program or a model reads: a reviewer sees one instruction, the agent gets another.",
                    "markdown": "Characters that set the direction of text make a line look different from what a program or a model reads: a reviewer sees one instruction, the agent gets another.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: \"Answers \u202esnoitseuq\u202c\"\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: \"Answers questions\"\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0012",
                  "name": "TagCharacter",
                  "shortDescription": {
                    "text": "tag character"
                  },
                  "fullDescription": {
                    "text": "Tag characters repeat ASCII without being shown. A person sees nothing, a model may read and follow them. Only the flags of regions (a black flag with its tags) need them.",
                    "markdown": "Tag characters repeat ASCII without being shown. A person sees nothing, a model may read and follow them. Only the flags of regions (a black flag with its tags) need them."
                  },
                  "help": {
                    "text": "Tag characters repeat ASCII without being shown. A person sees nothing, a model may read and follow them. Only the flags of regions (a black flag with its tags) need them.",
                    "markdown": "Tag characters repeat ASCII without being shown. A person sees nothing, a model may read and follow them. Only the flags of regions (a black flag with its tags) need them.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: \"Answers questions\udb40\udc6f\udb40\udc62\udb40\udc65\udb40\udc79\"\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: \"Answers questions\"\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0013",
                  "name": "ZeroWidthCharacter",
                  "shortDescription": {
                    "text": "zero width character"
                  },
                  "fullDescription": {
                    "text": "Characters without width make two texts that look the same differ, which hides text from a search and breaks rules that compare it. The joiner inside an emoji is fine.",
                    "markdown": "Characters without width make two texts that look the same differ, which hides text from a search and breaks rules that compare it. The joiner inside an emoji is fine."
                  },
                  "help": {
                    "text": "Characters without width make two texts that look the same differ, which hides text from a search and breaks rules that compare it. The joiner inside an emoji is fine.",
                    "markdown": "Characters without width make two texts that look the same differ, which hides text from a search and breaks rules that compare it. The joiner inside an emoji is fine.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: \"Answers que\u200bstions\"\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: \"Answers questions\"\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0014",
                  "name": "NulCharacter",
                  "shortDescription": {
                    "text": "nul character"
                  },
                  "fullDescription": {
                    "text": "Many programs take NUL for the end of the text, so what follows it is read by some and not by others.",
                    "markdown": "Many programs take NUL for the end of the text, so what follows it is read by some and not by others."
                  },
                  "help": {
                    "text": "Many programs take NUL for the end of the text, so what follows it is read by some and not by others.",
                    "markdown": "Many programs take NUL for the end of the text, so what follows it is read by some and not by others.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: \"Answers questions\"\n# \u0000\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: \"Answers questions\"\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0015",
                  "name": "ControlCharacter",
                  "shortDescription": {
                    "text": "control character"
                  },
                  "fullDescription": {
                    "text": "Control characters are commands to a terminal, not text: shown raw, they can move the cursor, change colours and overwrite what stands on the screen.",
                    "markdown": "Control characters are commands to a terminal, not text: shown raw, they can move the cursor, change colours and overwrite what stands on the screen."
                  },
                  "help": {
                    "text": "Control characters are commands to a terminal, not text: shown raw, they can move the cursor, change colours and overwrite what stands on the screen.",
                    "markdown": "Control characters are commands to a terminal, not text: shown raw, they can move the cursor, change colours and overwrite what stands on the screen.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: \"Answers questions\"\n# \b\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: \"Answers questions\"\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG0021",
                  "name": "UnknownRule",
                  "shortDescription": {
                    "text": "unknown rule"
                  },
                  "fullDescription": {
                    "text": "A severity for a rule that does not exist changes nothing; the one that was meant keeps its own.",
                    "markdown": "A severity for a rule that does not exist changes nothing; the one that was meant keeps its own."
                  },
                  "help": {
                    "text": "A severity for a rule that does not exist changes nothing; the one that was meant keeps its own.",
                    "markdown": "A severity for a rule that does not exist changes nothing; the one that was meant keeps its own.\n\nBad, `agentry.toml`:\n\n```text\n[check]\nseverity = { unknwon-field = \"error\" }\n```\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n\nGood, `agentry.toml`:\n\n```text\n[check]\nseverity = { unknown-field = \"error\" }\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0022",
                  "name": "BadGlob",
                  "shortDescription": {
                    "text": "bad glob"
                  },
                  "fullDescription": {
                    "text": "A pattern that cannot be read excludes nothing, so files that should be left alone are checked.",
                    "markdown": "A pattern that cannot be read excludes nothing, so files that should be left alone are checked."
                  },
                  "help": {
                    "text": "A pattern that cannot be read excludes nothing, so files that should be left alone are checked.",
                    "markdown": "A pattern that cannot be read excludes nothing, so files that should be left alone are checked.\n\nBad, `agentry.toml`:\n\n```text\n[check]\nexclude = [\"vendor/[\"]\n```\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n\nGood, `agentry.toml`:\n\n```text\n[check]\nexclude = [\"vendor/**\"]\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0051",
                  "name": "YamlSyntax",
                  "shortDescription": {
                    "text": "yaml syntax"
                  },
                  "fullDescription": {
                    "text": "Nothing after the first mistake of syntax can be read for sure, so fields that stand there count for nothing. The usual cause is a value with `: ` in it: it needs quotes.",
                    "markdown": "Nothing after the first mistake of syntax can be read for sure, so fields that stand there count for nothing. The usual cause is a value with `: ` in it: it needs quotes."
                  },
                  "help": {
                    "text": "Nothing after the first mistake of syntax can be read for sure, so fields that stand there count for nothing. The usual cause is a value with `: ` in it: it needs quotes.",
                    "markdown": "Nothing after the first mistake of syntax can be read for sure, so fields that stand there count for nothing. The usual cause is a value with `: ` in it: it needs quotes.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Helper: answers questions\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: 'Helper: answers questions'\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0052",
                  "name": "YamlDocuments",
                  "shortDescription": {
                    "text": "yaml documents"
                  },
                  "fullDescription": {
                    "text": "A file defines one agent. Of several documents, divided by `---`, most readers take the first without a word, and others refuse the file.",
                    "markdown": "A file defines one agent. Of several documents, divided by `---`, most readers take the first without a word, and others refuse the file."
                  },
                  "help": {
                    "text": "A file defines one agent. Of several documents, divided by `---`, most readers take the first without a word, and others refuse the file.",
                    "markdown": "A file defines one agent. Of several documents, divided by `---`, most readers take the first without a word, and others refuse the file.\n\nBad, `helper.agent`:\n\n```text\nname: helper\n---\nname: other\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0053",
                  "name": "DuplicateKey",
                  "shortDescription": {
                    "text": "duplicate key"
                  },
                  "fullDescription": {
                    "text": "Readers differ in which of two equal keys they take, so the file means different things to different tools. Reading goes on with the last one.",
                    "markdown": "Readers differ in which of two equal keys they take, so the file means different things to different tools. Reading goes on with the last one."
                  },
                  "help": {
                    "text": "Readers differ in which of two equal keys they take, so the file means different things to different tools. Reading goes on with the last one.",
                    "markdown": "Readers differ in which of two equal keys they take, so the file means different things to different tools. Reading goes on with the last one.\n\nBad, `helper.agent`:\n\n```text\nname: helper\nlicense: MIT\nlicense: Apache-2.0\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\nlicense: Apache-2.0\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0054",
                  "name": "YamlTag",
                  "shortDescription": {
                    "text": "yaml tag"
                  },
                  "fullDescription": {
                    "text": "Tags such as `!!python/object` make some readers run code while they read. Only the tags of plain data are known; a value with another tag, or with a tag that does not fit it, is never used.",
                    "markdown": "Tags such as `!!python/object` make some readers run code while they read. Only the tags of plain data are known; a value with another tag, or with a tag that does not fit it, is never used."
                  },
                  "help": {
                    "text": "Tags such as `!!python/object` make some readers run code while they read. Only the tags of plain data are known; a value with another tag, or with a tag that does not fit it, is never used.",
                    "markdown": "Tags such as `!!python/object` make some readers run code while they read. Only the tags of plain data are known; a value with another tag, or with a tag that does not fit it, is never used.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: !!python/name:os.system x\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: !!str 42\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0055",
                  "name": "TooDeep",
                  "shortDescription": {
                    "text": "too deep"
                  },
                  "fullDescription": {
                    "text": "Lists and maps may be nested 64 deep. No agent needs more, and a file that goes deeper is usually made to bring a reader down.",
                    "markdown": "Lists and maps may be nested 64 deep. No agent needs more, and a file that goes deeper is usually made to bring a reader down."
                  },
                  "help": {
                    "text": "Lists and maps may be nested 64 deep. No agent needs more, and a file that goes deeper is usually made to bring a reader down.",
                    "markdown": "Lists and maps may be nested 64 deep. No agent needs more, and a file that goes deeper is usually made to bring a reader down.\n\nBad: a list in a list, and so on, 65 deep\n\nGood, `helper.agent`:\n\n```text\nname: helper\nextensions: {x-grid: [[1, 2], [3, 4]]}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0056",
                  "name": "TooManyValues",
                  "shortDescription": {
                    "text": "too many values"
                  },
                  "fullDescription": {
                    "text": "A document may hold 20,000 values, each use of an alias counted in full. A small file that grows beyond this is made to use up memory.",
                    "markdown": "A document may hold 20,000 values, each use of an alias counted in full. A small file that grows beyond this is made to use up memory."
                  },
                  "help": {
                    "text": "A document may hold 20,000 values, each use of an alias counted in full. A small file that grows beyond this is made to use up memory.",
                    "markdown": "A document may hold 20,000 values, each use of an alias counted in full. A small file that grows beyond this is made to use up memory.\n\nBad: a list of 20,001 numbers\n\nGood, `helper.agent`:\n\n```text\nname: helper\nextensions: {x-primes: [2, 3, 5, 7]}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0061",
                  "name": "TomlSyntax",
                  "shortDescription": {
                    "text": "toml syntax"
                  },
                  "fullDescription": {
                    "text": "A file that is not TOML is refused by every reader, and guessing what was meant could change what the agent may do.",
                    "markdown": "A file that is not TOML is refused by every reader, and guessing what was meant could change what the agent may do."
                  },
                  "help": {
                    "text": "A file that is not TOML is refused by every reader, and guessing what was meant could change what the agent may do.",
                    "markdown": "A file that is not TOML is refused by every reader, and guessing what was meant could change what the agent may do.\n\nBad, `helper/agent.toml`:\n\n```text\nname = helper\ndescription = \"Answers questions\"\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0062",
                  "name": "JsonSyntax",
                  "shortDescription": {
                    "text": "json syntax"
                  },
                  "fullDescription": {
                    "text": "Other tools refuse a file that is not JSON, and those that take it anyway disagree about what it says. JSON has no comments, no comma after the last value, and only double quotes.",
                    "markdown": "Other tools refuse a file that is not JSON, and those that take it anyway disagree about what it says. JSON has no comments, no comma after the last value, and only double quotes."
                  },
                  "help": {
                    "text": "Other tools refuse a file that is not JSON, and those that take it anyway disagree about what it says. JSON has no comments, no comma after the last value, and only double quotes.",
                    "markdown": "Other tools refuse a file that is not JSON, and those that take it anyway disagree about what it says. JSON has no comments, no comma after the last value, and only double quotes.\n\nBad, `helper/agent.json`:\n\n```text\n{\n  \"name\": \"helper\",\n  \"version\": \"1.0.0\",\n  \"role\": \"assistant\",\n  \"description\": \"Answers questions\",\n}\n```\n\nBad, `helper/persona.md`:\n\n```text\n# Helper\n\nYou answer questions.\n```\n\nBad, `helper/principles.md`:\n\n```text\n# Principles\n\n## Must Do\n\n- Name your sources.\n\n## Never Do\n\n- Invent an answer.\n\n## Escalation Path\n\n- Ask the person.\n```\n\nGood, `helper/agent.json`:\n\n```text\n{\n  \"name\": \"helper\",\n  \"version\": \"1.0.0\",\n  \"role\": \"assistant\",\n  \"description\": \"Answers questions\"\n}\n```\n\nGood, `helper/persona.md`:\n\n```text\n# Helper\n\nYou answer questions.\n```\n\nGood, `helper/principles.md`:\n\n```text\n# Principles\n\n## Must Do\n\n- Name your sources.\n\n## Never Do\n\n- Invent an answer.\n\n## Escalation Path\n\n- Ask the person.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0063",
                  "name": "AclSyntax",
                  "shortDescription": {
                    "text": "acl syntax"
                  },
                  "fullDescription": {
                    "text": "The reference reader passes over what it does not understand, so a slip silently removes a setting. Here it is an error.",
                    "markdown": "The reference reader passes over what it does not understand, so a slip silently removes a setting. Here it is an error."
                  },
                  "help": {
                    "text": "The reference reader passes over what it does not understand, so a slip silently removes a setting. Here it is an error.",
                    "markdown": "The reference reader passes over what it does not understand, so a slip silently removes a setting. Here it is an error.\n\nBad, `helper/instructions.md`:\n\n```text\nYou answer questions.\n```\n\nBad, `helper/agent.acl`:\n\n```text\nmax_tool_rounds 10\n```\n\nGood, `helper/instructions.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.acl`:\n\n```text\nmax_tool_rounds = 10\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0064",
                  "name": "AclUnclosed",
                  "shortDescription": {
                    "text": "acl unclosed"
                  },
                  "fullDescription": {
                    "text": "What is never closed swallows the settings after it; the reference reader takes such a file without a word.",
                    "markdown": "What is never closed swallows the settings after it; the reference reader takes such a file without a word."
                  },
                  "help": {
                    "text": "What is never closed swallows the settings after it; the reference reader takes such a file without a word.",
                    "markdown": "What is never closed swallows the settings after it; the reference reader takes such a file without a word.\n\nBad, `helper/instructions.md`:\n\n```text\nYou answer questions.\n```\n\nBad, `helper/agent.acl`:\n\n```text\nmemory {\n  max_working = 5\n```\n\nGood, `helper/instructions.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.acl`:\n\n```text\nmemory {\n  max_working = 5\n}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0065",
                  "name": "AclLoneSlash",
                  "shortDescription": {
                    "text": "acl lone slash"
                  },
                  "fullDescription": {
                    "text": "One `/` outside of quotes starts a comment, so the rest of a path or of a model's name that lacks its quotes is dropped.",
                    "markdown": "One `/` outside of quotes starts a comment, so the rest of a path or of a model's name that lacks its quotes is dropped."
                  },
                  "help": {
                    "text": "One `/` outside of quotes starts a comment, so the rest of a path or of a model's name that lacks its quotes is dropped.",
                    "markdown": "One `/` outside of quotes starts a comment, so the rest of a path or of a model's name that lacks its quotes is dropped.\n\nBad, `helper/instructions.md`:\n\n```text\nYou answer questions.\n```\n\nBad, `helper/agent.acl`:\n\n```text\nmax_tool_rounds = 10 / a few\n```\n\nGood, `helper/instructions.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.acl`:\n\n```text\nmax_tool_rounds = 10 # a few\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG0066",
                  "name": "AclBrokenName",
                  "shortDescription": {
                    "text": "acl broken name"
                  },
                  "fullDescription": {
                    "text": "A bare name holds letters, digits and `_`. The reference reader splits a name at `-` and `.`, and loses the setting.",
                    "markdown": "A bare name holds letters, digits and `_`. The reference reader splits a name at `-` and `.`, and loses the setting."
                  },
                  "help": {
                    "text": "A bare name holds letters, digits and `_`. The reference reader splits a name at `-` and `.`, and loses the setting.",
                    "markdown": "A bare name holds letters, digits and `_`. The reference reader splits a name at `-` and `.`, and loses the setting.\n\nBad, `helper/instructions.md`:\n\n```text\nYou answer questions.\n```\n\nBad, `helper/agent.acl`:\n\n```text\nmax-tool-rounds = 10\n```\n\nGood, `helper/instructions.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.acl`:\n\n```text\nmax_tool_rounds = 10\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG0081",
                  "name": "UnclosedMetadata",
                  "shortDescription": {
                    "text": "unclosed metadata"
                  },
                  "fullDescription": {
                    "text": "A file that opens with `---` starts with metadata; without the closing `---` no reader can tell where the text begins.",
                    "markdown": "A file that opens with `---` starts with metadata; without the closing `---` no reader can tell where the text begins."
                  },
                  "help": {
                    "text": "A file that opens with `---` starts with metadata; without the closing `---` no reader can tell where the text begins.",
                    "markdown": "A file that opens with `---` starts with metadata; without the closing `---` no reader can tell where the text begins.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nstatus: active\n\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nstatus: active\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0101",
                  "name": "UnknownField",
                  "shortDescription": {
                    "text": "unknown field"
                  },
                  "fullDescription": {
                    "text": "A key that the format does not have is ignored by every reader, so a misspelt field silently does nothing. Keys that start with `x-` are extensions and never reported.",
                    "markdown": "A key that the format does not have is ignored by every reader, so a misspelt field silently does nothing. Keys that start with `x-` are extensions and never reported."
                  },
                  "help": {
                    "text": "A key that the format does not have is ignored by every reader, so a misspelt field silently does nothing. Keys that start with `x-` are extensions and never reported.",
                    "markdown": "A key that the format does not have is ignored by every reader, so a misspelt field silently does nothing. Keys that start with `x-` are extensions and never reported.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescripton: Answers questions\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG0102",
                  "name": "MissingField",
                  "shortDescription": {
                    "text": "missing field"
                  },
                  "fullDescription": {
                    "text": "The format requires the field; without it the agent cannot be identified or run.",
                    "markdown": "The format requires the field; without it the agent cannot be identified or run."
                  },
                  "help": {
                    "text": "The format requires the field; without it the agent cannot be identified or run.",
                    "markdown": "The format requires the field; without it the agent cannot be identified or run.\n\nBad, `helper.agent`:\n\n```text\ndescription: Answers questions\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0103",
                  "name": "WrongType",
                  "shortDescription": {
                    "text": "wrong type"
                  },
                  "fullDescription": {
                    "text": "A value of another type is not converted: guessing what was meant could change what the agent does.",
                    "markdown": "A value of another type is not converted: guessing what was meant could change what the agent does."
                  },
                  "help": {
                    "text": "A value of another type is not converted: guessing what was meant could change what the agent does.",
                    "markdown": "A value of another type is not converted: guessing what was meant could change what the agent does.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ntags: research\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ntags: [research]\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0104",
                  "name": "UnknownValue",
                  "shortDescription": {
                    "text": "unknown value"
                  },
                  "fullDescription": {
                    "text": "The field takes one of a few words. Another word is refused rather than replaced by a default, because not understood means not allowed.",
                    "markdown": "The field takes one of a few words. Another word is refused rather than replaced by a default, because not understood means not allowed."
                  },
                  "help": {
                    "text": "The field takes one of a few words. Another word is refused rather than replaced by a default, because not understood means not allowed.",
                    "markdown": "The field takes one of a few words. Another word is refused rather than replaced by a default, because not understood means not allowed.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ntrust: {filesystem: readwrite}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ntrust: {filesystem: read-only}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0105",
                  "name": "UnexpectedValue",
                  "shortDescription": {
                    "text": "unexpected value"
                  },
                  "fullDescription": {
                    "text": "The format takes any text here, but only some words have a meaning; another one is probably misspelt.",
                    "markdown": "The format takes any text here, but only some words have a meaning; another one is probably misspelt."
                  },
                  "help": {
                    "text": "The format takes any text here, but only some words have a meaning; another one is probably misspelt.",
                    "markdown": "The format takes any text here, but only some words have a meaning; another one is probably misspelt.\n\nBad, `helper.agent`:\n\n```text\nname: helper\nmodel: {context: 129k}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\nmodel: {context: 128k}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG0106",
                  "name": "OutOfRange",
                  "shortDescription": {
                    "text": "out of range"
                  },
                  "fullDescription": {
                    "text": "A limit that is negative, zero where something must happen, or not a number at all limits nothing.",
                    "markdown": "A limit that is negative, zero where something must happen, or not a number at all limits nothing."
                  },
                  "help": {
                    "text": "A limit that is negative, zero where something must happen, or not a number at all limits nothing.",
                    "markdown": "A limit that is negative, zero where something must happen, or not a number at all limits nothing.\n\nBad, `helper.agent`:\n\n```text\nname: helper\nbehavior: {max_steps: -1}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\nbehavior: {max_steps: 10}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0107",
                  "name": "ExcludedField",
                  "shortDescription": {
                    "text": "excluded field"
                  },
                  "fullDescription": {
                    "text": "`agent.toml` says what an agent is, not how it is deployed; fields such as `model` or `mcp` belong to the machine that runs it.",
                    "markdown": "`agent.toml` says what an agent is, not how it is deployed; fields such as `model` or `mcp` belong to the machine that runs it."
                  },
                  "help": {
                    "text": "`agent.toml` says what an agent is, not how it is deployed; fields such as `model` or `mcp` belong to the machine that runs it.",
                    "markdown": "`agent.toml` says what an agent is, not how it is deployed; fields such as `model` or `mcp` belong to the machine that runs it.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\nmodel = \"gpt-5\"\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0108",
                  "name": "SeveralLines",
                  "shortDescription": {
                    "text": "several lines"
                  },
                  "fullDescription": {
                    "text": "The text is shown in a list or written into a one-line field of a harness; a line break would cut it or break the file.",
                    "markdown": "The text is shown in a list or written into a one-line field of a harness; a line break would cut it or break the file."
                  },
                  "help": {
                    "text": "The text is shown in a list or written into a one-line field of a harness; a line break would cut it or break the file.",
                    "markdown": "The text is shown in a list or written into a one-line field of a harness; a line break would cut it or break the file.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers\\nquestions\"\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0109",
                  "name": "NotAVersion",
                  "shortDescription": {
                    "text": "not a version"
                  },
                  "fullDescription": {
                    "text": "Versions are compared, so they must be semantic versions (`1.2.3`) and strings: the number `0.1` has lost its last part.",
                    "markdown": "Versions are compared, so they must be semantic versions (`1.2.3`) and strings: the number `0.1` has lost its last part."
                  },
                  "help": {
                    "text": "Versions are compared, so they must be semantic versions (`1.2.3`) and strings: the number `0.1` has lost its last part.",
                    "markdown": "Versions are compared, so they must be semantic versions (`1.2.3`) and strings: the number `0.1` has lost its last part.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nversion: 0.1\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nversion: 0.1.0\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0110",
                  "name": "NotAMap",
                  "shortDescription": {
                    "text": "not a map"
                  },
                  "fullDescription": {
                    "text": "A definition is a set of fields; a list or a bare word at the top says nothing about an agent.",
                    "markdown": "A definition is a set of fields; a list or a bare word at the top says nothing about an agent."
                  },
                  "help": {
                    "text": "A definition is a set of fields; a list or a bare word at the top says nothing about an agent.",
                    "markdown": "A definition is a set of fields; a list or a bare word at the top says nothing about an agent.\n\nBad, `helper.agent`:\n\n```text\n- name: helper\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG0111",
                  "name": "SameFieldTwice",
                  "shortDescription": {
                    "text": "same field twice"
                  },
                  "fullDescription": {
                    "text": "Where case or spelling of a key does not matter, two spellings of one key contradict each other; readers differ in which one they take.",
                    "markdown": "Where case or spelling of a key does not matter, two spellings of one key contradict each other; readers differ in which one they take."
                  },
                  "help": {
                    "text": "Where case or spelling of a key does not matter, two spellings of one key contradict each other; readers differ in which one they take.",
                    "markdown": "Where case or spelling of a key does not matter, two spellings of one key contradict each other; readers differ in which one they take.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nstatus: active\nStatus: disabled\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nstatus: active\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1001",
                  "name": "AgentFileName",
                  "shortDescription": {
                    "text": "agent file name"
                  },
                  "fullDescription": {
                    "text": "The name of the file says the category and the name of the agent, `agents/<category>_<agent-name>.agent.md`. Under another name the agent is called after its title, so that a changed title changes what programs call it.",
                    "markdown": "The name of the file says the category and the name of the agent, `agents/<category>_<agent-name>.agent.md`. Under another name the agent is called after its title, so that a changed title changes what programs call it."
                  },
                  "help": {
                    "text": "The name of the file says the category and the name of the agent, `agents/<category>_<agent-name>.agent.md`. Under another name the agent is called after its title, so that a changed title changes what programs call it.",
                    "markdown": "The name of the file says the category and the name of the agent, `agents/<category>_<agent-name>.agent.md`. Under another name the agent is called after its title, so that a changed title changes what programs call it.\n\nBad, `agents/helper.agent.md`:\n\n```text\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG1002",
                  "name": "NoTitle",
                  "shortDescription": {
                    "text": "no title"
                  },
                  "fullDescription": {
                    "text": "Without `title` and without a `# Heading` people see the name of the file.",
                    "markdown": "Without `title` and without a `# Heading` people see the name of the file."
                  },
                  "help": {
                    "text": "Without `title` and without a `# Heading` people see the name of the file.",
                    "markdown": "Without `title` and without a `# Heading` people see the name of the file.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n## System\n\nYou answer questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n# Helper\n\n## System\n\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG1003",
                  "name": "MetadataConflict",
                  "shortDescription": {
                    "text": "metadata conflict"
                  },
                  "fullDescription": {
                    "text": "A value may stand in the metadata or under its heading. When it stands in both and differs (case and white space aside), nobody can say which one is meant.",
                    "markdown": "A value may stand in the metadata or under its heading. When it stands in both and differs (case and white space aside), nobody can say which one is meant."
                  },
                  "help": {
                    "text": "A value may stand in the metadata or under its heading. When it stands in both and differs (case and white space aside), nobody can say which one is meant.",
                    "markdown": "A value may stand in the metadata or under its heading. When it stands in both and differs (case and white space aside), nobody can say which one is meant.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\ntitle: Assistant\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\ntitle: helper\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1004",
                  "name": "SectionTwice",
                  "shortDescription": {
                    "text": "section twice"
                  },
                  "fullDescription": {
                    "text": "`## System`, `## Rules`, `## Tools` and `# Avatar` each have one meaning. Readers differ in which of two they take, so a second one is refused.",
                    "markdown": "`## System`, `## Rules`, `## Tools` and `# Avatar` each have one meaning. Readers differ in which of two they take, so a second one is refused."
                  },
                  "help": {
                    "text": "`## System`, `## Rules`, `## Tools` and `# Avatar` each have one meaning. Readers differ in which of two they take, so a second one is refused.",
                    "markdown": "`## System`, `## Rules`, `## Tools` and `# Avatar` each have one meaning. Readers differ in which of two they take, so a second one is refused.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n# Helper\n\nAnswers questions.\n\n## Rules\n\n- Be brief\n\n## rules\n\n- Be kind\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n# Helper\n\nAnswers questions.\n\n## Rules\n\n- Be brief\n- Be kind\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1005",
                  "name": "EmptySection",
                  "shortDescription": {
                    "text": "empty section"
                  },
                  "fullDescription": {
                    "text": "A section that has a meaning but says nothing counts as absent, which is seldom what was meant.",
                    "markdown": "A section that has a meaning but says nothing counts as absent, which is seldom what was meant."
                  },
                  "help": {
                    "text": "A section that has a meaning but says nothing counts as absent, which is seldom what was meant.",
                    "markdown": "A section that has a meaning but says nothing counts as absent, which is seldom what was meant.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n# Helper\n\nAnswers questions.\n\n## System\n\n## Rules\n\n- Be brief\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n# Helper\n\nAnswers questions.\n\n## System\n\nYou answer questions.\n\n## Rules\n\n- Be brief\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG1006",
                  "name": "MisplacedSection",
                  "shortDescription": {
                    "text": "misplaced section"
                  },
                  "fullDescription": {
                    "text": "System, rules and tools are read from second-level headings and the avatar from a top-level one. At another level the section is text that nobody acts upon.",
                    "markdown": "System, rules and tools are read from second-level headings and the avatar from a top-level one. At another level the section is text that nobody acts upon."
                  },
                  "help": {
                    "text": "System, rules and tools are read from second-level headings and the avatar from a top-level one. At another level the section is text that nobody acts upon.",
                    "markdown": "System, rules and tools are read from second-level headings and the avatar from a top-level one. At another level the section is text that nobody acts upon.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n# Helper\n\nAnswers questions.\n\n# Rules\n\n- Be brief\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n# Helper\n\nAnswers questions.\n\n## Rules\n\n- Be brief\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG1007",
                  "name": "NotOneEmoji",
                  "shortDescription": {
                    "text": "not one emoji"
                  },
                  "fullDescription": {
                    "text": "The icon is drawn in one place of a list: it is exactly one emoji, and neither a word nor two of them.",
                    "markdown": "The icon is drawn in one place of a list: it is exactly one emoji, and neither a word nor two of them."
                  },
                  "help": {
                    "text": "The icon is drawn in one place of a list: it is exactly one emoji, and neither a word nor two of them.",
                    "markdown": "The icon is drawn in one place of a list: it is exactly one emoji, and neither a word nor two of them.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nicon: robot\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nicon: 🤖\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1008",
                  "name": "NotAVariableName",
                  "shortDescription": {
                    "text": "not a variable name"
                  },
                  "fullDescription": {
                    "text": "A required variable with a name that no shell can set would keep the agent from ever starting.",
                    "markdown": "A required variable with a name that no shell can set would keep the agent from ever starting."
                  },
                  "help": {
                    "text": "A required variable with a name that no shell can set would keep the agent from ever starting.",
                    "markdown": "A required variable with a name that no shell can set would keep the agent from ever starting.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nrequired:\n  env:\n    - API-KEY\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nrequired:\n  env:\n    - API_KEY\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1010",
                  "name": "UnknownAbility",
                  "shortDescription": {
                    "text": "unknown ability"
                  },
                  "fullDescription": {
                    "text": "An ability that is not known allows nothing and, worse, denies nothing.",
                    "markdown": "An ability that is not known allows nothing and, worse, denies nothing."
                  },
                  "help": {
                    "text": "An ability that is not known allows nothing and, worse, denies nothing.",
                    "markdown": "An ability that is not known allows nothing and, worse, denies nothing.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities:\n  - netwrok\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities:\n  - network\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1011",
                  "name": "AbilityScope",
                  "shortDescription": {
                    "text": "ability scope"
                  },
                  "fullDescription": {
                    "text": "Only `sh` can be narrowed to one command. `fs:src` looks like a limit and would be none.",
                    "markdown": "Only `sh` can be narrowed to one command. `fs:src` looks like a limit and would be none."
                  },
                  "help": {
                    "text": "Only `sh` can be narrowed to one command. `fs:src` looks like a limit and would be none.",
                    "markdown": "Only `sh` can be narrowed to one command. `fs:src` looks like a limit and would be none.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities:\n  - fs:src\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities:\n  - fs\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1012",
                  "name": "AbilityCommand",
                  "shortDescription": {
                    "text": "ability command"
                  },
                  "fullDescription": {
                    "text": "`sh:<command>` takes one command name: letters, digits, `.`, `_` and `-`. Arguments cannot be part of it.",
                    "markdown": "`sh:<command>` takes one command name: letters, digits, `.`, `_` and `-`. Arguments cannot be part of it."
                  },
                  "help": {
                    "text": "`sh:<command>` takes one command name: letters, digits, `.`, `_` and `-`. Arguments cannot be part of it.",
                    "markdown": "`sh:<command>` takes one command name: letters, digits, `.`, `_` and `-`. Arguments cannot be part of it.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities:\n  - sh:git push\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities:\n  - sh:git\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1013",
                  "name": "AbilityWildcard",
                  "shortDescription": {
                    "text": "ability wildcard"
                  },
                  "fullDescription": {
                    "text": "The format has no word for everything: what an agent may do is listed, so that a reader sees it and a new ability is never granted by an old file.",
                    "markdown": "The format has no word for everything: what an agent may do is listed, so that a reader sees it and a new ability is never granted by an old file."
                  },
                  "help": {
                    "text": "The format has no word for everything: what an agent may do is listed, so that a reader sees it and a new ability is never granted by an old file.",
                    "markdown": "The format has no word for everything: what an agent may do is listed, so that a reader sees it and a new ability is never granted by an old file.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nallow: \"*\"\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nallow: [fs, network]\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1014",
                  "name": "AbilityOverlap",
                  "shortDescription": {
                    "text": "ability overlap"
                  },
                  "fullDescription": {
                    "text": "Deny beats allow, so an ability that is wholly denied can never be used: one of the two is a mistake. Denying a part (`allow: [sh]`, `deny: [sh:rm]`) is fine.",
                    "markdown": "Deny beats allow, so an ability that is wholly denied can never be used: one of the two is a mistake. Denying a part (`allow: [sh]`, `deny: [sh:rm]`) is fine."
                  },
                  "help": {
                    "text": "Deny beats allow, so an ability that is wholly denied can never be used: one of the two is a mistake. Denying a part (`allow: [sh]`, `deny: [sh:rm]`) is fine.",
                    "markdown": "Deny beats allow, so an ability that is wholly denied can never be used: one of the two is a mistake. Denying a part (`allow: [sh]`, `deny: [sh:rm]`) is fine.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities:\n  allow: [sh:git]\n  deny: [sh]\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities:\n  allow: [sh]\n  deny: [sh:rm]\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1015",
                  "name": "AbilitiesContradict",
                  "shortDescription": {
                    "text": "abilities contradict"
                  },
                  "fullDescription": {
                    "text": "`abilities` and the top-level `allow` and `deny` mean the same. When both are written and differ, nobody can say what the agent may do.",
                    "markdown": "`abilities` and the top-level `allow` and `deny` mean the same. When both are written and differ, nobody can say what the agent may do."
                  },
                  "help": {
                    "text": "`abilities` and the top-level `allow` and `deny` mean the same. When both are written and differ, nobody can say what the agent may do.",
                    "markdown": "`abilities` and the top-level `allow` and `deny` mean the same. When both are written and differ, nobody can say what the agent may do.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities: [fs]\nallow: [fs, network]\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities: [fs, network]\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1016",
                  "name": "AbilityTwice",
                  "shortDescription": {
                    "text": "ability twice"
                  },
                  "fullDescription": {
                    "text": "Abilities are compared without regard to case; listing one twice changes nothing and is often a misspelt other one.",
                    "markdown": "Abilities are compared without regard to case; listing one twice changes nothing and is often a misspelt other one."
                  },
                  "help": {
                    "text": "Abilities are compared without regard to case; listing one twice changes nothing and is often a misspelt other one.",
                    "markdown": "Abilities are compared without regard to case; listing one twice changes nothing and is often a misspelt other one.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities: [fs, FS]\n---\n# Helper\n\nAnswers questions.\n```\n\nGood, `agents/help_helper.agent.md`:\n\n```text\n---\nabilities: [fs]\n---\n# Helper\n\nAnswers questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG1020",
                  "name": "UnclosedToolsFence",
                  "shortDescription": {
                    "text": "unclosed tools fence"
                  },
                  "fullDescription": {
                    "text": "A fence that is never closed takes everything up to the end of the file for code.",
                    "markdown": "A fence that is never closed takes everything up to the end of the file for code."
                  },
                  "help": {
                    "text": "A fence that is never closed takes everything up to the end of the file for code.",
                    "markdown": "A fence that is never closed takes everything up to the end of the file for code.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1021",
                  "name": "CodeOutsideFence",
                  "shortDescription": {
                    "text": "code outside fence"
                  },
                  "fullDescription": {
                    "text": "Tools are read from fenced `js` blocks. Code that stands in the text is formatted as Markdown, which changes it, and is never run.",
                    "markdown": "Tools are read from fenced `js` blocks. Code that stands in the text is formatted as Markdown, which changes it, and is never run."
                  },
                  "help": {
                    "text": "Tools are read from fenced `js` blocks. Code that stands in the text is formatted as Markdown, which changes it, and is never run.",
                    "markdown": "Tools are read from fenced `js` blocks. Code that stands in the text is formatted as Markdown, which changes it, and is never run.\n\nBad, `agents/help_helper.agent.md`:\n\n```text\n# Helper\n\nAnswers questions.\n\n## Tools\n\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1022",
                  "name": "OtherToolsLanguage",
                  "shortDescription": {
                    "text": "other tools language"
                  },
                  "fullDescription": {
                    "text": "Tools are written in JavaScript: a block of another language is not read.",
                    "markdown": "Tools are written in JavaScript: a block of another language is not read."
                  },
                  "help": {
                    "text": "Tools are written in JavaScript: a block of another language is not read.",
                    "markdown": "Tools are written in JavaScript: a block of another language is not read.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```python\ndef greet(): ...\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG1023",
                  "name": "JavascriptSyntax",
                  "shortDescription": {
                    "text": "javascript syntax"
                  },
                  "fullDescription": {
                    "text": "A block that does not parse cannot be run, and none of its tools exists.",
                    "markdown": "A block that does not parse cannot be run, and none of its tools exists."
                  },
                  "help": {
                    "text": "A block that does not parse cannot be run, and none of its tools exists.",
                    "markdown": "A block that does not parse cannot be run, and none of its tools exists.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nreturn { greet: { fn: () => \"hello\", scheme: } };\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1024",
                  "name": "JavascriptNesting",
                  "shortDescription": {
                    "text": "javascript nesting"
                  },
                  "fullDescription": {
                    "text": "Code that is nested thousands of levels deep is no tool but an attempt to exhaust whoever reads it.",
                    "markdown": "Code that is nested thousands of levels deep is no tool but an attempt to exhaust whoever reads it."
                  },
                  "help": {
                    "text": "Code that is nested thousands of levels deep is no tool but an attempt to exhaust whoever reads it.",
                    "markdown": "Code that is nested thousands of levels deep is no tool but an attempt to exhaust whoever reads it.\n\nBad: a tools block with 20,000 opening parentheses\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1025",
                  "name": "ToolsNotReturned",
                  "shortDescription": {
                    "text": "tools not returned"
                  },
                  "fullDescription": {
                    "text": "A block is the body of a function: its tools are what its top-level `return` gives back. A `return` inside one of its functions does not count.",
                    "markdown": "A block is the body of a function: its tools are what its top-level `return` gives back. A `return` inside one of its functions does not count."
                  },
                  "help": {
                    "text": "A block is the body of a function: its tools are what its top-level `return` gives back. A `return` inside one of its functions does not count.",
                    "markdown": "A block is the body of a function: its tools are what its top-level `return` gives back. A `return` inside one of its functions does not count.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nfunction greet() {\n  return { ok: true };\n}\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1026",
                  "name": "ToolsNotStatic",
                  "shortDescription": {
                    "text": "tools not static"
                  },
                  "fullDescription": {
                    "text": "`check` reads tools without running them. What is computed can only be known by running the code, so neither its scheme nor `required.startup` can be verified.",
                    "markdown": "`check` reads tools without running them. What is computed can only be known by running the code, so neither its scheme nor `required.startup` can be verified."
                  },
                  "help": {
                    "text": "`check` reads tools without running them. What is computed can only be known by running the code, so neither its scheme nor `required.startup` can be verified.",
                    "markdown": "`check` reads tools without running them. What is computed can only be known by running the code, so neither its scheme nor `required.startup` can be verified.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst tools = {};\ntools[\"gre\" + \"et\"] = { fn: () => \"hello\", scheme: {} };\nreturn tools;\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG1027",
                  "name": "ToolShape",
                  "shortDescription": {
                    "text": "tool shape"
                  },
                  "fullDescription": {
                    "text": "Each tool is an object with `fn`, what is called, and `scheme`, what the model is told.",
                    "markdown": "Each tool is an object with `fn`, what is called, and `scheme`, what the model is told."
                  },
                  "help": {
                    "text": "Each tool is an object with `fn`, what is called, and `scheme`, what the model is told.",
                    "markdown": "Each tool is an object with `fn`, what is called, and `scheme`, what the model is told.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nreturn { greet: { fn: () => \"hello\" } };\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1028",
                  "name": "ToolFunction",
                  "shortDescription": {
                    "text": "tool function"
                  },
                  "fullDescription": {
                    "text": "`fn` is called with the arguments and the context; anything but a function fails at the first call.",
                    "markdown": "`fn` is called with the arguments and the context; anything but a function fails at the first call."
                  },
                  "help": {
                    "text": "`fn` is called with the arguments and the context; anything but a function fails at the first call.",
                    "markdown": "`fn` is called with the arguments and the context; anything but a function fails at the first call.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: \"hello\", scheme } };\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1029",
                  "name": "IncompleteScheme",
                  "shortDescription": {
                    "text": "incomplete scheme"
                  },
                  "fullDescription": {
                    "text": "A model is told of a tool by its `name`, `description` and `parameters`; providers refuse a function without them.",
                    "markdown": "A model is told of a tool by its `name`, `description` and `parameters`; providers refuse a function without them."
                  },
                  "help": {
                    "text": "A model is told of a tool by its `name`, `description` and `parameters`; providers refuse a function without them.",
                    "markdown": "A model is told of a tool by its `name`, `description` and `parameters`; providers refuse a function without them.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1030",
                  "name": "SchemeName",
                  "shortDescription": {
                    "text": "scheme name"
                  },
                  "fullDescription": {
                    "text": "The model calls the tool by `scheme.name`, the file finds it by its key: when they differ, the call goes nowhere.",
                    "markdown": "The model calls the tool by `scheme.name`, the file finds it by its key: when they differ, the call goes nowhere."
                  },
                  "help": {
                    "text": "The model calls the tool by `scheme.name`, the file finds it by its key: when they differ, the call goes nowhere.",
                    "markdown": "The model calls the tool by `scheme.name`, the file finds it by its key: when they differ, the call goes nowhere.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { welcome: { fn: () => \"hello\", scheme } };\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1031",
                  "name": "InvalidParameters",
                  "shortDescription": {
                    "text": "invalid parameters"
                  },
                  "fullDescription": {
                    "text": "Arguments are checked against `parameters` before the tool is called, so it must be a valid JSON Schema of an object.",
                    "markdown": "Arguments are checked against `parameters` before the tool is called, so it must be a valid JSON Schema of an object."
                  },
                  "help": {
                    "text": "Arguments are checked against `parameters` before the tool is called, so it must be a valid JSON Schema of an object.",
                    "markdown": "Arguments are checked against `parameters` before the tool is called, so it must be a valid JSON Schema of an object.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"objekt\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1032",
                  "name": "ToolTwice",
                  "shortDescription": {
                    "text": "tool twice"
                  },
                  "fullDescription": {
                    "text": "Tool names are compared without regard to case; of two tools with one name only one could ever be called.",
                    "markdown": "Tool names are compared without regard to case; of two tools with one name only one could ever be called."
                  },
                  "help": {
                    "text": "Tool names are compared without regard to case; of two tools with one name only one could ever be called.",
                    "markdown": "Tool names are compared without regard to case; of two tools with one name only one could ever be called.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n\n```js\nconst scheme = {\n  name: \"Greet\",\n  description: \"Greets again.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { Greet: { fn: () => \"hi\", scheme } };\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1033",
                  "name": "StartupToolMissing",
                  "shortDescription": {
                    "text": "startup tool missing"
                  },
                  "fullDescription": {
                    "text": "The start-up tool is a hard gate: when it does not exist, the agent can never start.",
                    "markdown": "The start-up tool is a hard gate: when it does not exist, the agent can never start."
                  },
                  "help": {
                    "text": "The start-up tool is a hard gate: when it does not exist, the agent can never start.",
                    "markdown": "The start-up tool is a hard gate: when it does not exist, the agent can never start.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n---\nrequired:\n  startup: great\n---\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n---\nrequired:\n  startup: greet\n---\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG1034",
                  "name": "VariableNotRequired",
                  "shortDescription": {
                    "text": "variable not required"
                  },
                  "fullDescription": {
                    "text": "A tool sees only the variables of `required.env`, or all that the `env` ability grants; any other one is undefined when the tool runs.",
                    "markdown": "A tool sees only the variables of `required.env`, or all that the `env` ability grants; any other one is undefined when the tool runs."
                  },
                  "help": {
                    "text": "A tool sees only the variables of `required.env`, or all that the `env` ability grants; any other one is undefined when the tool runs.",
                    "markdown": "A tool sees only the variables of `required.env`, or all that the `env` ability grants; any other one is undefined when the tool runs.\n\nBad, `agents/help_helper.agent.md`:\n\n````text\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: (_, { env }) => env.USER_NAME, scheme } };\n```\n````\n\nGood, `agents/help_helper.agent.md`:\n\n````text\n---\nrequired:\n  env: [USER_NAME]\n---\n# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nconst scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: (_, { env }) => env.USER_NAME, scheme } };\n```\n````\n"
                  },
                  "defaultConfiguration": {
                    "level": "note"
                  }
                },
                {
                  "id": "AG2001",
                  "name": "NotKebabCase",
                  "shortDescription": {
                    "text": "not kebab case"
                  },
                  "fullDescription": {
                    "text": "Harnesses use the name as an identifier and as a file name, and refuse spaces, capitals and anything else than `a-z`, `0-9` and `-`.",
                    "markdown": "Harnesses use the name as an identifier and as a file name, and refuse spaces, capitals and anything else than `a-z`, `0-9` and `-`."
                  },
                  "help": {
                    "text": "Harnesses use the name as an identifier and as a file name, and refuse spaces, capitals and anything else than `a-z`, `0-9` and `-`.",
                    "markdown": "Harnesses use the name as an identifier and as a file name, and refuse spaces, capitals and anything else than `a-z`, `0-9` and `-`.\n\nBad, `Helper/agent.toml`:\n\n```text\nname = \"Helper\"\ndescription = \"Answers questions\"\n```\n\nBad, `Helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG2002",
                  "name": "NameIsNotDirectory",
                  "shortDescription": {
                    "text": "name is not directory"
                  },
                  "fullDescription": {
                    "text": "Some programs call the agent by its directory, others by its `name`; when the two differ the agent has two names.",
                    "markdown": "Some programs call the agent by its directory, others by its `name`; when the two differ the agent has two names."
                  },
                  "help": {
                    "text": "Some programs call the agent by its directory, others by its `name`; when the two differ the agent has two names.",
                    "markdown": "Some programs call the agent by its directory, others by its `name`; when the two differ the agent has two names.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"assistant\"\ndescription = \"Answers questions\"\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG2003",
                  "name": "TrailingPeriod",
                  "shortDescription": {
                    "text": "trailing period"
                  },
                  "fullDescription": {
                    "text": "The format's descriptions end without a full stop; renderers add one of their own, and two would follow each other.",
                    "markdown": "The format's descriptions end without a full stop; renderers add one of their own, and two would follow each other."
                  },
                  "help": {
                    "text": "The format's descriptions end without a full stop; renderers add one of their own, and two would follow each other.",
                    "markdown": "The format's descriptions end without a full stop; renderers add one of their own, and two would follow each other.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions.\"\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG2004",
                  "name": "EmptyDescription",
                  "shortDescription": {
                    "text": "empty description"
                  },
                  "fullDescription": {
                    "text": "The description is required because an agent is picked by it; an empty one says nothing.",
                    "markdown": "The description is required because an agent is picked by it; an empty one says nothing."
                  },
                  "help": {
                    "text": "The description is required because an agent is picked by it; an empty one says nothing.",
                    "markdown": "The description is required because an agent is picked by it; an empty one says nothing.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"\"\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG2005",
                  "name": "MissingPrompt",
                  "shortDescription": {
                    "text": "missing prompt"
                  },
                  "fullDescription": {
                    "text": "The system prompt is the file `system-prompt.md` beside `agent.toml`; without it the agent has no instructions.",
                    "markdown": "The system prompt is the file `system-prompt.md` beside `agent.toml`; without it the agent has no instructions."
                  },
                  "help": {
                    "text": "The system prompt is the file `system-prompt.md` beside `agent.toml`; without it the agent has no instructions.",
                    "markdown": "The system prompt is the file `system-prompt.md` beside `agent.toml`; without it the agent has no instructions.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG2006",
                  "name": "EmptyPrompt",
                  "shortDescription": {
                    "text": "empty prompt"
                  },
                  "fullDescription": {
                    "text": "An agent whose `system-prompt.md` holds no text has no instructions.",
                    "markdown": "An agent whose `system-prompt.md` holds no text has no instructions."
                  },
                  "help": {
                    "text": "An agent whose `system-prompt.md` holds no text has no instructions.",
                    "markdown": "An agent whose `system-prompt.md` holds no text has no instructions.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\n\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG2007",
                  "name": "Datetime",
                  "shortDescription": {
                    "text": "datetime"
                  },
                  "fullDescription": {
                    "text": "Not every program that reads this format knows the dates and times of TOML, and one that does not refuses the whole file.",
                    "markdown": "Not every program that reads this format knows the dates and times of TOML, and one that does not refuses the whole file."
                  },
                  "help": {
                    "text": "Not every program that reads this format knows the dates and times of TOML, and one that does not refuses the whole file.",
                    "markdown": "Not every program that reads this format knows the dates and times of TOML, and one that does not refuses the whole file.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\nx-created = 2026-04-13\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\nx-created = \"2026-04-13\"\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG2008",
                  "name": "MissingContext",
                  "shortDescription": {
                    "text": "missing context"
                  },
                  "fullDescription": {
                    "text": "A context file that is not there cannot be put into the context, so the agent would work without what its author counts on.",
                    "markdown": "A context file that is not there cannot be put into the context, so the agent would work without what its author counts on."
                  },
                  "help": {
                    "text": "A context file that is not there cannot be put into the context, so the agent would work without what its author counts on.",
                    "markdown": "A context file that is not there cannot be put into the context, so the agent would work without what its author counts on.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\ncontext = [\"profile.md\"]\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\ncontext = [\"profile.md\"]\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/profile.md`:\n\n```text\nPrefers short answers.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG2009",
                  "name": "MissingRuleFile",
                  "shortDescription": {
                    "text": "missing rule file"
                  },
                  "fullDescription": {
                    "text": "An entry of `rules` is the file `rules/<entry>.md` of the workspace; if it is not there the agent would work without that rule.",
                    "markdown": "An entry of `rules` is the file `rules/<entry>.md` of the workspace; if it is not there the agent would work without that rule."
                  },
                  "help": {
                    "text": "An entry of `rules` is the file `rules/<entry>.md` of the workspace; if it is not there the agent would work without that rule.",
                    "markdown": "An entry of `rules` is the file `rules/<entry>.md` of the workspace; if it is not there the agent would work without that rule.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\nrules = [\"languages/nix\"]\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\nrules = [\"languages/nix\"]\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `rules/languages/nix.md`:\n\n```text\nUse flakes.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG2010",
                  "name": "OutsideWorkspace",
                  "shortDescription": {
                    "text": "outside workspace"
                  },
                  "fullDescription": {
                    "text": "A file outside the workspace is another one on every machine, and could be anything that the user can read; an agent does not pull it into its context.",
                    "markdown": "A file outside the workspace is another one on every machine, and could be anything that the user can read; an agent does not pull it into its context."
                  },
                  "help": {
                    "text": "A file outside the workspace is another one on every machine, and could be anything that the user can read; an agent does not pull it into its context.",
                    "markdown": "A file outside the workspace is another one on every machine, and could be anything that the user can read; an agent does not pull it into its context.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\ncontext = [\"../../profile.md\"]\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\ncontext = [\"profile.md\"]\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/profile.md`:\n\n```text\nPrefers short answers.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG2011",
                  "name": "MissingSkill",
                  "shortDescription": {
                    "text": "missing skill"
                  },
                  "fullDescription": {
                    "text": "A skill that is neither with the agent nor in the workspace is only there if the harness brings it; a misspelt one is never loaded.",
                    "markdown": "A skill that is neither with the agent nor in the workspace is only there if the harness brings it; a misspelt one is never loaded."
                  },
                  "help": {
                    "text": "A skill that is neither with the agent nor in the workspace is only there if the harness brings it; a misspelt one is never loaded.",
                    "markdown": "A skill that is neither with the agent nor in the workspace is only there if the harness brings it; a misspelt one is never loaded.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\nskills = [\"git-master\"]\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\nskills = [\"git-master\"]\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `skills/git-master/SKILL.md`:\n\n```text\n---\nname: git-master\ndescription: Works with Git\n---\nCommit often.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG2012",
                  "name": "MalformedRule",
                  "shortDescription": {
                    "text": "malformed rule"
                  },
                  "fullDescription": {
                    "text": "A rule is `pattern:action`, split at its last colon. One that lacks a part is not guessed at: the agent would be allowed something else than its author meant.",
                    "markdown": "A rule is `pattern:action`, split at its last colon. One that lacks a part is not guessed at: the agent would be allowed something else than its author meant."
                  },
                  "help": {
                    "text": "A rule is `pattern:action`, split at its last colon. One that lacks a part is not guessed at: the agent would be allowed something else than its author meant.",
                    "markdown": "A rule is `pattern:action`, split at its last colon. One that lacks a part is not guessed at: the agent would be allowed something else than its author meant.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push*\"]\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push*:deny\"]\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG2013",
                  "name": "UnknownAction",
                  "shortDescription": {
                    "text": "unknown action"
                  },
                  "fullDescription": {
                    "text": "The action of a rule is `allow`, `ask` or `deny`, in lower case. Another word is refused, because not understood means not allowed.",
                    "markdown": "The action of a rule is `allow`, `ask` or `deny`, in lower case. Another word is refused, because not understood means not allowed."
                  },
                  "help": {
                    "text": "The action of a rule is `allow`, `ask` or `deny`, in lower case. Another word is refused, because not understood means not allowed.",
                    "markdown": "The action of a rule is `allow`, `ask` or `deny`, in lower case. Another word is refused, because not understood means not allowed.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push*:block\"]\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push*:deny\"]\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG2014",
                  "name": "ShadowedRule",
                  "shortDescription": {
                    "text": "shadowed rule"
                  },
                  "fullDescription": {
                    "text": "The first rule that matches decides. A rule after a wider one never does, so a `deny` that was meant as an exception has no effect. Lists written for harnesses in which the last match wins have to be turned around.",
                    "markdown": "The first rule that matches decides. A rule after a wider one never does, so a `deny` that was meant as an exception has no effect. Lists written for harnesses in which the last match wins have to be turned around."
                  },
                  "help": {
                    "text": "The first rule that matches decides. A rule after a wider one never does, so a `deny` that was meant as an exception has no effect. Lists written for harnesses in which the last match wins have to be turned around.",
                    "markdown": "The first rule that matches decides. A rule after a wider one never does, so a `deny` that was meant as an exception has no effect. Lists written for harnesses in which the last match wins have to be turned around.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push *:ask\", \"git push origin main:deny\"]\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push origin main:deny\", \"git push *:ask\"]\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG2015",
                  "name": "DuplicateRule",
                  "shortDescription": {
                    "text": "duplicate rule"
                  },
                  "fullDescription": {
                    "text": "A rule that was written already has no effect; perhaps another one was meant.",
                    "markdown": "A rule that was written already has no effect; perhaps another one was meant."
                  },
                  "help": {
                    "text": "A rule that was written already has no effect; perhaps another one was meant.",
                    "markdown": "A rule that was written already has no effect; perhaps another one was meant.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git log *:allow\", \"git log *:allow\"]\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git log *:allow\"]\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG2016",
                  "name": "ContradictingRules",
                  "shortDescription": {
                    "text": "contradicting rules"
                  },
                  "fullDescription": {
                    "text": "The same pattern has two answers. Here the first one holds, in harnesses in which the last match wins the other one.",
                    "markdown": "The same pattern has two answers. Here the first one holds, in harnesses in which the last match wins the other one."
                  },
                  "help": {
                    "text": "The same pattern has two answers. Here the first one holds, in harnesses in which the last match wins the other one.",
                    "markdown": "The same pattern has two answers. Here the first one holds, in harnesses in which the last match wins the other one.\n\nBad, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push *:ask\", \"git push *:deny\"]\n```\n\nBad, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.toml`:\n\n```text\nname = \"helper\"\ndescription = \"Answers questions\"\n\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push *:deny\"]\n```\n\nGood, `helper/system-prompt.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3001",
                  "name": "VersionNotSemver",
                  "shortDescription": {
                    "text": "version not semver"
                  },
                  "fullDescription": {
                    "text": "Versions are compared when one manifest builds on another (`base: name@1.2.0`); text that is no semantic version has no order.",
                    "markdown": "Versions are compared when one manifest builds on another (`base: name@1.2.0`); text that is no semantic version has no order."
                  },
                  "help": {
                    "text": "Versions are compared when one manifest builds on another (`base: name@1.2.0`); text that is no semantic version has no order.",
                    "markdown": "Versions are compared when one manifest builds on another (`base: name@1.2.0`); text that is no semantic version has no order.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nversion: \"1.2\"\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nversion: 1.2.0\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3002",
                  "name": "UnusableName",
                  "shortDescription": {
                    "text": "unusable name"
                  },
                  "fullDescription": {
                    "text": "A manifest is stored and fetched under its name. An empty name names nothing, and one with a slash or a control character can lead to another place than it shows.",
                    "markdown": "A manifest is stored and fetched under its name. An empty name names nothing, and one with a slash or a control character can lead to another place than it shows."
                  },
                  "help": {
                    "text": "A manifest is stored and fetched under its name. An empty name names nothing, and one with a slash or a control character can lead to another place than it shows.",
                    "markdown": "A manifest is stored and fetched under its name. An empty name names nothing, and one with a slash or a control character can lead to another place than it shows.\n\nBad, `helper.agent`:\n\n```text\nname: ../../helper\ndescription: Answers questions\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3003",
                  "name": "ManifestFileName",
                  "shortDescription": {
                    "text": "manifest file name"
                  },
                  "fullDescription": {
                    "text": "Tools know a manifest by its name: `NAME.agent`, or `agent.yaml` in a directory. Under another name it is not found.",
                    "markdown": "Tools know a manifest by its name: `NAME.agent`, or `agent.yaml` in a directory. Under another name it is not found."
                  },
                  "help": {
                    "text": "Tools know a manifest by its name: `NAME.agent`, or `agent.yaml` in a directory. Under another name it is not found.",
                    "markdown": "Tools know a manifest by its name: `NAME.agent`, or `agent.yaml` in a directory. Under another name it is not found.\n\nBad, `helper.yaml`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3004",
                  "name": "NoManifest",
                  "shortDescription": {
                    "text": "no manifest"
                  },
                  "fullDescription": {
                    "text": "`SOUL.md` and `RULES.md` say who an agent is; without `agent.yaml` beside them it has no name and no trust.",
                    "markdown": "`SOUL.md` and `RULES.md` say who an agent is; without `agent.yaml` beside them it has no name and no trust."
                  },
                  "help": {
                    "text": "`SOUL.md` and `RULES.md` say who an agent is; without `agent.yaml` beside them it has no name and no trust.",
                    "markdown": "`SOUL.md` and `RULES.md` say who an agent is; without `agent.yaml` beside them it has no name and no trust.\n\nBad, `helper/SOUL.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.yaml`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n\nGood, `helper/SOUL.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3005",
                  "name": "KeyNotText",
                  "shortDescription": {
                    "text": "key not text"
                  },
                  "fullDescription": {
                    "text": "YAML reads the keys `1`, `on` and `null` as a number, a boolean and nothing. Fields, providers, servers and extensions are named by text.",
                    "markdown": "YAML reads the keys `1`, `on` and `null` as a number, a boolean and nothing. Fields, providers, servers and extensions are named by text."
                  },
                  "help": {
                    "text": "YAML reads the keys `1`, `on` and `null` as a number, a boolean and nothing. Fields, providers, servers and extensions are named by text.",
                    "markdown": "YAML reads the keys `1`, `on` and `null` as a number, a boolean and nothing. Fields, providers, servers and extensions are named by text.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nextensions: {1: fast}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nextensions: {\"1\": fast}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3006",
                  "name": "YamlVersionsDiffer",
                  "shortDescription": {
                    "text": "yaml versions differ"
                  },
                  "fullDescription": {
                    "text": "Manifests are read as YAML 1.1, where `on` is true, `017` is fifteen and `12:30` is 750; most newer tools read them as YAML 1.2, where these are something else. Quotes, or the plain value, mean the same to all.",
                    "markdown": "Manifests are read as YAML 1.1, where `on` is true, `017` is fifteen and `12:30` is 750; most newer tools read them as YAML 1.2, where these are something else. Quotes, or the plain value, mean the same to all."
                  },
                  "help": {
                    "text": "Manifests are read as YAML 1.1, where `on` is true, `017` is fifteen and `12:30` is 750; most newer tools read them as YAML 1.2, where these are something else. Quotes, or the plain value, mean the same to all.",
                    "markdown": "Manifests are read as YAML 1.1, where `on` is true, `017` is fifteen and `12:30` is 750; most newer tools read them as YAML 1.2, where these are something else. Quotes, or the plain value, mean the same to all.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nextensions: {x-claude: {mode: on}}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nextensions: {x-claude: {mode: \"on\"}}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3007",
                  "name": "TextTwice",
                  "shortDescription": {
                    "text": "text twice"
                  },
                  "fullDescription": {
                    "text": "In a directory, `SOUL.md` and `RULES.md` win over `soul` and `rules` of the manifest, so an edit of the inline text changes nothing.",
                    "markdown": "In a directory, `SOUL.md` and `RULES.md` win over `soul` and `rules` of the manifest, so an edit of the inline text changes nothing."
                  },
                  "help": {
                    "text": "In a directory, `SOUL.md` and `RULES.md` win over `soul` and `rules` of the manifest, so an edit of the inline text changes nothing.",
                    "markdown": "In a directory, `SOUL.md` and `RULES.md` win over `soul` and `rules` of the manifest, so an edit of the inline text changes nothing.\n\nBad, `helper/agent.yaml`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer.\n```\n\nBad, `helper/SOUL.md`:\n\n```text\nYou answer questions.\n```\n\nGood, `helper/agent.yaml`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n\nGood, `helper/SOUL.md`:\n\n```text\nYou answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3008",
                  "name": "EmptyText",
                  "shortDescription": {
                    "text": "empty text"
                  },
                  "fullDescription": {
                    "text": "An empty `SOUL.md` or `RULES.md` still wins over the inline text, so the agent is told nothing.",
                    "markdown": "An empty `SOUL.md` or `RULES.md` still wins over the inline text, so the agent is told nothing."
                  },
                  "help": {
                    "text": "An empty `SOUL.md` or `RULES.md` still wins over the inline text, so the agent is told nothing.",
                    "markdown": "An empty `SOUL.md` or `RULES.md` still wins over the inline text, so the agent is told nothing.\n\nBad, `helper/agent.yaml`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n\nBad, `helper/RULES.md`:\n\n```text\n\n```\n\nGood, `helper/agent.yaml`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n\nGood, `helper/RULES.md`:\n\n```text\n- Never guess.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3009",
                  "name": "MisnamedFile",
                  "shortDescription": {
                    "text": "misnamed file"
                  },
                  "fullDescription": {
                    "text": "Only `SOUL.md` and `RULES.md`, spelt so, are read, and of `agent.yaml` and `agent.yml` only the first. Hard rules in `rules.md` never reach the model.",
                    "markdown": "Only `SOUL.md` and `RULES.md`, spelt so, are read, and of `agent.yaml` and `agent.yml` only the first. Hard rules in `rules.md` never reach the model."
                  },
                  "help": {
                    "text": "Only `SOUL.md` and `RULES.md`, spelt so, are read, and of `agent.yaml` and `agent.yml` only the first. Hard rules in `rules.md` never reach the model.",
                    "markdown": "Only `SOUL.md` and `RULES.md`, spelt so, are read, and of `agent.yaml` and `agent.yml` only the first. Hard rules in `rules.md` never reach the model.\n\nBad, `helper/agent.yaml`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n\nBad, `helper/rules.md`:\n\n```text\n- Never guess.\n```\n\nGood, `helper/agent.yaml`:\n\n```text\nname: helper\ndescription: Answers questions\n```\n\nGood, `helper/RULES.md`:\n\n```text\n- Never guess.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3010",
                  "name": "ScopeWithoutEffect",
                  "shortDescription": {
                    "text": "scope without effect"
                  },
                  "fullDescription": {
                    "text": "`trust.scope` lists the paths that `filesystem: scoped` opens for writing. With another value it does nothing, which a reader of the file does not see.",
                    "markdown": "`trust.scope` lists the paths that `filesystem: scoped` opens for writing. With another value it does nothing, which a reader of the file does not see."
                  },
                  "help": {
                    "text": "`trust.scope` lists the paths that `filesystem: scoped` opens for writing. With another value it does nothing, which a reader of the file does not see.",
                    "markdown": "`trust.scope` lists the paths that `filesystem: scoped` opens for writing. With another value it does nothing, which a reader of the file does not see.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntrust: {filesystem: read-only, scope: [./notes]}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntrust: {filesystem: scoped, scope: [./notes]}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3011",
                  "name": "ScopedWithoutScope",
                  "shortDescription": {
                    "text": "scoped without scope"
                  },
                  "fullDescription": {
                    "text": "`filesystem: scoped` opens the paths of `trust.scope` for writing. Without any, the agent may write nowhere.",
                    "markdown": "`filesystem: scoped` opens the paths of `trust.scope` for writing. Without any, the agent may write nowhere."
                  },
                  "help": {
                    "text": "`filesystem: scoped` opens the paths of `trust.scope` for writing. Without any, the agent may write nowhere.",
                    "markdown": "`filesystem: scoped` opens the paths of `trust.scope` for writing. Without any, the agent may write nowhere.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntrust: {filesystem: scoped}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntrust: {filesystem: scoped, scope: [./notes]}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3012",
                  "name": "HostsWithoutEffect",
                  "shortDescription": {
                    "text": "hosts without effect"
                  },
                  "fullDescription": {
                    "text": "`trust.hosts` lists the hosts that `network: scoped` opens. With `none` or `allowed` it does nothing.",
                    "markdown": "`trust.hosts` lists the hosts that `network: scoped` opens. With `none` or `allowed` it does nothing."
                  },
                  "help": {
                    "text": "`trust.hosts` lists the hosts that `network: scoped` opens. With `none` or `allowed` it does nothing.",
                    "markdown": "`trust.hosts` lists the hosts that `network: scoped` opens. With `none` or `allowed` it does nothing.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntrust: {network: allowed, hosts: [example.org]}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntrust: {network: scoped, hosts: [example.org]}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3013",
                  "name": "ScopedWithoutHosts",
                  "shortDescription": {
                    "text": "scoped without hosts"
                  },
                  "fullDescription": {
                    "text": "`network: scoped` opens the hosts of `trust.hosts`, else those of the MCP servers and providers of the manifest. Without any, nothing can be reached.",
                    "markdown": "`network: scoped` opens the hosts of `trust.hosts`, else those of the MCP servers and providers of the manifest. Without any, nothing can be reached."
                  },
                  "help": {
                    "text": "`network: scoped` opens the hosts of `trust.hosts`, else those of the MCP servers and providers of the manifest. Without any, nothing can be reached.",
                    "markdown": "`network: scoped` opens the hosts of `trust.hosts`, else those of the MCP servers and providers of the manifest. Without any, nothing can be reached.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntrust: {network: scoped}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntrust: {network: scoped, hosts: [example.org]}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3014",
                  "name": "ExplicitWithoutProviders",
                  "shortDescription": {
                    "text": "explicit without providers"
                  },
                  "fullDescription": {
                    "text": "With `strategy: explicit` only the sources under `auth.providers` are used. Without any, no model that needs a key can be used.",
                    "markdown": "With `strategy: explicit` only the sources under `auth.providers` are used. Without any, no model that needs a key can be used."
                  },
                  "help": {
                    "text": "With `strategy: explicit` only the sources under `auth.providers` are used. Without any, no model that needs a key can be used.",
                    "markdown": "With `strategy: explicit` only the sources under `auth.providers` are used. Without any, no model that needs a key can be used.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nauth: {strategy: explicit}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nauth: {strategy: explicit, providers: {anthropic: {from: env.ANTHROPIC_API_KEY}}}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3015",
                  "name": "KeyInManifest",
                  "shortDescription": {
                    "text": "key in manifest"
                  },
                  "fullDescription": {
                    "text": "A manifest is shared and published; a key that stands in it is known to everybody. It names the environment variable that holds the key instead: `env.NAME`. The value found is never shown.",
                    "markdown": "A manifest is shared and published; a key that stands in it is known to everybody. It names the environment variable that holds the key instead: `env.NAME`. The value found is never shown."
                  },
                  "help": {
                    "text": "A manifest is shared and published; a key that stands in it is known to everybody. It names the environment variable that holds the key instead: `env.NAME`. The value found is never shown.",
                    "markdown": "A manifest is shared and published; a key that stands in it is known to everybody. It names the environment variable that holds the key instead: `env.NAME`. The value found is never shown.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nauth: {providers: {openai: {from: not-a-variable}}}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nauth: {providers: {openai: {from: env.OPENAI_API_KEY}}}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3016",
                  "name": "ProviderWithoutSource",
                  "shortDescription": {
                    "text": "provider without source"
                  },
                  "fullDescription": {
                    "text": "A provider is listed to say where its key comes from; without `from` it changes nothing.",
                    "markdown": "A provider is listed to say where its key comes from; without `from` it changes nothing."
                  },
                  "help": {
                    "text": "A provider is listed to say where its key comes from; without `from` it changes nothing.",
                    "markdown": "A provider is listed to say where its key comes from; without `from` it changes nothing.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nauth: {providers: {openai: {}}}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nauth: {providers: {openai: {from: env.OPENAI_API_KEY}}}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3017",
                  "name": "TagTwice",
                  "shortDescription": {
                    "text": "tag twice"
                  },
                  "fullDescription": {
                    "text": "A tag counts once; the second is probably a slip for another.",
                    "markdown": "A tag counts once; the second is probably a slip for another."
                  },
                  "help": {
                    "text": "A tag counts once; the second is probably a slip for another.",
                    "markdown": "A tag counts once; the second is probably a slip for another.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntags: [help, help]\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntags: [help]\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3018",
                  "name": "ModelWithoutProvider",
                  "shortDescription": {
                    "text": "model without provider"
                  },
                  "fullDescription": {
                    "text": "The provider decides which key and which address are used. A bare model name may belong to several, so it is skipped.",
                    "markdown": "The provider decides which key and which address are used. A bare model name may belong to several, so it is skipped."
                  },
                  "help": {
                    "text": "The provider decides which key and which address are used. A bare model name may belong to several, so it is skipped.",
                    "markdown": "The provider decides which key and which address are used. A bare model name may belong to several, so it is skipped.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nmodel: {preferred: [gpt-5]}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nmodel: {preferred: [openai/gpt-5]}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3019",
                  "name": "FunctionTwice",
                  "shortDescription": {
                    "text": "function twice"
                  },
                  "fullDescription": {
                    "text": "A function is called by its name; of two, nobody can say which is meant.",
                    "markdown": "A function is called by its name; of two, nobody can say which is meant."
                  },
                  "help": {
                    "text": "A function is called by its name; of two, nobody can say which is meant.",
                    "markdown": "A function is called by its name; of two, nobody can say which is meant.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nexpose: [{name: ask, output: str}, {name: ask}]\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nexpose: [{name: ask, output: str}]\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3020",
                  "name": "UnknownCallee",
                  "shortDescription": {
                    "text": "unknown callee"
                  },
                  "fullDescription": {
                    "text": "A stage calls `agent.function`, where the agent is one of `agents`, or a function of the manifest itself.",
                    "markdown": "A stage calls `agent.function`, where the agent is one of `agents`, or a function of the manifest itself."
                  },
                  "help": {
                    "text": "A stage calls `agent.function`, where the agent is one of `agents`, or a function of the manifest itself.",
                    "markdown": "A stage calls `agent.function`, where the agent is one of `agents`, or a function of the manifest itself.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nagents: {writer: {ref: ./writer.agent}}\npipeline: [{call: writr.draft}]\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nagents: {writer: {ref: ./writer.agent}}\npipeline: [{call: writer.draft}]\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3021",
                  "name": "UnusableReference",
                  "shortDescription": {
                    "text": "unusable reference"
                  },
                  "fullDescription": {
                    "text": "`base` and `agents` name other definitions, by a path, `ag1:…`, `sha256:…`, `name@version` or an OCI reference. What lies behind a URL can change at any time, so a URL needs the digest of what is expected there.",
                    "markdown": "`base` and `agents` name other definitions, by a path, `ag1:…`, `sha256:…`, `name@version` or an OCI reference. What lies behind a URL can change at any time, so a URL needs the digest of what is expected there."
                  },
                  "help": {
                    "text": "`base` and `agents` name other definitions, by a path, `ag1:…`, `sha256:…`, `name@version` or an OCI reference. What lies behind a URL can change at any time, so a URL needs the digest of what is expected there.",
                    "markdown": "`base` and `agents` name other definitions, by a path, `ag1:…`, `sha256:…`, `name@version` or an OCI reference. What lies behind a URL can change at any time, so a URL needs the digest of what is expected there.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nbase: https://example.org/base.agent\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nbase: https://example.org/base.agent#sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3022",
                  "name": "MergeWithoutBase",
                  "shortDescription": {
                    "text": "merge without base"
                  },
                  "fullDescription": {
                    "text": "`merge` says how a manifest is combined with its `base`; without one it does nothing.",
                    "markdown": "`merge` says how a manifest is combined with its `base`; without one it does nothing."
                  },
                  "help": {
                    "text": "`merge` says how a manifest is combined with its `base`; without one it does nothing.",
                    "markdown": "`merge` says how a manifest is combined with its `base`; without one it does nothing.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nmerge: {skills: override}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nbase: ./base.agent\nmerge: {skills: override}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "note"
                  }
                },
                {
                  "id": "AG3023",
                  "name": "SkillWithoutName",
                  "shortDescription": {
                    "text": "skill without name"
                  },
                  "fullDescription": {
                    "text": "A skill is resolved by its name.",
                    "markdown": "A skill is resolved by its name."
                  },
                  "help": {
                    "text": "A skill is resolved by its name.",
                    "markdown": "A skill is resolved by its name.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nskills: [{optional: true}]\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nskills: [{name: web-search, optional: true}]\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3024",
                  "name": "SkillTwice",
                  "shortDescription": {
                    "text": "skill twice"
                  },
                  "fullDescription": {
                    "text": "A skill counts once; the second is probably a slip for another.",
                    "markdown": "A skill counts once; the second is probably a slip for another."
                  },
                  "help": {
                    "text": "A skill counts once; the second is probably a slip for another.",
                    "markdown": "A skill counts once; the second is probably a slip for another.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nskills: [git, git]\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nskills: [git]\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG3025",
                  "name": "ServerWithoutName",
                  "shortDescription": {
                    "text": "server without name"
                  },
                  "fullDescription": {
                    "text": "The tools of a server are called by its name.",
                    "markdown": "The tools of a server are called by its name."
                  },
                  "help": {
                    "text": "The tools of a server are called by its name.",
                    "markdown": "The tools of a server are called by its name.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntools: {mcp: [{command: serve}]}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntools: {mcp: [{name: notes, command: serve}]}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3026",
                  "name": "SeveralServers",
                  "shortDescription": {
                    "text": "several servers"
                  },
                  "fullDescription": {
                    "text": "Of an entry `{name: {settings}}` only the first key is read as a server, so the others are lost without a word.",
                    "markdown": "Of an entry `{name: {settings}}` only the first key is read as a server, so the others are lost without a word."
                  },
                  "help": {
                    "text": "Of an entry `{name: {settings}}` only the first key is read as a server, so the others are lost without a word.",
                    "markdown": "Of an entry `{name: {settings}}` only the first key is read as a server, so the others are lost without a word.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntools: {mcp: [{notes: {mode: fast}, files: {mode: slow}}]}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntools: {mcp: [{notes: {mode: fast}}, {files: {mode: slow}}]}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3027",
                  "name": "ServerTwice",
                  "shortDescription": {
                    "text": "server twice"
                  },
                  "fullDescription": {
                    "text": "The tools of a server are called by its name; of two servers, nobody can say which is meant.",
                    "markdown": "The tools of a server are called by its name; of two servers, nobody can say which is meant."
                  },
                  "help": {
                    "text": "The tools of a server are called by its name; of two servers, nobody can say which is meant.",
                    "markdown": "The tools of a server are called by its name; of two servers, nobody can say which is meant.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntools: {mcp: [notes, {name: notes, command: serve}]}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntools: {mcp: [{name: notes, command: serve}]}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3028",
                  "name": "ServerTransport",
                  "shortDescription": {
                    "text": "server transport"
                  },
                  "fullDescription": {
                    "text": "`stdio` speaks to a program, so it needs `command`; `http` and `sse` speak to an address, so they need `url`. With both, or with the wrong one, nobody can say what is meant.",
                    "markdown": "`stdio` speaks to a program, so it needs `command`; `http` and `sse` speak to an address, so they need `url`. With both, or with the wrong one, nobody can say what is meant."
                  },
                  "help": {
                    "text": "`stdio` speaks to a program, so it needs `command`; `http` and `sse` speak to an address, so they need `url`. With both, or with the wrong one, nobody can say what is meant.",
                    "markdown": "`stdio` speaks to a program, so it needs `command`; `http` and `sse` speak to an address, so they need `url`. With both, or with the wrong one, nobody can say what is meant.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntools: {mcp: [{name: notes, transport: http, command: serve}]}\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\ntools: {mcp: [{name: notes, transport: http, url: https://example.org/mcp}]}\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "AG3029",
                  "name": "TextWithoutEffect",
                  "shortDescription": {
                    "text": "text without effect"
                  },
                  "fullDescription": {
                    "text": "`system_override` stands in for persona and traits, and only where there is no soul. What it replaces, or itself beside a soul, is never said to the model.",
                    "markdown": "`system_override` stands in for persona and traits, and only where there is no soul. What it replaces, or itself beside a soul, is never said to the model."
                  },
                  "help": {
                    "text": "`system_override` stands in for persona and traits, and only where there is no soul. What it replaces, or itself beside a soul, is never said to the model.",
                    "markdown": "`system_override` stands in for persona and traits, and only where there is no soul. What it replaces, or itself beside a soul, is never said to the model.\n\nBad, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nbehavior:\n  persona: helper\n  system_override: You answer.\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nbehavior:\n  system_override: You answer.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "note"
                  }
                },
                {
                  "id": "AG9001",
                  "name": "NoDescription",
                  "shortDescription": {
                    "text": "no description"
                  },
                  "fullDescription": {
                    "text": "People and harnesses pick an agent by its description; without one it is never picked.",
                    "markdown": "People and harnesses pick an agent by its description; without one it is never picked."
                  },
                  "help": {
                    "text": "People and harnesses pick an agent by its description; without one it is never picked.",
                    "markdown": "People and harnesses pick an agent by its description; without one it is never picked.\n\nBad, `helper.agent`:\n\n```text\nname: helper\nsoul: You answer questions.\n```\n\nGood, `helper.agent`:\n\n```text\nname: helper\ndescription: Answers questions\nsoul: You answer questions.\n```\n"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                }
              ]
            }
          },
          "columnKind": "unicodeCodePoints",
          "newlineSequences": [
            "\r\n",
            "\n",
            "\r"
          ],
          "results": [
            {
              "ruleId": "AG0101",
              "level": "warning",
              "message": {
                "text": "the manifest has no field `team`"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "broken.agent"
                    },
                    "region": {
                      "startLine": 4,
                      "startColumn": 1,
                      "endLine": 4,
                      "endColumn": 5
                    }
                  }
                }
              ],
              "partialFingerprints": {
                "agentry/v1": "b2261035b17b09ac:1"
              },
              "ruleIndex": 29
            },
            {
              "ruleId": "AG0104",
              "level": "error",
              "message": {
                "text": "`filesystem` cannot be `readwrite`\n\nhelp: use one of `none`, `read-only`, `scoped`, `full`"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "broken.agent"
                    },
                    "region": {
                      "startLine": 5,
                      "startColumn": 21,
                      "endLine": 5,
                      "endColumn": 30
                    }
                  }
                }
              ],
              "partialFingerprints": {
                "agentry/v1": "2334156c5fb3cd3f:1"
              },
              "ruleIndex": 32
            }
          ]
        }
      ]
    }
    --- exit 1
    "#);
}

#[test]
fn github_reads_findings() {
    let test = Test::new().file("broken.agent", BROKEN);
    insta::assert_snapshot!(test.run("check --format github"), @r#"
    $ agentry check --format github
    --- stdout
    ::warning file=broken.agent,line=4,col=1,endLine=4,endColumn=5,title=AG0101 unknown-field::the manifest has no field `team`
    ::error file=broken.agent,line=5,col=21,endLine=5,endColumn=30,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`%0Ahelp: use one of `none`, `read-only`, `scoped`, `full`
    --- exit 1
    "#);
}

#[test]
fn warnings_fail_only_when_denied() {
    let test = Test::new().file("warned.agent", WARNED);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    warning[AG0101]: the manifest has no field `team`
     --> warned.agent:4:1
      |
    4 | team: support
      | ^^^^

    checked 1 agent: 1 warning
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("check --deny-warnings"), @r#"
    $ agentry check --deny-warnings
    --- stdout
    warning[AG0101]: the manifest has no field `team`
     --> warned.agent:4:1
      |
    4 | team: support
      | ^^^^

    checked 1 agent: 1 warning
    --- exit 1
    "#);
}

#[test]
fn a_path_that_is_not_there() {
    let test = Test::new().file("broken.agent", BROKEN);
    insta::assert_snapshot!(test.run("check nowhere"), @r#"
    $ agentry check nowhere
    --- stdout
    no agents found
    --- stderr
    error: `nowhere` does not exist
    --- exit 2
    "#);
    // What can be checked is checked all the same, and the worse exit code wins.
    insta::assert_snapshot!(test.run("check --format github broken.agent nowhere"), @r#"
    $ agentry check --format github broken.agent nowhere
    --- stdout
    ::warning file=broken.agent,line=4,col=1,endLine=4,endColumn=5,title=AG0101 unknown-field::the manifest has no field `team`
    ::error file=broken.agent,line=5,col=21,endLine=5,endColumn=30,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`%0Ahelp: use one of `none`, `read-only`, `scoped`, `full`
    --- stderr
    error: `nowhere` does not exist
    --- exit 2
    "#);
}

#[test]
fn a_file_that_is_no_agent() {
    let test = Test::new().file("notes.txt", "Buy milk.\n");
    insta::assert_snapshot!(test.run("check notes.txt"), @r#"
    $ agentry check notes.txt
    --- stdout
    no agents found
    --- stderr
    error: `notes.txt` is no agent definition that agentry knows
      = help: say which format it is with `--as agent-md|agent-toml|manifest|agentfs|agent-dir`
    --- exit 2
    "#);
}

#[test]
fn a_directory_without_agents() {
    let test = Test::new().file("docs/notes.txt", "Buy milk.\n");
    insta::assert_snapshot!(test.run("check docs"), @r#"
    $ agentry check docs
    --- stdout
    no agents found
    --- stderr
    note: no agent found in `docs`
      = help: agents are `*.agent` and `*.agent.md` files, and directories with `agent.toml`, `agent.yaml`, `agent.json` or `instructions.md`
    --- exit 0
    "#);
    let test = test.file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check docs helper.agent"), @r#"
    $ agentry check docs helper.agent
    --- stdout
    checked 1 agent: all good
    --- stderr
    note: no agent found in `docs`
    --- exit 0
    "#);
}

#[test]
fn several_paths_name_an_agent_once() {
    let test = Test::new().file("a/helper.agent", HELPER).file("b/warned.agent", WARNED);
    insta::assert_snapshot!(test.run("check b a a/helper.agent ./a"), @r#"
    $ agentry check b a a/helper.agent ./a
    --- stdout
    warning[AG0101]: the manifest has no field `team`
     --> b/warned.agent:4:1
      |
    4 | team: support
      | ^^^^

    checked 2 agents: 1 warning
    --- exit 0
    "#);
}

#[test]
fn a_file_read_as_another_format() {
    let test = Test::new().file("notes.txt", BROKEN);
    insta::assert_snapshot!(test.run("check notes.txt --as manifest --format github"), @r#"
    $ agentry check notes.txt --as manifest --format github
    --- stdout
    ::error file=notes.txt,line=1,col=1,endLine=1,endColumn=1,title=AG3003 manifest-file-name::`notes.txt` is not the name of a manifest%0Ahelp: name it `NAME.agent`, or `agent.yaml` in a directory of its own
    ::warning file=notes.txt,line=4,col=1,endLine=4,endColumn=5,title=AG0101 unknown-field::the manifest has no field `team`
    ::error file=notes.txt,line=5,col=21,endLine=5,endColumn=30,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`%0Ahelp: use one of `none`, `read-only`, `scoped`, `full`
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("check notes.txt --as manifst"), @r#"
    $ agentry check notes.txt --as manifst
    --- stderr
    error: invalid value 'manifst' for '--as <FORMAT>': did you mean `manifest`?

    For more information, try '--help'.
    --- exit 2
    "#);
}

#[test]
fn two_agents_of_one_name() {
    let test = Test::new().file("a.agent", HELPER).file("b.agent", HELPER);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    warning[AG0009]: the name `helper` is taken by `a.agent`
     --> b.agent:1:7
      |
    1 | name: helper
      |       ^^^^^^
      |
      = help: give each agent of the workspace its own name

    checked 2 agents: 1 warning
    --- exit 0
    "#);
}

#[test]
fn findings_are_hidden_where_a_reason_is_given() {
    let allowed =
        format!("{HELPER}# agentry: allow(unknown-field) read by our own tooling\nteam: support\n");
    let test = Test::new().file("helper.agent", allowed);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    checked 1 agent: all good
    --- exit 0
    "#);
    let unexplained = format!("{HELPER}# agentry: allow(unknown-field)\nteam: support\n");
    let test = Test::new().file("helper.agent", unexplained);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    warning[AG0007]: this suppression gives no reason
     --> helper.agent:4:3
      |
    4 | # agentry: allow(unknown-field)
      |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: say why after the closing parenthesis

    warning[AG0101]: the manifest has no field `team`
     --> helper.agent:5:1
      |
    5 | team: support
      | ^^^^

    checked 1 agent: 2 warnings
    --- exit 0
    "#);
    let unknown = format!("{HELPER}# agentry: allow(unknwon-field) read by us\n");
    let test = Test::new().file("helper.agent", unknown);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    warning[AG0007]: there is no rule `unknwon-field`
     --> helper.agent:4:3
      |
    4 | # agentry: allow(unknwon-field) read by us
      |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: `agentry rules` lists them all

    checked 1 agent: 1 warning
    --- exit 0
    "#);
}

#[test]
fn notes_are_counted() {
    let config = "[check]\nseverity = { unknown-field = \"note\" }\n";
    let test = Test::new().file("agentry.toml", config).file("warned.agent", WARNED);
    insta::assert_snapshot!(test.run("check --deny-warnings"), @r#"
    $ agentry check --deny-warnings
    --- stdout
    note[AG0101]: the manifest has no field `team`
     --> warned.agent:4:1
      |
    4 | team: support
      | ^^^^

    checked 1 agent: 1 note
    --- exit 0
    "#);
}

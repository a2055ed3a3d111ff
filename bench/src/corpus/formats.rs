//! One agent without findings in each format, as its authors would write it.

use super::prose::Prose;

type Files = Vec<(String, String)>;

/// The number of bytes of an agent's instructions.
fn size(prose: &mut Prose) -> usize {
    600 + prose.below(5_000)
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") })
        .collect()
}

pub(super) fn manifest(name: &str, prose: &mut Prose) -> Files {
    let description = prose.line();
    let size = size(prose);
    let text = format!(
        "apiVersion: agent/v1
name: {name}
version: 1.{}.0
author: team@example.com
license: MIT
description: {description}
tags: [research, review, web]

model:
  capability: reasoning-high
  preferred:
    - claude/claude-sonnet-4-6
    - openai/o3
  fallback: reasoning-mid
  context: full

skills:
  - web-search
  - file-read
  - cite-sources

tools:
  mcp:
    - github
    - postgres:
        connection: env.DB_URL
        mode: read-only
  native: [bash]

memory:
  working: session
  long_term: none
  shared: false

behavior:
  persona: careful-researcher
  traits: [cite-everything, flag-uncertainty, never-guess, be-concise]
  temperature: 0.2
  max_steps: {}
  on_error: ask

expose:
  - name: research
    description: Answers one question with its sources
    input: {{ query: str }}
    output: Report

trust:
  filesystem: read-only
  network: allowed
  exec: sandboxed

observability:
  trace: true
  cost_limit: 0.50
  step_limit: 40
  on_exceed: abort

soul: |
{}
rules: |
{}",
        prose.below(10),
        10 + prose.below(20),
        indented(&prose.paragraph(size)),
        indented(&prose.list(6)),
    );
    vec![(format!("{name}.agent"), text)]
}

pub(super) fn agent_md(name: &str, prose: &mut Prose) -> Files {
    let size = size(prose);
    let text = format!(
        "---
version: 0.{}.0
icon: 🔎
title: Agent {name}
status: active
recommended:
  models: [GPT-5.2, Grok Code]
required:
  startup: check_access
  env:
    - ACCESS_TOKEN
---
# Agent {name}

{}.

## System
{}

## Rules
{}
## Tools
```js
async function checkAccess(_args, {{ env, fetch }}) {{
  const token = env.ACCESS_TOKEN;
  if (!token) throw new Error(\"ACCESS_TOKEN is not set\");
  const answer = await fetch(\"https://api.example.com/v1/me\", {{
    headers: {{ Authorization: `Bearer ${{token}}` }},
  }});
  if (!answer.ok) throw new Error(`refused: ${{answer.status}}`);
  return {{ ok: true }};
}}

return {{
  check_access: {{
    fn: checkAccess,
    scheme: {{
      name: \"check_access\",
      description: \"Says whether the service can be reached with the token\",
      parameters: {{ type: \"object\", properties: {{}}, additionalProperties: false }},
    }},
  }},
}};
```
",
        1 + prose.below(9),
        prose.line(),
        prose.paragraph(size),
        prose.list(6),
    );
    vec![(format!("agents/research_{name}.agent.md"), text)]
}

pub(super) fn agent_toml(name: &str, prose: &mut Prose) -> Files {
    let size = size(prose);
    let definition = format!(
        "name = \"{name}\"
display_name = \"Agent {name}\"
description = \"{}\"
mode = \"subagent\"
tags = [\"review\", \"research\"]
max_turns = {}

[permissions.bash]
intent = \"ask\"
rules = [
  \"git status:allow\",
  \"git log *:allow\",
  \"git diff *:allow\",
  \"rm -rf *:deny\",
]

[permissions.edit]
intent = \"deny\"
rules = [\"docs/**:allow\"]

[permissions.webfetch]
intent = \"allow\"

[permissions.websearch]
intent = \"deny\"
",
        prose.line(),
        10 + prose.below(40),
    );
    let prompt = format!("{}\n\n{}", prose.paragraph(200), prose.sections(size));
    vec![(format!("{name}/agent.toml"), definition), (format!("{name}/system-prompt.md"), prompt)]
}

pub(super) fn agentfs(name: &str, prose: &mut Prose) -> Files {
    let size = size(prose);
    let definition = format!(
        "{{
  \"name\": \"Advisor {name}\",
  \"version\": \"1.{}.0\",
  \"description\": \"{}\",
  \"role\": \"Advisor\",
  \"author\": \"The team\",
  \"traits\": [\"Careful\", \"Concise\"],
  \"risk_level\": \"medium\",
  \"greeting\": \"Good day! What shall we look at?\",
  \"access_control\": {{ \"owner\": \"user_001\", \"visibility\": \"private\" }}
}}
",
        prose.below(10),
        prose.line(),
    );
    let persona = format!("## How to answer\n{}\n{}", prose.list(4), prose.sections(size / 2));
    let principles = format!(
        "## Must Do\n{}\n## Never Do\n{}\n## Escalation Path\n{}",
        prose.list(4),
        prose.list(4),
        prose.list(2),
    );
    let memory = format!(
        "---\ntype: fact\nimportance: high\ncreated: 2026-01-15T10:30:00Z\nsource: user_teaching\n\
         ---\n\n# What the user prefers\n\n{}\n",
        prose.paragraph(size / 4),
    );
    let files = [
        ("agent.json", definition),
        ("persona.md", persona),
        ("principles.md", principles),
        ("skills/comparison/SKILL.md", fs_skill(size / 4, prose)),
        ("memory/preferences.md", memory),
    ];
    files.map(|(path, text)| (format!("{name}/{path}"), text)).into()
}

fn fs_skill(size: usize, prose: &mut Prose) -> String {
    format!(
        "---
metadata:
  id: comparison
  version: 1.0.0
  name: Comparison
  description: {}
  tags: [Research]
  requiredTools: [Read]
---

# Comparison

## Execution Steps

### 1. Take the files apart (Hardened Step)
{}
### 2. Weigh the parts (Flexible Step)
{}

### 3. Show the result (Human Gate)
{}",
        prose.line(),
        prose.list(2),
        prose.paragraph(size),
        prose.list(2),
    )
}

pub(super) fn agent_dir(name: &str, prose: &mut Prose) -> Files {
    let size = size(prose);
    let acl = "default_model = \"openai/gpt-5\"
max_tool_rounds = 30

providers \"openai\" {
  models \"gpt-5\" {
    name = \"GPT-5\"
    limit { context = 400000, output = 128000 }
  }
}

queue {
  query_max_concurrency = 8
}
";
    let schedule = format!("---\ncron: \"0 9 * * mon\"\ntimezone: UTC\n---\n{}.\n", prose.line());
    let search = "---\nkind: mcp\ntransport: streamable-http\nurl: https://search.example.com/mcp\n\
                  enabled: true\n---\n\nSearches.\n";
    let skill =
        format!("---\ndescription: {}\n---\n\n{}\n", prose.line(), prose.paragraph(size / 4));
    let instructions = format!("{}\n\n{}", prose.paragraph(200), prose.sections(size / 2));
    let files = [
        ("instructions.md", instructions),
        ("agent.acl", acl.to_owned()),
        ("schedules/weekly.md", schedule),
        ("tools/search.md", search.to_owned()),
        ("skills/summary.md", skill),
    ];
    files.map(|(path, text)| (format!("{name}/{path}"), text)).into()
}

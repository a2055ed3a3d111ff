//! `## Tools`: the fenced JavaScript, and code that lacks a fence.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use agentry_model::{AgentTools, JavaScriptFunction};
use agentry_text::markdown::{self, CodeFence};
use agentry_text::suggestion::did_you_mean;
use agentry_text::{Applicability, Findings, Fix, SourceFile, Span, Spanned, TextEdit};

use super::js::{self, ScriptedTool, ToolBlock};
use super::rules::{
    CODE_OUTSIDE_FENCE, OTHER_LANGUAGE, STARTUP_MISSING, TOOL_TWICE, UNCLOSED_FENCE,
};

/// The content under `## Tools`.
#[derive(Debug, Default)]
pub(super) struct ToolsSection {
    /// The code, block by block.
    pub(super) source: Vec<Spanned<String>>,
    /// The tools that the code returns, as far as they can be read.
    pub(super) tools: Vec<ScriptedTool>,
    /// The span of the first use of each name, in lower case.
    names: HashMap<String, Span>,
    /// Whether the list of tools is complete.
    pub(super) complete: bool,
    /// The environment variables that the code reads.
    pub(super) variables: Vec<Spanned<String>>,
}

impl ToolsSection {
    /// Reads the text of `source` at `place`.
    pub(super) fn read(source: &SourceFile, place: Span, findings: &mut Findings) -> Self {
        let mut section = Self { complete: true, ..Self::default() };
        let fences = markdown::fences(source, place.range());
        for fence in &fences {
            section.fence(source, fence, findings);
        }
        let blocks: Vec<_> = fences.iter().map(|fence| fence.block).collect();
        for stretch in markdown::outside(source, place.range(), &blocks) {
            for code in bare_code(source, stretch) {
                section.complete = false;
                report_bare(source, code, findings);
            }
        }
        section
    }

    fn fence(&mut self, source: &SourceFile, fence: &CodeFence, findings: &mut Findings) {
        if !matches!(fence.language.as_str(), "js" | "javascript") {
            return other_language(source, fence, findings);
        }
        let text = source.slice(fence.code);
        let text = text.strip_suffix('\n').unwrap_or(text);
        self.source.push(Spanned::new(text.to_owned(), fence.code));
        let block = if fence.closed {
            js::read(source, fence.code, findings)
        } else {
            unclosed(source, fence, findings);
            // The unclosed fence also contains the text after the code, which causes most errors.
            let block = js::read(source, fence.code, &mut Findings::default());
            ToolBlock { complete: false, ..block }
        };
        self.complete &= block.complete;
        self.variables.extend(block.variables);
        for tool in block.tools {
            self.tool(tool, findings);
        }
    }

    fn tool(&mut self, tool: ScriptedTool, findings: &mut Findings) {
        match self.names.entry(folded(&tool.name)) {
            Entry::Occupied(first) => {
                let message = format!("there are two tools `{}`", tool.name.value);
                findings
                    .add(&TOOL_TWICE, tool.name.span, message)
                    .related(*first.get(), "the first one")
                    .hint("give one of them another name");
            }
            Entry::Vacant(new) => {
                new.insert(tool.name.span);
                self.tools.push(tool);
            }
        }
    }

    /// Returns the tools for the model.
    pub(super) fn to_tools(&self) -> AgentTools {
        let function = |tool: &ScriptedTool| {
            let ScriptedTool { name, description, parameters } = tool.clone();
            Spanned::new(
                JavaScriptFunction { name: name.value, description, parameters },
                name.span,
            )
        };
        AgentTools {
            functions: self.tools.iter().map(function).collect(),
            source: self.source.clone(),
            ..AgentTools::default()
        }
    }
}

/// Reports a start-up tool that does not exist. Unreadable blocks were already reported.
pub(super) fn check_startup(
    startup: &Spanned<String>,
    section: Option<&ToolsSection>,
    findings: &mut Findings,
) {
    let tools = section.map_or(&[][..], |section| &section.tools);
    let is_known = section.is_some_and(|section| section.names.contains_key(&folded(startup)));
    // An incomplete list may lack the tool only because a block is not static.
    if is_known || section.is_some_and(|section| !section.complete) {
        return;
    }
    let message = format!("the start-up tool `{}` does not exist", startup.value);
    let near = did_you_mean(&startup.value, tools.iter().map(|tool| tool.name.value.as_str()));
    let hint = match section {
        None => "define it under a heading `## Tools`".to_owned(),
        Some(_) => near.unwrap_or_else(|| "return a tool of that name under `## Tools`".to_owned()),
    };
    findings.add(&STARTUP_MISSING, startup.span, message).hint(hint);
}

/// Normalises a tool name for comparison, which ignores case.
fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

/// Reports a fence that is never closed. Three quotes at its end probably should close it.
fn unclosed(source: &SourceFile, fence: &CodeFence, findings: &mut Findings) {
    let opening = source.slice(fence.opening);
    let signs = opening.len() - opening.trim_start_matches(['`', '~']).len();
    let signs = opening.get(..signs).unwrap_or("```");
    let text = source.slice(fence.code).trim_end();
    let end = fence.code.range().start + text.len();
    let quotes = ["\n'''", "\n\"\"\""].iter().find(|quotes| text.ends_with(**quotes));
    let place = Span::new(source.id, end - quotes.map_or(0, |quotes| quotes.len()), end);
    findings
        .add(&UNCLOSED_FENCE, fence.opening, "the code fence is never closed")
        .hint(format!("close it with a line `{signs}`"))
        .fix(Fix::unsafe_("close the fence", place, format!("\n{signs}")));
}

fn other_language(source: &SourceFile, fence: &CodeFence, findings: &mut Findings) {
    let message = match fence.language.as_str() {
        "" => "a code block without a language is not read".to_owned(),
        language => format!("a `{language}` block is not read"),
    };
    let found = findings.add(&OTHER_LANGUAGE, fence.opening, message);
    found.hint("tools are written in fenced `js` blocks");
    if fence.language.is_empty() && js::parses(source.slice(fence.code)) {
        let end = Span { start: fence.opening.end, ..fence.opening };
        found.fix(Fix::unsafe_("mark the block as `js`", end, "js"));
    }
}

/// Returns the parts of a text that are clearly code, each as whole lines.
fn bare_code(source: &SourceFile, stretch: Span) -> Vec<Span> {
    let line_start = source.text.get(..stretch.range().start).and_then(|text| text.rfind('\n'));
    let start = line_start.map_or(0, |at| at + 1);
    let text = source.text.get(start..stretch.range().end).unwrap_or("");
    let mut found: Vec<Span> = Vec::new();
    let mut open = false;
    let mut at = start;
    for line in text.split_inclusive('\n') {
        let place = Span::new(source.id, at, at + line.trim_end().len());
        at += line.len();
        // A heading ends the code.
        if line.starts_with('#') {
            open = false;
        } else if open || is_code(line) {
            match found.last_mut().filter(|_| open) {
                Some(last) if !line.trim().is_empty() => last.end = place.end,
                Some(_) => {}
                None => found.push(place),
            }
            open = true;
        }
    }
    found
}

/// Whether a line is very unlikely to be prose.
fn is_code(line: &str) -> bool {
    let line = line.trim();
    let starts = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    let ends = |signs: &[&str]| signs.iter().any(|sign| line.ends_with(sign));
    (starts(&["const ", "let ", "var "]) && line.contains('='))
        || (starts(&["function ", "async function", "function*"]) && line.contains('('))
        || (starts(&["return ", "return{", "class ", "if (", "for (", "while (", "try {"])
            && ends(&["{", ";", "(", "}"]))
        || (starts(&["import ", "export ", "module.exports", "exports."])
            && ends(&[";", "{", "'", "\""]))
        || ends(&["=> {", "});", "};"])
}

/// Reports code without a fence. The fix adds one if the code parses.
fn report_bare(source: &SourceFile, code: Span, findings: &mut Findings) {
    let found = findings.add(&CODE_OUTSIDE_FENCE, code, "code stands outside a fence");
    found.hint("put it between ```` ```js ```` and ```` ``` ````");
    if let Some(code) = parsing(source, code) {
        let fence = fence_for(source.slice(code));
        let at =
            |at: u32, text: String| TextEdit { span: Span { start: at, end: at, ..code }, text };
        let edits =
            vec![at(code.start, format!("{fence}js\n")), at(code.end, format!("\n{fence}"))];
        let title = "put the code into a fence".to_owned();
        found.fix(Fix::several(title, edits, Applicability::Safe));
    }
}

/// Returns the code that parses: all of it, or up to its last line that is clearly code.
fn parsing(source: &SourceFile, code: Span) -> Option<Span> {
    let text = source.slice(code);
    let lines = text.split_inclusive('\n');
    let lengths = lines.scan(0, |end, line| {
        *end += line.len();
        Some((*end, is_code(line)))
    });
    let last = lengths.filter(|(_, is_code)| *is_code).last().map_or(text.len(), |(end, _)| end);
    let shorter = text.get(..last).unwrap_or(text).trim_end().len();
    let of = |length: usize| Span::new(source.id, code.range().start, code.range().start + length);
    [text.len(), shorter].map(of).into_iter().find(|span| js::parses(source.slice(*span)))
}

/// Returns a fence longer than any run of backticks in `code`.
pub(super) fn fence_for(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    // At least three backticks: Markdown has no shorter fence.
    "`".repeat(longest.max(2) + 1)
}

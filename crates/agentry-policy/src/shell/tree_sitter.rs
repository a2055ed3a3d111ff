//! Parses a line with tree-sitter. Its trees are as deep as a chain is long, so nothing here is recursive.

use std::borrow::Cow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::item::{ShellItem, assignment, body, joined, mark};
use super::screen::nesting;

/// Deeper nested texts are rejected before any work.
const MAX_NESTING: usize = 1_000;

/// The tokens that tree-sitter found.
pub(super) struct TreeSitterItems {
    /// The tokens in the order of their effect.
    pub(super) items: Vec<ShellItem>,
    /// Whether the whole text matches the grammar.
    pub(super) is_sound: bool,
    /// How much work the parsing was.
    pub(super) work: usize,
}

/// Parses `text`; returns `None` if that takes too much work.
pub(super) fn read(text: &str) -> Option<TreeSitterItems> {
    if nesting(text) > MAX_NESTING {
        return None;
    }
    let (tree, work) = parse(text)?;
    let mut reader = TreeSitterReader {
        text,
        items: Vec::new(),
        within: Vec::new(),
        next: WordRole::Word,
        brackets: false,
        end: usize::MAX,
        seen: 0,
    };
    reader.walk(&tree);
    let is_sound = !tree.root_node().has_error();
    Some(TreeSitterItems { work: work + reader.items.len(), items: reader.items, is_sound })
}

/// Parses with a limit on the work, because the cost of error recovery grows faster than the text.
fn parse(text: &str) -> Option<(Tree, usize)> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let most = 1_000 + text.len() / 8;
    let most_mending = 20 + 400_000 / (text.len() + 1);
    let (mut work, mut mending) = (0, 0);
    let mut count = |state: &tree_sitter::ParseState| {
        work += 1;
        mending += usize::from(state.has_error());
        work > most || mending > most_mending
    };
    let options = ParseOptions::new().progress_callback(&mut count);
    let bytes = masked(text);
    let mut chunk = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut chunk, None, Some(options))?;
    Some((tree, work))
}

/// Returns the bytes of `text`, with a full stop for each byte that is not ASCII. In words, neither has
/// a meaning to a shell. The scanner of the grammar reads beyond its tables for characters far from ASCII.
fn masked(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    text.bytes().map(|byte| if byte.is_ascii() { byte } else { b'.' }).collect()
}

struct TreeSitterReader<'t> {
    text: &'t str,
    items: Vec<ShellItem>,
    /// The kinds of the enclosing nodes.
    within: Vec<&'static str>,
    /// The role of the next word.
    next: WordRole,
    /// Whether the current node is between `[[` and `]]`.
    brackets: bool,
    /// Where the last word ended; a word that starts there is joined to it.
    end: usize,
    /// Where the last word ended, even if the next one cannot be joined to it.
    seen: usize,
}

/// The role of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordRole {
    Name,
    Word,
    /// The target of a redirection; a command name follows if `names`.
    Target {
        names: bool,
    },
}

/// How the walk continues after a node.
#[derive(PartialEq, Eq)]
enum NodeVisit {
    Descend,
    Skip,
}

impl<'t> TreeSitterReader<'t> {
    fn walk(&mut self, tree: &'t Tree) {
        let mut cursor = tree.walk();
        loop {
            let kind = cursor.node().kind();
            if self.enter(cursor.node()) == NodeVisit::Descend && cursor.goto_first_child() {
                self.within.push(kind);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                self.within.pop();
                self.leave(cursor.node());
            }
        }
    }

    fn enter(&mut self, node: Node<'t>) -> NodeVisit {
        if !node.is_named() {
            self.token(node);
            return NodeVisit::Skip;
        }
        match node.kind() {
            "comment" | "heredoc_start" | "heredoc_body" | "heredoc_end" | "file_descriptor" => {
                NodeVisit::Skip
            }
            kind if begins(kind, node) => {
                self.next = WordRole::Name;
                self.end = usize::MAX;
                NodeVisit::Descend
            }
            "process_substitution" => self.opens_process(node),
            "variable_assignment" => self.assigned(node),
            "file_redirect" | "herestring_redirect" | "heredoc_redirect" => self.redirected(node),
            "function_definition" | "for_statement" => NodeVisit::Descend,
            kind if is_literal(kind) => self.literal(node),
            _ => NodeVisit::Descend,
        }
    }

    fn leave(&mut self, node: Node<'t>) {
        if node.kind() == "process_substitution" {
            self.items.push(ShellItem::Mark(")"));
            self.next = WordRole::Word;
        }
    }

    fn opens_process(&mut self, node: Node<'t>) -> NodeVisit {
        let opening = if self.slice(node).starts_with('<') { "<(" } else { ">(" };
        self.items.push(ShellItem::Mark(opening));
        self.next = WordRole::Word;
        NodeVisit::Descend
    }

    fn parent(&self) -> &'static str {
        self.within.last().copied().unwrap_or_default()
    }

    fn slice(&self, node: Node<'t>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Handles an anonymous node: a keyword, an operator, a bracket.
    fn token(&mut self, node: Node<'t>) {
        let kind = node.kind();
        let parent = self.parent();
        match (parent, kind) {
            // Brush reports no token for these.
            (_, "in")
            | ("case_item", "(" | ")" | "|")
            | ("function_definition", "(" | ")" | "function")
            | ("process_substitution", _) => {}
            // The builtin itself, such as `export`, is an anonymous token here.
            ("declaration_command" | "unset_command", _) => self.word(node),
            ("test_command", "[[") => {
                self.items.push(ShellItem::Mark("[["));
                self.next = WordRole::Word;
                self.brackets = true;
            }
            ("test_command", "]]") => {
                self.items.push(ShellItem::Mark("]]"));
                self.brackets = false;
            }
            ("test_command", _) | ("command" | "concatenation", "$" | "==" | "=~") => {
                self.word(node);
            }
            ("binary_expression" | "unary_expression" | "parenthesized_expression", _) => {
                // Brush does not report operators inside `[[ … ]]`.
                if !self.brackets {
                    self.word(node);
                }
            }
            ("for_statement", "select") => self.items.push(ShellItem::Mark("select")),
            (_, "((") => self.items.push(ShellItem::Mark("((")),
            (_, kind) => self.items.extend(mark(kind).map(ShellItem::Mark)),
        }
    }

    fn assigned(&mut self, node: Node<'t>) -> NodeVisit {
        if self.parent() == "declaration_command" {
            return self.literal(node);
        }
        self.items.push(ShellItem::Assign(assignment(self.slice(node))));
        self.inside(node);
        NodeVisit::Skip
    }

    fn literal(&mut self, node: Node<'t>) -> NodeVisit {
        match self.parent() {
            "function_definition" => self.bound(node),
            "for_statement" if node.kind() == "variable_name" => self.bound(node),
            "unary_expression" | "binary_expression"
                if node.kind() == "test_operator" && self.brackets => {}
            _ => self.word(node),
        }
        NodeVisit::Skip
    }

    fn bound(&mut self, node: Node<'t>) {
        self.items.push(ShellItem::Bound(joined(self.slice(node))));
    }

    /// Adds a word, or joins it to the last one if they touch.
    fn word(&mut self, node: Node<'t>) {
        let text = joined(self.slice(node).trim());
        // Touching parts belong to one word: `a"b"$c`.
        let touches = self.end == node.start_byte();
        self.end = node.end_byte();
        self.seen = self.end;
        if !(touches && self.continues(&text)) {
            let (item, next) = match self.next {
                WordRole::Name => (ShellItem::Name(text), WordRole::Word),
                WordRole::Word => (ShellItem::Word(text), WordRole::Word),
                WordRole::Target { names: true } => (ShellItem::Target(text), WordRole::Name),
                WordRole::Target { names: false } => (ShellItem::Target(text), WordRole::Word),
            };
            self.items.push(item);
            self.next = next;
        }
        self.inside(node);
    }

    /// Appends `text` to the last word, if the last item is one.
    fn continues(&mut self, text: &str) -> bool {
        let last = self.items.iter_mut().rev().find(|item| !matches!(item, ShellItem::Inside(_)));
        match last {
            Some(ShellItem::Name(word) | ShellItem::Word(word) | ShellItem::Target(word)) => {
                word.push_str(text);
                true
            }
            _ => false,
        }
    }

    /// Adds the outermost substitutions below a word.
    fn inside(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        loop {
            let here = cursor.node();
            let found = matches!(here.kind(), "command_substitution" | "process_substitution");
            if found && here.is_named() {
                self.items.push(ShellItem::Inside(joined(self.slice(here))));
            } else if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    /// Handles a redirection; the grammar counts later words as part of it, but they belong to the command.
    fn redirected(&mut self, node: Node<'t>) -> NodeVisit {
        let mut cursor = node.walk();
        let children: Vec<Node<'t>> = node.children(&mut cursor).collect();
        let descriptor = children.iter().find(|child| child.kind() == "file_descriptor");
        let descriptor = descriptor.map_or("", |child| self.slice(*child));
        let operator = children.iter().find(|child| !child.is_named());
        let operator = operator.map_or("", |child| self.slice(*child));
        self.dash(node.start_byte());
        self.end = usize::MAX;
        // `2>&-` closes a descriptor; brush reports the dash as the target.
        let open = operator.strip_suffix('-').filter(|open| open.ends_with('&'));
        self.items.push(ShellItem::Redirect(format!("{descriptor}{}", open.unwrap_or(operator))));
        if node.kind() == "heredoc_redirect" {
            self.here(&children);
        } else if open.is_some() {
            self.items.push(ShellItem::Target("-".to_owned()));
        } else {
            self.next = WordRole::Target { names: self.next == WordRole::Name };
        }
        NodeVisit::Descend
    }

    /// Adds a lone `-` before a here-document, as in `python - <<EOF`, which the grammar skips.
    fn dash(&mut self, start: usize) {
        let gap = self.text.get(self.seen..start).unwrap_or_default();
        let is_dash = gap.trim_matches([' ', '\t']) == "-";
        if is_dash && gap.starts_with([' ', '\t']) && gap.ends_with([' ', '\t']) {
            self.items.push(ShellItem::Word("-".to_owned()));
        }
    }

    fn here(&mut self, children: &[Node<'t>]) {
        let find = |kind: &str| children.iter().find(|child| child.kind() == kind).copied();
        let text = |kind: &str| find(kind).map_or("", |child| self.slice(child));
        let item = ShellItem::Here(text("heredoc_start").to_owned(), body(text("heredoc_body")));
        self.items.push(item);
        if let Some(found) = find("heredoc_body") {
            self.inside(found);
        }
    }
}

/// Whether the first word below a node is a command name.
fn begins(kind: &str, node: Node<'_>) -> bool {
    match kind {
        "command" | "declaration_command" | "unset_command" | "test_command" => true,
        "redirected_statement" => node.child_by_field_name("body").is_none(),
        _ => false,
    }
}

/// Whether a node is a word or a part of one.
fn is_literal(kind: &str) -> bool {
    matches!(
        kind,
        "word"
            | "string"
            | "raw_string"
            | "translated_string"
            | "ansi_c_string"
            | "number"
            | "expansion"
            | "simple_expansion"
            | "command_substitution"
            | "arithmetic_expansion"
            | "brace_expression"
            | "concatenation"
            | "test_operator"
            | "regex"
            | "extglob_pattern"
            | "variable_name"
            | "special_variable_name"
            | "command_name"
    )
}

//! The scheme of a tool: its description for the language model.

use agentry_text::{Findings, Spanned, TreeNode};
use oxc_ast::ast::Expression;

use super::evaluate::{LiteralProperties, LiteralProperty};
use super::scope::BlockScope;
use super::{ScriptedTool, parameters};
use crate::agent_md::rules::{NOT_STATIC, SCHEME, SCHEME_NAME};

/// Reads the scheme of the tool that the block returns under `key`.
pub(super) fn read<'a>(
    scope: &BlockScope<'a>,
    key: &Spanned<String>,
    scheme: &LiteralProperty<'a>,
    findings: &mut Findings,
) -> ScriptedTool {
    let mut tool = ScriptedTool { name: key.clone(), description: None, parameters: None };
    let Some(parts) = unwrapped(scope, scheme) else {
        let message =
            format!("the scheme of `{}` can only be known by running the code", key.value);
        findings
            .add(&NOT_STATIC, scheme.span, message)
            .hint("write the scheme as an object literal");
        return tool;
    };
    let mut reader = SchemeReader { scope, key, place: scheme, parts, findings };
    reader.name();
    tool.description = reader.text("description");
    if let Some(node) = reader.part("parameters") {
        parameters::check(&key.value, &node, reader.findings);
        tool.parameters = Some(Spanned::new(node.to_data(), node.span));
    }
    tool
}

/// Returns the properties of a scheme, or of its `function` if it is wrapped.
fn unwrapped<'a>(
    scope: &BlockScope<'a>,
    scheme: &LiteralProperty<'a>,
) -> Option<LiteralProperties<'a>> {
    let of = |value: &'a Expression<'a>| match scope.resolve(value) {
        Expression::ObjectExpression(object) => Some(scope.properties(object)),
        _ => None,
    };
    let parts = of(scheme.value)?;
    match parts.get("function") {
        // The form of the OpenAI API: `{ type: "function", function: { … } }`.
        Some(inner) if parts.get("type").is_some() => of(inner.value),
        _ => Some(parts),
    }
}

struct SchemeReader<'r, 'a> {
    scope: &'r BlockScope<'a>,
    key: &'r Spanned<String>,
    place: &'r LiteralProperty<'a>,
    parts: LiteralProperties<'a>,
    findings: &'r mut Findings,
}

impl SchemeReader<'_, '_> {
    /// Returns the value of a required part.
    fn part(&mut self, name: &str) -> Option<TreeNode> {
        let tool = &self.key.value;
        let Some(property) = self.parts.get(name) else {
            if let Some(place) = self.parts.unknown {
                let message = format!(
                    "`{name}` of the scheme of `{tool}` can only be known by running the code"
                );
                self.findings
                    .add(&NOT_STATIC, place, message)
                    .hint("write the scheme as an object literal");
            } else {
                let message = format!("the scheme of `{tool}` has no `{name}`");
                self.findings
                    .add(&SCHEME, self.place.key.span, message)
                    .hint(format!("add `{name}`"));
            }
            return None;
        };
        let value = self.scope.evaluate(property.value);
        if value.is_none() {
            let message =
                format!("`{name}` of the scheme of `{tool}` can only be known by running the code");
            self.findings.add(&NOT_STATIC, property.span, message).hint("write it as a literal");
        }
        value
    }

    /// Returns a required part that must be a string and not empty.
    fn text(&mut self, name: &str) -> Option<Spanned<String>> {
        let node = self.part(name)?;
        match node.to_spanned() {
            Some(text) if !text.value.trim().is_empty() => Some(text),
            Some(_) => {
                let message = format!("`{name}` of the scheme of `{}` is empty", self.key.value);
                self.findings
                    .add(&SCHEME, node.span, message)
                    .hint("write what a model needs to know");
                None
            }
            None => {
                let what = node.value.describe();
                let message = format!(
                    "`{name}` of the scheme of `{}` is {what}, not a string",
                    self.key.value
                );
                self.findings.add(&SCHEME, node.span, message).hint("put it in quotes");
                None
            }
        }
    }

    fn name(&mut self) {
        let Some(name) = self.text("name") else { return };
        // Providers accept only these characters, at most 64 of them.
        let is_sign = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.value.to_lowercase() != self.key.value.to_lowercase() {
            let message = format!("the scheme of `{}` is named `{}`", self.key.value, name.value);
            self.findings
                .add(&SCHEME_NAME, name.span, message)
                .related(self.key.span, "the key under which it is returned")
                .hint("give both the same name");
        } else if name.value.len() > 64 || !name.value.chars().all(is_sign) {
            let message = format!("`{}` is not a name that a model can call", name.value);
            self.findings
                .add(&SCHEME, name.span, message)
                .hint("use up to 64 letters, digits, `_` and `-`");
        }
    }
}

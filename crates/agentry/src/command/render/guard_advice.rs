//! The one command that adds the guard, where only it can check the rules exactly.

use agentry_compile::render::TargetRun;
use agentry_compile::targets::guard::shell_word;
use agentry_compile::targets::{LossKind, RenderLoss, RenderedAgent};

use crate::args::RenderArguments;

/// Whether a target with a guard does not have it, and does not keep the rules of an agent without it.
pub(super) fn is_needed(ran: &TargetRun, rendered: &RenderedAgent) -> bool {
    let is_inexact = |loss: &RenderLoss| {
        loss.field.starts_with("permissions")
            && matches!(loss.kind, LossKind::Narrowed | LossKind::Gap)
    };
    ran.target.guard.is_some() && !ran.guard && rendered.losses.iter().any(is_inexact)
}

/// The command that renders these targets with the guard; `None` if no target needs it.
pub(super) fn command(args: &RenderArguments, targets: &[&str]) -> Option<String> {
    if targets.is_empty() || args.no_guard || args.check {
        return None;
    }
    let mut words = vec!["agentry render --guard".to_owned()];
    words.extend(args.agents.iter().map(|path| shell_word(path)));
    words.push(format!("--target {}", targets.join(",")));
    words.extend(args.output.iter().map(|dir| format!("-o {}", shell_word(dir))));
    Some(words.join(" "))
}

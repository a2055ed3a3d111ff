//! The tools of an agent: each says what it touches before it does anything.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use agentry_compile::policy::Section;
use serde_json::Value;

use crate::event::Class;

/// What a model is told of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// What a call touches, for the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// What kind of thing.
    pub section: Section,
    /// The command line, the path, the address, the name.
    pub subject: String,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What the model is told; capped.
    pub text: String,
    /// Whether it failed.
    pub failed: bool,
}

/// A tool that comes with Agentry.
pub trait Tool: Send + Sync {
    /// What a model is told of it.
    fn spec(&self) -> ToolSpec;

    /// What a call with these arguments does to the world.
    fn class(&self, arguments: &Value) -> Class;

    /// Everything that a call would touch; why its arguments are wrong otherwise.
    fn touches(&self, arguments: &Value, directory: &str) -> Result<Vec<Touch>, String>;

    /// What a person should see before they allow it, beside the arguments: a diff.
    fn preview(&self, arguments: &Value, place: &Place) -> Option<String> {
        let _ = (arguments, place);
        None
    }

    /// Does it.
    fn run<'a>(
        &'a self,
        arguments: Value,
        place: &'a Place,
    ) -> Pin<Box<dyn Future<Output = Output> + Send + 'a>>;
}

/// Where a call happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The root of the workspace.
    pub workspace: PathBuf,
    /// The directory that relative paths start from.
    pub directory: PathBuf,
    /// Where long outputs and before-images of this run are kept.
    pub run: PathBuf,
}

//! What a server may ask during a call: it reports progress, and puts questions to the user.

use std::fmt::Write as _;

use agentry_mcp::{
    CallListener, ClientFuture, ElicitationAnswer, ElicitationField, ElicitationRequest,
    FieldAnswer,
};
use serde_json::Map;

use super::super::ToolHost;

/// The most times that a field is asked about.
const TRIES: usize = 3;

/// Passes on what happens during one call.
pub(super) struct RunListener<'a> {
    pub(super) host: &'a dyn ToolHost,
    pub(super) server: &'a str,
}

impl CallListener for RunListener<'_> {
    fn progress(&self, text: &str) {
        self.host.show(&format!("{}: {text}\n", self.server));
    }

    fn ask(&self, asked: ElicitationRequest) -> ClientFuture<'_, ElicitationAnswer> {
        Box::pin(self.answers(asked))
    }
}

impl RunListener<'_> {
    async fn answers(&self, asked: ElicitationRequest) -> ElicitationAnswer {
        let names: Vec<_> = asked.fields.iter().map(|field| field.title.as_str()).collect();
        let wants = if names.is_empty() {
            String::new()
        } else {
            format!(" (it wants to know: {})", names.join(", "))
        };
        let question = format!(
            "the MCP server `{}` asks: {}{wants}\nyour answer goes to this server: answer it?",
            self.server, asked.message
        );
        let choices = ["yes".to_owned(), "no".to_owned()];
        match self.host.ask(&question, &choices).await.as_deref() {
            Some("yes") => {}
            Some(_) => return ElicitationAnswer::Decline,
            None => return ElicitationAnswer::Cancel,
        }
        let mut content = Map::new();
        for field in &asked.fields {
            match self.field(field).await {
                Some(FieldAnswer::Value(value)) => drop(content.insert(field.key.clone(), value)),
                Some(FieldAnswer::Empty) => {}
                Some(FieldAnswer::Unfit(_)) | None => return ElicitationAnswer::Cancel,
            }
        }
        ElicitationAnswer::Accept(content)
    }

    /// Asks about one field until the answer fits.
    async fn field(&self, field: &ElicitationField) -> Option<FieldAnswer> {
        let mut question = format!("{}: {}", self.server, field.title);
        if !field.description.is_empty() {
            let _ = write!(question, " ({})", field.description);
        }
        if let Some(default) = &field.default {
            let _ = write!(question, " [{default}]");
        }
        let mut choices: Vec<String> = field.choices.iter().map(|it| it.title.clone()).collect();
        if field.takes_several() {
            let _ = write!(question, " (several, with commas: {})", choices.join(", "));
            choices.clear();
        }
        let mut answer = None;
        for _ in 0..TRIES {
            let typed = self.host.ask(&question, &choices).await?;
            match field.answer(&typed) {
                FieldAnswer::Unfit(why) => {
                    question = format!("{}: {}: {why}", self.server, field.title);
                    answer = Some(FieldAnswer::Unfit(why));
                }
                fits => return Some(fits),
            }
        }
        answer
    }
}

//! `result`: gives the output of the function that a run carries out, and ends the run.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{AgentFunction, FunctionCall};
use crate::event::CallClass;
use crate::tool::{
    AfterCall, BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch,
};

/// The name of the argument where the output is not an object.
const WRAPPED: &str = "result";

/// Gives the output of a function.
pub struct ResultTool(FunctionCall);

impl ResultTool {
    /// Creates the tool of a run that carries out this call.
    pub fn shared(call: &FunctionCall) -> Arc<dyn BuiltInTool> {
        Arc::new(Self(call.clone()))
    }

    fn function(&self) -> &AgentFunction {
        &self.0.function
    }

    /// The schema of the arguments: that of the output, or an object around it.
    fn schema(&self) -> (Value, bool) {
        let output = &self.function().output;
        match output.get("type").and_then(Value::as_str) {
            Some("object") => (output.clone(), false),
            // A type that only the author knows is most probably a record.
            None if output.get("description").is_some() => {
                let mut schema = output.clone();
                if let Some(fields) = schema.as_object_mut() {
                    fields.insert("type".to_owned(), json!("object"));
                }
                (schema, false)
            }
            _ => {
                let schema = json!({
                    "type": "object",
                    "properties": { WRAPPED: output },
                    "required": [WRAPPED],
                    "additionalProperties": false,
                });
                (schema, true)
            }
        }
    }

    /// The output in the arguments of a call.
    fn output(&self, given: &Value) -> Result<Value, String> {
        let function = self.function();
        let (_, is_wrapped) = self.schema();
        if is_wrapped {
            let only =
                given.as_object().filter(|it| it.len() == 1).and_then(|it| it.values().next());
            let only = only.ok_or_else(|| format!("one argument `{WRAPPED}` is expected"))?;
            return function.check_output(only).map(|()| only.clone());
        }
        if !given.is_object() {
            return Err("the arguments are no JSON object".to_owned());
        }
        function.check_output(given).map(|()| given.clone())
    }
}

impl BuiltInTool for ResultTool {
    fn spec(&self) -> ToolSpec {
        let function = self.function();
        ToolSpec {
            name: "result".to_owned(),
            description: format!(
                "Gives the output of the function `{}`, and ends the run. Call it once, alone, when the \
                 output is complete.",
                function.signature
            ),
            schema: self.schema().0,
        }
    }

    /// It waits for the calls before it.
    fn class(&self, _: &Value) -> CallClass {
        CallClass::Write
    }

    fn touches(&self, _: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        Ok(Vec::new())
    }

    /// An output that does not fit is repaired once, so it has to be counted.
    fn checks_itself(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, given: Value, _: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        let why = match self.output(&given) {
            Ok(output) => {
                let then = AfterCall::Return(Ok(output));
                let output = ToolOutput { then, ..ToolOutput::done("accepted") };
                return Box::pin(std::future::ready(output));
            }
            Err(why) => why,
        };
        let text = format!("the output does not fit: {why}");
        let output = if self.0.is_last() {
            let why = format!("the output of `{}` does not fit: {why}", self.function().name);
            ToolOutput { then: AfterCall::Return(Err(why)), ..ToolOutput::failed(text) }
        } else {
            ToolOutput::failed(format!("{text}; call `result` again with the whole output"))
        };
        Box::pin(std::future::ready(output))
    }
}

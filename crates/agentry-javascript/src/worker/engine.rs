//! Runs one job in a new engine: evaluates the blocks, describes or calls a tool, waits for answers.

use std::time::{Duration, Instant};

use rquickjs::context::EvalOptions;
use rquickjs::promise::{MaybePromise, Promise};
use rquickjs::{
    ArrayBuffer, Context, Ctx, Error, FromJs, Function, Object, Result as JsResult, Runtime, Value,
};

use super::exception::{self, thrown};
use super::{host, modules, prelude, streams};
use crate::job::ScriptBlock;
use crate::protocol::{
    CallMessage, JobMessage, JobOutcome, JobTask, PoolMessage, RequestAnswer, ThrownError,
};

/// The most bytes that the engine may allocate.
const MOST_MEMORY: usize = 64 << 20;
/// The most bytes of the engine's stack.
const MOST_STACK: usize = 1 << 20;

/// Why a job has no result.
pub(super) enum EngineStop {
    Threw(ThrownError),
    /// The pool is gone.
    Gone,
}

impl EngineStop {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self::Threw(ThrownError { message: message.into(), ..ThrownError::default() })
    }
}

/// Runs a job. Returns `None` if the pool is gone.
pub(super) fn run(job: &JobMessage) -> Option<JobOutcome> {
    match result(job) {
        Ok(json) => Some(JobOutcome::Returned(json)),
        Err(EngineStop::Threw(thrown)) => Some(JobOutcome::Threw(thrown)),
        Err(EngineStop::Gone) => None,
    }
}

fn result(job: &JobMessage) -> Result<String, EngineStop> {
    let broken = |error: Error| EngineStop::new(error.to_string());
    let runtime = Runtime::new().map_err(broken)?;
    runtime.set_memory_limit(MOST_MEMORY);
    runtime.set_max_stack_size(MOST_STACK);
    if let JobTask::Run(files, _) = &job.task {
        modules::offer(&runtime, files);
    }
    let context = Context::full(&runtime).map_err(broken)?;
    context.with(|ctx| {
        let engine = Engine::new(&ctx).map_err(|error| stop(&ctx, &error))?;
        engine.perform(job)
    })
}

fn stop(ctx: &Ctx<'_>, error: &Error) -> EngineStop {
    EngineStop::Threw(thrown(ctx, error))
}

/// Evaluates code in strict mode.
pub(super) fn evaluate<'js, T: FromJs<'js>>(
    ctx: &Ctx<'js>,
    file: &str,
    code: String,
) -> JsResult<T> {
    let mut options = EvalOptions::default();
    options.strict = true;
    options.filename = Some(file.to_owned());
    ctx.eval_with_options(code, options)
}

/// The engine of one job, with the functions of the prelude.
pub(super) struct Engine<'js> {
    pub(super) ctx: Ctx<'js>,
    prelude: Object<'js>,
}

impl<'js> Engine<'js> {
    fn new(ctx: &Ctx<'js>) -> JsResult<Self> {
        let start: Function<'js> = evaluate(ctx, prelude::FILE, prelude::CORE.to_owned())?;
        let host = host::object(ctx, Instant::now())?;
        let prelude = start.call((host, host::loader(ctx)?))?;
        Ok(Self { ctx: ctx.clone(), prelude })
    }

    fn perform(&self, job: &JobMessage) -> Result<String, EngineStop> {
        let value = match &job.task {
            JobTask::Describe(blocks) => {
                let returned = self.blocks(blocks)?;
                self.function("describe")?.call((returned,)).map_err(|it| self.stop(&it))?
            }
            JobTask::Call(blocks, call) => self.call(call, self.blocks(blocks)?, job.time)?,
            JobTask::Run(files, inputs) => {
                let begin = self.function("script")?;
                let script: Object<'js> = begin.call((job.time,)).map_err(|it| self.stop(&it))?;
                let run = self.entry(files)?;
                let start: Function<'js> = script.get("start").map_err(|it| self.stop(&it))?;
                let called = start.call((run, inputs.as_str()));
                self.settle(called.map_err(|error| self.stop(&error))?)?
            }
        };
        self.json(value, job.most_output)
    }

    fn blocks(&self, blocks: &[ScriptBlock]) -> Result<Vec<Value<'js>>, EngineStop> {
        blocks.iter().map(|block| self.block(block)).collect()
    }

    /// Evaluates a block as the body of an async function, in the lines that it has in the file.
    fn block(&self, block: &ScriptBlock) -> Result<Value<'js>, EngineStop> {
        let before = block.line.saturating_sub(2);
        let lines = "\n".repeat(usize::try_from(before).unwrap_or_default());
        let code = format!("{lines}(async function () {{\n{}\n}})", block.text);
        let body: JsResult<Function<'js>> = evaluate(&self.ctx, exception::FILE, code);
        let promise = body.and_then(|body| body.call(())).map_err(|error| self.stop(&error))?;
        let value = self.settle(promise)?;
        let kind = value.type_name();
        if value.is_object() && !value.is_array() && !value.is_function() {
            return Ok(value);
        }
        let message = format!(
            "the block returns a value of type {kind}; it must return an object of tools, like \
             `return {{ name: {{ fn, scheme }} }}`"
        );
        let at = Some((block.line, 1));
        Err(EngineStop::Threw(ThrownError { message, at, ..ThrownError::default() }))
    }

    fn call(
        &self,
        call: &CallMessage,
        returned: Vec<Value<'js>>,
        time: u64,
    ) -> Result<Value<'js>, EngineStop> {
        let CallMessage { tool, arguments, env } = call;
        let env = serde_json::to_string(env).map_err(|error| EngineStop::new(error.to_string()))?;
        let arguments = (returned, tool.as_str(), arguments.as_str(), env, time);
        let called = self.function("invoke")?.call(arguments);
        self.settle(called.map_err(|error| self.stop(&error))?)
    }

    /// Runs the engine until a promise is settled.
    pub(super) fn settle(&self, promise: MaybePromise<'js>) -> Result<Value<'js>, EngineStop> {
        let Some(promise) = promise.as_value().as_promise().cloned() else {
            return self.adopted(promise.into_value());
        };
        loop {
            match promise.finish() {
                Err(Error::WouldBlock) => self.wait()?,
                other => return other.map_err(|error| self.stop(&error)),
            }
        }
    }

    /// Settles an object that has a `then` of its own.
    fn adopted(&self, value: Value<'js>) -> Result<Value<'js>, EngineStop> {
        if !value.is_object() {
            return Ok(value);
        }
        let resolve = || -> JsResult<Promise<'js>> {
            let (promise, resolve, _) = self.ctx.promise()?;
            resolve.call::<_, ()>((value.clone(),))?;
            Ok(promise)
        };
        let promise = resolve().map_err(|error| self.stop(&error))?;
        self.settle(MaybePromise::from_value(promise.into_value()))
    }

    /// Waits for an answer or a timer.
    fn wait(&self) -> Result<(), EngineStop> {
        let failed = |error: Error| self.stop(&error);
        let patience: f64 = self.function("patience")?.call(()).map_err(failed)?;
        let waits: bool = self.function("isWaiting")?.call(()).map_err(failed)?;
        if patience < 0.0 && !waits {
            return Err(EngineStop::new(
                "it never settles: no timer and no request is left that could settle it",
            ));
        }
        let time = (patience >= 0.0).then(|| Duration::from_secs_f64(patience / 1e3));
        let answered = streams::wait(time).map_err(|_| EngineStop::Gone)?;
        if !answered {
            return self.function("fire")?.call(()).map_err(failed);
        }
        let Ok(Some((PoolMessage::Answer { id, answer }, bytes))) = streams::receive() else {
            return Err(EngineStop::Gone);
        };
        let text = serde_json::to_string(&answer).map_err(|it| EngineStop::new(it.to_string()))?;
        let has_bytes = matches!(answer, RequestAnswer::Piece);
        let bytes = has_bytes.then(|| ArrayBuffer::new_copy(self.ctx.clone(), bytes)).transpose();
        let bytes = bytes.map_err(failed)?;
        self.function("deliver")?.call((id, text, bytes)).map_err(failed)
    }

    /// Returns a value as JSON.
    fn json(&self, value: Value<'js>, most: usize) -> Result<String, EngineStop> {
        let (kind, is_nothing) = (value.type_name(), value.is_undefined());
        let json = self.ctx.json_stringify(value).map_err(|error| self.stop(&error))?;
        let json = match json {
            Some(json) => json.to_string().map_err(|error| self.stop(&error))?,
            None if is_nothing => "null".to_owned(),
            None => return Err(EngineStop::new(format!("it returned a {kind}, which is no JSON"))),
        };
        if json.len() > most {
            let length = json.len();
            let message = format!("its result has {length} bytes; at most {most} are allowed");
            return Err(EngineStop::new(message));
        }
        Ok(well_formed(&json))
    }

    fn function(&self, name: &str) -> Result<Function<'js>, EngineStop> {
        self.prelude.get(name).map_err(|error| self.stop(&error))
    }

    pub(super) fn stop(&self, error: &Error) -> EngineStop {
        stop(&self.ctx, error)
    }
}

/// Replaces escaped halves of surrogate pairs, which JavaScript permits and JSON readers refuse. The engine
/// writes whole pairs without escapes.
fn well_formed(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let half = after.get(..3).is_some_and(|it| {
            it.starts_with("ud") && matches!(it.as_bytes().get(2), Some(b'8'..=b'9' | b'a'..=b'f'))
        });
        // The escaped character is copied with its backslash, so that it starts no escape itself.
        let (escape, taken) = if half { ("\\ufffd", 5) } else { ("\\", 0) };
        out.push_str(escape);
        rest = after.get(taken..).unwrap_or_default();
        if !half {
            let next = rest.chars().next();
            out.extend(next);
            rest = rest.get(next.map_or(0, char::len_utf8)..).unwrap_or_default();
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpaired_surrogates_are_replaced() {
        let cases = [
            (r#""\ud800""#, r#""\ufffd""#),
            (r#""a\udfffb""#, r#""a\ufffdb""#),
            (r#""\\ud800""#, r#""\\ud800""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\u0001\n""#, r#""\u0001\n""#),
            (r#""\ud7ff""#, r#""\ud7ff""#),
            ("{}", "{}"),
        ];
        for (json, expected) in cases {
            assert_eq!(well_formed(json), expected);
        }
    }
}

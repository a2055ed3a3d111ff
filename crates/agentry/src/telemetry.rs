//! Tells an OpenTelemetry collector what happens in runs: a span for the run, one for each answer of
//! the model and one for each call, named as the conventions for generative AI name them. What was
//! said, what calls are given and what they print is never told.
//!
//! The collector is where the user's `OTEL_EXPORTER_OTLP_ENDPOINT` says; without it nobody is told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use agentry_runtime::Ending;
use agentry_runtime::driver::output::Output;
use agentry_runtime::driver::parts::Sink;
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanKind, Status, TraceContextExt as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};

use crate::output::remark;

/// Where the user says that the collector is.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
/// A collector that does not answer must not hold a run up.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is told of one run.
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    /// The span of the run; those of answers and calls are below it.
    run: Option<Context>,
    /// The calls that were judged and have not ended.
    calls: HashMap<String, Called>,
    /// Since when the model is waited for.
    since: SystemTime,
}

/// A call that has not ended.
struct Called {
    tool: String,
    verdict: String,
    span: Option<Span>,
}

/// What happens goes to `shown`, and to the collector if one is named.
pub(crate) fn told(shown: Sink) -> Sink {
    let telemetry = match Telemetry::of_environment() {
        Ok(Some(telemetry)) => Mutex::new(telemetry),
        Ok(None) => return shown,
        Err(why) => {
            remark(&format!("warning: no telemetry is sent: {why}"));
            return shown;
        }
    };
    Arc::new(move |output: Output| {
        telemetry.lock().unwrap_or_else(PoisonError::into_inner).hear(&output);
        shown(output);
    })
}

impl Telemetry {
    /// Nothing where no collector is named; why it cannot be told anything otherwise.
    pub(crate) fn of_environment() -> Result<Option<Self>, String> {
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if !ENDPOINTS.iter().any(|name| is_set(&name)) {
            return Ok(None);
        }
        agentry_runtime::provider::http::choose_cryptography();
        let client = reqwest::blocking::Client::builder().timeout(PATIENCE).build();
        let client = client.map_err(|error| error.to_string())?;
        let exporter = SpanExporter::builder().with_http().with_http_client(client).build();
        let exporter = exporter.map_err(|error| error.to_string())?;
        let resource = Resource::builder().with_service_name("agentry").build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        let tracer = provider.tracer("agentry");
        let since = SystemTime::now();
        Ok(Some(Self { provider, tracer, run: None, calls: HashMap::new(), since }))
    }

    /// Takes in what happens.
    pub(crate) fn hear(&mut self, output: &Output) {
        match output {
            Output::Run { id, agent, digest, .. } => self.begins(id.as_deref(), agent, digest),
            Output::Turn { model, usage, .. } => {
                let attributes = vec![
                    KeyValue::new("gen_ai.operation.name", "chat"),
                    KeyValue::new("gen_ai.request.model", model.clone()),
                    KeyValue::new("gen_ai.usage.input_tokens", number(usage.input)),
                    KeyValue::new("gen_ai.usage.output_tokens", number(usage.output)),
                ];
                self.span(format!("chat {model}"), SpanKind::Client, attributes, self.since).end();
            }
            Output::ModelFailed { model, message, .. } => {
                let attributes = vec![KeyValue::new("gen_ai.request.model", model.clone())];
                let name = format!("chat {model}");
                let mut span = self.span(name, SpanKind::Client, attributes, self.since);
                span.set_status(Status::error(message.clone()));
                span.end();
            }
            Output::Call { id, tool, verdict, .. } => {
                let verdict = serde_json::to_value(verdict).unwrap_or_default();
                let verdict = verdict.as_str().unwrap_or_default().to_owned();
                let called = Called { tool: tool.clone(), verdict, span: None };
                self.calls.insert(id.clone(), called);
            }
            Output::Started { id } => self.starts(id),
            Output::Result { id, failed, .. } => self.ends(id, *failed),
            Output::Ended { ending, .. } => self.finishes(ending),
            _ => {}
        }
    }

    fn begins(&mut self, id: Option<&str>, agent: &str, digest: &str) {
        let attributes = [
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            KeyValue::new("gen_ai.agent.name", agent.to_owned()),
            KeyValue::new("gen_ai.agent.id", digest.to_owned()),
            KeyValue::new("agentry.run.id", id.unwrap_or_default().to_owned()),
        ];
        let span = SpanBuilder::from_name(format!("invoke_agent {agent}"))
            .with_kind(SpanKind::Internal)
            .with_attributes(attributes)
            .start(&self.tracer);
        self.run = Some(Context::new().with_span(span));
        self.since = SystemTime::now();
    }

    fn starts(&mut self, id: &str) {
        let Some(Called { tool, verdict, .. }) = self.calls.get(id) else { return };
        let attributes = vec![
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", tool.clone()),
            KeyValue::new("gen_ai.tool.call.id", id.to_owned()),
            KeyValue::new("agentry.verdict", verdict.clone()),
        ];
        let name = format!("execute_tool {tool}");
        let span = self.span(name, SpanKind::Internal, attributes, SystemTime::now());
        if let Some(called) = self.calls.get_mut(id) {
            called.span = Some(span);
        }
    }

    /// A call that never started, since it was refused, has a span all the same.
    fn ends(&mut self, id: &str, failed: bool) {
        if self.calls.get(id).is_some_and(|called| called.span.is_none()) {
            self.starts(id);
        }
        if let Some(mut span) = self.calls.remove(id).and_then(|called| called.span) {
            if failed {
                span.set_status(Status::error("the call failed or was refused"));
            }
            span.end();
        }
        self.since = SystemTime::now();
    }

    fn finishes(&mut self, ending: &Ending) {
        self.calls.clear();
        if let Some(run) = self.run.take() {
            let state = serde_json::to_value(ending).unwrap_or_default();
            let state = state.get("state").and_then(|state| state.as_str()).unwrap_or_default();
            run.span().set_attribute(KeyValue::new("agentry.run.state", state.to_owned()));
            if matches!(ending, Ending::Failed { .. } | Ending::OverBudget { .. }) {
                run.span().set_status(Status::error(state.to_owned()));
            }
            run.span().end();
        }
        // A collector that is gone is no reason for a run to fail.
        let _ = self.provider.force_flush();
    }

    fn span(
        &self,
        name: String,
        kind: SpanKind,
        attributes: Vec<KeyValue>,
        start: SystemTime,
    ) -> Span {
        let builder = SpanBuilder::from_name(name)
            .with_kind(kind)
            .with_attributes(attributes)
            .with_start_time(start);
        builder.start_with_context(&self.tracer, self.run.as_ref().unwrap_or(&Context::new()))
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

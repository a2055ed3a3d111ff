//! Exports runs to an OpenTelemetry collector: a span for the run, one for each answer of the model
//! and one for each tool call, named after the conventions for generative AI. Messages, arguments and
//! output of calls are never exported.
//!
//! `OTEL_EXPORTER_OTLP_ENDPOINT` names the collector; nothing is exported without it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use agentry_runtime::RunEnding;
use agentry_runtime::driver::interfaces::OutputSink;
use agentry_runtime::driver::output::RunOutput;
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanKind, Status, TraceContextExt as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};

use crate::output::remark;

/// The variables that may name the collector.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
/// The longest delay of a run by a collector that does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The spans of one run.
pub(crate) struct RunTelemetry {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    /// The span of the run; those of answers and calls are below it.
    run: Option<Context>,
    /// The calls that were judged and have not ended.
    calls: HashMap<String, ExportedCall>,
    /// When the request to the model was sent.
    request_sent: SystemTime,
}

/// Sends from the exporter's own thread, which has no asynchronous runtime. The blocking client of
/// `reqwest` would do the same, but its feature recompiles the client and all that depends on it.
#[derive(Debug)]
struct TelemetryCollector {
    client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
}

impl TelemetryCollector {
    fn new() -> Result<Self, String> {
        let client = reqwest::Client::builder().timeout(PATIENCE).build();
        let client = client.map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self { client, runtime: runtime.map_err(|error| error.to_string())? })
    }
}

#[async_trait::async_trait]
impl HttpClient for TelemetryCollector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.runtime.block_on(self.client.send_bytes(request))
    }
}

/// A call that has not ended.
struct ExportedCall {
    tool: String,
    verdict: String,
    span: Option<Span>,
}

/// Passes output on to `shown`, and exports it if a collector is named.
pub(crate) fn export(shown: OutputSink) -> OutputSink {
    let telemetry = match RunTelemetry::from_environment() {
        Ok(Some(telemetry)) => Mutex::new(telemetry),
        Ok(None) => return shown,
        Err(why) => {
            remark(&format!("warning: no telemetry is sent: {why}"));
            return shown;
        }
    };
    Arc::new(move |output: RunOutput| {
        telemetry.lock().unwrap_or_else(PoisonError::into_inner).record(&output);
        shown(output);
    })
}

impl RunTelemetry {
    /// `None` if no collector is named; an error if the exporter cannot be set up.
    pub(crate) fn from_environment() -> Result<Option<Self>, String> {
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if !ENDPOINTS.iter().any(|name| is_set(&name)) {
            return Ok(None);
        }
        // Must happen before the first client is made.
        agentry_runtime::provider::http::choose_cryptography();
        let exporter =
            SpanExporter::builder().with_http().with_http_client(TelemetryCollector::new()?);
        let exporter = exporter.build();
        let exporter = exporter.map_err(|error| error.to_string())?;
        let resource = Resource::builder().with_service_name("agentry").build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        let tracer = provider.tracer("agentry");
        let request_sent = SystemTime::now();
        Ok(Some(Self { provider, tracer, run: None, calls: HashMap::new(), request_sent }))
    }

    /// Opens and closes spans as the run proceeds.
    pub(crate) fn record(&mut self, output: &RunOutput) {
        match output {
            RunOutput::Run { id, agent, digest, .. } => {
                self.start_run(id.as_deref(), agent, digest)
            }
            RunOutput::Turn { model, usage, .. } => {
                let attributes = vec![
                    KeyValue::new("gen_ai.operation.name", "chat"),
                    KeyValue::new("gen_ai.request.model", model.clone()),
                    KeyValue::new("gen_ai.usage.input_tokens", number(usage.input)),
                    KeyValue::new("gen_ai.usage.output_tokens", number(usage.output)),
                ];
                self.span(format!("chat {model}"), SpanKind::Client, attributes, self.request_sent)
                    .end();
            }
            RunOutput::ModelFailed { model, message, .. } => {
                let attributes = vec![KeyValue::new("gen_ai.request.model", model.clone())];
                let name = format!("chat {model}");
                let mut span = self.span(name, SpanKind::Client, attributes, self.request_sent);
                span.set_status(Status::error(message.clone()));
                span.end();
            }
            RunOutput::Call { id, tool, verdict, .. } => {
                let verdict = serde_json::to_value(verdict).unwrap_or_default();
                let verdict = verdict.as_str().unwrap_or_default().to_owned();
                let called = ExportedCall { tool: tool.clone(), verdict, span: None };
                self.calls.insert(id.clone(), called);
            }
            RunOutput::Started { id } => self.start_call(id),
            RunOutput::Result { id, failed, .. } => self.end_call(id, *failed),
            RunOutput::Ended { ending, .. } => self.end_run(ending),
            _ => {}
        }
    }

    fn start_run(&mut self, id: Option<&str>, agent: &str, digest: &str) {
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
        self.request_sent = SystemTime::now();
    }

    fn start_call(&mut self, id: &str) {
        let Some(ExportedCall { tool, verdict, .. }) = self.calls.get(id) else { return };
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

    /// A call that was refused never started; it gets a span too.
    fn end_call(&mut self, id: &str, failed: bool) {
        if self.calls.get(id).is_some_and(|called| called.span.is_none()) {
            self.start_call(id);
        }
        if let Some(mut span) = self.calls.remove(id).and_then(|called| called.span) {
            if failed {
                span.set_status(Status::error("the call failed or was refused"));
            }
            span.end();
        }
        self.request_sent = SystemTime::now();
    }

    fn end_run(&mut self, ending: &RunEnding) {
        self.calls.clear();
        if let Some(run) = self.run.take() {
            let state = serde_json::to_value(ending).unwrap_or_default();
            let state = state.get("state").and_then(|state| state.as_str()).unwrap_or_default();
            run.span().set_attribute(KeyValue::new("agentry.run.state", state.to_owned()));
            if matches!(ending, RunEnding::Failed { .. } | RunEnding::OverBudget { .. }) {
                run.span().set_status(Status::error(state.to_owned()));
            }
            run.span().end();
        }
        // A run must not fail because the collector is gone.
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

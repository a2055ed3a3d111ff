//! Metrics in the text format of Prometheus.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::StatusCode;
use serde_json::Value;

use crate::api::ApiServer;
use crate::host::HostCall;
use crate::reply::{self, ServerReply};

/// How many requests were answered, by the first digit of the status.
#[derive(Debug, Default)]
pub(crate) struct RequestCounters([AtomicU64; 6]);

impl RequestCounters {
    /// Counts an answer.
    pub(crate) fn count(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100);
        if let Some(counter) = self.0.get(class) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The metrics. The host gives maps of numbers by name; a map of maps has one label.
pub(crate) async fn answer(server: &Arc<ApiServer>) -> Result<ServerReply, Box<ServerReply>> {
    let numbers = server.call(HostCall::Metrics).await?.body;
    let mut text = String::new();
    text.push_str("# TYPE agentry_requests_total counter\n");
    for (class, counter) in server.counters.0.iter().enumerate().skip(2) {
        let count = counter.load(Ordering::Relaxed);
        let _ = writeln!(text, "agentry_requests_total{{status=\"{class}xx\"}} {count}");
    }
    let open = crate::api_streams_open(server);
    let _ = writeln!(text, "# TYPE agentry_event_streams gauge\nagentry_event_streams {open}");
    for (name, value) in numbers.as_object().into_iter().flatten() {
        let _ = writeln!(text, "# TYPE agentry_{name} gauge");
        match value {
            Value::Object(by_label) => {
                for (label, count) in by_label {
                    let _ = writeln!(text, "agentry_{name}{{state=\"{}\"}} {count}", quoted(label));
                }
            }
            count => {
                let _ = writeln!(text, "agentry_{name} {count}");
            }
        }
    }
    Ok(reply::text(StatusCode::OK, "text/plain; version=0.0.4", text))
}

/// A label's value as the format writes it.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

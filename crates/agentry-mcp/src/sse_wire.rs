//! The wire of the older HTTP transport: one stream of events from the server, and a request per message to
//! an address that the stream names first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use reqwest::{Method, Response};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use url::Url;

use crate::ClientFuture;
use crate::dispatch::{Dispatcher, MessageWire, WireMessage};
use crate::event_stream::EventStream;
use crate::failure::McpFailure;
use crate::http_wire::{HttpRequests, status_failure, unsent};
use crate::limits;

/// The wire.
pub(crate) struct SseWire {
    own: Weak<Self>,
    requests: HttpRequests,
    dispatcher: Arc<Dispatcher>,
    runtime: Handle,
    /// Where messages are sent.
    target: Mutex<Option<Url>>,
    reading: Mutex<Option<AbortHandle>>,
}

impl SseWire {
    /// Opens the stream and waits for the address. Must run on the runtime of the client.
    pub(crate) async fn open(
        requests: HttpRequests,
        dispatcher: Arc<Dispatcher>,
        runtime: Handle,
    ) -> Result<Arc<Self>, McpFailure> {
        let url = requests.address.url.clone();
        let request = requests.request(Method::GET, &url).await?;
        let response = request.header("accept", "text/event-stream").send();
        let response = tokio::time::timeout(limits::START, response).await;
        let response =
            response.map_err(|_| McpFailure::TimedOut(limits::START))?.map_err(unsent)?;
        if !response.status().is_success() {
            return Err(status_failure(response).await);
        }
        let wire = Arc::new_cyclic(|own| Self {
            own: own.clone(),
            requests,
            dispatcher,
            runtime: runtime.clone(),
            target: Mutex::default(),
            reading: Mutex::default(),
        });
        let (tell, endpoint_receiver) = oneshot::channel();
        let task = runtime.spawn(read(Arc::downgrade(&wire), response, tell));
        *locked(&wire.reading) = Some(task.abort_handle());
        match tokio::time::timeout(limits::START, endpoint_receiver).await {
            Ok(Ok(())) => Ok(wire),
            Ok(Err(_)) => Err(wire.dispatcher.failure().unwrap_or_else(nameless)),
            Err(_) => Err(McpFailure::TimedOut(limits::START)),
        }
    }

    /// Takes the address for messages. Another origin could be a server that nothing may connect to.
    fn set_target(&self, text: &str) -> Result<(), McpFailure> {
        let url = &self.requests.address.url;
        let target = url.join(text).ok().filter(|target| target.origin() == url.origin());
        let message = "it names an address of another server for messages";
        *locked(&self.target) =
            Some(target.ok_or_else(|| McpFailure::Protocol(message.to_owned()))?);
        Ok(())
    }

    async fn post(&self, message: &WireMessage) -> Result<(), McpFailure> {
        let target = locked(&self.target).clone().ok_or_else(nameless)?;
        let request = self.requests.request(Method::POST, &target).await?;
        let response = request.json(&message.message.to_json()).send().await.map_err(unsent)?;
        if response.status().is_success() { Ok(()) } else { Err(status_failure(response).await) }
    }
}

fn nameless() -> McpFailure {
    McpFailure::Protocol("it names no address for messages".to_owned())
}

async fn read(wire: Weak<SseWire>, mut response: Response, tell: oneshot::Sender<()>) {
    let mut stream = EventStream::new(limits::MESSAGE_BYTES);
    let mut tell = Some(tell);
    loop {
        let piece = response.chunk().await.map_err(unsent);
        let Some(wire) = wire.upgrade() else { return };
        let events = match piece {
            Ok(Some(piece)) => stream.take(&piece).map_err(McpFailure::from),
            Ok(None) => Err(McpFailure::Ended(": it closed the stream".to_owned())),
            Err(failure) => Err(failure),
        };
        let handled = events.and_then(|events| {
            events.into_iter().try_for_each(|event| match event.kind.as_str() {
                "endpoint" if tell.is_some() => {
                    wire.set_target(&event.data)?;
                    tell.take().map(|tell| tell.send(()));
                    Ok(())
                }
                _ => {
                    let shared: Arc<dyn MessageWire> = wire.clone();
                    wire.dispatcher.deliver_text(event.data.as_bytes(), &shared);
                    Ok(())
                }
            })
        });
        if let Err(failure) = handled {
            wire.dispatcher.end(failure);
            return;
        }
    }
}

impl MessageWire for SseWire {
    fn submit(&self, message: WireMessage) -> Result<(), McpFailure> {
        if let Some(failure) = self.dispatcher.failure() {
            return Err(failure);
        }
        let own = self.own.clone();
        self.runtime.spawn(async move {
            let Some(wire) = own.upgrade() else { return };
            if let (Err(failure), Some(id)) = (wire.post(&message).await, message.request()) {
                wire.dispatcher.fail(id, failure);
            }
        });
        Ok(())
    }

    fn give_up(&self, _: u64) -> bool {
        true
    }

    fn agreed(&self, _: &str) {}

    fn close(&self) {
        if let Some(reading) = locked(&self.reading).take() {
            reading.abort();
        }
        self.dispatcher.end(McpFailure::Ended(String::new()));
    }

    fn finish(self: Arc<Self>) -> ClientFuture<'static, ()> {
        Box::pin(async move { self.close() })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

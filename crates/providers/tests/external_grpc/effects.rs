//! Dying at a chosen moment.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use tokio::sync::Notify;
use tower::service_fn;

/// Counts what a provider has an effect on or asks for: requests to the server, and writes to the cluster. After the one
/// that was chosen nothing is ever answered, so that whoever drops the provider's call then has killed it there.
#[derive(Debug, Default)]
pub struct Effects {
    count: AtomicUsize,
    last: AtomicUsize,
    reached: Notify,
}

impl Effects {
    /// Lets so many happen, counted from now.
    pub fn stop_after(&self, number: usize) {
        self.count.store(0, Ordering::SeqCst);
        self.last.store(number, Ordering::SeqCst);
    }

    /// Lets everything happen again.
    pub fn go_on(&self) {
        self.last.store(0, Ordering::SeqCst);
    }

    /// Ends when the last one has happened.
    pub async fn reached(&self) {
        self.reached.notified().await;
    }

    /// Something has happened.
    pub async fn happened(&self) {
        let last = self.last.load(Ordering::SeqCst);
        let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        if last != 0 && number >= last {
            self.reached.notify_one();
            pending::<()>().await;
        }
    }

    /// A client whose writes count.
    pub fn counting(self: &Arc<Self>, client: Client) -> Client {
        let (effects, namespace) = (Arc::clone(self), client.default_namespace().to_owned());
        let service = service_fn(move |request: Request<Body>| {
            let (client, effects) = (client.clone(), Arc::clone(&effects));
            async move {
                let reads = *request.method() == Method::GET;
                let answer = client.send(request).await;
                if !reads {
                    effects.happened().await;
                }
                answer
            }
        });
        Client::new(service, namespace)
    }
}

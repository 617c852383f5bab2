use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::Either;
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use tower::{BoxError, Service};

use super::Leadership;

/// Why a write was not sent.
#[derive(Debug, thiserror::Error)]
#[error("this process does not hold the lease, so it writes nothing")]
pub struct NotLeading;

/// A client that lets only the leader write. It sits below everything that talks to the API server, so that no part of
/// the controller can forget to ask.
pub fn gated_client(client: Client, leadership: Leadership) -> Client {
    let namespace = client.default_namespace().to_owned();
    Client::new(Gate { client, leadership }, namespace)
}

struct Gate {
    client: Client,
    leadership: Leadership,
}

type Answer = Result<Response<Body>, BoxError>;

impl Service<Request<Body>> for Gate {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Either<std::future::Ready<Answer>, Pin<Box<dyn Future<Output = Answer> + Send>>>;

    /// Always: a client queues requests by itself.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        if !reads && !self.leadership.may_write() {
            return Either::Left(ready(Err(NotLeading.into())));
        }
        let client = self.client.clone();
        Either::Right(Box::pin(async move { client.send(request).await.map_err(Into::into) }))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use http::{Request, Response};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::PostParams;
    use kube::client::Body;
    use kube::{Api, Client};
    use tokio::time::Instant;

    use super::gated_client;
    use crate::leader::Leadership;

    #[tokio::test(start_paused = true)]
    async fn only_a_leader_writes_and_everyone_reads() {
        let served = Arc::new(AtomicU32::new(0));
        let counter = served.clone();
        let server = tower::service_fn(move |_: Request<Body>| {
            counter.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, Infallible>(Response::new(Body::from(br#"{"metadata":{"name":"x"}}"#.to_vec()))) }
        });
        let leadership = Leadership::default();
        let client = gated_client(Client::new(server, "default"), leadership.clone());
        let maps: Api<ConfigMap> = Api::default_namespaced(client);

        let error = maps.create(&PostParams::default(), &ConfigMap::default()).await.unwrap_err();
        assert!(format!("{error}").contains("lease"), "{error}");
        assert_eq!(served.load(Ordering::SeqCst), 0);
        maps.get("x").await.unwrap();
        leadership.lead_until(Instant::now() + Duration::from_secs(1));
        maps.create(&PostParams::default(), &ConfigMap::default()).await.unwrap();
        assert_eq!(served.load(Ordering::SeqCst), 2);
    }
}

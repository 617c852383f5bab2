use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

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
/// the controller can forget to ask. A write once sent is seen through even when nobody waits for its answer any more, so
/// that [`Leadership::writes_ended`] can tell when none is under way.
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
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    /// Always: a client queues requests by itself.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        let (client, leadership) = (self.client.clone(), self.leadership.clone());
        if reads {
            return Box::pin(async move { client.send(request).await.map_err(Into::into) });
        }
        Box::pin(async move {
            let turn = leadership.turn_to_write().await.ok_or(NotLeading)?;
            let sent = tokio::spawn(async move {
                let answer = client.send(request).await;
                drop(turn);
                answer
            });
            sent.await?.map_err(Into::into)
        })
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
    async fn a_write_that_nobody_waits_for_any_more_is_still_under_way() {
        let answers = Arc::new(tokio::sync::Semaphore::new(0));
        let gate = answers.clone();
        let server = tower::service_fn(move |_: Request<Body>| {
            let gate = gate.clone();
            async move {
                let _turn = gate.acquire().await;
                Ok::<_, Infallible>(Response::new(Body::from(br#"{"metadata":{"name":"x"}}"#.to_vec())))
            }
        });
        let leadership = Leadership::default();
        leadership.lead_until(Instant::now() + Duration::from_secs(3600));
        let client = gated_client(Client::new(server, "default"), leadership.clone());
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let (parameters, map) = (PostParams::default(), ConfigMap::default());
        let patience = Duration::from_secs(1);
        assert!(tokio::time::timeout(patience, maps.create(&parameters, &map)).await.is_err());
        assert!(tokio::time::timeout(patience, leadership.writes_ended()).await.is_err());
        answers.add_permits(1);
        leadership.writes_ended().await;
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_leader_writes_and_everyone_reads() {
        let served = Arc::new(AtomicU32::new(0));
        let counter = served.clone();
        let api_server = tower::service_fn(move |_: Request<Body>| {
            counter.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, Infallible>(Response::new(Body::from(br#"{"metadata":{"name":"x"}}"#.to_vec()))) }
        });
        let leadership = Leadership::default();
        let client = gated_client(Client::new(api_server, "default"), leadership.clone());
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

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

/// What the probes look at.
#[derive(Clone)]
pub struct Probes {
    /// Why the process is not ready, if it is not.
    pub unready: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    /// The metrics.
    pub registry: Arc<Registry>,
}

impl fmt::Debug for Probes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probes").finish_non_exhaustive()
    }
}

/// `/healthz` answers as long as the process lives, `/readyz` when it can do its work, `/metrics` for Prometheus. None of
/// them tells anything secret.
pub fn probes(state: Probes) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(state)
}

/// Serves the probes until the shutdown comes.
pub async fn serve(
    listener: TcpListener,
    state: Probes,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, probes(state)).with_graceful_shutdown(shutdown).await
}

async fn ready(State(state): State<Probes>) -> Response {
    match (state.unready)() {
        None => "ok\n".into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn metrics(State(state): State<Probes>) -> Response {
    let mut text = String::new();
    if encode(&mut text, &state.registry).is_err() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::Body;
    use axum::http::{Request, StatusCode};
    use http_body_util::BodyExt;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::registry::Registry;
    use tower::ServiceExt;

    use super::{Probes, probes};

    async fn ask(unready: Option<&'static str>, path: &str) -> (StatusCode, String) {
        let mut registry = Registry::default();
        registry.register("plans", "Plans made", Counter::<u64>::default());
        let unready = Arc::new(move || unready.map(ToOwned::to_owned));
        let router = probes(Probes { unready, registry: Arc::new(registry) });
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_process_that_is_not_ready_says_why() {
        let (status, body) = ask(Some("still listing"), "/readyz").await;
        assert_eq!((status, body.as_str()), (StatusCode::SERVICE_UNAVAILABLE, "still listing\n"));
        assert_eq!(ask(None, "/readyz").await.0, StatusCode::OK);
    }

    #[tokio::test]
    async fn a_process_that_is_not_ready_is_alive_all_the_same() {
        assert_eq!(ask(Some("still listing"), "/healthz").await.0, StatusCode::OK);
    }

    #[tokio::test]
    async fn metrics_are_in_the_format_of_prometheus() {
        let (_, body) = ask(None, "/metrics").await;
        assert!(body.contains("# TYPE plans counter\nplans_total 0\n"), "{body}");
        assert!(body.ends_with("# EOF\n"));
    }
}

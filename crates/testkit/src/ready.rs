//! Waiting for the components of a control plane.

use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client};
use tokio::time::{Instant, sleep};

use crate::error::PlaneError;
use crate::plane::ControlPlane;
use crate::programs::Component;

const PATIENCE: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_millis(50);

/// Waits until the API server says that it is ready.
pub(crate) async fn api_server(plane: &ControlPlane) -> Result<(), PlaneError> {
    let client = impatient_client(plane)?;
    let needed = [Component::Etcd, Component::ApiServer];
    until(plane, &needed, Component::ApiServer, async || {
        let request = Request::get("/readyz").body(Vec::new()).map_err(|error| error.to_string())?;
        client.request_text(request).await.map(drop).map_err(|error| error.to_string())
    })
    .await
}

/// Waits until the controllers have made the service account without which no pod is admitted.
pub(crate) async fn controllers(plane: &ControlPlane) -> Result<(), PlaneError> {
    let accounts: Api<ServiceAccount> = Api::namespaced(impatient_client(plane)?, "default");
    let needed = [Component::ApiServer, Component::ControllerManager, Component::Scheduler, Component::Kwok];
    until(plane, &needed, Component::ControllerManager, async || {
        accounts.get("default").await.map(drop).map_err(|error| error.to_string())
    })
    .await
}

/// An API server that is starting may take a connection and never answer on it.
fn impatient_client(plane: &ControlPlane) -> Result<Client, PlaneError> {
    let mut config = plane.config();
    config.read_timeout = Some(Duration::from_secs(5));
    crate::plane::client(config)
}

async fn until(
    plane: &ControlPlane,
    needed: &[Component],
    awaited: Component,
    probe: impl AsyncFn() -> Result<(), String>,
) -> Result<(), PlaneError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        plane.expect_running(needed)?;
        let Err(problem) = probe().await else {
            return Ok(());
        };
        if Instant::now() > deadline {
            let seconds = PATIENCE.as_secs();
            return Err(plane.failure(awaited, format!("was not ready after {seconds} s ({problem})")));
        }
        sleep(INTERVAL).await;
    }
}

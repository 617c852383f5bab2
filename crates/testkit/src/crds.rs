//! The custom resources on a control plane.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};

use crate::wait::eventually;

/// Installs Windlass's custom resources, or brings them up to date, and waits until the API server serves them.
pub async fn install_crds(client: &Client) -> kube::Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = PatchParams::apply("testkit").force();
    for crd in windlass_api::crds() {
        api.patch(&crd.name_any(), &params, &Patch::Apply(&crd)).await?;
    }
    for crd in windlass_api::crds() {
        let name = crd.name_any();
        eventually(&format!("{name} to be served"), Duration::from_secs(30), async || {
            let crd = api.get(&name).await.map_err(|error| error.to_string())?;
            if is_established(&crd) { Ok(()) } else { Err(format!("{:?}", crd.status)) }
        })
        .await;
    }
    Ok(())
}

fn is_established(crd: &CustomResourceDefinition) -> bool {
    let conditions = crd.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
}

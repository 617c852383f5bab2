//! Plays the provisioner of volumes: makes one where the scheduler has chosen a node for the first pod of a claim.

use std::collections::BTreeSet;
use std::convert::Infallible;

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim};
use kube::api::PostParams;
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};
use windlass_core::model::well_known;

use crate::made_up::{OURS, is_everywhere, volume_for};
use crate::watch::Watch;

const CHOSEN_NODE: &str = "volume.kubernetes.io/selected-node";

/// Makes the volumes that a cluster's claims wait for, for ever. The controller manager binds them.
pub async fn make_volumes(client: &Client, id: &str) -> Infallible {
    let ours = watcher::Config::default().labels(&format!("{OURS}={id}"));
    let mut watch = Watch::new(Api::<PersistentVolumeClaim>::all(client.clone()), ours);
    let mut made = BTreeSet::new();
    loop {
        for claim in watch.next().await.values() {
            let bound = claim.spec.as_ref().is_some_and(|spec| spec.volume_name.is_some());
            let chosen = claim.annotations().get(CHOSEN_NODE);
            if let Some(node) = chosen.filter(|_| !bound && made.insert(claim.name_any())) {
                make(client, id, claim, node).await;
            }
        }
    }
}

async fn make(client: &Client, id: &str, claim: &PersistentVolumeClaim, node: &str) {
    let node = Api::<Node>::all(client.clone()).get(node).await.unwrap();
    let zone = node.labels().get(well_known::ZONE).filter(|_| !is_everywhere(claim));
    let volume = volume_for(id, claim, zone.map(String::as_str));
    let volumes: Api<PersistentVolume> = Api::all(client.clone());
    volumes.create(&PostParams::default(), &volume).await.unwrap();
}

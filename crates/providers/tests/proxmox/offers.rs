//! What is offered, and what is shown to people.

use std::sync::Arc;

use windlass_providers::Provider;
use windlass_testkit::ControlPlane;

use crate::lab::{Lab, launch, request};

pub async fn shapes_on_hosts_become_offerings_as_far_as_there_is_room(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "offers").await;
    let provider = lab.provider();
    let offered = async || -> Vec<String> {
        let types = provider.instance_types().await.unwrap();
        let each = types.iter().flat_map(|each| each.offerings.iter().map(move |offering| (each, offering)));
        each.map(|(each, offering)| {
            format!("{} on {}: {:?}", each.name, offering.zone, offering.available.unwrap())
        })
        .collect()
    };
    let all = offered().await;
    assert_eq!(all.len(), 8);
    assert_eq!(all[..2], ["2cpu-4gi on pve1: 8", "2cpu-4gi on pve2: 8"], "16 cores and 64 GiB each");
    launch(&*provider, &request("web")).await;
    lab.fake.world().take_offline("pve2");
    assert_eq!(offered().await[..2], ["2cpu-4gi on pve1: 7", "2cpu-4gi on pve2: 0"]);
}

pub async fn hosts_and_version_are_shown(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "inventory").await;
    launch(&*lab.provider(), &request("web")).await;
    lab.fake.world().take_offline("pve2");
    let inventory = lab.provider().inventory().await.unwrap();
    assert_eq!(inventory.version.as_deref(), Some("9.2.1"));
    let hosts: Vec<String> = inventory
        .hosts
        .iter()
        .map(|host| {
            format!(
                "{} {} ({}): {}",
                host.name,
                host.state,
                host.free,
                host.message.as_deref().unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(
        hosts,
        [
            "pve1 Online (cpu 14, memory 59136Mi): 1 machines",
            "pve2 Unreachable (): 0 machines, of which nothing is known"
        ]
    );
}

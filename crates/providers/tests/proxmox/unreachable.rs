//! Hosts that do not answer.

use std::sync::Arc;

use windlass_providers::{ErrorKind, Provider};
use windlass_testkit::ControlPlane;

use crate::lab::{Lab, launch, request, request_on};

pub async fn a_host_that_does_not_answer_keeps_its_machines(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "unreachable").await;
    let provider = lab.provider();
    let there = launch(&*provider, &request_on("pve2", "there")).await;
    let here = launch(&*provider, &request("here")).await;
    lab.fake.world().take_offline("pve2");
    let mut listed = provider.list().await.unwrap();
    listed.sort_by(|a, b| a.tag.claim_name.cmp(&b.tag.claim_name));
    assert_eq!(listed, [here.clone(), there.clone()], "who has seen them knows them");
    assert_eq!(provider.get(&there.provider_id).await, Ok(there.clone()));
    let error = lab.provider().list().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "who has not cannot say what there is: {error}");
    for provider in [provider, lab.provider()] {
        let error = provider.terminate(&there.provider_id, &there.tag).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
        let error = provider.launch(&request_on("pve1", "there")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transient, "it is not launched a second time: {error}");
    }
    launch(&*lab.provider(), &request("more")).await;
    lab.fake.world().bring_online("pve2");
    assert_eq!(lab.provider().get(&there.provider_id).await, Ok(there));
}

//! What is not ours, and what others do to what is.

use std::sync::Arc;

use kube::api::{Patch, PatchParams};
use serde_json::json;
use windlass_providers::{ErrorKind, Provider};
use windlass_testkit::ControlPlane;

use crate::lab::{Lab, end, request, request_in};

pub async fn a_stranger_is_neither_taken_nor_ended(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "strangers").await;
    let first = lab.rack.intrude("a");
    let provider = lab.provider();
    let mine = provider.launch(&request("web")).await.unwrap();
    assert_ne!(*mine.provider_id, *first);
    let second = lab.rack.intrude("a");
    let also_mine = provider.launch(&request("other")).await.unwrap();
    for stranger in [&first, &second] {
        assert_ne!(*also_mine.provider_id, **stranger);
        assert_eq!(provider.get(stranger).await.unwrap_err().kind(), ErrorKind::NotOurs);
        let answer = provider.terminate(stranger, &mine.tag).await;
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::NotOurs);
    }
    assert_eq!(provider.list().await, Ok(vec![mine.clone(), also_mine.clone()]));
    for machine in [mine, also_mine] {
        end(&*provider, &machine).await;
    }
    assert_eq!(lab.rack.holds("a"), (2, vec![first, second]));
}

pub async fn a_machine_that_vanishes_and_comes_back_is_still_ours(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "vanish").await;
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    let mut hidden = Vec::new();
    lab.rack.change("a", |group| hidden = std::mem::take(&mut group.instances));
    assert_eq!(provider.get(&machine.provider_id).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(provider.list().await, Ok(vec![]));
    assert_eq!(provider.launch(&request("web")).await, Ok(machine.clone()), "there is no second one");
    end(&*provider, &machine).await;
    lab.rack.change("a", |group| group.instances = hidden);
    assert_eq!(provider.list().await, Ok(vec![machine.clone()]), "so that it can be ended");
    end(&*provider, &machine).await;
    assert_eq!(lab.rack.holds("a").1, Vec::<String>::new());
}

pub async fn a_ledger_that_cannot_be_read_makes_the_list_fail(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "unreadable").await;
    let provider = lab.provider();
    provider.launch(&request("web")).await.unwrap();
    provider.launch(&request_in("zone-b", "other")).await.unwrap();
    let ledgers = lab.ledgers();
    let labelled = kube::api::ListParams::default().labels("windlass.dev/external-grpc=unreadable");
    let names: Vec<String> =
        ledgers.list(&labelled).await.unwrap().into_iter().filter_map(|found| found.metadata.name).collect();
    assert_eq!(names.len(), 2, "one for each group");
    let broken = Patch::Merge(json!({"data": {"ledger": "{"}}));
    ledgers.patch(&names[0], &PatchParams::default(), &broken).await.unwrap();
    for error in [provider.list().await.unwrap_err(), provider.launch(&request("third")).await.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Transient);
        assert!(error.to_string().contains(&names[0]), "{error}");
    }
}

pub async fn a_group_that_is_gone_hides_no_machines(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "group-gone").await;
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    provider.launch(&request_in("zone-b", "other")).await.unwrap();
    lab.rack.state().groups.remove("a");
    let errors = [provider.list().await.unwrap_err(), provider.get(&machine.provider_id).await.unwrap_err()];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Transient);
        assert!(error.to_string().contains("delete ConfigMap externalgrpc-group-gone-"), "{error}");
    }
    assert!(provider.terminate(&machine.provider_id, &machine.tag).await.is_err());
}

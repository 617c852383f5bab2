//! What is not ours is left alone.

use std::sync::Arc;

use windlass_providers::{ErrorKind, Provider, ProviderError};
use windlass_testkit::ControlPlane;
use windlass_testkit::proxmox::FakeVm;

use crate::lab::{Lab, launch, request};

fn stranger(name: &str) -> FakeVm {
    let config = [("name".to_owned(), name.to_owned()), ("memory".to_owned(), "1024".to_owned())].into();
    FakeVm { host: "pve1".to_owned(), is_running: false, config, pool: None }
}

pub async fn a_stranger_in_our_range_is_neither_listed_nor_touched(plane: Arc<ControlPlane>) {
    let mut lab = Lab::new(&plane, "stranger").await;
    lab.spec["vmids"] = serde_json::json!({"first": 5000, "last": 5009});
    // Even with the name that our machine will have.
    for id in 5000..5009 {
        lab.fake.world().vms.insert(id, stranger("web"));
    }
    let provider = lab.provider();
    assert_eq!(provider.list().await, Ok(vec![]));
    let machine = launch(&*provider, &request("web")).await;
    let error = provider.launch(&request("api")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InsufficientCapacity, "{error}");
    provider.terminate(&machine.provider_id, &machine.tag).await.unwrap();
    assert_eq!(lab.ids(), (5000..5009).collect::<Vec<_>>());
    assert!(lab.fake.world().vms.values().all(|vm| *vm == stranger("web")));
}

pub async fn a_copy_of_our_machine_is_a_stranger(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "copy").await;
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    let id = lab.ids()[0];
    let copy = {
        let mut world = lab.fake.world();
        let mut copy = world.vms[&id].clone();
        copy.config.insert("smbios1".to_owned(), "uuid=11111111-2222-4333-8444-555555555555".to_owned());
        world.vms.insert(4999, copy.clone());
        copy
    };
    assert_eq!(provider.list().await, Ok(vec![machine.clone()]));
    assert_eq!(provider.launch(&request("web")).await, Ok(machine.clone()));
    provider.terminate(&machine.provider_id, &machine.tag).await.unwrap();
    assert_eq!(lab.fake.world().vms.get(&4999), Some(&copy));
    let error = provider.terminate(&machine.provider_id, &machine.tag).await.unwrap_err();
    assert!(matches!(error, ProviderError::NotOurs { .. }), "{error}");
    assert_eq!(lab.fake.world().vms.get(&4999), Some(&copy));
}

pub async fn a_machine_of_ours_that_was_renamed_makes_the_list_fail(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "renamed").await;
    let machine = lab.provider().launch(&request("web")).await.unwrap();
    let id = lab.ids()[0];
    for (key, value) in [("name", "mine"), ("description", "mine")] {
        let before =
            lab.fake.world().vms.get_mut(&id).unwrap().config.insert(key.to_owned(), value.to_owned());
        let error = lab.provider().list().await.unwrap_err();
        assert!(error.to_string().contains(&id.to_string()), "{error}");
        let error = lab.provider().terminate(&machine.provider_id, &machine.tag).await.unwrap_err();
        assert!(matches!(error, ProviderError::NotOurs { .. }), "{error}");
        assert!(lab.fake.world().vms[&id].is_running);
        lab.fake.world().vms.get_mut(&id).unwrap().config.insert(key.to_owned(), before.unwrap());
    }
    assert_eq!(lab.provider().list().await, Ok(vec![machine]));
}

pub async fn an_id_that_was_given_to_another_machine_is_not_ended(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "reused").await;
    let machine = lab.provider().launch(&request("web")).await.unwrap();
    let id = lab.ids()[0];
    lab.fake.world().vms.insert(id, FakeVm { is_running: true, ..stranger("web") });
    let error = lab.provider().terminate(&machine.provider_id, &machine.tag).await.unwrap_err();
    assert!(matches!(error, ProviderError::NotFound { .. }), "{error}");
    assert_eq!(lab.fake.world().vms[&id], FakeVm { is_running: true, ..stranger("web") });
}

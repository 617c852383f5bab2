//! What the calls of the provider do.

use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use windlass_api::NodeProviderSpec;
use windlass_providers::{
    ErrorKind, Factory, Machine, MachineState, MachineTag, Provider, ProviderError, ProviderFactory,
    SystemClock, Termination,
};
use windlass_testkit::ControlPlane;

use crate::lab::{Lab, node_name, request, request_in};

pub async fn a_launch_repeated_under_one_key_gives_one_machine(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "launch-twice");
    let provider = lab.provider();
    let again = lab.provider();
    let elsewhere = request_in("zone-b", "web");
    let (first, second) = (request("web"), request("web"));
    let answers =
        join_all([provider.launch(&first), again.launch(&second), provider.launch(&elsewhere)]).await;
    let machines: Vec<Machine> = answers.into_iter().collect::<Result<_, _>>().unwrap();
    assert!(machines.iter().all(|machine| *machine == machines[0]), "{machines:?}");
    assert_eq!(provider.list().await.unwrap(), machines[..1]);
    assert_eq!(provider.get(&machines[0].provider_id).await.unwrap(), machines[0]);
}

pub async fn a_claim_that_reuses_a_name_gets_a_machine_of_its_own(plane: Arc<ControlPlane>) {
    let provider = Lab::new(&plane, "name-reuse").provider();
    let old = provider.launch(&request("web")).await.unwrap();
    let mut reborn = request("web");
    reborn.tag.claim_uid = "another-uid".into();
    let new = provider.launch(&reborn).await.unwrap();
    assert_ne!(old.provider_id, new.provider_id);
    assert_eq!(new.tag, reborn.tag);
}

pub async fn no_more_machines_than_there_are_can_be_had(plane: Arc<ControlPlane>) {
    let provider = Lab::new(&plane, "availability").provider();
    let available = async || provider.instance_types().await.unwrap()[0].offerings[1].available;
    assert_eq!(available().await, Some(7));
    let answers = join_all((0..20).map(|number| {
        let provider = &provider;
        async move { provider.launch(&request_in("zone-b", &format!("web-{number}"))).await }
    }))
    .await;
    let (got, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(got.len(), 7);
    let kinds: Vec<ErrorKind> = refused.into_iter().map(|answer| answer.unwrap_err().kind()).collect();
    assert_eq!(kinds, [ErrorKind::InsufficientCapacity; 13]);
    assert_eq!(available().await, Some(0));

    let one = got.into_iter().next().unwrap().unwrap();
    assert_eq!(provider.terminate(&one.provider_id, &one.tag).await, Ok(Termination::Gone));
    assert_eq!(available().await, Some(1));
}

pub async fn no_more_machines_are_cut_from_a_host_than_it_holds(plane: Arc<ControlPlane>) {
    let kind = |name: &str, cores: u32, zone: &str| json!({"name": name, "capacity": {"cpu": cores}, "offerings": [{"zone": zone, "price": "0.10", "host": "pve1"}]});
    let provider = Lab::new(&plane, "host")
        .with("hosts", json!([{"name": "pve1", "capacity": {"cpu": 11}}]))
        .with("instanceTypes", json!([kind("small", 2, "zone-a"), kind("large", 4, "zone-b")]))
        .provider();
    let cores_left = async || {
        let types = provider.instance_types().await.unwrap();
        let left = types.iter().flat_map(|each| &each.offerings).map(|each| each.draws.clone().unwrap().left);
        left.map(|left| left.get("cpu") / 1000).collect::<Vec<_>>()
    };
    assert_eq!(cores_left().await, [11, 11]);
    let answers = join_all((0..12).map(|number| {
        let mut request =
            request_in(if number % 2 == 0 { "zone-a" } else { "zone-b" }, &format!("web-{number}"));
        request.offering.instance_type = if number % 2 == 0 { "small" } else { "large" }.into();
        let provider = &provider;
        async move { provider.launch(&request).await }
    }))
    .await;
    let (got, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert!(refused.into_iter().all(|answer| answer.unwrap_err().kind() == ErrorKind::InsufficientCapacity));
    let got: Vec<Machine> = got.into_iter().map(Result::unwrap).collect();
    let cores = |machine: &Machine| machine.capacity.get("cpu") / 1000;
    assert_eq!(got.iter().map(cores).sum::<i64>(), 10);
    assert_eq!(cores_left().await, [1, 1]);
    assert_eq!(provider.terminate(&got[0].provider_id, &got[0].tag).await, Ok(Termination::Gone));
    assert_eq!(cores_left().await, [1 + cores(&got[0]); 2]);
}

pub async fn an_offering_that_is_not_there_cannot_be_had(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "no-offering");
    let error = lab.provider().launch(&request_in("zone-x", "web")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InsufficientCapacity);
    assert!(error.to_string().contains("small in zone-x as on-demand"), "{error}");
}

pub async fn another_clusters_machine_is_neither_seen_nor_ended(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "other-cluster");
    let (ours, theirs) = (lab.provider(), lab.provider_of("other").unwrap());
    let mut request = request("web");
    request.tag.cluster_id = "other".into();
    assert_eq!(ours.launch(&request).await.unwrap_err().kind(), ErrorKind::InvalidConfiguration);
    let machine = theirs.launch(&request).await.unwrap();

    assert_eq!(ours.list().await, Ok(vec![]));
    let id = &machine.provider_id;
    assert_eq!(ours.get(id).await.unwrap_err().kind(), ErrorKind::NotOurs);
    let same_claim = MachineTag { cluster_id: "cluster".into(), ..machine.tag.clone() };
    for tag in [&machine.tag, &same_claim] {
        assert_eq!(ours.terminate(id, tag).await.unwrap_err().kind(), ErrorKind::NotOurs);
    }
    assert_eq!(theirs.list().await, Ok(vec![machine]));
}

pub async fn a_machine_is_ended_once_and_only_under_its_whole_tag(plane: Arc<ControlPlane>) {
    let provider = Lab::new(&plane, "terminate").provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    let (id, tag) = (&machine.provider_id, &machine.tag);
    let wrong = [
        MachineTag { claim_uid: "x".into(), ..tag.clone() },
        MachineTag { claim_name: "x".into(), ..tag.clone() },
        MachineTag { pool: "x".into(), ..tag.clone() },
    ];
    for tag in &wrong {
        assert_eq!(provider.terminate(id, tag).await.unwrap_err().kind(), ErrorKind::NotOurs, "{tag:?}");
    }
    assert_eq!(
        provider.terminate("simulated://elsewhere/web", tag).await.unwrap_err().kind(),
        ErrorKind::NotOurs
    );
    assert_eq!(provider.terminate(id, tag).await, Ok(Termination::Gone));
    let gone = ProviderError::NotFound { provider_id: id.to_string() };
    assert_eq!(provider.terminate(id, tag).await, Err(gone.clone()));
    assert_eq!(provider.get(id).await, Err(gone));
}

pub async fn a_machine_that_is_held_is_on_its_way_out_until_it_is_released(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "held");
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    let set_finalizers = async |finalizers: Value| {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
        lab.records().patch(node_name(&machine), &PatchParams::default(), &patch).await.unwrap();
    };
    set_finalizers(json!(["test.windlass.dev/hold"])).await;
    for _ in 0..2 {
        let answer = provider.terminate(&machine.provider_id, &machine.tag).await;
        assert_eq!(answer, Ok(Termination::UnderWay));
    }
    assert_eq!(provider.get(&machine.provider_id).await.unwrap().state, MachineState::Terminating);
    set_finalizers(json!(null)).await;
    assert_eq!(provider.get(&machine.provider_id).await.unwrap_err().kind(), ErrorKind::NotFound);
}

pub async fn what_takes_the_place_of_a_record_is_left_alone(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "foreign-record");
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    let (records, name) = (lab.records(), node_name(&machine));
    records.delete(name, &DeleteParams::default()).await.unwrap();
    let mut foreign = ConfigMap::default();
    foreign.metadata.name = Some(name.to_owned());
    records.create(&PostParams::default(), &foreign).await.unwrap();

    assert_eq!(provider.launch(&request("web")).await.unwrap_err().kind(), ErrorKind::NotOurs);
    let answer = provider.terminate(&machine.provider_id, &machine.tag).await;
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::NotOurs);
    assert!(records.get_opt(name).await.unwrap().is_some());
    assert_eq!(provider.list().await, Ok(vec![]));
}

pub async fn one_unreadable_record_makes_the_whole_list_fail(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "unreadable");
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    provider.launch(&request("other")).await.unwrap();
    let broken = Patch::Merge(json!({"data": {"machine": "{"}}));
    lab.records().patch(node_name(&machine), &PatchParams::default(), &broken).await.unwrap();
    let error = provider.list().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient);
    assert!(error.to_string().contains(node_name(&machine)), "{error}");
}

pub async fn without_permission_the_error_says_so(plane: Arc<ControlPlane>) {
    let mut lab = Lab::new(&plane, "no-permission");
    lab.client = plane.client_for_token("nobody").unwrap();
    let provider = lab.provider();
    assert_eq!(provider.list().await.unwrap_err().kind(), ErrorKind::Unauthorized);
    let error = provider.launch(&request("web")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
}

pub async fn a_specification_that_makes_no_sense_is_refused(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "nonsense").with("faults", json!([{"effect": "Error"}]));
    assert_eq!(lab.provider_of("cluster").unwrap_err().kind(), ErrorKind::InvalidConfiguration);
    let lab = Lab::new(&plane, "not a name");
    assert_eq!(lab.provider_of("cluster").unwrap_err().kind(), ErrorKind::InvalidConfiguration);

    let factory = Factory {
        client: plane.client().unwrap(),
        clock: Arc::new(SystemClock),
        cluster_id: "cluster".into(),
        namespace: "nonsense".to_owned(),
    };
    let no_source = factory.build(&"lab".into(), &NodeProviderSpec::default()).unwrap_err();
    assert_eq!(no_source.kind(), ErrorKind::InvalidConfiguration);
    let general = json!({"simulated": {"catalogue": "general"}});
    let provider = factory.build(&"lab".into(), &serde_json::from_value(general).unwrap()).unwrap();
    assert_eq!((provider.kind(), provider.instance_types().await.unwrap().len()), ("simulated", 21));
}

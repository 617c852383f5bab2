//! What launching and ending do.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use tonic::Status;
use windlass_core::model::{Effect, Taint};
use windlass_externalgrpc::wire::InstanceErrorInfo;
use windlass_providers::external_grpc::Pace;
use windlass_providers::{
    ErrorKind, Join, LaunchRequest, Machine, MachineState, MachineTag, Provider, ProviderError, Termination,
};
use windlass_testkit::ControlPlane;

use crate::lab::{Lab, end, request, request_in};
use crate::rack::template;

pub async fn a_launch_gets_an_instance_and_its_end_gives_it_back(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "launch").await;
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    assert_eq!(&*machine.provider_id, "rack://a/1");
    assert_eq!((&machine.tag, &machine.offering), (&request("web").tag, &request("web").offering));
    assert_eq!(machine.allocatable.to_string(), "cpu 3900m, memory 7Gi, pods 110");
    assert_eq!(machine.price.to_string(), "0.25");
    assert_eq!(machine.labels.get("topology.kubernetes.io/zone").unwrap().as_ref(), "zone-a");
    assert_eq!(provider.list().await, Ok(vec![machine.clone()]));
    assert_eq!(provider.get(&machine.provider_id).await, Ok(machine.clone()));

    end(&*provider, &machine).await;
    assert_eq!(lab.rack.holds("a"), (0, vec![]));
    assert_eq!(provider.list().await, Ok(vec![]));
    assert_eq!(provider.get(&machine.provider_id).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(provider.terminate(&machine.provider_id, &machine.tag).await, Ok(Termination::Gone));
}

pub async fn a_claim_that_asks_again_has_one_machine_whatever_it_asks_for(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "again").await;
    let (one, other) = (lab.provider(), lab.provider());
    let (here, there) = (request("web"), request_in("zone-b", "web"));
    let first = join_all([one.launch(&here), one.launch(&there), one.launch(&here)]).await;
    let mut machines: Vec<Machine> = first.into_iter().collect::<Result<_, _>>().unwrap();
    machines.push(other.launch(&there).await.unwrap());
    assert!(machines.iter().all(|machine| *machine == machines[0]), "{machines:?}");
    assert_eq!(lab.rack.holds("a").1.len() + lab.rack.holds("b").1.len(), 1);
}

pub async fn a_machine_that_is_to_be_told_how_to_join_is_refused(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "told").await;
    let join = Join {
        template: "{{windlass.token}}".into(),
        token: "abcdef.0123456789abcdef".into(),
        api_server: "https://10.0.0.1".into(),
        ca_bundle: "PEM".into(),
        ca_hash: "sha256:00".into(),
    };
    let told = LaunchRequest { join: Some(join), ..request("web") };
    let error = lab.provider().launch(&told).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfiguration);
    assert!(error.to_string().contains("join: Image"), "{error}");
    assert_eq!(lab.rack.holds("a"), (0, vec![]), "nothing was asked of the server");
}

pub async fn ten_claims_at_once_get_ten_different_instances(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "ten").await;
    lab.rack.change("a", |group| group.slow = true);
    // Two of them, as when one is built anew while the other is still at work: neither must take what the other is about to
    // do for something that did not happen.
    let pace = Pace { doubt: Duration::from_hours(1), ..lab.pace };
    let provider = || lab.provider_at(lab.client.clone(), pace).unwrap();
    let providers = [provider(), provider()];
    let launch = async |number: usize| {
        let request = request(&format!("web-{number}"));
        let machine = providers[number % 2].launch(&request).await.unwrap();
        assert_eq!(machine.tag, request.tag);
        machine.provider_id.to_string()
    };
    let show = async {
        for _ in 0..10 {
            windlass_testkit::eventually("an increase", crate::lab::PATIENCE, async || {
                let (target, ids) = lab.rack.holds("a");
                (usize::try_from(target).unwrap() > ids.len()).then_some(())
            })
            .await;
            lab.rack.change("a", |group| _ = group.make("a"));
        }
    };
    let (mut got, ()) = futures::join!(join_all((0..10).map(launch)), show);
    got.sort();
    let mut there = lab.rack.holds("a").1;
    there.sort();
    assert_eq!((got, lab.rack.holds("a").0), (there, 10));
}

pub async fn a_machine_is_ended_only_under_its_whole_tag(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "tag").await;
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    let tag = &machine.tag;
    for wrong in [
        MachineTag { cluster_id: "x".into(), ..tag.clone() },
        MachineTag { claim_uid: "x".into(), ..tag.clone() },
        MachineTag { claim_name: "x".into(), ..tag.clone() },
        MachineTag { pool: "x".into(), ..tag.clone() },
    ] {
        let answer = provider.terminate(&machine.provider_id, &wrong).await;
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::NotOurs, "{wrong:?}");
    }
    assert_eq!(lab.rack.holds("a").1.len(), 1);
    let gone = ProviderError::NotFound { provider_id: "rack://a/7".to_owned() };
    assert_eq!(provider.terminate("rack://a/7", tag).await, Err(gone));
}

pub async fn an_instance_that_takes_its_time_to_go_is_asked_to_once(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "lingering").await;
    lab.rack.change("a", |group| group.lingering = true);
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    for _ in 0..3 {
        let answer = provider.terminate(&machine.provider_id, &machine.tag).await;
        assert_eq!(answer, Ok(Termination::UnderWay));
    }
    assert_eq!(provider.list().await.unwrap()[0].state, MachineState::Terminating);
    lab.rack.change("a", |group| group.instances.clear());
    assert_eq!(provider.terminate(&machine.provider_id, &machine.tag).await, Ok(Termination::Gone));
    assert_eq!(lab.rack.state().deeds, ["increase a", "delete rack://a/1"]);
}

pub async fn a_group_that_is_full_or_refuses_has_no_capacity(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "full").await;
    let provider = lab.provider();
    for status in [
        Status::resource_exhausted("sold out"),
        Status::out_of_range("sold out"),
        Status::failed_precondition("sold out"),
        Status::invalid_argument("sold out"),
    ] {
        lab.rack.state().refused.insert("increase", status);
        let error = provider.launch(&request("web")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InsufficientCapacity);
        assert!(error.to_string().contains("sold out"), "{error}");
        assert_eq!(provider.list().await, Ok(vec![]), "nothing is awaited");
    }
    lab.rack.state().refused.clear();
    provider.launch(&request_in("zone-b", "web")).await.unwrap();

    lab.rack.change("a", |group| group.max = 1);
    let provider = lab.provider();
    provider.launch(&request("first")).await.unwrap();
    let error = provider.launch(&request("second")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InsufficientCapacity);
    assert!(error.to_string().contains("1 of at most 1"), "{error}");
    let unknown = provider.launch(&request_in("zone-x", "third")).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::InsufficientCapacity);
}

pub async fn an_instance_that_cannot_be_made_is_removed_and_said_why(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "unmakeable").await;
    let provider = lab.provider();
    for (class, kind) in [(1, ErrorKind::InsufficientCapacity), (99, ErrorKind::Transient)] {
        let error = InstanceErrorInfo {
            error_code: "Stockout".to_owned(),
            error_message: "no more hosts".to_owned(),
            instance_error_class: class,
        };
        lab.rack.change("a", |group| group.error = Some(error));
        let error = provider.launch(&request("web")).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains("Stockout: no more hosts"), "{error}");
        assert_eq!(lab.rack.holds("a"), (0, vec![]));
    }
    lab.rack.change("a", |group| group.error = None);
    let machine = provider.launch(&request("web")).await.unwrap();
    assert_eq!(&*machine.provider_id, "rack://a/3");

    // One whose removal was lost is still found as the claim's, after the one that it has.
    let error = InstanceErrorInfo { error_code: "Quota".to_owned(), ..InstanceErrorInfo::default() };
    lab.rack.change("a", |group| group.error = Some(error));
    lab.rack.state().refused.insert("delete", Status::unavailable("later"));
    assert_eq!(provider.launch(&request("other")).await.unwrap_err().kind(), ErrorKind::Transient);
    lab.rack.state().refused.clear();
    lab.rack.change("a", |group| group.error = None);
    let kept = provider.launch(&request("other")).await.unwrap();
    let of_claim: Vec<Machine> = provider.list().await.unwrap();
    let of_claim: Vec<&Machine> = of_claim.iter().filter(|found| found.tag == kept.tag).collect();
    assert_eq!((of_claim.len(), of_claim[0]), (2, &kept));
    end(&*provider, of_claim[1]).await;
    assert_eq!(lab.rack.holds("a").0, 2);
}

pub async fn nodes_with_a_taint_that_the_pool_does_not_name_are_not_launched(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "taints").await;
    let mut tainted = template("tainted", "zone-a");
    tainted.spec =
        serde_json::from_value(json!({"taints": [{"key": "gpu", "effect": "NoSchedule"}]})).unwrap();
    lab.rack.add("tainted", &tainted);
    let provider = lab.provider();
    let mut request = request("web");
    request.offering.instance_type = "tainted".into();
    let error = provider.launch(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfiguration);
    assert!(error.to_string().contains("taint gpu") && error.to_string().contains("pool pool"), "{error}");
    request.taints.push(Taint::new("gpu", "", Effect::NoSchedule));
    provider.launch(&request).await.unwrap();
}

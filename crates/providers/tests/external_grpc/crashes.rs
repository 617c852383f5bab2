//! What is left when answers are lost or the process dies.

use std::sync::Arc;
use std::time::Duration;

use tonic::Status;
use windlass_providers::external_grpc::Pace;
use windlass_providers::{ErrorKind, Machine, Provider};
use windlass_testkit::{ControlPlane, eventually};

use crate::lab::{Lab, PATIENCE, end, request, request_in};

/// Launches, however often it takes.
async fn launch(provider: &dyn Provider, claim: &str) -> Machine {
    eventually(&format!("a machine for {claim}"), PATIENCE, async || provider.launch(&request(claim)).await)
        .await
}

pub async fn an_answer_that_is_lost_has_its_effect_once(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "lost").await;
    let provider = lab.provider();
    for call in ["refresh", "groups", "template", "price", "target", "nodes", "increase"] {
        lab.rack.state().lost.insert(call);
        let error = lab.provider().launch(&request(call)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transient, "{call}: {error}");
        lab.rack.state().lost.clear();
        let machine = launch(&*provider, call).await;
        assert_eq!(lab.rack.holds("a"), (1, vec![machine.provider_id.to_string()]), "{call}");
        lab.rack.state().lost.insert("delete");
        let ended = provider.terminate(&machine.provider_id, &machine.tag).await;
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::Transient);
        lab.rack.state().lost.clear();
        end(&*provider, &machine).await;
        assert_eq!(lab.rack.holds("a"), (0, vec![]), "{call}");
    }
}

pub async fn a_launch_killed_after_any_effect_leaves_one_machine(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "killed-launch").await;
    for number in 1.. {
        let claim = format!("web-{number}");
        lab.rack.effects.stop_after(number);
        let mortal = lab.mortal();
        let request = request(&claim);
        let lived = tokio::select! {
            machine = mortal.launch(&request) => Some(machine.unwrap()),
            () = lab.rack.effects.reached() => None,
        };
        lab.rack.effects.go_on();
        // Another claim comes first when the process is back.
        let other = launch(&*lab.provider(), &format!("other-{number}")).await;
        let machine = launch(&*lab.provider(), &claim).await;
        let (target, mut ids) = lab.rack.holds("a");
        ids.sort();
        let mut expected = vec![other.provider_id.to_string(), machine.provider_id.to_string()];
        expected.sort();
        assert_eq!((target, ids), (2, expected), "killed after effect {number}");
        for machine in [machine, other] {
            end(&*lab.provider(), &machine).await;
        }
        assert_eq!(lab.rack.holds("a"), (0, vec![]), "killed after effect {number}");
        assert_eq!(lab.provider().list().await, Ok(vec![]));
        if lived.is_some() {
            assert!(number > 8, "a launch has more effects than {number}");
            return;
        }
    }
}

pub async fn an_end_killed_after_any_effect_leaves_no_machine(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "killed-end").await;
    for number in 1.. {
        let machine = launch(&*lab.provider(), &format!("web-{number}")).await;
        lab.rack.effects.stop_after(number);
        let mortal = lab.mortal();
        let lived = tokio::select! {
            () = end(&*mortal, &machine) => true,
            () = lab.rack.effects.reached() => false,
        };
        lab.rack.effects.go_on();
        let next = launch(&*lab.provider(), &format!("next-{number}")).await;
        end(&*lab.provider(), &machine).await;
        assert_eq!(lab.rack.holds("a"), (1, vec![next.provider_id.to_string()]), "killed after {number}");
        end(&*lab.provider(), &next).await;
        if lived {
            assert!(number > 4, "an end has more effects than {number}");
            return;
        }
    }
}

pub async fn a_wait_given_up_and_killed_after_any_effect_leaves_the_target_size_as_it_was(
    plane: Arc<ControlPlane>,
) {
    let lab = Lab::new(&plane, "killed-wait").await;
    lab.rack.change("a", |group| group.slow = true);
    for number in 1.. {
        let claims = [format!("gives-up-{number}"), format!("stays-{number}")];
        for claim in &claims {
            let error = lab.impatient().launch(&request(claim)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
        }
        let awaited = lab.provider().list().await.unwrap();
        let machine = awaited.iter().find(|machine| *machine.tag.claim_name == *claims[0]).unwrap();
        lab.rack.effects.stop_after(number);
        let mortal = lab.mortal();
        let lived = tokio::select! {
            () = end(&*mortal, machine) => true,
            () = lab.rack.effects.reached() => false,
        };
        lab.rack.effects.go_on();
        end(&*lab.provider(), machine).await;
        assert_eq!(lab.rack.holds("a"), (1, vec![]), "killed after effect {number}");
        lab.rack.change("a", |group| _ = group.make("a"));
        end(&*lab.provider(), &launch(&*lab.provider(), &claims[1]).await).await;
        assert_eq!(lab.rack.holds("a"), (0, vec![]));
        if lived {
            assert!(number > 4, "giving up has more effects than {number}");
            return;
        }
    }
}

pub async fn an_unclear_refusal_is_settled_by_the_target_size(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "unclear").await;
    let provider = lab.provider();
    lab.rack.state().refused.insert("increase", Status::unknown("something went wrong"));
    assert_eq!(provider.launch(&request("web")).await.unwrap_err().kind(), ErrorKind::Transient);
    let error = provider.launch(&request("web")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InsufficientCapacity, "the target size says that it was in vain");
    assert!(error.to_string().contains("something went wrong"), "{error}");
    lab.rack.state().refused.clear();
    provider.launch(&request_in("zone-b", "web")).await.unwrap();
    assert_eq!((lab.rack.holds("a").0, lab.rack.holds("b").0), (0, 1));
}

pub async fn a_request_that_may_be_under_way_is_not_repeated(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "under-way").await;
    lab.rack.state().refused.insert("increase", Status::deadline_exceeded("too late"));
    assert!(lab.provider().launch(&request("web")).await.is_err());
    lab.rack.state().refused.clear();
    let careful = Pace { doubt: Duration::from_hours(1), wait: Duration::ZERO, ..lab.pace };
    let careful = lab.provider_at(lab.client.clone(), careful).unwrap();
    for claim in ["web", "other"] {
        let error = careful.launch(&request(claim)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
    }
    assert_eq!(lab.rack.holds("a"), (0, vec![]), "nobody asked again");
    // It arrives after all.
    lab.rack.change("a", |group| group.target += 1);
    lab.rack.change("a", |group| _ = group.make("a"));
    let machine = careful.launch(&request("web")).await.unwrap();
    assert_eq!(lab.rack.holds("a"), (1, vec![machine.provider_id.to_string()]));
}

//! Claims whose instance is not shown yet.

use std::sync::Arc;
use std::time::Duration;

use windlass_providers::external_grpc::Pace;
use windlass_providers::{ErrorKind, Provider, Termination};
use windlass_testkit::ControlPlane;

use crate::lab::{Lab, end, request};

pub async fn a_launch_asked_again_goes_on_waiting(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "goes-on").await;
    lab.rack.change("a", |group| group.slow = true);
    for _ in 0..3 {
        let error = lab.impatient().launch(&request("web")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transient);
        assert!(error.to_string().contains("has not shown the instance yet"), "{error}");
    }
    assert_eq!(lab.rack.holds("a"), (1, vec![]));
    let awaited = lab.provider().list().await.unwrap();
    assert_eq!((awaited.len(), &awaited[0].tag), (1, &request("web").tag));
    assert_eq!(lab.provider().get(&awaited[0].provider_id).await.as_ref(), Ok(&awaited[0]));

    lab.rack.change("a", |group| _ = group.make("a"));
    let machine = lab.impatient().launch(&request("web")).await.unwrap();
    assert_eq!(&*machine.provider_id, "rack://a/1");
    assert_eq!(lab.provider().list().await, Ok(vec![machine]));
}

pub async fn a_claim_given_up_while_it_waits_leaves_the_target_size_as_it_was(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "given-up").await;
    lab.rack.change("a", |group| group.slow = true);
    assert!(lab.impatient().launch(&request("web")).await.is_err());
    let awaited = lab.provider().list().await.unwrap().remove(0);
    let answer = lab.provider().terminate(&awaited.provider_id, &awaited.tag).await;
    assert_eq!(answer, Ok(Termination::Gone));
    assert_eq!(lab.rack.holds("a"), (0, vec![]));
    let again = lab.provider().terminate(&awaited.provider_id, &awaited.tag).await;
    assert_eq!(again.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(lab.provider().list().await, Ok(vec![]));
}

pub async fn a_decrease_whose_answer_was_lost_is_not_repeated(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "lost-decrease").await;
    lab.rack.change("a", |group| group.slow = true);
    let careful = Pace { doubt: Duration::from_hours(1), wait: Duration::ZERO, ..lab.pace };
    let careful = lab.provider_at(lab.client.clone(), careful).unwrap();
    for claim in ["web", "other"] {
        assert!(careful.launch(&request(claim)).await.is_err());
    }
    let awaited = careful.list().await.unwrap().remove(0);
    lab.rack.state().lost.insert("decrease");
    let answer = careful.terminate(&awaited.provider_id, &awaited.tag).await;
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Transient);
    let answer = careful.terminate(&awaited.provider_id, &awaited.tag).await;
    assert_eq!(answer, Ok(Termination::Gone));
    assert_eq!(lab.rack.holds("a").0, 1, "the other still waits for it");
}

pub async fn a_claim_given_up_too_late_ends_the_instance_when_it_comes(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "too-late").await;
    lab.rack.change("a", |group| group.slow = true);
    assert!(lab.impatient().launch(&request("web")).await.is_err());
    let awaited = lab.provider().list().await.unwrap().remove(0);
    let too_late = tonic::Status::failed_precondition("it is being made");
    lab.rack.state().refused.insert("decrease", too_late);
    for _ in 0..2 {
        let answer = lab.provider().terminate(&awaited.provider_id, &awaited.tag).await;
        assert_eq!(answer, Ok(Termination::UnderWay));
    }
    lab.rack.change("a", |group| _ = group.make("a"));
    end(&*lab.provider(), &awaited).await;
    assert_eq!(lab.rack.holds("a"), (0, vec![]));
}

pub async fn what_the_server_has_given_up_by_itself_is_not_waited_for(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "server-gave-up").await;
    lab.rack.change("a", |group| group.slow = true);
    for claim in ["web", "other"] {
        assert!(lab.impatient().launch(&request(claim)).await.is_err());
    }
    lab.rack.change("a", |group| group.target = 1);
    let awaited = lab.provider().list().await.unwrap().remove(0);
    let answer = lab.provider().terminate(&awaited.provider_id, &awaited.tag).await;
    assert_eq!(answer, Ok(Termination::Gone));
    assert_eq!(lab.rack.holds("a").0, 1, "the other still waits for it");
}

//! Machines and claims: how many there are, and that none is left behind.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::time::sleep;
use windlass_api::NodePool;
use windlass_testkit::invariants::{Invariant, JournalEntry};
use windlass_testkit::{ControlPlane, eventually};

use super::SOON;
use super::mini::Mini;

pub(super) async fn i1_a_second_machine_for_one_claim_is_caught(plane: Arc<ControlPlane>) {
    let mini = Mini::start(&plane, "i1").await;
    for suffix in ["a", "b"] {
        let claim = mini.claim(suffix).await;
        mini.launch(&claim, "").await;
        mini.initialize(&claim).await;
    }
    mini.is_clean().await;

    let claim = mini.claims().get("i1-a").await.unwrap();
    mini.launch(&claim, "-again").await;
    let violations = mini.watcher.settle().await.unwrap();
    mini.is_caught(&violations, Invariant::OneMachinePerClaim, &["-a has 2 live machines", "/i1-a-again"]);
}

pub(super) async fn i1_and_i3_a_journal_is_judged_like_the_api(plane: Arc<ControlPlane>) {
    let mini = Mini::start(&plane, "journal").await;
    let claim = mini.claim("a").await;
    let launched = |id: &str| JournalEntry::Launched {
        provider_id: id.to_owned(),
        cluster_id: "journal".to_owned(),
        claim_uid: claim.uid().unwrap(),
    };
    mini.watcher.journal(launched("journal-1"));
    mini.watcher.journal(JournalEntry::Terminated { provider_id: "journal-1".to_owned() });
    mini.watcher.journal(launched("journal-2"));
    mini.is_clean().await;

    mini.watcher.journal(launched("journal-3"));
    mini.watcher.journal(JournalEntry::Terminated { provider_id: "journal-theirs".to_owned() });
    let violations = mini.watcher.settle().await.unwrap();
    assert_eq!(violations.len(), 2, "{violations:?}");
    mini.is_caught(&violations[..1], Invariant::OneMachinePerClaim, &["-2", "-3"]);
    mini.is_caught(&violations[1..], Invariant::ForeignUntouched, &["-theirs"]);
}

pub(super) async fn i2_a_machine_left_behind_is_caught(plane: Arc<ControlPlane>) {
    let mini = Mini::start(&plane, "i2").await;
    for (suffix, ends) in [("a", true), ("b", false)] {
        let claim = mini.claim(suffix).await;
        let machine = mini.launch(&claim, "").await;
        mini.is_clean().await;
        mini.delete(&claim).await;
        if ends {
            mini.machines().delete(&machine.name_any(), &DeleteParams::default()).await.unwrap();
        }
        mini.release(&claim).await;
        if ends {
            sleep(Duration::from_secs(3)).await;
            mini.is_clean().await;
        }
    }
    // Nothing more happens on the API: time alone has to bring it to light.
    eventually("the orphan to be reported", SOON, async || {
        (!mini.watcher.violations().is_empty()).then_some(())
    })
    .await;
    mini.is_caught(&mini.watcher.violations(), Invariant::NoOrphans, &["/i2-b"]);
}

pub(super) async fn i4_a_claim_beyond_the_limit_is_caught(plane: Arc<ControlPlane>) {
    let mini = Mini::start(&plane, "i4").await;
    let pool = json!({
        "apiVersion": "windlass.dev/v1alpha1",
        "kind": "NodePool",
        "metadata": {"name": "i4"},
        "spec": {"providerRef": {"name": "i4"}, "limits": {"cpu": 8}},
    });
    let pools: Api<NodePool> = Api::all(mini.client.clone());
    pools.create(&PostParams::default(), &serde_json::from_value(pool).unwrap()).await.unwrap();
    let (a, _) = (mini.claim("a").await, mini.claim("b").await);
    mini.delete(&a).await;
    mini.release(&a).await;
    mini.claim("c").await;
    mini.is_clean().await;

    mini.claim("d").await;
    let violations = mini.watcher.settle().await.unwrap();
    mini.is_caught(&violations, Invariant::LimitsHold, &[" has 12 of cpu", "-d"]);
}

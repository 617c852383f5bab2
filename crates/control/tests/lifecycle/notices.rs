//! Providers that say only late that they will end a machine, as clouds do with spot machines.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde_json::json;
use windlass_api::{NodeClaim, labels};
use windlass_providers::{Machine, Provider, ProviderError};
use windlass_testkit::invariants::{self, Invariant, ObjectName};
use windlass_testkit::{ControlPlane, eventually};

use crate::diary::{Diary, Kind};
use crate::hands::{app_runs, deploy, new_lab, node_of, now, told};
use crate::lab::{Lab, PATIENCE};
use crate::twist::{Twist, twisted};

/// How long before the end it is told.
const AHEAD: SignedDuration = SignedDuration::from_secs(24);

/// From a certain moment on it is said that all machines made before will end, and when.
#[derive(Debug, Default)]
struct Notice(Mutex<Option<(Timestamp, Timestamp)>>);

impl Notice {
    /// Has it said that all machines that are there will end; when that is.
    fn give(&self) -> Timestamp {
        let ends = now() + AHEAD;
        *self.0.lock().unwrap() = Some((now(), ends));
        ends
    }

    fn on(&self, mut machine: Machine) -> Machine {
        if let Some((given, ends)) = *self.0.lock().unwrap()
            && machine.created_at < given
        {
            machine.ends_at = Some(ends);
        }
        machine
    }
}

#[async_trait]
impl Twist for Notice {
    async fn get(&self, truth: &dyn Provider, id: &str) -> Result<Machine, ProviderError> {
        truth.get(id).await.map(|machine| self.on(machine))
    }

    async fn list(&self, truth: &dyn Provider) -> Result<Vec<Machine>, ProviderError> {
        Ok(truth.list().await?.into_iter().map(|machine| self.on(machine)).collect())
    }
}

/// A node with a pod that has run for a while when notice is given.
async fn running(plane: Arc<ControlPlane>, name: &str, last_call: u64) -> (Lab, Arc<Notice>, NodeClaim) {
    let mut lab = new_lab(plane, name).await;
    lab.settings.plan.last_call = Duration::from_secs(last_call);
    // Nothing but the notice, and the time that it names, has anything planned.
    lab.settings.plan_interval = Duration::from_mins(10);
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    lab.pool("pool", &json!({"disruption": {"rotateBefore": "10m", "budgets": [{"nodes": "0"}]}})).await;
    let notice = Arc::new(Notice::default());
    lab.start_with(twisted(&notice)).await;
    deploy(&lab, "web", 1, "3").await;
    app_runs(&lab, "web", 1).await;
    let claim = lab.ready_claims(1).await.remove(0);
    // A node does not give way in the first half of its life, so it has to be older than the notice is long.
    eventually("the machine to be of some age", PATIENCE, async || {
        (now().duration_since(claim.creation_timestamp().unwrap().0) > AHEAD).then_some(())
    })
    .await;
    (lab, notice, claim)
}

pub async fn a_machine_that_its_provider_gives_late_notice_of_is_replaced_before_it_ends(
    plane: Arc<ControlPlane>,
) {
    let (lab, notice, claim) = running(plane, "notice", 1).await;
    let diary = Diary::of(&lab).await;
    let ends = notice.give();
    let name = claim.name_any();
    let told_of = diary
        .first("the claim to say when its machine ends", |entry| {
            entry.name == name && !entry.object["status"]["endsAt"].is_null()
        })
        .await;
    assert!(!told_of.is_leaving());
    let replacement = diary.first("a replacement", |entry| entry.kind == Kind::Claim && entry.added).await;
    assert_eq!(replacement.object["metadata"]["annotations"][labels::REPLACES], *name);
    diary.gone(Kind::Machine, &node_of(&claim)).await;
    assert!(now() < ends, "it was given back before");
    told(&lab, "NodeClaim", &name, "ScaleDown", &["Expiring", "its provider ends it at"]).await;
    app_runs(&lab, "web", 1).await;
    lab.ready_claims(1).await;
    lab.finish().await;
}

pub async fn a_machine_whose_replacement_does_not_come_is_drained_at_the_last_call(plane: Arc<ControlPlane>) {
    let (lab, notice, claim) = running(plane, "lastcall", 12).await;
    lab.plain_provider(&json!({"bootDelay": "0s", "faults": [{"effect": "NeverRegister"}]})).await;
    let diary = Diary::of(&lab).await;
    let ends = notice.give();
    let name = claim.name_any();
    // That is what is to happen, for once.
    lab.watcher()
        .excuse(Invariant::ReplacementFirst, ObjectName::new(invariants::Kind::NodeClaim, name.as_str()));
    let left = diary.first("the claim to leave", |entry| entry.name == name && entry.is_leaving()).await;
    let at: Timestamp = left.object["metadata"]["deletionTimestamp"].as_str().unwrap().parse().unwrap();
    // The API server writes whole seconds.
    let call = ends - SignedDuration::from_secs(13);
    assert!(call <= at && at < ends, "not before the last call and not after the end: {at}, {ends}");
    diary.gone(Kind::Machine, &node_of(&claim)).await;
    assert!(now() < ends, "it was given back before");
    lab.finish().await;
}

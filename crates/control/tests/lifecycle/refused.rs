//! What admission refuses, and in which words.

use std::fmt::Debug;
use std::sync::Arc;

use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windlass_api::{NodePool, NodeProvider, labels};
use windlass_testkit::ControlPlane;

use crate::lab::{Lab, instance_type};

/// Tries to create an object and answers with the refusal.
async fn refusal<K>(lab: &Lab, kind: &str, spec: &Value) -> String
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let object = json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": kind,
        "metadata": {"name": lab.named("bad"), "labels": {labels::SCOPE: lab.name}}, "spec": spec,
    });
    // As people write it: what the types of this program would not even let through.
    let api: Api<kube::core::DynamicObject> =
        Api::all_with(lab.client.clone(), &kube::core::ApiResource::erase::<K>(&()));
    match api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await {
        Err(kube::Error::Api(status)) if status.code == 422 => status.message.clone(),
        other => panic!("{spec} was not refused: {other:?}"),
    }
}

fn pool(more: &Value) -> Value {
    let mut spec = json!({"providerRef": {"name": "any"}});
    crate::lab::merge(&mut spec, more);
    spec
}

fn requirement(operator: &str, values: &Value) -> Value {
    let requirement = json!({"key": "a", "operator": operator, "values": values});
    pool(&json!({"template": {"spec": {"requirements": [requirement]}}}))
}

pub async fn a_pool_that_makes_no_sense_is_refused_in_words(plane: Arc<ControlPlane>) {
    let lab = Lab::new(plane, "refusedpool").await;
    let varied = |more: Value| {
        let mut requirement = json!({"key": "a"});
        crate::lab::merge(&mut requirement, &more);
        pool(&json!({"template": {"spec": {"requirements": [requirement]}}}))
    };
    let fast = |performance: Value| pool(&json!({"performance": [performance]}));
    let budget = |budget: Value| pool(&json!({"disruption": {"budgets": [budget]}}));
    let template = |metadata: Value| pool(&json!({"template": {"metadata": metadata}}));
    let cases = [
        (requirement("In", &json!([])), "operators In and NotIn need at least one value"),
        (requirement("Exists", &json!(["x"])), "operators Exists and DoesNotExist take no values"),
        (requirement("Gt", &json!(["many"])), "operators Gt, Lt, Gte and Lte need one value, a whole number"),
        (
            pool(&json!({"template": {"spec": {"join": "UserData"}}})),
            "join: UserData and userData go together: give both or neither",
        ),
        (
            pool(&json!({"template": {"spec": {"userData": "x"}}})),
            "join: UserData and userData go together: give both or neither",
        ),
        (
            pool(&json!({"template": {"spec": {"join": "UserData", "userData": "x".repeat(49153)}}})),
            "may not be more than 49152",
        ),
        (requirement("Near", &json!(["x"])), "Unsupported value: \"Near\""),
        (
            varied(json!({"operator": "Exists", "minValues": 0})),
            "spec.template.spec.requirements[0].minValues",
        ),
        (
            varied(json!({"operator": "Exists", "minValues": 51})),
            "spec.template.spec.requirements[0].minValues",
        ),
        (
            varied(json!({"operator": "In", "values": ["x"], "minValues": 2})),
            "operator In needs at least minValues values",
        ),
        (fast(json!({"percent": 0})), "spec.performance[0].percent"),
        (fast(json!({"percent": 1001})), "spec.performance[0].percent"),
        (fast(json!({})), "spec.performance[0].percent"),
        (
            fast(json!({"percent": 90, "requirements": [{"key": "a", "operator": "In"}]})),
            "operators In and NotIn need at least one value",
        ),
        (
            fast(
                json!({"percent": 90, "requirements": [{"key": "a", "operator": "Exists", "minValues": 2}]}),
            ),
            "minValues has a meaning only in template.spec.requirements",
        ),
        (pool(&json!({"limits": {"cpu": "-1"}})), "spec.limits.cpu"),
        (pool(&json!({"limits": {"cpu": -1}})), "spec.limits.cpu"),
        (pool(&json!({"limits": {"memory": "lots"}})), "spec.limits.memory"),
        (pool(&json!({"limits": {"nodes": "1500m"}})), "the limit on nodes must be a whole number"),
        (pool(&json!({"minNodes": -1})), "spec.minNodes"),
        (pool(&json!({"weight": 101})), "spec.weight"),
        (pool(&json!({"disruption": {"consolidateAfter": "soon"}})), "spec.disruption.consolidateAfter"),
        (budget(json!({"nodes": "many"})), "spec.disruption.budgets[0].nodes"),
        (budget(json!({"nodes": "101%"})), "spec.disruption.budgets[0].nodes"),
        (budget(json!({"nodes": "1", "reasons": ["Bored"]})), "Unsupported value: \"Bored\""),
        (budget(json!({"nodes": "1", "schedule": "@daily"})), "schedule and duration go together"),
        (budget(json!({"nodes": "1", "duration": "1h"})), "schedule and duration go together"),
        (budget(json!({"nodes": "1", "timeZone": "UTC"})), "timeZone has a meaning only with a schedule"),
        (
            budget(json!({"nodes": "1", "schedule": "@daily", "duration": "30s"})),
            "the duration must be a minute or more",
        ),
        (
            pool(&json!({"template": {"spec": {"terminationGracePeriod": "Never"}}})),
            "leave terminationGracePeriod out",
        ),
        (template(json!({"labels": {"windlass.dev/pool": "x"}})), "labels under windlass.dev/"),
        (template(json!({"annotations": {"windlass.dev/x": "x"}})), "annotations under windlass.dev/"),
        (json!({}), "spec.providerRef"),
    ];
    for (spec, words) in cases {
        let message = refusal::<NodePool>(&lab, "NodePool", &spec).await;
        assert!(message.contains(words), "{spec}: {message}");
    }
    lab.finish().await;
}

pub async fn a_provider_that_makes_no_sense_is_refused_in_words(plane: Arc<ControlPlane>) {
    let lab = Lab::new(plane, "refusedprov").await;
    let kind = instance_type("a", 4, "0.1", &json!({}));
    let simulated = |more: Value| json!({"simulated": more});
    let either = "give either the name of a built-in catalogue or a list of instanceTypes";
    let fault = |fault: Value| simulated(json!({"catalogue": "general", "faults": [fault]}));
    let odd = |more: Value| simulated(json!({"instanceTypes": [instance_type("a", 4, "0.1", &more)]}));
    let cases = [
        (json!({}), "name exactly one source of machines"),
        (simulated(json!({"catalogue": "general", "instanceTypes": [kind]})), either),
        (simulated(json!({})), either),
        (simulated(json!({"catalogue": "everything"})), "Unsupported value: \"everything\""),
        (odd(json!({"capacity": {"cpu": "lots"}})), "capacity.cpu"),
        (odd(json!({"offerings": []})), "offerings"),
        (odd(json!({"offerings": [{"zone": "z", "price": "cheap"}]})), "price"),
        (odd(json!({"offerings": [{"zone": "z", "price": "-1"}]})), "price"),
        (simulated(json!({"catalogue": "general", "bootDelay": "soon"})), "bootDelay"),
        (fault(json!({"effect": "Error"})), "effects Error and ErrorAfterEffect need error"),
        (fault(json!({"effect": "Vanish"})), "effects SlowAnswer, NotReady and Vanish need after"),
        (fault(json!({"effect": "NeverRegister", "percent": 101})), "percent"),
    ];
    for (spec, words) in cases {
        let message = refusal::<NodeProvider>(&lab, "NodeProvider", &spec).await;
        assert!(message.contains(words), "{spec}: {message}");
    }
    lab.finish().await;
}

pub async fn a_claims_spec_never_changes(plane: Arc<ControlPlane>) {
    let mut lab = Lab::new(plane, "immutable").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"minNodes": 1})).await;
    lab.start().await;
    let claim = lab.ready_claims(1).await.remove(0);
    for change in [
        json!({"spec": {"poolRef": {"name": "another"}}}),
        json!({"spec": {"labels": {"lab": "another"}}}),
        json!({"spec": {"terminationGracePeriod": "1s"}}),
        json!({"spec": {"offerings": []}}),
    ] {
        let parameters = PatchParams::default();
        let outcome = lab.claim_api().patch(&claim.name_any(), &parameters, &Patch::Merge(&change)).await;
        match outcome {
            Err(kube::Error::Api(status)) if status.code == 422 => {
                assert!(status.message.contains("a claim's spec never changes"), "{}", status.message);
            }
            other => panic!("{change} was not refused: {other:?}"),
        }
    }
    let after = lab.claim_api().get(&claim.name_any()).await.unwrap();
    assert_eq!(after.spec, claim.spec);
    lab.finish().await;
}

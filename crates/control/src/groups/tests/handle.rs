//! Who may ask, and what is said to whom.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use windlass_core::Price;

use super::{LARGE_A, Lab, SMALL_A, by_id, settings};
use crate::groups::{Desk, GroupError, InstanceState, NodeGroups as _, NodeRef, PoolGroups};
use crate::index::{Index, SharedIndex};
use crate::leader::Leadership;

/// Groups, and what decides whether they answer.
struct Asked {
    groups: PoolGroups,
    leadership: Leadership,
    desk: Desk,
    index: SharedIndex,
}

fn asked(index: Index) -> Asked {
    let groups = PoolGroups::detached(index, settings());
    let (leadership, desk) = (groups.leadership.clone(), groups.desk.clone());
    Asked { leadership, desk, index: groups.bus.index.clone(), groups }
}

fn leading(index: Index) -> Asked {
    let asked = asked(index);
    asked.groups.lead();
    asked
}

#[tokio::test]
async fn only_the_leader_answers_and_only_once_it_knows_what_there_is() {
    let asked = asked(Lab::new(json!({})).index);
    assert!(matches!(asked.groups.groups(), Err(GroupError::NotLeading(_))));
    assert!(matches!(asked.groups.increase(SMALL_A, 1).await, Err(GroupError::NotLeading(_))));
    asked.leadership.lead_until(Instant::now() + Duration::from_secs(3600));
    assert!(matches!(asked.groups.groups(), Err(GroupError::Unavailable(_))), "it is still reading claims");
    let open = asked.desk.open();
    assert_eq!(asked.groups.groups().unwrap().len(), 4);
    drop(open);
    assert!(matches!(asked.groups.delete_nodes(SMALL_A, &[]).await, Err(GroupError::Unavailable(_))));
}

#[tokio::test]
async fn nothing_is_answered_before_everything_was_listed_and_the_provider_asked() {
    let unlisted = leading(Index::default());
    assert!(matches!(unlisted.groups.groups(), Err(GroupError::Unavailable(_))));
    let mut lab = Lab::new(json!({}));
    let provider = json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeProvider",
        "metadata": {"name": "s", "uid": "another"}, "spec": {"simulated": {}},
    });
    lab.index.saw_provider(serde_json::from_value(provider).unwrap());
    let unasked = leading(lab.index);
    let words = unasked.groups.groups().unwrap_err().to_string();
    assert_eq!(words, "provider s has not answered yet");
}

#[tokio::test]
async fn an_order_that_nobody_takes_any_more_is_said_to_be_open() {
    let asked = asked(Lab::new(json!({})).index);
    asked.leadership.lead_until(Instant::now() + Duration::from_secs(3600));
    let (open, slips) = asked.desk.open();
    let order = tokio::spawn({
        let groups = asked.groups.clone();
        async move { groups.increase(SMALL_A, 1).await }
    });
    tokio::task::yield_now().await;
    drop((open, slips));
    assert!(matches!(order.await.unwrap(), Err(GroupError::Unavailable(_))));
}

#[tokio::test]
async fn what_is_asked_is_answered_from_what_is_known_at_that_moment() {
    let mut lab = Lab::new(json!({"clusterAutoscaler": {"scaleDownUnneededTime": "5m"}}));
    lab.node("n", "web", "small");
    let asked = leading(lab.index);
    let groups = &asked.groups;
    assert_eq!(groups.target_size(SMALL_A), Ok(1));
    let told = groups.group_of(&by_id("sim://n")).unwrap().unwrap();
    assert_eq!((told.id.as_str(), told.min, told.max), (SMALL_A, 0, 10_001));
    assert_eq!(told.debug, "small in a, on-demand, for 0.10/h: 1 nodes");
    assert_eq!(groups.group_of(&by_id("aws://x")), Ok(None));
    let instances = groups.instances(SMALL_A).unwrap();
    assert_eq!((instances[0].id.as_str(), instances[0].state), ("sim://n", InstanceState::Running));
    let options = groups.options(SMALL_A).unwrap().unwrap();
    assert_eq!(options.scale_down_unneeded_time, Some(Duration::from_mins(5)));
    asked.index.lock().claims.lost("n", "u-n", super::NOW);
    assert_eq!((groups.target_size(SMALL_A), groups.instances(SMALL_A)), (Ok(0), Ok(vec![])));
    for unknown in ["", "web", "web/small/a", "no/small/a/on-demand"] {
        assert!(matches!(groups.target_size(unknown), Err(GroupError::NotFound(_))), "{unknown}");
    }
}

#[tokio::test]
async fn nodes_and_pods_have_the_prices_of_the_offerings() {
    let mut lab = Lab::new(json!({}));
    lab.node("n", "web", "small");
    let groups = leading(lab.index).groups;
    let template = groups.template(LARGE_A).unwrap();
    let labels: BTreeMap<String, String> = template.metadata.labels.unwrap();
    let made_up = NodeRef { name: "template-node-for-x".to_owned(), labels, ..NodeRef::default() };
    assert_eq!(groups.node_price(&made_up), Ok(Price::from_micros(400_000)));
    assert_eq!(groups.node_price(&by_id("sim://n")), Ok(Price::from_micros(100_000)));
    assert!(matches!(groups.node_price(&by_id("aws://x")), Err(GroupError::NotFound(_))));
    let price = |requests: Value| {
        let containers = json!([{"name": "c", "resources": {"requests": requests}}]);
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": containers}});
        groups.pod_price(&serde_json::from_value(pod).unwrap()).unwrap().micros()
    };
    assert_eq!(price(json!({"cpu": "1"})), 50_000);
    assert_eq!(price(json!({"cpu": "4"})), 200_000, "only the large one holds it");
    assert_eq!(price(json!({"cpu": "16"})), 800_000);
    assert_eq!(price(json!({"cpu": "1", "example.com/fpga": "1"})), 50_000);
    assert_eq!(price(json!({})), 910, "one of 110 places on the cheapest");
    assert_eq!((groups.gpu_label(), groups.gpu_types()), ("windlass.dev/gpu".to_owned(), Ok(vec![])));
}

//! What a server offers.

use std::sync::Arc;

use serde_json::json;
use tonic::Status;
use windlass_providers::{ErrorKind, Provider};
use windlass_testkit::ControlPlane;

use crate::lab::Lab;
use crate::rack::template;

pub async fn groups_become_offerings(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "offers").await;
    lab.rack.add("twin", &template("small", "zone-a"));
    lab.rack.change("b", |group| group.target = 4);
    let types = lab.provider().instance_types().await.unwrap();
    assert_eq!((types.len(), &*types[0].name), (2, "small"));
    assert!(types[1].name.starts_with("small-"), "{}", types[1].name);
    let offered: Vec<(&str, &str, Option<u32>)> = types[0]
        .offerings
        .iter()
        .map(|offering| (&*offering.zone, &*offering.capacity_type, offering.available))
        .collect();
    assert_eq!(offered, [("zone-a", "on-demand", Some(10)), ("zone-b", "on-demand", Some(6))]);
    assert_eq!(types[0].capacity.to_string(), "cpu 4, memory 8Gi, pods 110");
}

pub async fn a_group_that_cannot_be_used_is_left_out(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "left-out").await;
    for (group, bytes) in [("empty", vec![]), ("garbage", vec![0xff; 20])] {
        lab.rack.add(group, &template("small", "zone-c"));
        lab.rack.change(group, |group| group.template = bytes);
    }
    lab.rack.add("bare", &k8s_openapi::api::core::v1::Node::default());
    let types = lab.provider().instance_types().await.unwrap();
    assert_eq!((types.len(), types[0].offerings.len()), (1, 2), "{types:?}");

    lab.rack.state().refused.insert("template", Status::unimplemented("no templates"));
    let error = lab.provider().instance_types().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfiguration);
    assert!(error.to_string().contains("group a") && error.to_string().contains("no templates"), "{error}");
}

pub async fn a_server_that_cannot_be_asked_is_an_error(plane: Arc<ControlPlane>) {
    let mut lab = Lab::new(&plane, "unasked").await;
    for (call, status, kind) in [
        ("groups", Status::internal("broken"), ErrorKind::Transient),
        ("groups", Status::permission_denied("not you"), ErrorKind::Unauthorized),
        ("template", Status::unavailable("later"), ErrorKind::Transient),
        ("target", Status::unavailable("later"), ErrorKind::Transient),
        ("price", Status::unavailable("later"), ErrorKind::Transient),
    ] {
        let words = status.message().to_owned();
        lab.rack.state().refused = [(call, status)].into();
        let error = lab.provider().instance_types().await.unwrap_err();
        assert_eq!(error.kind(), kind, "{call}: {error}");
        assert!(error.to_string().contains(&words), "{error}");
    }
    lab.spec["endpoint"] = json!("127.0.0.1:1");
    let error = lab.provider().instance_types().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient);
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

pub async fn prices_are_the_servers_or_else_those_stated(plane: Arc<ControlPlane>) {
    let mut lab = Lab::new(&plane, "prices").await;
    let prices = async |lab: &Lab| -> Vec<String> {
        let types = lab.provider().instance_types().await.unwrap();
        let offerings = types.iter().flat_map(|found| &found.offerings);
        offerings.map(|offering| format!("{} {}", offering.zone, offering.price)).collect()
    };
    lab.spec["prices"] = json!({"a": "0.5"});
    assert_eq!(prices(&lab).await, ["zone-a 0.25", "zone-b 0.25"], "the server's go before");
    lab.rack.change("a", |group| group.price = f64::NAN);
    assert_eq!(prices(&lab).await, ["zone-a 0.50", "zone-b 0.25"]);
    lab.rack.state().refused.insert("price", Status::unimplemented("no prices"));
    assert_eq!(prices(&lab).await, ["zone-a 0.50"], "a group without a price is not used");
    lab.spec["defaultPrice"] = json!("0.125");
    assert_eq!(prices(&lab).await, ["zone-a 0.50", "zone-b 0.125"]);
}

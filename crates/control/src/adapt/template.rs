use serde_json::json;
use windlass_api::NodeTemplate;
use windlass_core::{Text, stable_hash};

/// What a pool's nodes look like apart from their machines, as a short hash. What machines the pool takes is no part of it:
/// a node that is still among them has not drifted. Fields that are not set are left out, so that a new field changes the
/// hash of those pools only that use it.
pub(super) fn digest(template: &NodeTemplate) -> Text {
    let (metadata, spec) = (&template.metadata, &template.spec);
    let mut parts = json!({});
    let mut put = |name: &str, value: serde_json::Value| {
        let empty = value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(|all| all.is_empty());
        if !empty && !value.is_null() {
            parts[name] = value;
        }
    };
    put("labels", json!(metadata.labels));
    put("annotations", json!(metadata.annotations));
    put("taints", json!(spec.taints));
    put("startupTaints", json!(spec.startup_taints));
    put("terminationGracePeriod", json!(spec.termination_grace_period));
    put("userData", json!(spec.user_data));
    format!("{:016x}", stable_hash(&[parts.to_string().as_bytes()])).into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::digest;

    fn of(template: Value) -> windlass_core::Text {
        digest(&serde_json::from_value(template).unwrap())
    }

    #[test]
    fn the_hash_of_a_template_without_user_data_never_changes() {
        let (plain, image) = (of(json!({})), of(json!({"spec": {"join": "Image"}})));
        assert_eq!((&*plain, &*image), ("9f860b8a3db4f8b3", "9f860b8a3db4f8b3"));
        assert_eq!(&*of(json!({"metadata": {"labels": {"team": "a"}}})), "d4d2d795718fb14c");
    }

    #[test]
    fn what_nodes_look_like_changes_it_and_which_machines_there_are_does_not() {
        let plain = of(json!({}));
        let requirement = json!({"key": "a", "operator": "Exists"});
        assert_eq!(of(json!({"spec": {"requirements": [requirement], "expireAfter": "1h"}})), plain);
        let others = [
            of(json!({"metadata": {"labels": {"team": "a"}}})),
            of(json!({"metadata": {"labels": {"team": "b"}}})),
            of(json!({"metadata": {"annotations": {"team": "a"}}})),
            of(json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})),
            of(json!({"spec": {"startupTaints": [{"key": "a", "effect": "NoSchedule"}]}})),
            of(json!({"spec": {"terminationGracePeriod": "1h"}})),
            of(json!({"spec": {"join": "UserData", "userData": "#!/bin/sh"}})),
            of(json!({"spec": {"join": "UserData", "userData": "#!/bin/bash"}})),
        ];
        for (number, other) in others.iter().enumerate() {
            assert_ne!(*other, plain);
            assert!(!others[..number].contains(other), "{number}");
        }
    }
}

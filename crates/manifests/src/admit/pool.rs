use std::time::Duration;

use windlass_api::{
    Budget, Headroom, JoinMethod, LimitedDuration, NodePool, NodePoolSpec, NodeRequirement, PoolDriver,
    RequirementOperator as Operator, labels,
};
use windlass_core::Quantity;

use crate::fault::Flaw;

/// A pool as it would be admitted. The rules are those of its custom resource definition.
pub(crate) fn pool(pool: NodePool) -> Result<NodePool, Flaw> {
    let template = &pool.spec.template;
    let own = |key: &String| key.starts_with("windlass.dev/");
    if template.metadata.labels.keys().any(|key| own(key) || key == labels::HOSTNAME) {
        return Err(Flaw::new(
            "spec.template.metadata.labels",
            "labels under windlass.dev/ and kubernetes.io/hostname are set by Windlass and the kubelet",
        ));
    }
    if template.metadata.annotations.keys().any(own) {
        return Err(Flaw::new(
            "spec.template.metadata.annotations",
            "annotations under windlass.dev/ are set by Windlass",
        ));
    }
    if template.spec.termination_grace_period == Some(LimitedDuration::Never) {
        return Err(Flaw::new(
            "spec.template.spec.terminationGracePeriod",
            "leave terminationGracePeriod out to let drains take as long as they must",
        ));
    }
    if (template.spec.join == JoinMethod::UserData) != template.spec.user_data.is_some() {
        let message = "join: UserData and userData go together: give both or neither";
        return Err(Flaw::new("spec.template.spec", message));
    }
    for (number, requirement) in template.spec.requirements.iter().enumerate() {
        let field = format!("spec.template.spec.requirements[{number}]");
        if matches!(requirement.key.as_str(), labels::POOL | labels::HOSTNAME) {
            let message = "a pool cannot require windlass.dev/pool or kubernetes.io/hostname";
            return Err(Flaw::new(format!("{field}.key"), message));
        }
        demand(requirement).map_err(|message| Flaw::new(field, message))?;
    }
    for (number, performance) in pool.spec.performance.iter().enumerate() {
        for (inner, requirement) in performance.requirements.iter().enumerate() {
            let field = format!("spec.performance[{number}].requirements[{inner}]");
            if requirement.min_values.is_some() {
                let message = "minValues has a meaning only in template.spec.requirements";
                return Err(Flaw::new(field, message));
            }
            demand(requirement).map_err(|message| Flaw::new(field, message))?;
        }
    }
    sizes(&pool)?;
    paces(&pool)?;
    for (number, each) in pool.spec.disruption.budgets.iter().enumerate() {
        let field = || format!("spec.disruption.budgets[{number}]");
        budget(each).map_err(|message| Flaw::new(field(), message))?;
    }
    limits(&pool)?;
    Ok(pool)
}

fn sizes(pool: &NodePool) -> Result<(), Flaw> {
    let spec = &pool.spec;
    let elastic = spec.headroom.is_some() || !spec.utilization.is_empty() || spec.min_nodes > 0;
    if spec.replicas.is_some() && elastic {
        let message = "replicas fixes the number of nodes: leave minNodes, headroom and utilization out";
        return Err(Flaw::new("spec", message));
    }
    driver(spec)?;
    if let Some(Headroom { nodes, percent, pods }) = &spec.headroom
        && [nodes.is_some(), percent.is_some(), pods.is_some()].into_iter().filter(|given| *given).count()
            != 1
    {
        return Err(Flaw::new("spec.headroom", "give exactly one of nodes, percent and pods"));
    }
    for (number, each) in spec.utilization.iter().enumerate() {
        let message = match (each.floor, each.ceiling) {
            (None, None) => "give a floor, a ceiling or both",
            (Some(floor), Some(ceiling)) if floor >= ceiling => "the floor must be below the ceiling",
            _ => continue,
        };
        return Err(Flaw::new(format!("spec.utilization[{number}]"), message));
    }
    Ok(())
}

fn driver(spec: &NodePoolSpec) -> Result<(), Flaw> {
    let sized = spec.replicas.is_some() || spec.headroom.is_some() || !spec.utilization.is_empty();
    if spec.driver == PoolDriver::ClusterAutoscaler && sized {
        let message = "Cluster Autoscaler decides how many nodes the pool has: leave replicas, headroom and utilization out";
        return Err(Flaw::new("spec", message));
    }
    let Some(options) = &spec.cluster_autoscaler else { return Ok(()) };
    if spec.driver != PoolDriver::ClusterAutoscaler {
        let message = "clusterAutoscaler has a meaning only with the driver ClusterAutoscaler";
        return Err(Flaw::new("spec", message));
    }
    let times = [
        ("scaleDownUnneededTime", options.scale_down_unneeded_time),
        ("scaleDownUnreadyTime", options.scale_down_unready_time),
        ("maxNodeProvisionTime", options.max_node_provision_time),
    ];
    match times.into_iter().find(|(_, time)| *time == Some(LimitedDuration::Never)) {
        Some((field, _)) => {
            Err(Flaw::new(format!("spec.clusterAutoscaler.{field}"), "give a duration such as 10m"))
        }
        None => Ok(()),
    }
}

fn paces(pool: &NodePool) -> Result<(), Flaw> {
    let spec = &pool.spec;
    for (field, pace) in [("spec.scaleUp", &spec.scale_up), ("spec.scaleDown", &spec.scale_down)] {
        if pace.stabilization_window == LimitedDuration::Never {
            let field = format!("{field}.stabilizationWindow");
            return Err(Flaw::new(field, "set paused to leave the pool as it is"));
        }
    }
    if spec.disruption.rotate_before == LimitedDuration::Never {
        let message = "leave expireAfter out to keep nodes for ever";
        return Err(Flaw::new("spec.disruption.rotateBefore", message));
    }
    for (number, condition) in spec.disruption.repair.conditions.iter().enumerate() {
        if condition.after == LimitedDuration::Never {
            let field = format!("spec.disruption.repair.conditions[{number}].after");
            return Err(Flaw::new(field, "leave the condition out to ignore it"));
        }
    }
    Ok(())
}

fn demand(requirement: &NodeRequirement) -> Result<(), &'static str> {
    let values = &requirement.values;
    let is_number =
        |text: &String| (1..=15).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    match requirement.operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            Err("operators In and NotIn need at least one value")
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            Err("operators Exists and DoesNotExist take no values")
        }
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte
            if values.len() != 1 || !values.iter().all(is_number) =>
        {
            Err("operators Gt, Lt, Gte and Lte need one value, a whole number of at most 15 digits")
        }
        Operator::In
            if requirement
                .min_values
                .is_some_and(|least| usize::try_from(least).is_ok_and(|least| values.len() < least)) =>
        {
            Err("operator In needs at least minValues values")
        }
        _ => Ok(()),
    }
}

fn budget(budget: &Budget) -> Result<(), &'static str> {
    if budget.schedule.is_some() != budget.duration.is_some() {
        return Err("schedule and duration go together: when the budget begins to count, and for how long");
    }
    if budget.time_zone.is_some() && budget.schedule.is_none() {
        return Err("timeZone has a meaning only with a schedule");
    }
    let long_enough =
        |duration: LimitedDuration| duration.limit().is_some_and(|time| time >= Duration::from_mins(1));
    if !budget.duration.is_none_or(long_enough) {
        return Err("the duration must be a minute or more");
    }
    Ok(())
}

fn limits(pool: &NodePool) -> Result<(), Flaw> {
    for (name, limit) in &pool.spec.limits {
        let flaw = |message: String| Flaw::new(format!("spec.limits.{name}"), message);
        let amount: Quantity =
            limit.as_str().parse().map_err(|error: windlass_core::QuantityError| flaw(error.to_string()))?;
        if amount.milli() < 0 {
            return Err(flaw(format!("{limit} is negative: write 0 or more")));
        }
        if name == "nodes" && amount.milli() % 1000 != 0 {
            return Err(flaw("the limit on nodes must be a whole number".to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::pool;

    fn refused(spec: Value) -> String {
        let mut whole = json!({"providerRef": {"name": "s"}});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let object = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": whole,
        });
        pool(serde_json::from_value(object).unwrap()).map(|_| ()).unwrap_err().to_string()
    }

    fn requiring(requirement: Value) -> Value {
        json!({"template": {"spec": {"requirements": [requirement]}}})
    }

    fn budgeting(budget: Value) -> Value {
        json!({"disruption": {"budgets": [budget]}})
    }

    /// Every rule of the definition that concerns pools is refused here in the same words.
    #[test]
    fn the_rules_are_those_of_the_definition() {
        let definition =
            windlass_api::crds().into_iter().find(|each| each.spec.names.kind == "NodePool").unwrap();
        let definition = serde_json::to_value(definition).unwrap();
        let mut messages = Vec::new();
        collect(&definition, &mut messages);
        messages.sort();
        messages.dedup();
        let mut seen: Vec<String> = [
            requiring(json!({"key": "a", "operator": "In"})),
            requiring(json!({"key": "a", "operator": "Exists", "values": ["x"]})),
            requiring(json!({"key": "a", "operator": "Gt", "values": ["x"]})),
            requiring(json!({"key": "a", "operator": "In", "values": ["x"], "minValues": 2})),
            requiring(json!({"key": "windlass.dev/pool", "operator": "Exists"})),
            json!({"limits": {"nodes": "1500m"}}),
            json!({"performance": [{"percent": 100, "requirements": [{"key": "a", "operator": "Exists", "minValues": 1}]}]}),
            json!({"template": {"metadata": {"labels": {"windlass.dev/x": "y"}}}}),
            json!({"template": {"metadata": {"annotations": {"windlass.dev/x": "y"}}}}),
            json!({"template": {"spec": {"terminationGracePeriod": "Never"}}}),
            json!({"template": {"spec": {"join": "UserData"}}}),
            json!({"replicas": 1, "minNodes": 1}),
            json!({"driver": "ClusterAutoscaler", "replicas": 1}),
            json!({"clusterAutoscaler": {}}),
            json!({"driver": "ClusterAutoscaler", "clusterAutoscaler": {"scaleDownUnreadyTime": "Never"}}),
            json!({"headroom": {"nodes": 1, "percent": 10}}),
            json!({"utilization": [{"resource": "cpu"}]}),
            json!({"utilization": [{"resource": "cpu", "floor": 50, "ceiling": 50}]}),
            json!({"scaleUp": {"stabilizationWindow": "Never"}}),
            json!({"disruption": {"rotateBefore": "Never"}}),
            json!({"disruption": {"repair": {"conditions": [{"type": "a", "status": "True", "after": "Never"}]}}}),
            budgeting(json!({"nodes": "1", "schedule": "@daily"})),
            budgeting(json!({"nodes": "1", "timeZone": "UTC"})),
            budgeting(json!({"nodes": "1", "schedule": "@daily", "duration": "Never"})),
        ]
        .into_iter()
        .map(|spec| refused(spec).split_once(": ").unwrap().1.to_owned())
        .collect();
        seen.sort();
        assert_eq!(seen, messages);
    }

    fn collect(value: &Value, messages: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if name == "x-kubernetes-validations" {
                        let rules = value.as_array().unwrap().iter();
                        messages.extend(rules.map(|rule| rule["message"].as_str().unwrap().to_owned()));
                    } else {
                        collect(value, messages);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, messages)),
            _ => {}
        }
    }
}

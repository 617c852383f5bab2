use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PodTemplateSpec, Toleration};
use windlass_api::{
    ClusterAutoscalerOptions, ConsolidationPolicy, HeadroomPods, LimitedDuration, NodePool, NodePoolSpec,
    NodePoolStatus, NodeRequirement, PoolDriver, RequirementOperator, Taint, UserData,
};
use windlass_core::model::{
    Consolidation, Driver, Labels, Operator, Performance, Pod, PodId, Pool, Requirement, RequirementError,
    Requirements, Resources, Utilization, well_known,
};
use windlass_core::{Price, Quantity, Text};
use windlass_providers::Join;

use super::budget::budgets;
use super::repair::{Repair, repair};
use super::template::digest;
use super::{labels, reserve, taints, text};

/// A pool from the API, or in words why it makes no sense. Admission refuses nearly all of that; what it cannot see
/// comes out here.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolDefinition {
    /// Its UID, for ownership.
    pub uid: Text,
    /// The generation of its specification, for conditions.
    pub generation: Option<i64>,
    /// The pool, as yet without instance types; not to be used if there is an error.
    pub pool: Pool,
    /// When its nodes are taken for sick.
    pub repair: Repair,
    /// What Cluster Autoscaler is told beyond its flags, where the pool wants that.
    pub options: Option<ClusterAutoscalerOptions>,
    /// Pods that nobody has made and for which it keeps room.
    pub reserve: Vec<Arc<Pod>>,
    /// What its machines are told about how to join, where their image does not do that by itself.
    pub user_data: Option<Arc<UserData>>,
    /// Why it cannot be used.
    pub error: Option<String>,
    /// What was last said about it.
    pub status: NodePoolStatus,
}

/// A pool from the API.
pub fn pool(pool: &NodePool) -> PoolDefinition {
    let (spec, template) = (&pool.spec, &pool.spec.template);
    let mut error = None;
    let mut read = |list: &[NodeRequirement], field: &str| {
        requirements(list).unwrap_or_else(|problem| {
            error = Some(format!("{field}: {problem}"));
            Requirements::new()
        })
    };
    let demands = read(&template.spec.requirements, "spec.template.spec.requirements");
    let performance = spec.performance.iter().map(|performance| Performance {
        requirements: read(&performance.requirements, "spec.performance"),
        percent: u32::try_from(performance.percent).unwrap_or(100),
    });
    let performance = performance.collect();
    let (budgets, problem) = budgets(&spec.disruption.budgets);
    error = error.or(problem);
    let min_savings_per_move = spec.disruption.min_savings_per_move.parse().unwrap_or_else(|problem| {
        error = Some(format!("spec.disruption.minSavingsPerMove: {problem}"));
        Price::ZERO
    });
    let (mut limits, mut max_nodes) = (Resources::new(), None);
    for (name, quantity) in &spec.limits {
        match quantity.as_str().parse::<Quantity>() {
            Ok(amount) if amount.milli() < 0 => {
                error = Some(format!("spec.limits.{name} is negative: write 0 or more"));
            }
            Ok(amount) if name == "nodes" => {
                max_nodes = Some(u32::try_from(amount.units()).unwrap_or(u32::MAX));
            }
            Ok(amount) => {
                limits.set(name, if name == Resources::CPU { amount.milli() } else { amount.units() });
            }
            Err(problem) => error = Some(format!("spec.limits.{name}: {problem}")),
        }
    }
    if let Some(flaw) = template.spec.user_data.as_ref().and_then(|data| Join::flaw(&data.0)) {
        error = Some(format!("spec.template.spec.userData: {flaw}"));
    }
    let driver = match spec.driver {
        PoolDriver::Windlass => Driver::Windlass,
        PoolDriver::ClusterAutoscaler => Driver::ClusterAutoscaler,
    };
    let headroom = spec.headroom.clone().unwrap_or_default();
    let reserve = headroom.pods.as_ref().map_or_else(Vec::new, |pods| {
        reserved(&text(pool.metadata.name.as_ref()), pods, &template.spec.taints).unwrap_or_else(|problem| {
            error = Some(format!("spec.headroom.pods.template: {problem}"));
            Vec::new()
        })
    });
    let going = pool.metadata.deletion_timestamp.as_ref().map(|_| "the pool is being deleted");
    let paused = spec.paused.then_some("the pool is paused");
    let count = |number: i32| u32::try_from(number).unwrap_or(0);
    PoolDefinition {
        uid: text(pool.metadata.uid.as_ref()),
        generation: pool.metadata.generation,
        pool: Pool {
            name: text(pool.metadata.name.as_ref()),
            provider: spec.provider_ref.name.as_str().into(),
            driver,
            weight: spec.weight,
            requirements: demands,
            labels: labels(&template.metadata.labels),
            annotations: labels(&template.metadata.annotations),
            taints: taints(&template.spec.taints),
            startup_taints: taints(&template.spec.startup_taints),
            template: Some(digest(template)),
            expire_after: template.spec.expire_after.and_then(LimitedDuration::limit),
            rotate_before: spec.disruption.rotate_before.limit().unwrap_or_default(),
            termination_grace_period: template.spec.termination_grace_period.and_then(LimitedDuration::limit),
            min_values: min_values(&template.spec.requirements),
            performance,
            limits,
            max_nodes,
            min_nodes: count(spec.replicas.unwrap_or(spec.min_nodes)),
            replicas: spec.replicas.map(count),
            spare_nodes: headroom.nodes.map_or(0, count),
            utilization: utilization(spec, headroom.percent),
            scale_up_window: spec.scale_up.stabilization_window.limit().unwrap_or_default(),
            scale_down_window: spec.scale_down.stabilization_window.limit().unwrap_or_default(),
            launches_per_minute: spec.scale_up.max_per_minute.map(count),
            removals_per_minute: spec.scale_down.max_per_minute.map(count),
            consolidation: match spec.disruption.consolidation_policy {
                ConsolidationPolicy::WhenEmpty => Consolidation::Empty,
                ConsolidationPolicy::WhenEmptyOrUnderutilized => Consolidation::Underutilized,
            },
            min_savings_per_move,
            consolidate_after: spec.disruption.consolidate_after.limit(),
            budgets,
            // Who deletes a pool wants its nodes gone: until they are, it must not get new ones.
            unusable: error.as_deref().or(going).or(paused).map(Into::into),
            paused: spec.paused,
            offered_at: None,
            instance_types: Arc::default(),
        },
        repair: match driver {
            Driver::Windlass => repair(&spec.disruption.repair),
            Driver::ClusterAutoscaler => Repair::never(),
        },
        options: spec.cluster_autoscaler.clone(),
        reserve,
        user_data: template.spec.user_data.clone().map(Arc::new),
        error,
        status: pool.status.clone().unwrap_or_default(),
    }
}

/// Free capacity in percent is a ceiling on what pods may ask for.
fn utilization(spec: &NodePoolSpec, free_percent: Option<i32>) -> Vec<Utilization> {
    let percent = |number: i32| u32::try_from(number).ok();
    let mut all: Vec<Utilization> = Vec::new();
    all.extend(spec.utilization.iter().map(|each| Utilization {
        resource: each.resource.as_str().into(),
        floor: each.floor.and_then(percent),
        ceiling: each.ceiling.and_then(percent),
    }));
    if let Some(free) = free_percent.and_then(percent) {
        let ceiling = Some(100_u32.saturating_sub(free));
        let of = |resource: &str| Utilization { resource: resource.into(), floor: None, ceiling };
        all.extend([of(Resources::CPU), of("memory")]);
    }
    all
}

/// The pods for which a pool keeps room on its own nodes, whose taints they put up with.
fn reserved(pool: &Text, pods: &HeadroomPods, taints: &[Taint]) -> Result<Vec<Arc<Pod>>, String> {
    let mut template: PodTemplateSpec =
        serde_json::from_value(pods.template.clone()).map_err(|problem| problem.to_string())?;
    let Some(spec) = template.spec.as_mut().filter(|spec| !spec.containers.is_empty()) else {
        return Err("it has no containers".to_owned());
    };
    let tolerated = taints.iter().map(|taint| Toleration {
        key: Some(taint.key.clone()),
        operator: Some("Exists".to_owned()),
        ..Toleration::default()
    });
    spec.tolerations.get_or_insert_default().extend(tolerated);
    let id = PodId { namespace: HEADROOM.into(), name: pool.clone() };
    let here = Labels::new().with(well_known::POOL, pool);
    Ok(reserve(&id, &template, usize::try_from(pods.replicas).unwrap_or(0), &here))
}

/// Stands for the namespace of pods that a pool keeps room for. No namespace has such a name.
const HEADROOM: &str = "(headroom)";

fn requirements(list: &[NodeRequirement]) -> Result<Requirements, RequirementError> {
    let mut requirements = Requirements::new();
    for requirement in list {
        let key: Text = requirement.key.as_str().into();
        let values: Vec<Text> = requirement.values.iter().map(|value| value.as_str().into()).collect();
        requirements.add(&key, Requirement::new(&key, operator(requirement.operator), &values)?);
    }
    Ok(requirements)
}

/// The variety that is asked for of each label; where it is asked for twice, the most.
fn min_values(list: &[NodeRequirement]) -> BTreeMap<Text, u32> {
    let mut least: BTreeMap<Text, u32> = BTreeMap::new();
    for requirement in list {
        let Some(number) = requirement.min_values.and_then(|number| u32::try_from(number).ok()) else {
            continue;
        };
        let known = least.entry(requirement.key.as_str().into()).or_default();
        *known = number.max(*known);
    }
    least
}

fn operator(operator: RequirementOperator) -> Operator {
    match operator {
        RequirementOperator::In => Operator::In,
        RequirementOperator::NotIn => Operator::NotIn,
        RequirementOperator::Exists => Operator::Exists,
        RequirementOperator::DoesNotExist => Operator::DoesNotExist,
        RequirementOperator::Gt => Operator::Gt,
        RequirementOperator::Lt => Operator::Lt,
        RequirementOperator::Gte => Operator::Gte,
        RequirementOperator::Lte => Operator::Lte,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{Driver, LimitedDuration, PoolDefinition, pool};

    fn read(spec: Value) -> PoolDefinition {
        let object = json!({"apiVersion": "windlass.dev/v1alpha1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": spec});
        pool(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn limits_are_whole_numbers_with_nodes_apart() {
        let definition = read(
            json!({"providerRef": {"name": "x"}, "limits": {"nodes": 3, "cpu": "2500m", "memory": "1Gi"}}),
        );
        assert_eq!(definition.error, None);
        assert_eq!(definition.pool.max_nodes, Some(3));
        assert_eq!(definition.pool.limits.to_string(), "cpu 2500m, memory 1Gi");
    }

    #[test]
    fn of_two_demands_for_variety_the_larger_counts() {
        let requirement =
            |key: &str, least: Option<i32>| json!({"key": key, "operator": "Exists", "minValues": least});
        let requirements =
            json!([requirement("type", Some(2)), requirement("type", Some(5)), requirement("zone", None)]);
        let definition =
            read(json!({"providerRef": {"name": "x"}, "template": {"spec": {"requirements": requirements}}}));
        assert_eq!(definition.error, None);
        assert_eq!(definition.pool.min_values, std::collections::BTreeMap::from([("type".into(), 5)]));
    }

    #[test]
    fn room_is_kept_on_the_pools_own_nodes_whatever_their_taints() {
        let template =
            json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": 1}}}]}});
        let definition = read(json!({
            "providerRef": {"name": "x"}, "headroom": {"pods": {"replicas": 2, "template": template}},
            "template": {"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}},
        }));
        let [one, _] = &definition.reserve[..] else { panic!("{definition:?}") };
        assert_eq!(one.shape.node_selector.get("windlass.dev/pool").map(|pool| &**pool), Some("p"));
        assert!(windlass_core::model::tolerates_all(&one.shape.tolerations, &definition.pool.taints).is_ok());
        let nothing = read(
            json!({"providerRef": {"name": "x"}, "headroom": {"pods": {"replicas": 2, "template": {}}}}),
        );
        assert_eq!(nothing.error.as_deref(), Some("spec.headroom.pods.template: it has no containers"));
    }

    #[test]
    fn free_capacity_in_percent_is_a_ceiling_on_cpu_and_memory_beside_those_that_are_stated() {
        let marks = |spec: Value| {
            let all = read(spec).pool.utilization;
            all.iter().map(|each| (each.resource.to_string(), each.floor, each.ceiling)).collect::<Vec<_>>()
        };
        let free = json!({"providerRef": {"name": "x"}, "headroom": {"percent": 20}});
        let of = |resource: &str, floor, ceiling| (resource.to_owned(), floor, ceiling);
        assert_eq!(marks(free), [of("cpu", None, Some(80)), of("memory", None, Some(80))]);
        let both = json!({
            "providerRef": {"name": "x"}, "headroom": {"percent": 100},
            "utilization": [{"resource": "cpu", "floor": 30, "ceiling": 90}],
        });
        assert_eq!(
            marks(both),
            [of("cpu", Some(30), Some(90)), of("cpu", None, Some(0)), of("memory", None, Some(0))]
        );
        assert_eq!(marks(json!({"providerRef": {"name": "x"}, "headroom": {"nodes": 1}})), []);
    }

    #[test]
    fn performance_is_kept_in_its_order() {
        let fast = json!({"key": "family", "operator": "In", "values": ["c7"]});
        let definition = read(json!({"providerRef": {"name": "x"}, "performance": [
            {"requirements": [fast], "percent": 125}, {"percent": 90},
        ]}));
        assert_eq!(definition.error, None);
        let [fast, others] = &definition.pool.performance[..] else { panic!("{definition:?}") };
        assert_eq!((fast.percent, others.percent), (125, 90));
        assert!(fast.requirements.get("family").is_some() && others.requirements.is_empty());
    }

    #[test]
    fn a_pool_that_others_drive_keeps_what_it_wants_of_them_and_repairs_nothing() {
        let repair =
            json!({"after": "5m", "conditions": [{"type": "Gpu", "status": "False", "after": "1m"}]});
        let spec = |driver: &str| {
            json!({
                "providerRef": {"name": "x"}, "driver": driver, "minNodes": 2, "disruption": {"repair": repair},
                "clusterAutoscaler": {"scaleDownUnneededTime": "5m"},
            })
        };
        let driven = read(spec("ClusterAutoscaler"));
        assert_eq!((driven.pool.driver, driven.pool.min_nodes), (Driver::ClusterAutoscaler, 2));
        assert_eq!((driven.repair.after, driven.repair.conditions.len()), (Some(LimitedDuration::Never), 0));
        assert_eq!(
            driven.options.unwrap().scale_down_unneeded_time.unwrap().limit(),
            Some(Duration::from_mins(5))
        );
        let own = read(spec("Windlass"));
        assert_eq!((own.pool.driver, own.repair.conditions.len()), (Driver::Windlass, 1));
    }

    #[test]
    fn a_pool_that_is_being_deleted_serves_nobody() {
        let mut object: windlass_api::NodePool = serde_json::from_value(json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodePool", "metadata": {"name": "p"},
            "spec": {"providerRef": {"name": "x"}},
        }))
        .unwrap();
        assert_eq!(pool(&object).pool.unusable, None);
        object.metadata.deletion_timestamp = serde_json::from_value(json!("1970-01-01T00:00:00Z")).unwrap();
        assert_eq!(pool(&object).pool.unusable.as_deref(), Some("the pool is being deleted"));
    }

    #[test]
    fn user_data_is_neither_in_a_pool_that_is_printed_nor_in_what_is_wrong_with_it() {
        let told = |data: &str| {
            read(
                json!({"providerRef": {"name": "x"}, "template": {"spec": {"join": "UserData", "userData": data}}}),
            )
        };
        let good = told("password: hunter2");
        assert_eq!(good.error, None);
        for pool in [good, told("{{windlass.token password: hunter2 }}"), told("{{windlass.token hunter2")] {
            assert!(!format!("{pool:?}").contains("hunter2"), "{pool:?}");
        }
    }

    #[test]
    fn a_pool_that_makes_no_sense_says_which_field() {
        for (spec, field) in [
            (json!({"providerRef": {"name": "x"}, "limits": {"cpu": "-1"}}), "spec.limits.cpu"),
            (json!({"providerRef": {"name": "x"}, "limits": {"cpu": "many"}}), "spec.limits.cpu"),
            (
                json!({"providerRef": {"name": "x"}, "template": {"spec": {"requirements": [
                    {"key": "a", "operator": "Gt", "values": ["b"]}]}}}),
                "spec.template.spec.requirements",
            ),
            (
                json!({"providerRef": {"name": "x"}, "template": {"spec": {
                    "join": "UserData", "userData": "{{windlass.tokne}}"}}}),
                "spec.template.spec.userData: there is no variable {{windlass.tokne}}",
            ),
            (
                json!({"providerRef": {"name": "x"}, "performance": [
                    {"percent": 90, "requirements": [{"key": "a", "operator": "In"}]}]}),
                "spec.performance",
            ),
        ] {
            let definition = read(spec);
            let error = definition.error.unwrap();
            assert!(error.starts_with(field), "{error}");
            assert!(definition.pool.unusable.is_some());
        }
    }
}

//! What a buffer asks for.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::api::{ApiResource, GroupVersionKind};
use serde::Deserialize;
use serde_json::Value;
use windlass_core::model::{Labels, PodId, Resources};

use crate::adapt;

/// The strategy of buffers whose capacity is there and waits.
pub(super) const ACTIVE: &str = "buffer.x-k8s.io/active-capacity";

/// A buffer as its user wrote it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct BufferSpec {
    pub(super) provisioning_strategy: Option<String>,
    pub(super) pod_template_ref: Option<Named>,
    pub(super) scalable_ref: Option<ScalableRef>,
    pub(super) replicas: Option<i64>,
    pub(super) percentage: Option<i64>,
    pub(super) limits: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScalableRef {
    #[serde(default)]
    pub(super) api_group: String,
    pub(super) kind: String,
    pub(super) name: String,
}

/// Pods for which there is to be room.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Demand {
    pub(super) template: PodTemplateSpec,
    pub(super) replicas: usize,
    pub(super) strategy: Option<String>,
    pub(super) template_generation: Option<i64>,
}

/// What a buffer says in parts: pods like those of this workload.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scalable {
    pub(super) template: PodTemplateSpec,
    pub(super) replicas: i64,
}

impl ScalableRef {
    /// The kind of object that is meant, where it is one that makes pods from a template.
    pub(super) fn resource(&self) -> Option<ApiResource> {
        let (group, plural) = match (self.api_group.as_str(), self.kind.as_str()) {
            ("apps", "Deployment") => ("apps", "deployments"),
            ("apps", "StatefulSet") => ("apps", "statefulsets"),
            ("apps", "ReplicaSet") => ("apps", "replicasets"),
            ("", "ReplicationController") => ("", "replicationcontrollers"),
            _ => return None,
        };
        let kind = GroupVersionKind::gvk(group, "v1", &self.kind);
        Some(ApiResource::from_gvk_with_plural(&kind, plural))
    }
}

impl Scalable {
    /// From a Deployment or the like. As for their controllers, no number of replicas means one.
    pub(super) fn read(object: &Value) -> Option<Self> {
        let template = serde_json::from_value(object.pointer("/spec/template")?.clone()).ok()?;
        let replicas = object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
        Some(Self { template, replicas })
    }
}

impl BufferSpec {
    /// Room for pods like these, of which a workload has so many: as many as the buffer says, or so much of that number,
    /// whichever is more, and no more than fit into its limits.
    pub(super) fn demand(
        &self,
        template: PodTemplateSpec,
        scale: Option<i64>,
        template_generation: Option<i64>,
    ) -> Result<Demand, String> {
        if let Some(other) = self.provisioning_strategy.as_ref().filter(|strategy| *strategy != ACTIVE) {
            return Err(format!("strategy {other} is not known; {ACTIVE} is"));
        }
        let of_scale = match (self.percentage, scale) {
            (Some(_), None) => return Err("percentage has a meaning only with scalableRef".to_owned()),
            (Some(percentage), Some(scale)) => {
                Some((percentage.max(0).saturating_mul(scale.max(0)).saturating_add(99)) / 100)
            }
            (None, _) => None,
        };
        let asked = self.replicas.into_iter().chain(of_scale).max();
        let most = self.most_within_limits(&template)?;
        let Some(replicas) = asked.into_iter().chain(most).min() else {
            return Err("it says neither replicas nor percentage nor limits".to_owned());
        };
        let replicas = usize::try_from(replicas.clamp(0, MOST)).unwrap_or(0);
        let strategy = self.provisioning_strategy.clone();
        Ok(Demand { template, replicas, strategy, template_generation })
    }

    /// How many of the pods fit into the limits, where there are any that they ask for.
    fn most_within_limits(&self, template: &PodTemplateSpec) -> Result<Option<i64>, String> {
        if self.limits.is_empty() {
            return Ok(None);
        }
        let pods = adapt::reserve(&PodId::new("", ""), template, 1, &Labels::new());
        let requests = pods.first().map(|pod| pod.shape.requests.clone()).unwrap_or_default();
        let mut most = None;
        for (name, value) in &self.limits {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let limit = Resources::parse([(name.as_str(), text.as_str())])
                .map_err(|(_, error)| format!("spec.limits.{name}: {error}"))?;
            let each = requests.get(name);
            if each > 0 {
                most = most.into_iter().chain([limit.get(name).max(0) / each]).min();
            }
        }
        Ok(most)
    }
}

/// The most pods that one buffer is taken at its word for.
const MOST: i64 = 10_000;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{BufferSpec, Scalable, ScalableRef};

    fn wanted(spec: Value, scale: Option<i64>) -> Result<usize, String> {
        let spec: BufferSpec = serde_json::from_value(spec).unwrap();
        let template = json!({"spec": {"containers": [
            {"name": "a", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]}});
        spec.demand(serde_json::from_value(template).unwrap(), scale, None).map(|demand| demand.replicas)
    }

    #[test]
    fn the_larger_of_a_number_and_a_part_counts_within_limits() {
        assert_eq!(wanted(json!({"replicas": 3}), None), Ok(3));
        assert_eq!(wanted(json!({"percentage": 25}), Some(10)), Ok(3), "rounded up");
        assert_eq!(wanted(json!({"percentage": 1}), Some(1)), Ok(1));
        assert_eq!(wanted(json!({"percentage": 50}), Some(0)), Ok(0));
        assert_eq!(wanted(json!({"percentage": 20, "replicas": 5}), Some(10)), Ok(5));
        assert_eq!(wanted(json!({"percentage": 80, "replicas": 5}), Some(10)), Ok(8));
        assert_eq!(wanted(json!({"replicas": 10, "limits": {"cpu": "2"}}), None), Ok(4));
        assert_eq!(wanted(json!({"replicas": 10, "limits": {"cpu": 2, "memory": "3Gi"}}), None), Ok(3));
        assert_eq!(wanted(json!({"limits": {"cpu": "1200m"}}), None), Ok(2));
        assert_eq!(wanted(json!({"replicas": 2, "limits": {"nvidia.com/gpu": 1}}), None), Ok(2));
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (spec, words) in [
            (json!({}), "neither replicas"),
            (json!({"percentage": 10}), "only with scalableRef"),
            (json!({"replicas": 1, "limits": {"cpu": "many"}}), "spec.limits.cpu"),
            (json!({"replicas": 1, "provisioningStrategy": "standby"}), "strategy standby"),
        ] {
            let error = wanted(spec, None).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn workloads_that_make_pods_from_a_template_can_be_named() {
        let named = |group: &str, kind: &str| {
            let object = json!({"apiGroup": group, "kind": kind, "name": "web"});
            serde_json::from_value::<ScalableRef>(object).unwrap().resource().map(|kind| kind.plural)
        };
        assert_eq!(named("apps", "Deployment").as_deref(), Some("deployments"));
        assert_eq!(named("", "ReplicationController").as_deref(), Some("replicationcontrollers"));
        assert_eq!(named("example.com", "Deployment"), None);
        let scalable = Scalable::read(&json!({"spec": {"template": {"spec": {"containers": []}}}})).unwrap();
        assert_eq!(scalable.replicas, 1);
        assert_eq!(Scalable::read(&json!({"spec": {}})), None);
    }
}

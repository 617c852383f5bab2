use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt as _;
use kube::core::{DynamicObject, Selector, SelectorExt as _};
use serde::Deserialize as _;
use serde_json::Value;

use super::super::event::qualified_name;
use super::Pod;

/// What is known of a pod disruption budget.
#[derive(Debug)]
pub(in super::super) struct Budget {
    /// Its name after its namespace and a slash.
    pub(in super::super) name: String,
    pub(in super::super) namespace: String,
    selector: Option<Selector>,
    /// Whether no pod may be disrupted just now, as far as the disruption controller has looked.
    exhausted: bool,
}

impl Budget {
    pub(in super::super) fn read(object: &DynamicObject) -> Self {
        let number = |pointer| object.data.pointer(pointer).and_then(Value::as_i64);
        let current = number("/status/observedGeneration") == object.metadata.generation;
        let selector = object.data.pointer("/spec/selector");
        Self {
            name: qualified_name(object),
            namespace: object.namespace().unwrap_or_default(),
            selector: selector
                .and_then(|selector| LabelSelector::deserialize(selector).ok())
                .and_then(|selector| selector.try_into().ok()),
            exhausted: current && number("/status/disruptionsAllowed") == Some(0),
        }
    }

    /// Whether it forbids to disrupt this pod now.
    pub(in super::super) fn protects(&self, pod: &Pod) -> bool {
        let selects = |selector: &Selector| selector.matches(&pod.labels);
        self.exhausted
            && pod.ready
            && self.namespace == pod.namespace
            && self.selector.as_ref().is_some_and(selects)
    }
}

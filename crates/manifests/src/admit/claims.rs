use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::ObjectMeta;

/// The annotation of the storage class that claims get which name none.
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// What is known of storage classes when claims are admitted.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    default_class: Option<String>,
}

impl Storage {
    pub(crate) fn add(&mut self, class: &StorageClass) {
        let marks = class.metadata.annotations.as_ref();
        if marks.and_then(|marks| marks.get(DEFAULT_CLASS)).is_some_and(|value| value == "true") {
            self.default_class.clone_from(&class.metadata.name);
        }
    }

    /// Gives a claim that names no class the default one. An empty name asks for none.
    pub(crate) fn settle(&self, claim: &mut PersistentVolumeClaim) {
        let spec = claim.spec.get_or_insert_default();
        if spec.storage_class_name.is_none() && spec.volume_name.is_none() {
            spec.storage_class_name.clone_from(&self.default_class);
        }
    }
}

/// The claims that are made with a pod, for its ephemeral volumes.
pub(crate) fn ephemeral_claims(pod: &Pod) -> Vec<PersistentVolumeClaim> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let claims = volumes.filter_map(|volume| {
        let template = volume.ephemeral.as_ref()?.volume_claim_template.as_ref()?;
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        Some(PersistentVolumeClaim {
            metadata: ObjectMeta {
                name: Some(format!("{name}-{}", volume.name)),
                namespace: pod.metadata.namespace.clone(),
                ..ObjectMeta::default()
            },
            spec: Some(template.spec.clone()),
            ..PersistentVolumeClaim::default()
        })
    });
    claims.collect()
}

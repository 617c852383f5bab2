use serde_json::{Value, json};
use windlass_api::labels;
use windlass_manifests::Flaw;

use super::proxmox;
use crate::fields::Fields;
use crate::head::Head;
use crate::remark::Remarks;

/// What a `NodeSmithProvider` stands for here, with only those fields that it has something to say about.
pub(crate) fn provider(head: Head, mut object: Fields, remarks: &mut Remarks) -> Result<Option<Value>, Flaw> {
    let mut spec = object.inner("spec")?;
    let path = spec.path("type");
    let kind = spec.required("type")?;
    if kind != "proxmox" {
        let kind: String = kind.chars().take(100).collect();
        let message = format!(
            "nothing was made of it: KubeNodeSmith launches machines of proxmox only; write a NodeProvider {:?} yourself for \
             {kind}",
            head.name
        );
        remarks.left_out(path, message);
        return Ok(None);
    }
    let secret = secret(&mut spec, &head.namespace, remarks)?;
    let mut proxmox = proxmox::proxmox(spec.inner("proxmox")?, remarks)?;
    if let Some(fields) = proxmox.as_object_mut() {
        fields.insert("credentialsSecretRef".to_owned(), json!({"name": secret}));
    }
    spec.tell_unknown(remarks);
    object.tell_unknown(remarks);
    Ok(Some(json!({
        "apiVersion": format!("{}/v1alpha1", labels::GROUP),
        "kind": "NodeProvider",
        "metadata": {"name": head.name},
        "spec": {"proxmox": proxmox},
    })))
}

/// The Secret with the token. Here it is in Windlass' own namespace and has other keys.
fn secret(spec: &mut Fields, namespace: &str, remarks: &mut Remarks) -> Result<String, Flaw> {
    let path = spec.path("credentialsSecretRef");
    let mut secret = spec.inner("credentialsSecretRef")?;
    let name = secret.required("name")?;
    let namespace = secret.text("namespace")?.unwrap_or_else(|| namespace.to_owned());
    secret.tell_unknown(remarks);
    let message = format!(
        "make a Secret {name} in the namespace that Windlass runs in, with what PROXMOX_TOKEN_ID of {namespace}/{name} says as \
         tokenID and what PROXMOX_SECRET says as secret; where it has PROXMOX_SKIP_TLS_VERIFY, give the endpoint its \
         fingerprint or the provider a caBundle"
    );
    remarks.changed(path, message);
    Ok(name)
}

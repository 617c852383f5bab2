use windlass_api::{
    LimitedDuration, NodePool, NodePoolSpec, NodeTemplate, NodeTemplateMetadata, NodeTemplateSpec, ObjectRef,
};
use windlass_manifests::Flaw;

use super::{disruption, labels, requirements, taints};
use crate::fields::Fields;
use crate::head::Head;
use crate::remark::Remarks;

/// How long nodes live if a pool says nothing of it.
const DEFAULT_LIFE: LimitedDuration = LimitedDuration::seconds(720 * 3600);

/// What a NodePool stands for here.
pub(crate) fn pool(
    head: Head,
    mut object: Fields,
    provider: Option<&str>,
    remarks: &mut Remarks,
) -> Result<NodePool, Flaw> {
    let mut spec = object.inner("spec")?;
    let (template, provider) = template(spec.inner("template")?, provider, remarks)?;
    let made = NodePoolSpec {
        provider_ref: ObjectRef { name: provider },
        weight: spec.small_count("weight")?.unwrap_or_default(),
        template,
        limits: spec.quantities("limits")?,
        replicas: spec.small_count("replicas")?,
        disruption: disruption::disruption(spec.inner("disruption")?, remarks)?,
        ..NodePoolSpec::default()
    };
    spec.tell_unknown(remarks);
    object.tell_unknown(remarks);
    Ok(NodePool::new(&head.name, made))
}

/// What nodes look like, and the provider of their machines.
fn template(
    mut template: Fields,
    provider: Option<&str>,
    remarks: &mut Remarks,
) -> Result<(NodeTemplate, String), Flaw> {
    let mut metadata = template.inner("metadata")?;
    let labels = labels::labels(&mut metadata, remarks)?;
    let annotations = labels::annotations(&mut metadata, remarks)?;
    metadata.tell_unknown(remarks);

    let mut spec = template.inner("spec")?;
    let provider = provider_name(&mut spec, provider, remarks)?;
    let mut requirements = requirements::requirements(&mut spec, remarks)?;
    requirements.extend(labels.requirements);
    let spec_made = NodeTemplateSpec {
        requirements,
        taints: taints::taints(&mut spec, "taints", remarks)?,
        startup_taints: taints::taints(&mut spec, "startupTaints", remarks)?,
        expire_after: Some(spec.duration_or_never("expireAfter", remarks)?.unwrap_or(DEFAULT_LIFE)),
        termination_grace_period: spec.duration("terminationGracePeriod", remarks)?,
        ..NodeTemplateSpec::default()
    };
    spec.tell_unknown(remarks);
    template.tell_unknown(remarks);
    let metadata = NodeTemplateMetadata { labels: labels.kept, annotations };
    Ok((NodeTemplate { metadata, spec: spec_made }, provider))
}

/// A node class says how machines of one cloud are made, which is a provider's business here.
fn provider_name(spec: &mut Fields, given: Option<&str>, remarks: &mut Remarks) -> Result<String, Flaw> {
    let path = spec.path("nodeClassRef");
    let mut class = spec.inner("nodeClassRef")?;
    let kind = class.text("kind")?.unwrap_or_else(|| "node class".to_owned());
    class.value("group");
    let name = match given {
        Some(_) => class.text("name")?.unwrap_or_default(),
        None => class.required("name")?,
    };
    class.tell_unknown(remarks);
    let provider = given.unwrap_or(&name).to_owned();
    let advice = if given.is_some() { "" } else { " (--provider names another)" };
    let message = format!(
        "{kind} {name:?} becomes NodeProvider {provider:?}{advice}: make one of that name that launches such machines"
    );
    remarks.changed(path, message);
    Ok(provider)
}

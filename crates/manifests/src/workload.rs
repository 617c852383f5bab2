//! What makes pods, and the pods that it makes.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job, JobSpec};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, ReplicationController,
    Volume,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;
use windlass_core::model::PodId;

use crate::admit;
use crate::fault::Flaw;

/// Something that keeps a number of like pods.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its kind, such as `Deployment`.
    pub kind: String,
    /// Namespace and name.
    pub id: PodId,
    /// How many pods it keeps.
    pub replicas: u32,
    /// The number of its first pod.
    first: u32,
    /// Whether its pods are told apart by their numbers.
    pub numbered: bool,
    template: Pod,
    claims: Vec<PersistentVolumeClaim>,
}

impl Workload {
    /// Its pod of this place, counted from 0, as it would be admitted.
    pub fn pod(&self, place: u32) -> Pod {
        let mut pod = self.template.clone();
        let name = format!("{}-{}", self.id.name, self.first.saturating_add(place));
        if let Some(spec) = &mut pod.spec {
            let volumes = self.claims.iter().filter_map(|claim| volume(claim, &name));
            let made: Vec<Volume> = volumes.collect();
            let all = spec.volumes.get_or_insert_default();
            all.retain(|volume| !made.iter().any(|made| made.name == volume.name));
            all.extend(made);
        }
        pod.metadata.name = Some(name);
        pod
    }

    /// The claims on volumes that are made for its pod of this place.
    pub fn volume_claims(&self, place: u32) -> Vec<PersistentVolumeClaim> {
        let pod = format!("{}-{}", self.id.name, self.first.saturating_add(place));
        let claims = self.claims.iter().map(|template| {
            let mut claim = template.clone();
            claim.metadata.name = template.metadata.name.as_ref().map(|name| format!("{name}-{pod}"));
            claim.metadata.namespace = Some(self.id.namespace.to_string());
            claim
        });
        claims.collect()
    }
}

fn volume(claim: &PersistentVolumeClaim, pod: &str) -> Option<Volume> {
    let name = claim.metadata.name.as_ref()?;
    let source =
        PersistentVolumeClaimVolumeSource { claim_name: format!("{name}-{pod}"), ..Default::default() };
    Some(Volume { name: name.clone(), persistent_volume_claim: Some(source), ..Volume::default() })
}

/// A kind that makes pods.
pub(crate) trait Template: kube::Resource<DynamicType = ()> {
    /// What it says about its pods; none where it makes none.
    fn says(&self) -> Option<Says<'_>>;
}

/// What a workload says about its pods.
pub(crate) struct Says<'w> {
    /// The field with the number of pods.
    field: &'static str,
    replicas: Option<i32>,
    /// The field with the template.
    at: &'static str,
    template: Option<&'w PodTemplateSpec>,
    claims: &'w [PersistentVolumeClaim],
    first: u32,
    numbered: bool,
}

impl<'w> Says<'w> {
    fn replicas(replicas: Option<i32>, template: Option<&'w PodTemplateSpec>) -> Self {
        let (field, at) = ("spec.replicas", "spec.template");
        Self { field, replicas, at, template, claims: &[], first: 0, numbered: false }
    }

    fn job(job: &'w JobSpec, field: &'static str, at: &'static str) -> Option<Self> {
        if job.suspend == Some(true) {
            return None;
        }
        let parallel = job.parallelism.unwrap_or(1);
        let replicas = Some(job.completions.map_or(parallel, |all| all.min(parallel)));
        Some(Self { field, at, ..Self::replicas(replicas, Some(&job.template)) })
    }
}

impl Template for Deployment {
    fn says(&self) -> Option<Says<'_>> {
        let spec = self.spec.as_ref();
        Some(Says::replicas(spec.and_then(|spec| spec.replicas), spec.map(|spec| &spec.template)))
    }
}

impl Template for ReplicaSet {
    fn says(&self) -> Option<Says<'_>> {
        let spec = self.spec.as_ref();
        let template = spec.and_then(|spec| spec.template.as_ref());
        Some(Says::replicas(spec.and_then(|spec| spec.replicas), template))
    }
}

impl Template for ReplicationController {
    fn says(&self) -> Option<Says<'_>> {
        let spec = self.spec.as_ref();
        let template = spec.and_then(|spec| spec.template.as_ref());
        Some(Says::replicas(spec.and_then(|spec| spec.replicas), template))
    }
}

impl Template for StatefulSet {
    fn says(&self) -> Option<Says<'_>> {
        let spec = self.spec.as_ref();
        let first = spec.and_then(|spec| spec.ordinals.as_ref()).and_then(|ordinals| ordinals.start);
        Some(Says {
            claims: spec.and_then(|spec| spec.volume_claim_templates.as_deref()).unwrap_or_default(),
            first: first.and_then(|first| u32::try_from(first).ok()).unwrap_or(0),
            numbered: true,
            ..Says::replicas(spec.and_then(|spec| spec.replicas), spec.map(|spec| &spec.template))
        })
    }
}

impl Template for Job {
    fn says(&self) -> Option<Says<'_>> {
        let conditions = self.status.as_ref().and_then(|status| status.conditions.as_ref());
        let ended = |condition: &k8s_openapi::api::batch::v1::JobCondition| {
            condition.status == "True" && matches!(condition.type_.as_str(), "Complete" | "Failed")
        };
        if conditions.into_iter().flatten().any(ended) {
            return None;
        }
        Says::job(self.spec.as_ref()?, "spec.parallelism", "spec.template")
    }
}

impl Template for CronJob {
    /// The pods of one run.
    fn says(&self) -> Option<Says<'_>> {
        let spec = &self.spec;
        if spec.suspend == Some(true) {
            return None;
        }
        let job = spec.job_template.spec.as_ref()?;
        Says::job(job, "spec.jobTemplate.spec.parallelism", "spec.jobTemplate.spec.template")
    }
}

/// A workload, or none where it makes no pods of its own: because it is suspended or has ended, or because another
/// workload made it and speaks for it.
pub(crate) fn read<W: Template>(workload: W) -> Result<Option<Workload>, Flaw> {
    let workload = admit::in_namespace(workload);
    let metadata = workload.meta();
    let name =
        metadata.name.clone().or_else(|| metadata.generate_name.as_ref().map(|prefix| format!("{prefix}0")));
    let id = PodId::new(metadata.namespace.as_deref().unwrap_or_default(), &name.unwrap_or_default());
    let owned = metadata.owner_references.iter().flatten().any(|owner| owner.controller == Some(true));
    let Some(says) = workload.says().filter(|_| !owned) else { return Ok(None) };
    let replicas = says.replicas.unwrap_or(1);
    let negative = |_| Flaw::new(says.field, format!("{replicas} is negative: write 0 or more"));
    let replicas = u32::try_from(replicas).map_err(negative)?;
    let missing = || Flaw::new(says.at, "is missing: the pods are made of it");
    let template = says.template.ok_or_else(missing)?;
    let template = Pod {
        metadata: pod_metadata(&W::kind(&()), &id, template),
        spec: Some(template.spec.clone().ok_or_else(missing)?),
        ..Pod::default()
    };
    let within = |flaw: Flaw| Flaw { field: format!("{}.{}", says.at, flaw.field), ..flaw };
    Ok(Some(Workload {
        kind: W::kind(&()).into_owned(),
        template: admit::pod(template).map_err(within)?,
        replicas,
        first: says.first,
        numbered: says.numbered,
        claims: says.claims.to_vec(),
        id,
    }))
}

fn pod_metadata(kind: &str, id: &PodId, template: &PodTemplateSpec) -> ObjectMeta {
    let given = template.metadata.clone().unwrap_or_default();
    ObjectMeta {
        name: Some(id.name.to_string()),
        namespace: Some(id.namespace.to_string()),
        labels: given.labels,
        annotations: given.annotations,
        owner_references: Some(vec![OwnerReference {
            kind: kind.to_owned(),
            name: id.name.to_string(),
            controller: Some(true),
            ..OwnerReference::default()
        }]),
        ..ObjectMeta::default()
    }
}

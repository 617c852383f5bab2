use std::collections::BTreeMap;

use windlass_api::{
    ApiQuantity, ConsolidationPolicy, Disruption, LimitedDuration, NodePool, NodePoolSpec, NodeTemplate,
    NodeTemplateMetadata, ObjectRef, Pace, Repair,
};
use windlass_manifests::{Flaw, join};

use super::control_plane::{Managed, Smithy};
use crate::fields::Fields;
use crate::head::Head;
use crate::remark::Remarks;

/// The label that nodes have for their pool if nobody has chosen another.
const DEFAULT_LABEL: &str = "topology.kubenodesmith.io/pool";
const OURS: &str = "windlass.dev/";
const LONGEST_LABEL: usize = 63;

/// What a `NodeSmithPool` stands for here.
pub(crate) fn pool(
    head: Head,
    mut object: Fields,
    smithy: &Smithy,
    remarks: &mut Remarks,
) -> Result<NodePool, Flaw> {
    let mut spec = object.inner("spec")?;
    let provider = spec.required("providerRef")?;
    let labels = labels(&head.name, &mut spec, remarks)?;
    let (limits, min_nodes) = limits(spec.inner("limits")?, remarks)?;
    let made = NodePoolSpec {
        provider_ref: ObjectRef { name: provider },
        template: NodeTemplate {
            metadata: NodeTemplateMetadata { labels, ..NodeTemplateMetadata::default() },
            ..NodeTemplate::default()
        },
        limits,
        min_nodes,
        scale_up: scale_up(spec.inner("scaleUp")?, remarks)?,
        scale_down: pace(spec.inner("scaleDown")?, remarks)?,
        paused: is_paused(&head, smithy, remarks),
        disruption: idle_only(),
        ..NodePoolSpec::default()
    };
    spec.tell_unknown(remarks);
    object.tell_unknown(remarks);
    Ok(NodePool::new(&head.name, made))
}

/// KubeNodeSmith gives back only nodes on which nothing runs, and takes none for sick.
fn idle_only() -> Disruption {
    Disruption {
        consolidation_policy: ConsolidationPolicy::WhenEmpty,
        repair: Repair { after: Some(LimitedDuration::Never), ..Repair::default() },
        ..Disruption::default()
    }
}

fn is_paused(head: &Head, smithy: &Smithy, remarks: &mut Remarks) -> bool {
    match smithy.manages(&head.namespace, &head.name) {
        Managed::Yes => false,
        Managed::No => {
            let message = "no NodeSmithControlPlane names this pool, so it is paused: nothing is launched and no node goes until \
                           spec.paused is taken out";
            remarks.changed("", message);
            true
        }
        Managed::Unknown => {
            let message = "no NodeSmithControlPlane was read, so the pool is taken for one that is managed: set spec.paused if \
                           it is not";
            remarks.changed("", message);
            false
        }
    }
}

/// The labels of nodes, with the one by which they belong to the pool.
fn labels(pool: &str, spec: &mut Fields, remarks: &mut Remarks) -> Result<BTreeMap<String, String>, Flaw> {
    let mut template = spec.inner("machineTemplate")?;
    let path = template.path("labels");
    let mut labels = template.text_map("labels")?;
    template.tell_unknown(remarks);
    labels.retain(|name, _| {
        let is_kept = is_free(name);
        if !is_kept {
            remarks.left_out(join(&path, name), "Windlass and the kubelet set this label: use another");
        }
        is_kept
    });
    let path = spec.path("poolLabelKey");
    let key = spec.text("poolLabelKey")?.filter(|key| !key.is_empty());
    let key = key.unwrap_or_else(|| DEFAULT_LABEL.to_owned());
    if pool.len() > LONGEST_LABEL {
        let message = format!("{pool} is too long for the value of a label: let pods ask for another one");
        remarks.left_out(path, message);
    } else if is_free(&key) {
        labels.insert(key, pool.to_owned());
    } else {
        remarks.left_out(
            path,
            format!("{key}: Windlass and the kubelet set this label: let pods ask for another one"),
        );
    }
    Ok(labels)
}

fn is_free(label: &str) -> bool {
    !label.starts_with(OURS) && label != windlass_api::labels::HOSTNAME
}

/// The ceilings, in which 0 means none, and the least number of nodes.
fn limits(mut limits: Fields, remarks: &mut Remarks) -> Result<(BTreeMap<String, ApiQuantity>, i32), Flaw> {
    let mut made = BTreeMap::new();
    for (name, resource, unit) in
        [("maxNodes", "nodes", ""), ("cpuCores", "cpu", ""), ("memoryMiB", "memory", "Mi")]
    {
        if let Some(most) = limits.count(name)?.filter(|most| *most > 0) {
            made.insert(resource.to_owned(), ApiQuantity(format!("{most}{unit}")));
        }
    }
    let min_nodes = limits.small_count("minNodes")?.unwrap_or_default();
    limits.tell_unknown(remarks);
    Ok((made, min_nodes))
}

/// How the pool grows. A window is the time between two launches there, of which each is for a single pod.
fn scale_up(fields: Fields, remarks: &mut Remarks) -> Result<Pace, Flaw> {
    let path = fields.path("stabilizationWindow");
    let made = pace(fields, remarks)?;
    if made != Pace::default() {
        let message = "here pods wait so long before any machine is got for them, and all get theirs together: take it out to \
                       launch at once";
        remarks.changed(path, message);
    }
    Ok(made)
}

fn pace(mut fields: Fields, remarks: &mut Remarks) -> Result<Pace, Flaw> {
    let usual = Pace::default();
    let window = fields.duration("stabilizationWindow", remarks)?;
    fields.tell_unknown(remarks);
    Ok(Pace { stabilization_window: window.unwrap_or(usual.stabilization_window), ..usual })
}

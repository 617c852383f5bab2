/// A kind of object that the server keeps, and the rules that set it apart from others.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent facts, as in Kubernetes' strategies")]
pub struct ResourceKind {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version within the group.
    pub version: &'static str,
    /// Group and version as objects write it.
    pub api_version: &'static str,
    /// The kind as objects write it.
    pub kind: &'static str,
    /// The name in paths.
    pub plural: &'static str,
    /// The name in messages.
    pub qualified: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether the status is written apart from the rest.
    pub has_status: bool,
    /// Whether it is one of ours, defined by a schema.
    pub custom: bool,
    /// Whether objects count the changes of what is wanted of them.
    pub counts_generations: bool,
    /// Whether an update may leave out the resource version.
    pub unconditional: bool,
    /// Whether an update of what does not exist creates it.
    pub created_by_update: bool,
    /// Whether a deletion is answered with the object in place of a note of success.
    pub returned_when_deleted: bool,
    /// Its place in [`KINDS`].
    pub(super) place: usize,
}

impl ResourceKind {
    /// The kind of this name. No two groups have one of the same name here.
    pub fn named(kind: &str) -> Option<&'static Self> {
        KINDS.iter().find(|each| each.kind == kind)
    }

    pub(super) fn served(group: &str, version: &str, plural: &str) -> Option<&'static Self> {
        KINDS.iter().find(|each| each.plural == plural && each.group == group && each.version == version)
    }

    const fn core(place: usize, kind: &'static str, plural: &'static str) -> Self {
        Self {
            group: "",
            version: "v1",
            api_version: "v1",
            kind,
            plural,
            qualified: plural,
            namespaced: true,
            has_status: false,
            custom: false,
            counts_generations: false,
            unconditional: true,
            created_by_update: false,
            returned_when_deleted: false,
            place,
        }
    }

    const fn of(
        self,
        group: &'static str,
        version: &'static str,
        api_version: &'static str,
        qualified: &'static str,
    ) -> Self {
        Self { group, version, api_version, qualified, ..self }
    }

    const fn ours(place: usize, kind: &'static str, plural: &'static str, qualified: &'static str) -> Self {
        let kind = Self::core(place, kind, plural).of(
            "windlass.dev",
            "v1alpha1",
            "windlass.dev/v1alpha1",
            qualified,
        );
        Self { custom: true, ..kind.cluster_wide().status().generations().conditional() }
    }

    const fn cluster_wide(self) -> Self {
        Self { namespaced: false, ..self }
    }

    const fn status(self) -> Self {
        Self { has_status: true, ..self }
    }

    const fn generations(self) -> Self {
        Self { counts_generations: true, ..self }
    }

    const fn conditional(self) -> Self {
        Self { unconditional: false, ..self }
    }

    const fn created_by_update(self) -> Self {
        Self { created_by_update: true, ..self }
    }

    const fn returned(self) -> Self {
        Self { returned_when_deleted: true, ..self }
    }
}

/// All kinds that are served.
pub static KINDS: [ResourceKind; 19] = [
    ResourceKind::core(0, "Pod", "pods").status().generations().returned(),
    ResourceKind::core(1, "Node", "nodes").cluster_wide().status(),
    ResourceKind::core(2, "Namespace", "namespaces").cluster_wide().status().returned(),
    ResourceKind::core(3, "PersistentVolumeClaim", "persistentvolumeclaims").status().returned(),
    ResourceKind::core(4, "PersistentVolume", "persistentvolumes").cluster_wide().status().returned(),
    ResourceKind::core(5, "ConfigMap", "configmaps"),
    ResourceKind::core(6, "Secret", "secrets"),
    ResourceKind::core(7, "DaemonSet", "daemonsets")
        .of("apps", "v1", "apps/v1", "daemonsets.apps")
        .status()
        .generations(),
    ResourceKind::core(8, "Deployment", "deployments")
        .of("apps", "v1", "apps/v1", "deployments.apps")
        .status()
        .generations(),
    ResourceKind::core(9, "ReplicaSet", "replicasets")
        .of("apps", "v1", "apps/v1", "replicasets.apps")
        .status()
        .generations(),
    ResourceKind::core(10, "PodDisruptionBudget", "poddisruptionbudgets")
        .of("policy", "v1", "policy/v1", "poddisruptionbudgets.policy")
        .status()
        .generations()
        .conditional(),
    ResourceKind::core(11, "StorageClass", "storageclasses")
        .of("storage.k8s.io", "v1", "storage.k8s.io/v1", "storageclasses.storage.k8s.io")
        .cluster_wide()
        .returned(),
    ResourceKind::core(12, "CSINode", "csinodes")
        .of("storage.k8s.io", "v1", "storage.k8s.io/v1", "csinodes.storage.k8s.io")
        .cluster_wide()
        .conditional()
        .returned(),
    ResourceKind::core(13, "VolumeAttachment", "volumeattachments")
        .of("storage.k8s.io", "v1", "storage.k8s.io/v1", "volumeattachments.storage.k8s.io")
        .cluster_wide()
        .status()
        .conditional()
        .returned(),
    ResourceKind::core(14, "Lease", "leases")
        .of("coordination.k8s.io", "v1", "coordination.k8s.io/v1", "leases.coordination.k8s.io")
        .conditional()
        .created_by_update(),
    ResourceKind::core(15, "Event", "events")
        .of("events.k8s.io", "v1", "events.k8s.io/v1", "events.events.k8s.io")
        .created_by_update(),
    ResourceKind::ours(16, "NodeProvider", "nodeproviders", "nodeproviders.windlass.dev"),
    ResourceKind::ours(17, "NodePool", "nodepools", "nodepools.windlass.dev"),
    ResourceKind::ours(18, "NodeClaim", "nodeclaims", "nodeclaims.windlass.dev"),
];

#[cfg(test)]
mod tests {
    use super::KINDS;

    #[test]
    fn every_kind_is_at_its_place() {
        assert!(KINDS.iter().enumerate().all(|(place, kind)| kind.place == place));
    }
}

use windlass_api::labels;

/// What a label of nodes that Karpenter knows is here.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A label that machines have before anybody gives them labels.
    OfMachines(String),
    /// Any other.
    Plain(String),
    /// One that Windlass and the kubelet set by themselves.
    SetByUs,
    /// One of Karpenter or of one of its providers that no machine has here.
    Karpenters,
}

/// The first label of each pair has another name here, or an older one of the same meaning.
const RENAMED: [(&str, &str); 7] = [
    ("karpenter.sh/capacity-type", labels::CAPACITY_TYPE),
    ("beta.kubernetes.io/arch", labels::ARCH),
    ("beta.kubernetes.io/os", labels::OS),
    ("beta.kubernetes.io/instance-type", labels::INSTANCE_TYPE),
    ("failure-domain.beta.kubernetes.io/zone", labels::ZONE),
    ("failure-domain.beta.kubernetes.io/region", REGION),
    ("topology.ebs.csi.aws.com/zone", labels::ZONE),
];
const REGION: &str = "topology.kubernetes.io/region";

impl Key {
    pub(super) fn of(name: &str) -> Self {
        let renamed = RENAMED.iter().find(|(theirs, _)| *theirs == name);
        let name = renamed.map_or(name, |(_, ours)| *ours);
        match name {
            labels::POOL | labels::HOSTNAME | "karpenter.sh/nodepool" => Self::SetByUs,
            labels::CAPACITY_TYPE
            | labels::ARCH
            | labels::OS
            | labels::INSTANCE_TYPE
            | labels::ZONE
            | REGION => Self::OfMachines(name.to_owned()),
            _ if is_karpenters(name) => Self::Karpenters,
            _ => Self::Plain(name.to_owned()),
        }
    }
}

/// `karpenter.sh`, `karpenter.k8s.aws`, `karpenter.azure.com` and the like, and what managed clusters have in their place.
pub(super) fn is_karpenters(name: &str) -> bool {
    let domain = name.split_once('/').map_or("", |(domain, _)| domain);
    domain.starts_with("karpenter.") || domain.ends_with(".karpenter.sh") || domain == "eks.amazonaws.com"
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn labels_are_told_apart() {
        let of_machines = |name: &str| Key::OfMachines(name.to_owned());
        assert_eq!(Key::of("karpenter.sh/capacity-type"), of_machines("windlass.dev/capacity-type"));
        assert_eq!(Key::of("beta.kubernetes.io/arch"), of_machines("kubernetes.io/arch"));
        assert_eq!(Key::of("topology.kubernetes.io/zone"), of_machines("topology.kubernetes.io/zone"));
        assert_eq!(Key::of("example.com/team"), Key::Plain("example.com/team".to_owned()));
        assert_eq!(Key::of("karpenter"), Key::Plain("karpenter".to_owned()));
        for name in
            ["karpenter.k8s.aws/instance-family", "karpenter.sh/other", "eks.amazonaws.com/instance-cpu"]
        {
            assert_eq!(Key::of(name), Key::Karpenters, "{name}");
        }
        assert_eq!(Key::of("karpenter.sh/nodepool"), Key::SetByUs);
    }
}

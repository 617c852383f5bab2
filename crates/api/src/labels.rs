//! Labels, annotations, taints and finalizers: the marks by which Windlass knows what is its own.

/// The API group of the custom resources and the prefix of every mark.
pub const GROUP: &str = "windlass.dev";

/// The one field manager of all server-side applies.
pub const FIELD_MANAGER: &str = "windlass";

/// On claims and nodes: the pool they belong to.
pub const POOL: &str = "windlass.dev/pool";
/// On claims and nodes: `on-demand`, `spot` or `reserved`.
pub const CAPACITY_TYPE: &str = "windlass.dev/capacity-type";

/// On nodes whose number Cluster Autoscaler decides: their node group, the zone aside, in which groups differ that are alike
/// to it.
pub const NODE_GROUP: &str = "windlass.dev/group";
/// On such nodes that have GPUs: what kind these are.
pub const GPU: &str = "windlass.dev/gpu";

/// On nodes, and on Secrets with a machine's bootstrap token: the UID of the claim they are for. Only Windlass writes it, so
/// it survives as proof of ownership when the claim itself is gone.
pub const CLAIM_UID: &str = "windlass.dev/claim-uid";
/// On nodes: the provider that the machine came from, so that it can still be asked when the claim is gone.
pub const PROVIDER: &str = "windlass.dev/provider";
/// On the records that Windlass keeps of machines, and on bootstrap tokens: the cluster that they are for.
pub const CLUSTER_ID: &str = "windlass.dev/cluster-id";
/// On all our objects: which of several Windlass installations in the cluster manages them.
pub const SCOPE: &str = "windlass.dev/scope";
/// On claims: why the claim is to go, as `Reason: message`. Written before anything is done about it, and taken away if
/// it stays after all.
pub const DISRUPTION: &str = "windlass.dev/disruption";
/// On claims: when it was decided that the claim is to go.
pub const DISRUPTED_AT: &str = "windlass.dev/disrupted-at";
/// On claims: the names of the claims that take this one's place, separated by commas.
pub const REPLACED_BY: &str = "windlass.dev/replaced-by";
/// On pods and nodes: `true`, or for how long from their start, as in `30m`, they are to be left alone.
pub const DO_NOT_DISRUPT: &str = "windlass.dev/do-not-disrupt";
/// On claims and nodes: `true` asks for another machine in the place of this one.
pub const REPLACE: &str = "windlass.dev/replace";
/// On claims: what the pool's template was when the claim was made, as a hash.
pub const TEMPLATE: &str = "windlass.dev/template";
/// On the namespace that Windlass runs in: nothing is launched and no node goes while it is there; its value says why.
pub const PAUSED: &str = "windlass.dev/paused";
/// On claims: the names of the claims this one replaces, separated by commas.
pub const REPLACES: &str = "windlass.dev/replaces";

/// On claims and nodes: holds the object until the machine behind it is provably gone.
pub const FINALIZER: &str = "windlass.dev/machine";

/// The taint that a new node carries until its labels and taints are in place.
pub const UNREGISTERED_TAINT: &str = "windlass.dev/unregistered";
/// The taint of a node that is on its way out.
pub const DISRUPTED_TAINT: &str = "windlass.dev/disrupted";

/// Kubernetes' label for the name of the machine's type.
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// Kubernetes' label for the zone.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// Kubernetes' label for the processor architecture.
pub const ARCH: &str = "kubernetes.io/arch";
/// Kubernetes' label for the operating system.
pub const OS: &str = "kubernetes.io/os";
/// Kubernetes' label for the host name, set by each kubelet.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// The capacity type of machines that stay until given back.
pub const ON_DEMAND: &str = "on-demand";

/// What the ids of instances begin with that stand for a claim which has no machine yet, where node groups are served. No
/// provider's ids do; once there is a machine the instance goes by that one's id.
pub const PENDING_INSTANCE: &str = "windlass://claim/";

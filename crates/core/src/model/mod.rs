//! What is known of a cluster, in types made for planning: integers for amounts, shared text for names.

mod claim;
mod disruption;
mod instance_type;
mod labels;
mod node;
mod pod;
mod pool;
mod requirement;
mod resources;
mod schedule;
mod selector;
mod snapshot;
mod taint;
mod topology;
mod volume;

pub use claim::{Claim, ClaimOffering, ClaimPhase, Launched};
pub use disruption::{Consolidation, Decision, DisruptionBudget, DisruptionReason, Share};
pub use instance_type::{Draw, InstanceType, Offering, OfferingKey};
pub use labels::{Labels, well_known};
pub use node::{Node, NodeCondition, Readiness};
pub use pod::{Nomination, Pod, PodId, PodOwner, PodShape, PodState};
pub use pool::{Driver, Performance, Pool, Utilization};
pub use requirement::{Operator, Requirement, RequirementError, Requirements};
pub use resources::{ResourceName, Resources};
pub use schedule::{Cron, CronError, Window};
pub use selector::{Namespaces, Selector};
pub use snapshot::{DaemonSet, PodBudget, Recent, Settings, Snapshot};
pub use taint::{Effect, Taint, Toleration, TolerationOperator, tolerates_all};
pub use topology::{AffinityTerm, HostPort, SpreadConstraint, Weighted};
pub use volume::{AttachLimits, StorageClass, Volume, VolumeClaim};

use std::fmt;

use kube::ResourceExt as _;
use kube::core::DynamicObject;

/// Something that the judge is told of.
#[derive(Clone, Debug)]
pub enum Event {
    /// An object changed on the API.
    Api(Box<ApiEvent>),
    /// A provider whose machines do not show on the API did something.
    Provider(JournalEntry),
    /// Time passed.
    Tick,
}

/// A change of one object on the API.
#[derive(Clone, Debug)]
pub struct ApiEvent {
    /// What kind of object.
    pub kind: Kind,
    /// What happened to it.
    pub change: Change,
    /// The object afterwards; of a deleted one, the last that was seen of it.
    pub object: DynamicObject,
    /// Who did it.
    pub writer: Writer,
}

impl ApiEvent {
    /// A change as a watch reports it, which does not say who made it.
    pub fn new(kind: Kind, change: Change, object: DynamicObject) -> Self {
        Self { kind, change, object, writer: Writer::Unknown }
    }

    /// The object's name.
    pub fn name(&self) -> ObjectName {
        ObjectName::of(self.kind, &self.object)
    }

    /// The object as it is now, or nothing when it is gone.
    pub(super) fn present(&self) -> Option<&DynamicObject> {
        (self.change != Change::Deleted).then_some(&self.object)
    }
}

/// The kinds of objects that the judge looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are those of the kinds")]
pub enum Kind {
    NodeClaim,
    NodePool,
    NodeProvider,
    Node,
    Pod,
    PodDisruptionBudget,
    /// A machine of the simulated provider, which is a `ConfigMap`.
    Machine,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::NodeClaim,
        Self::NodePool,
        Self::NodeProvider,
        Self::Node,
        Self::Pod,
        Self::PodDisruptionBudget,
        Self::Machine,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine => f.write_str("machine"),
            kind => fmt::Debug::fmt(kind, f),
        }
    }
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was there before anyone looked, so nobody is blamed for its being there.
    Found,
    /// It was created.
    Added,
    /// It was changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// Who made a change. A simulated API server knows, a watch does not; then the object's managed fields are the
/// evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The controller under test.
    Windlass,
    /// Anyone else.
    Other,
    /// Nobody can say.
    Unknown,
}

/// What a provider did whose machines do not show on the API, once it had its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalEntry {
    /// A machine came to be.
    Launched {
        /// The machine.
        provider_id: String,
        /// The cluster in its tag.
        cluster_id: String,
        /// The claim in its tag.
        claim_uid: String,
    },
    /// A machine was ended on request.
    Terminated {
        /// The machine.
        provider_id: String,
    },
    /// Anything else about a machine was changed on request.
    Changed {
        /// The machine.
        provider_id: String,
    },
    /// A machine ceased to exist, and nobody had asked for it.
    Vanished {
        /// The machine.
        provider_id: String,
    },
}

impl JournalEntry {
    /// The machine it is about.
    pub fn provider_id(&self) -> &str {
        match self {
            Self::Launched { provider_id, .. }
            | Self::Terminated { provider_id }
            | Self::Changed { provider_id }
            | Self::Vanished { provider_id } => provider_id,
        }
    }
}

/// Names one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// Its kind.
    pub kind: Kind,
    /// Its name, after its namespace and a slash where it has one. Of a machine in a provider's journal, the
    /// machine's provider ID.
    pub name: String,
}

impl ObjectName {
    /// An object of this kind and name.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }

    /// The name of an object.
    pub fn of(kind: Kind, object: &DynamicObject) -> Self {
        Self { kind, name: qualified_name(object) }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// An object's name, after its namespace and a slash where it has one.
pub(super) fn qualified_name(object: &DynamicObject) -> String {
    match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    }
}

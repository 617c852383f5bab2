use std::collections::BTreeSet;

use jiff::Timestamp;
use kube::api::ObjectMeta;
use windlass_api::{NodeClaim, NodePool, NodeProvider};

use super::{Watched, name};
use crate::adapt;
use crate::index::{Changed, Index, Kind};

impl Watched for NodeProvider {
    const KIND: Kind = Kind::NodeProvider;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.saw_provider(self)
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.lost_provider(name(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.retain_providers(seen)
    }
}

impl Watched for NodePool {
    const KIND: Kind = Kind::NodePool;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.saw_pool(adapt::pool(&self))
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.lost_pool(name(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.retain_pools(seen)
    }
}

impl Watched for NodeClaim {
    const KIND: Kind = Kind::NodeClaim;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.claims.saw(self)
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, now: Timestamp) -> Changed {
        index.claims.lost(name(gone), gone.uid.as_deref().unwrap_or_default(), now)
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, now: Timestamp) -> Changed {
        index.claims.retain(seen, now)
    }
}

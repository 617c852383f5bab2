use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use kube::api::ObjectMeta;

use super::{Watched, name, namespaced};
use crate::adapt;
use crate::index::{Changed, Index, Kind};

impl Watched for PersistentVolumeClaim {
    const KIND: Kind = Kind::PersistentVolumeClaim;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.saw_volume_claim(namespaced(&self.metadata), adapt::volume_claim(&self))
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.volume_claims.lost(&namespaced(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.volume_claims.retain(seen)
    }
}

impl Watched for PersistentVolume {
    const KIND: Kind = Kind::PersistentVolume;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.saw_volume(name(&self.metadata).into(), adapt::volume(&self))
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.volumes.lost(name(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.volumes.retain(seen)
    }
}

impl Watched for StorageClass {
    const KIND: Kind = Kind::StorageClass;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.saw_storage_class(name(&self.metadata).into(), adapt::storage_class(&self))
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.storage_classes.lost(name(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.storage_classes.retain(seen)
    }
}

impl Watched for CSINode {
    const KIND: Kind = Kind::CSINode;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.saw_attach_limits(name(&self.metadata).into(), adapt::attach_limits(&self))
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.attach_limits.lost(name(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.attach_limits.retain(seen)
    }
}

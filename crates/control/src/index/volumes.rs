use windlass_core::Text;
use windlass_core::model::{AttachLimits, Labels, PodId, StorageClass, Volume, VolumeClaim};

use super::{Changed, Index};

impl Index {
    /// Takes in a claim on a volume.
    pub fn saw_volume_claim(&mut self, id: PodId, mut claim: VolumeClaim) -> Changed {
        let id = PodId { namespace: self.texts.share(id.namespace), name: id.name };
        claim.class = claim.class.map(|class| self.texts.share(class));
        self.volume_claims.saw(id, claim)
    }

    /// Takes in a volume.
    pub fn saw_volume(&mut self, name: Text, mut volume: Volume) -> Changed {
        volume.attached_by = volume.attached_by.map(|(driver, handle)| (self.texts.share(driver), handle));
        self.volumes.saw(name, volume)
    }

    /// Takes in a storage class.
    pub fn saw_storage_class(&mut self, name: Text, class: StorageClass) -> Changed {
        self.storage_classes.saw(name, class)
    }

    /// Takes in how many volumes can be attached to a node.
    pub fn saw_attach_limits(&mut self, node: Text, limits: AttachLimits) -> Changed {
        let limits = limits.into_iter().map(|(driver, limit)| (self.texts.share(driver), limit)).collect();
        self.attach_limits.saw(self.texts.share(node), limits)
    }

    /// Takes in a namespace and its labels.
    pub fn saw_namespace(&mut self, name: Text, labels: Labels) -> Changed {
        self.namespaces.saw(self.texts.share(name), labels)
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::model::{AttachLimits, Labels, PodId, Settings, StorageClass, Volume, VolumeClaim};

    use crate::index::{Changed, Index};

    #[test]
    fn a_snapshot_has_the_volumes_and_what_is_said_about_them() {
        let mut index = Index::default();
        let claim = VolumeClaim { volume: Some("v".into()), class: Some("fast".into()), deleting: false };
        let volume = Volume { attached_by: Some(("disk".into(), "1".into())), ..Volume::default() };
        let class = StorageClass { provisioner: "disk".into(), ..StorageClass::default() };
        let limits = AttachLimits::from([("disk".into(), 3)]);
        index.saw_volume_claim(PodId::new("d", "c"), claim.clone());
        index.saw_volume("v".into(), volume.clone());
        index.saw_storage_class("fast".into(), class.clone());
        index.saw_attach_limits("n".into(), limits.clone());
        index.saw_namespace("d".into(), Labels::new().with("team", "a"));
        let snapshot = index.snapshot(&Settings::default());
        assert_eq!(snapshot.volume_claims[&PodId::new("d", "c")], claim);
        assert_eq!(snapshot.volumes["v"], volume);
        assert_eq!(snapshot.storage_classes["fast"], class);
        assert_eq!(snapshot.attach_limits["n"], limits);
        assert_eq!(snapshot.namespaces["d"], Labels::new().with("team", "a"));
    }

    #[test]
    fn a_claim_that_gets_its_volume_concerns_the_planner_once() {
        let mut index = Index::default();
        let mut saw = |volume: Option<&str>| {
            let claim = VolumeClaim { volume: volume.map(Into::into), class: None, deleting: false };
            index.saw_volume_claim(PodId::new("d", "c"), claim)
        };
        assert_eq!(saw(None), Changed::plan());
        assert_eq!(saw(Some("v")), Changed::plan());
        assert_eq!(saw(Some("v")), Changed::nothing());
    }
}

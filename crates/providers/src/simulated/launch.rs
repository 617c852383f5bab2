//! Launching a simulated machine once, however often it is asked for.

use jiff::SignedDuration;
use windlass_core::model::{Draw, InstanceType, Offering, OfferingKey};

use super::Simulated;
use super::aim::Subject;
use super::naming::machine_name;
use super::record::{Record, Stored};
use crate::{LaunchRequest, Machine, ProviderError};

impl Simulated {
    /// Writes the machine's record, or finds the one that an earlier request with the same key wrote.
    pub(super) async fn launch_machine(&self, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        let tag = &request.tag;
        if tag.cluster_id != self.cluster_id {
            let message =
                format!("the machine is for cluster {}, this is {}", tag.cluster_id, self.cluster_id);
            return Err(ProviderError::InvalidConfiguration { message });
        }
        let name = machine_name(&self.name, &tag.claim_name, &tag.claim_uid);
        // Between counting the machines and adding one nobody else may add one.
        let _turn = match self.turns.get(&request.offering) {
            Some(turn) => Some(turn.lock().await),
            None => None,
        };
        if let Some(stored) = self.records.get(&name).await? {
            return self.launched_before(&stored, request);
        }
        let record = self.record_of(request).await?;
        if let Some(stored) = self.records.create(&name, &record).await? {
            return Ok(stored.machine(&self.name, &self.image));
        }
        match self.records.get(&name).await? {
            Some(stored) => self.launched_before(&stored, request),
            None => Err(ProviderError::transient(format!("machine {name} came and went during its launch"))),
        }
    }

    fn launched_before(&self, stored: &Stored, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        let (found, wanted) = (&stored.record.tag, &request.tag);
        if found.claim_uid == wanted.claim_uid && found.cluster_id == wanted.cluster_id {
            return Ok(stored.machine(&self.name, &self.image));
        }
        Err(ProviderError::NotOurs {
            provider_id: stored.provider_id(&self.name).to_string(),
            message: format!("it is of claim {} in cluster {}", found.claim_uid, found.cluster_id),
        })
    }

    async fn record_of(&self, request: &LaunchRequest) -> Result<Record, ProviderError> {
        let key = &request.offering;
        let no_capacity = |why: &str| {
            let OfferingKey { instance_type, zone, capacity_type } = key;
            let message = format!("{why} {instance_type} in {zone} as {capacity_type}");
            ProviderError::InsufficientCapacity { message }
        };
        let (instance_type, offering) = self.offering(key).ok_or_else(|| no_capacity("there is no"))?;
        if let Some(available) = offering.available
            && self.records.count_of(key).await? >= available as usize
        {
            return Err(no_capacity("there is no more"));
        }
        if let Some(draw) = &offering.draws
            && !self.has_room(draw).await?
        {
            return Err(no_capacity(&format!("host {} has no room for a", draw.from)));
        }
        let now = self.clock.now();
        let subject = Subject { claim_uid: &request.tag.claim_uid, offering: key };
        Ok(Record {
            tag: request.tag.clone(),
            offering: key.clone(),
            price: offering.price,
            capacity: instance_type.capacity.clone(),
            allocatable: instance_type.allocatable.clone(),
            labels: instance_type.labels_with(offering),
            node_labels: request.labels.clone(),
            taints: request.taints.clone(),
            created_at: now,
            fate: self.faults.fate(subject, self.boot_delay),
            ends_at: self
                .lifetime
                .and_then(|life| now.checked_add(SignedDuration::try_from(life).ok()?).ok()),
            image: self.image.clone(),
        })
    }

    /// Whether a host has room for one more machine beside those that are cut from it.
    async fn has_room(&self, draw: &Draw) -> Result<bool, ProviderError> {
        let offered = self.offer().await?;
        let mut draws =
            offered.iter().flat_map(|each| &each.offerings).filter_map(|each| each.draws.as_ref());
        Ok(draws.find(|each| each.from == draw.from).is_some_and(|host| host.left.covers(&draw.takes)))
    }

    fn offering(&self, key: &OfferingKey) -> Option<(&InstanceType, &Offering)> {
        let instance_type = self.catalogue.iter().find(|found| found.name == key.instance_type)?;
        let offering = instance_type.offerings.iter().find(|found| instance_type.key(found) == *key)?;
        Some((instance_type, offering))
    }
}

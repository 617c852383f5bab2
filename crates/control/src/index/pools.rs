use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt;
use windlass_api::NodeProvider;
use windlass_core::Text;
use windlass_core::model::{InstanceType, OfferingKey, Pool};

use super::{Changed, Index};
use crate::Settings;
use crate::adapt::PoolDefinition;

/// A provider and what it offers.
#[derive(Clone, Debug)]
pub struct ProviderEntry {
    /// The object.
    pub object: Arc<NodeProvider>,
    /// What it offers.
    pub catalogue: Catalogue,
    /// What it said last that it offers, also where it does not answer any more.
    pub last_offer: Arc<Vec<InstanceType>>,
    /// When it was asked for that.
    pub asked_at: Option<Timestamp>,
}

/// What a provider offers, as far as it is known.
#[derive(Clone, Debug)]
pub enum Catalogue {
    /// It has not answered yet.
    Unknown,
    /// These machines.
    Known(Arc<Vec<InstanceType>>),
    /// It does not answer as it should; in words.
    Failed(Text),
}

impl Index {
    /// Takes in a pool.
    pub fn saw_pool(&mut self, definition: PoolDefinition) -> Changed {
        let known = self.definitions.insert(definition.pool.name.clone(), definition.clone());
        if known.is_some_and(|known| known.pool == definition.pool && known.uid == definition.uid) {
            return Changed::nothing();
        }
        self.rebuild_pools();
        Changed { plan: true, providers: true, ..Changed::default() }
    }

    /// Takes in that a pool is gone.
    pub fn lost_pool(&mut self, name: &str) -> Changed {
        self.definitions.remove(name);
        self.rebuild_pools();
        Changed { plan: true, providers: true, ..Changed::default() }
    }

    /// Takes in that only these pools exist.
    pub fn retain_pools(&mut self, seen: &BTreeSet<String>) -> Changed {
        self.definitions.retain(|name, _| seen.contains(&**name));
        self.rebuild_pools();
        Changed { plan: true, providers: true, ..Changed::default() }
    }

    /// The pools as their users wrote them.
    pub fn definitions(&self) -> impl Iterator<Item = &PoolDefinition> {
        self.definitions.values()
    }

    /// A pool as its user wrote it.
    pub fn definition(&self, name: &str) -> Option<&PoolDefinition> {
        self.definitions.get(name)
    }

    /// A number that is another one after each change of pools or of what they are made of.
    pub fn pool_changes(&self) -> u64 {
        self.pool_changes
    }

    /// What a provider said last that it offers, also where it does not answer any more.
    pub fn last_offer(&self, provider: &str) -> Arc<Vec<InstanceType>> {
        self.providers.get(provider).map(|entry| entry.last_offer.clone()).unwrap_or_default()
    }

    /// A pool as planning sees it.
    pub fn pool(&self, name: &str) -> Option<&Arc<Pool>> {
        self.pools.get(name)
    }

    /// Takes in a provider. A new specification makes what it offered unknown again.
    pub fn saw_provider(&mut self, object: NodeProvider) -> Changed {
        let name: Text = object.name_any().into();
        if let Some(known) = self.providers.get_mut(&name)
            && known.object.metadata.generation == object.metadata.generation
            && known.object.metadata.uid == object.metadata.uid
        {
            known.object = Arc::new(object);
            return Changed::nothing();
        }
        let entry = ProviderEntry {
            object: Arc::new(object),
            catalogue: Catalogue::Unknown,
            last_offer: Arc::default(),
            asked_at: None,
        };
        self.providers.insert(name, entry);
        self.rebuild_pools();
        Changed { plan: true, providers: true, ..Changed::default() }
    }

    /// Takes in that a provider is gone.
    pub fn lost_provider(&mut self, name: &str) -> Changed {
        self.providers.remove(name);
        self.rebuild_pools();
        Changed { plan: true, providers: true, ..Changed::default() }
    }

    /// Takes in that only these providers exist.
    pub fn retain_providers(&mut self, seen: &BTreeSet<String>) -> Changed {
        self.providers.retain(|name, _| seen.contains(&**name));
        self.rebuild_pools();
        Changed { plan: true, providers: true, ..Changed::default() }
    }

    /// The providers by name.
    pub fn providers(&self) -> impl Iterator<Item = (&Text, &ProviderEntry)> {
        self.providers.iter()
    }

    /// Whether a provider exists that has not yet been asked what it offers.
    pub fn is_unasked(&self, provider: &str) -> bool {
        self.providers.get(provider).is_some_and(|entry| matches!(entry.catalogue, Catalogue::Unknown))
    }

    /// Takes in what a provider offers.
    pub fn saw_catalogue(&mut self, provider: &str, catalogue: Catalogue) -> Changed {
        let Some(entry) = self.providers.get_mut(provider) else { return Changed::nothing() };
        let same = match (&entry.catalogue, &catalogue) {
            (Catalogue::Known(known), Catalogue::Known(new)) => known == new,
            (Catalogue::Failed(known), Catalogue::Failed(new)) => known == new,
            _ => false,
        };
        if same {
            return Changed::nothing();
        }
        if let Catalogue::Known(types) = &catalogue {
            entry.last_offer = types.clone();
        }
        entry.catalogue = catalogue;
        self.rebuild_pools();
        Changed::plan()
    }

    /// Notes when a provider was asked for what it offers now. It knew of no machine that was launched later, so where
    /// machines are cut from stores it matters which those are.
    pub fn told(&mut self, provider: &str, asked_at: Timestamp) -> Changed {
        let Some(entry) = self.providers.get_mut(provider) else { return Changed::nothing() };
        let mut offerings = entry.last_offer.iter().flat_map(|each| &each.offerings);
        if !offerings.any(|offering| offering.draws.is_some()) {
            return Changed::nothing();
        }
        entry.asked_at = Some(asked_at);
        self.rebuild_pools();
        Changed::plan()
    }

    /// Notes that an offering could not be had.
    pub fn avoid(
        &mut self,
        provider: &Text,
        key: &OfferingKey,
        settings: &Settings,
        now: Timestamp,
    ) -> Changed {
        self.avoided_offerings.strike(
            (provider.clone(), key.clone()),
            |strikes| settings.avoid_for(strikes),
            now,
        );
        self.rebuild_pools();
        Changed::plan()
    }

    /// Notes that an offering was had.
    pub fn had(&mut self, provider: &Text, key: &OfferingKey) {
        if self.avoided_offerings.forgive(&(provider.clone(), key.clone())) {
            self.rebuild_pools();
        }
    }

    /// Brings together what pools are made of: their definitions, what their providers offer, and what to avoid of it.
    fn rebuild_pools(&mut self) {
        self.pool_changes += 1;
        let offers: std::collections::BTreeMap<&Text, Result<Arc<Vec<InstanceType>>, Text>> =
            self.providers.iter().map(|(name, entry)| (name, self.offer(name, entry))).collect();
        let pools = self.definitions.values().map(|definition| {
            let mut pool = definition.pool.clone();
            match offers.get(&pool.provider) {
                _ if pool.unusable.is_some() => {}
                None => pool.unusable = Some(format!("provider {} does not exist", pool.provider).into()),
                Some(Err(why)) => pool.unusable = Some(why.clone()),
                Some(Ok(types)) => {
                    pool.instance_types = types.clone();
                    pool.offered_at = self.providers.get(&pool.provider).and_then(|entry| entry.asked_at);
                }
            }
            (pool.name.clone(), Arc::new(pool))
        });
        self.pools = Arc::new(pools.collect());
    }

    fn offer(&self, provider: &Text, entry: &ProviderEntry) -> Result<Arc<Vec<InstanceType>>, Text> {
        let types = match &entry.catalogue {
            Catalogue::Unknown => return Err(format!("provider {provider} has not answered yet").into()),
            Catalogue::Failed(why) => return Err(format!("provider {provider}: {why}").into()),
            Catalogue::Known(types) => types,
        };
        let avoided = |kind: &InstanceType| {
            kind.offerings.iter().any(|offering| {
                self.avoided_offerings.until(&(provider.clone(), kind.key(offering))).is_some()
            })
        };
        if !types.iter().any(avoided) {
            return Ok(types.clone());
        }
        let mut types = (**types).clone();
        for kind in &mut types {
            let keys: Vec<_> = kind.offerings.iter().map(|offering| kind.key(offering)).collect();
            for (offering, key) in kind.offerings.iter_mut().zip(keys) {
                offering.avoid_until = self.avoided_offerings.until(&(provider.clone(), key));
            }
        }
        Ok(Arc::new(types))
    }
}

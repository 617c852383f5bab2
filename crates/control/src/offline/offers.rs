use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use windlass_core::Text;
use windlass_core::model::{InstanceType, OfferingKey};
use windlass_providers::{
    GuardSettings, Guarded, Provider as _, ProviderError, ProviderFactory, stated_offers,
};

use super::Cluster;
use crate::index::Catalogue;

impl Cluster {
    /// Asks the providers what they offer. Says which of them did not answer: their pools cannot be used in a plan.
    pub async fn ask(
        &mut self,
        factory: &dyn ProviderFactory,
        calls: GuardSettings,
        random: &mut fastrand::Rng,
    ) -> Vec<String> {
        let providers = self.index.providers().map(|(name, entry)| (name.clone(), entry.object.clone()));
        let providers = providers.map(|(name, object)| (name, object, random.fork()));
        let asked = providers.collect::<Vec<_>>().into_iter().map(async |(name, object, random)| {
            let offers = match factory.build(&name, &object.spec) {
                Ok(provider) => Guarded::new(provider, calls, random).instance_types().await,
                Err(error) => Err(error),
            };
            (name, offers)
        });
        let answers = join_all(asked).await;
        answers.into_iter().filter_map(|(name, offers)| self.saw_offers(&name, offers)).collect()
    }

    /// Reads what the providers offer from their specifications, less what the claims have of it. Says of which nothing
    /// could be read: their pools cannot be used in a plan.
    pub fn read_offers(&mut self) -> Vec<String> {
        let taken = self.taken();
        let providers = self.index.providers().map(|(name, entry)| (name.clone(), entry.object.clone()));
        let offers = providers.map(|(name, object)| {
            let mut offers = stated_offers(&name, &object.spec);
            if let (Ok(types), Some(taken)) = (&mut offers, taken.get(&name)) {
                InstanceType::take(types, taken);
            }
            (name, offers)
        });
        let offers: Vec<_> = offers.collect();
        offers.into_iter().filter_map(|(name, offers)| self.saw_offers(&name, offers)).collect()
    }

    /// How many machines of each offering the claims have, by provider.
    fn taken(&self) -> BTreeMap<Text, BTreeMap<OfferingKey, u32>> {
        let mut taken: BTreeMap<Text, BTreeMap<OfferingKey, u32>> = BTreeMap::new();
        let model = self.index.claims.model();
        for claim in self.index.claims.iter() {
            let name = claim.metadata.name.as_deref().unwrap_or_default();
            let Some(launched) = model.get(name).and_then(|claim| claim.launched.as_ref()) else { continue };
            let of_provider = taken.entry(claim.spec.provider_ref.name.as_str().into()).or_default();
            *of_provider.entry(launched.key.clone()).or_default() += 1;
        }
        taken
    }

    fn saw_offers(
        &mut self,
        provider: &str,
        offers: Result<Vec<InstanceType>, ProviderError>,
    ) -> Option<String> {
        let (catalogue, problem) = match offers {
            Ok(types) => (Catalogue::Known(Arc::new(types)), None),
            Err(error) => {
                let problem =
                    format!("provider {provider} cannot be asked, so its pools launch nothing: {error}");
                (Catalogue::Failed(error.to_string().into()), Some(problem))
            }
        };
        self.index.saw_catalogue(provider, catalogue);
        problem
    }
}

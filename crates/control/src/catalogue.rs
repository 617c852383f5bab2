use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::join_all;
use jiff::Timestamp;
use kube::{Api, Client, ResourceExt};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{info, warn};
use windlass_api::conditions::{self, Truth};
use windlass_api::{NodeProvider, NodeProviderStatus, ProviderHost};
use windlass_core::Text;
use windlass_core::model::InstanceType;
use windlass_providers::{
    Clock, ErrorKind, Guarded, Host, Inventory, Provider, ProviderError, ProviderFactory,
};

use crate::Settings;
use crate::adapt::quantities;
use crate::controller::Bus;
use crate::events::{Note, about};
use crate::index::Catalogue;
use crate::kubernetes::{is_not_found, write_status};
use crate::leader::{Leadership, Led};

/// The providers in use, by name.
#[derive(Debug, Default)]
pub(crate) struct Providers(Mutex<BTreeMap<Text, Built>>);

#[derive(Clone, Debug)]
struct Built {
    uid: String,
    generation: Option<i64>,
    provider: Result<Arc<dyn Provider>, ProviderError>,
}

impl Providers {
    /// A provider. One that is missing may come back, so its absence is an error that may pass.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<dyn Provider>, ProviderError> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name) {
            Some(built) => built.provider.clone(),
            None => Err(ProviderError::transient(format!("provider {name} does not exist"))),
        }
    }

    /// All providers that could be made.
    pub(crate) fn all(&self) -> Vec<(Text, Arc<dyn Provider>)> {
        let built = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        built.iter().filter_map(|(name, built)| Some((name.clone(), built.provider.clone().ok()?))).collect()
    }
}

/// Makes providers from their objects, reads what they offer, and says in their status how they are.
pub(crate) struct Keeper {
    pub(crate) client: Client,
    pub(crate) bus: Arc<Bus>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) factory: Arc<dyn ProviderFactory>,
    pub(crate) leadership: Leadership,
    pub(crate) random: Arc<Mutex<fastrand::Rng>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Arc<Settings>,
}

impl Keeper {
    /// Keeps the providers, for ever.
    pub(crate) async fn run(&self) {
        let mut running = Running::default();
        let mut next = Instant::now();
        self.build(&mut running);
        loop {
            tokio::select! {
                () = self.bus.providers.notified() => {}
                () = sleep_until(next) => {}
            }
            // At once, since claims may wait for a provider that is new.
            self.build(&mut running);
            // What happens at the same time is looked at together.
            sleep(self.settings.batch_idle / 4).await;
            next = Instant::now() + self.settings.catalogue_interval;
            self.build(&mut running);
            let refreshed = join_all(self.objects().iter().map(|object| self.refresh(object))).await;
            if refreshed.contains(&false) {
                next = next
                    .min(Instant::now() + self.settings.retry_max.min(self.settings.catalogue_interval) / 4);
            }
        }
    }

    fn objects(&self) -> Vec<Arc<NodeProvider>> {
        self.bus.index.lock().providers().map(|(_, entry)| entry.object.clone()).collect()
    }

    /// Makes the providers that are new or changed, and drops those that are gone.
    fn build(&self, running: &mut Running) {
        let objects = self.objects();
        let mut built = self.providers.0.lock().unwrap_or_else(PoisonError::into_inner);
        built.retain(|name, _| objects.iter().any(|object| object.name_any() == **name));
        for object in objects {
            let (name, uid): (Text, _) = (object.name_any().into(), object.uid().unwrap_or_default());
            let known = built.get(&name);
            if known.is_some_and(|known| known.uid == uid && known.generation == object.metadata.generation) {
                continue;
            }
            let provider = self.factory.build(&name, &object.spec).map(|provider| self.in_bounds(provider));
            match &provider {
                Ok(provider) => info!(provider = %name, kind = provider.kind(), "provider in use"),
                Err(error) => warn!(provider = %name, %error, "the provider cannot be used"),
            }
            built.insert(name, Built { uid, generation: object.metadata.generation, provider });
        }
        running.only(&built);
    }

    /// Only the leader acts through a provider, and no call takes for ever. The check comes after the wait for a turn.
    fn in_bounds(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        let random = self.random.lock().unwrap_or_else(PoisonError::into_inner).fork();
        let led = Arc::new(Led::new(provider, self.leadership.clone()));
        Arc::new(Guarded::new(led, self.settings.provider_calls, random))
    }

    /// Asks one provider what it offers; whether it answered.
    async fn refresh(&self, object: &NodeProvider) -> bool {
        let (name, asked_at): (Text, _) = (object.name_any().into(), self.clock.now());
        let (kind, offered) = match self.providers.get(&name) {
            Ok(provider) => (Some(provider.kind()), provider.instance_types().await),
            Err(error) => (None, Err(error)),
        };
        let outcome = offered.as_ref().map_or_else(|error| error.kind().as_str(), |_| "ok");
        self.bus.metrics.provider_called(&name, "instance_types", outcome);
        let machines = self.machines_of(&name);
        let mut status = self.status(object, kind, &offered, machines);
        if offered.is_ok()
            && let Ok(provider) = self.providers.get(&name)
            && let Ok(inventory) = provider.inventory().await
        {
            tell(&mut status, &inventory);
        }
        let answered = offered.is_ok();
        let catalogue = match offered {
            Ok(types) => Catalogue::Known(Arc::new(types)),
            Err(error) => Catalogue::Failed(error.to_string().into()),
        };
        self.take_in(&name, catalogue, asked_at);
        if object.status.as_ref() != Some(&status) {
            self.write(object, &status).await;
        }
        answered
    }

    fn take_in(&self, provider: &str, catalogue: Catalogue, asked_at: Timestamp) {
        let mut index = self.bus.index.lock();
        let answered = matches!(catalogue, Catalogue::Known(_));
        let mut changed = index.saw_catalogue(provider, catalogue);
        if answered {
            changed |= index.told(provider, asked_at);
        }
        drop(index);
        self.bus.announce(changed);
    }

    fn machines_of(&self, provider: &str) -> i32 {
        let index = self.bus.index.lock();
        let machines = index.claims.iter().filter(|claim| {
            claim.spec.provider_ref.name == provider
                && claim.status.as_ref().is_some_and(|status| status.provider_id.is_some())
        });
        i32::try_from(machines.count()).unwrap_or(i32::MAX)
    }

    fn status(
        &self,
        object: &NodeProvider,
        kind: Option<&str>,
        offered: &Result<Vec<InstanceType>, ProviderError>,
        machines: i32,
    ) -> NodeProviderStatus {
        let mut status = object.status.clone().unwrap_or_default();
        let (generation, now) = (object.metadata.generation, self.clock.now());
        status.kind = kind.map(ToOwned::to_owned).or(status.kind);
        status.machines = machines;
        let mut say = |kind: &str, truth: Truth, reason: &str, message: &str| {
            conditions::set(&mut status.conditions, kind, truth, reason, message, generation, now);
        };
        match offered {
            Ok(types) => {
                say(conditions::REACHABLE, Truth::True, "Answers", "the provider answers");
                say(conditions::AUTHENTICATED, Truth::True, "Accepted", "the provider takes our credentials");
                say(conditions::READY, Truth::True, "Ready", "");
                status.instance_types = i32::try_from(types.len()).unwrap_or(i32::MAX);
            }
            Err(error) => {
                let (reason, message) = (error.kind().as_str(), error.to_string());
                match error.kind() {
                    ErrorKind::Unauthorized => {
                        say(conditions::REACHABLE, Truth::True, "Answers", "the provider answers");
                        say(conditions::AUTHENTICATED, Truth::False, reason, &message);
                    }
                    ErrorKind::InvalidConfiguration => {}
                    _ => say(conditions::REACHABLE, Truth::False, reason, &message),
                }
                say(conditions::READY, Truth::False, reason, &message);
                self.bus.events.say(Note { about: about(object), warning: true, reason, message });
            }
        }
        status
    }

    async fn write(&self, object: &NodeProvider, status: &NodeProviderStatus) {
        let api: Api<NodeProvider> = Api::all(self.client.clone());
        let uid = object.uid().unwrap_or_default();
        match write_status(&api, &object.name_any(), &uid, status).await {
            Ok(written) => {
                // It may show a new specification before the watch does, which then has nothing new to say.
                let changed = self.bus.index.lock().saw_provider(written);
                self.bus.announce(changed);
            }
            Err(error) if is_not_found(&error) => {}
            Err(error) => {
                warn!(provider = object.name_any(), %error, "the provider's status could not be written");
            }
        }
    }
}

/// Says in a status what a provider has.
fn tell(status: &mut NodeProviderStatus, inventory: &Inventory) {
    status.version = inventory.version.as_ref().map(ToString::to_string);
    let host = |host: &Host| ProviderHost {
        name: host.name.to_string(),
        state: host.state.to_string(),
        free: quantities(&host.free),
        message: host.message.as_ref().map(ToString::to_string),
    };
    status.hosts = inventory.hosts.iter().map(host).collect();
}

/// What the providers do by themselves. Dropped, it stops.
#[derive(Debug, Default)]
struct Running {
    tasks: JoinSet<()>,
    by_provider: BTreeMap<Text, (String, Option<i64>, tokio::task::AbortHandle)>,
}

impl Running {
    fn only(&mut self, built: &BTreeMap<Text, Built>) {
        self.by_provider.retain(|name, (uid, generation, task)| {
            let current = built.get(name);
            let same =
                current.is_some_and(|current| current.uid == *uid && current.generation == *generation);
            if !same {
                task.abort();
            }
            same
        });
        for (name, current) in built {
            let Ok(provider) = current.provider.clone() else { continue };
            if !self.by_provider.contains_key(name) {
                let task = self.tasks.spawn(async move { provider.run().await });
                self.by_provider.insert(name.clone(), (current.uid.clone(), current.generation, task));
            }
        }
        while self.tasks.try_join_next().is_some() {}
    }
}

//! The BMCs of hosts, each made once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_api::{RedfishProvider, RedfishTls};
use windlass_core::Text;

use super::Pace;
use super::bmc::{Bmc, Failure, FailureKind, Keys};
use super::ledger::Place;
use crate::ProviderError;
use crate::https::{self, Limits, Trust};

/// The BMCs that were spoken with, and what is the same for all.
#[derive(Debug)]
pub(super) struct Bmcs {
    secret: Option<String>,
    tls: Option<RedfishTls>,
    keys: Arc<Keys>,
    /// One for each that servers are known by.
    clients: Mutex<Vec<(Trust, reqwest::Client)>>,
    known: Mutex<BTreeMap<Text, (Place, Arc<Bmc>)>>,
    pace: Pace,
}

impl Bmcs {
    pub fn new(spec: &RedfishProvider, keys: Keys, pace: Pace) -> Self {
        Self {
            secret: spec.credentials_secret_ref.as_ref().map(|secret| secret.name.clone()),
            tls: spec.tls.clone(),
            keys: Arc::new(keys),
            clients: Mutex::default(),
            known: Mutex::default(),
            pace,
        }
    }

    /// The BMC of a host in this place.
    pub fn of(&self, host: &Text, place: &Place) -> Result<Arc<Bmc>, Failure> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bmc)) = known.get(host).filter(|(of, _)| of == place) {
            return Ok(Arc::clone(bmc));
        }
        let unusable = |words: String| Failure::new(FailureKind::Unusable, words);
        let secret = place.secret.as_ref().or(self.secret.as_ref());
        let secret = secret.ok_or_else(|| unusable(format!("host {host} has no credentialsSecretRef")))?;
        let http = self.client(place.tls.as_ref().or(self.tls.as_ref()));
        let http = http.map_err(|error| unusable(format!("host {host}: tls: {error}")))?;
        let (system, keys) = (place.system_id.clone(), Arc::clone(&self.keys));
        let bmc = Arc::new(Bmc::new(host, http, &place.address, system, keys, secret.clone(), self.pace));
        known.insert(host.clone(), (place.clone(), Arc::clone(&bmc)));
        Ok(bmc)
    }

    fn client(&self, tls: Option<&RedfishTls>) -> Result<reqwest::Client, ProviderError> {
        let trust = match tls {
            None => Trust::System,
            Some(RedfishTls { fingerprint: Some(fingerprint), .. }) => {
                Trust::Fingerprint(fingerprint.clone())
            }
            Some(RedfishTls { ca_bundle, .. }) => Trust::Authorities(ca_bundle.clone().unwrap_or_default()),
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(of, _)| *of == trust) {
            return Ok(client.clone());
        }
        let client = https::client(&trust, Limits { connect: self.pace.connect, call: self.pace.call })?;
        clients.push((trust, client.clone()));
        Ok(client)
    }
}

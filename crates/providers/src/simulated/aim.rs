//! Whom a fault strikes.
//!
//! A machine is struck or spared by a hash of its claim's UID and the fault's place in the list, so it is the same
//! machines each time: a launch that fails for a claim under `percent: 50` fails for that claim however often it is
//! tried, and the claim has to be given up. A call that is about no machine is drawn anew each time.

use windlass_api::Fault;
use windlass_core::model::OfferingKey;

use windlass_core::stable_hash;

/// The machine that a call is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub claim_uid: &'a str,
    pub offering: &'a OfferingKey,
}

/// Whom a fault strikes.
#[derive(Clone, Debug)]
pub(super) struct Aim {
    index: u64,
    instance_types: Vec<String>,
    zones: Vec<String>,
    percent: u64,
}

impl Aim {
    pub fn read(index: usize, given: &Fault) -> Result<Self, &'static str> {
        let percent = u64::try_from(given.percent).ok().filter(|percent| *percent <= 100);
        Ok(Self {
            index: index as u64,
            instance_types: given.instance_types.clone(),
            zones: given.zones.clone(),
            percent: percent.ok_or("percent: write a number from 0 to 100")?,
        })
    }

    pub fn hits(&self, subject: Subject<'_>) -> bool {
        let among =
            |names: &[String], name: &str| names.is_empty() || names.iter().any(|other| other == name);
        among(&self.instance_types, &subject.offering.instance_type)
            && among(&self.zones, &subject.offering.zone)
            && self.draws(subject.claim_uid.as_bytes())
    }

    /// A fault that is aimed at some machines does not strike a call that is about none.
    pub fn hits_call(&self, number: u64) -> bool {
        self.instance_types.is_empty() && self.zones.is_empty() && self.draws(&number.to_le_bytes())
    }

    fn draws(&self, lot: &[u8]) -> bool {
        stable_hash(&[lot, &self.index.to_le_bytes()]) % 100 < self.percent
    }
}

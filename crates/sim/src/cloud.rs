//! The provider's side of the world: machines as they truly are, and what the provider says of them.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use jiff::Timestamp;
use tokio::time::Instant;
use windlass_api::labels;
use windlass_core::model::{InstanceType, Labels, Offering, OfferingKey, Resources, Taint};
use windlass_core::{Price, Text};
use windlass_providers::{LaunchRequest, Machine, MachineState, MachineTag, ProviderError, Termination};
use windlass_testkit::invariants::JournalEntry;

/// The cluster that the controller under test is responsible for.
pub(crate) const CLUSTER: &str = "sim";
const GIB: i64 = 1 << 30;

/// All machines, of this cluster and of others.
#[derive(Debug)]
pub(crate) struct Cloud {
    types: Vec<InstanceType>,
    units: BTreeMap<Text, Unit>,
    launches: u32,
    sold_out: BTreeMap<OfferingKey, Instant>,
    /// What lists show, and until when, while they lag.
    stale: Option<(Instant, Vec<Machine>)>,
    journal: Vec<JournalEntry>,
}

/// A machine and its kubelet.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) machine: Machine,
    /// The name of its node.
    pub(crate) node: String,
    /// What its node registers with.
    pub(crate) labels: Labels,
    pub(crate) taints: Vec<Taint>,
    /// When calls begin to show it.
    appears_at: Instant,
    /// When it becomes a node; none means never.
    pub(crate) joins_at: Option<Instant>,
    pub(crate) joined: bool,
    /// How long after it joined the node is ready.
    pub(crate) settles_in: Duration,
    /// When it begins to end although nobody was told so.
    ends_late: Option<Instant>,
    /// When it is gone.
    gone_at: Option<Instant>,
    /// Whether the provider ends it by itself at the time that it has announced.
    announced_end: Option<Instant>,
    /// Whether it still has its tag.
    tagged: bool,
    pub(crate) kubelet_dead: bool,
    pub(crate) not_ready_until: Option<Instant>,
}

impl Unit {
    /// Whether there is a kubelet on it that does its work.
    pub(crate) fn is_alive(&self, now: Instant) -> bool {
        !self.kubelet_dead && !self.is_gone(now) && self.not_ready_until.is_none_or(|until| until <= now)
    }

    pub(crate) fn is_gone(&self, now: Instant) -> bool {
        self.gone_at.is_some_and(|at| at <= now)
    }

    /// Whether it was launched under this key.
    fn is_of(&self, tag: &MachineTag, now: Instant) -> bool {
        self.tagged && !self.is_gone(now) && self.machine.tag.claim_uid == tag.claim_uid
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.tagged && &*self.machine.tag.cluster_id == CLUSTER
    }
}

/// How a launch goes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Birth {
    /// How much later than at once calls begin to show the machine.
    pub(crate) appears_in: Duration,
    /// Whether it never becomes a node.
    pub(crate) never_joins: bool,
}

impl Cloud {
    pub(crate) fn new(now: Instant, today: Timestamp) -> Self {
        let mut cloud = Self {
            types: catalogue(),
            units: BTreeMap::new(),
            launches: 0,
            sold_out: BTreeMap::new(),
            stale: None,
            journal: Vec::new(),
        };
        cloud.add_neighbour(now, today);
        cloud
    }

    /// A machine of another cluster in the same account, which nobody here may touch.
    fn add_neighbour(&mut self, now: Instant, today: Timestamp) {
        let text = |text: &str| Text::from(text);
        let tag = MachineTag {
            cluster_id: text("neighbour"),
            claim_uid: text("their-claim"),
            claim_name: text("theirs"),
            pool: text("pool-0"),
        };
        let Some(offering) = self.offerings().into_iter().next() else { return };
        let request = LaunchRequest {
            tag,
            offering,
            capacity: Resources::new(),
            allocatable: Resources::new(),
            price: Price::ZERO,
            labels: Labels::new(),
            taints: Vec::new(),
            join: None,
        };
        let never = Birth { appears_in: Duration::ZERO, never_joins: true };
        let _ = self.launch(&request, never, &mut Rng::with_seed(0), now, today);
    }

    /// Every way in which a machine can be had.
    pub(crate) fn offerings(&self) -> Vec<OfferingKey> {
        let keys = self.types.iter().flat_map(|found| found.offerings.iter().map(|one| found.key(one)));
        keys.collect()
    }

    pub(crate) fn instance_types(&self, now: Instant) -> Vec<InstanceType> {
        let mut types = self.types.clone();
        for found in &mut types {
            let name = found.name.clone();
            for offering in &mut found.offerings {
                let (zone, capacity_type) = (offering.zone.clone(), offering.capacity_type.clone());
                let key = OfferingKey { instance_type: name.clone(), zone, capacity_type };
                if self.is_sold_out(&key, now) {
                    offering.available = Some(0);
                }
            }
        }
        types
    }

    fn is_sold_out(&self, key: &OfferingKey, now: Instant) -> bool {
        self.sold_out.get(key).is_some_and(|until| *until > now)
    }

    pub(crate) fn sell_out(&mut self, offering: u32, until: Instant) {
        let all = self.offerings();
        if let Some(key) = pick(&all, offering) {
            self.sold_out.insert(key.clone(), until);
        }
    }

    /// Whether there is a machine that was launched under this key.
    pub(crate) fn has(&self, tag: &MachineTag, now: Instant) -> bool {
        self.units.values().any(|unit| unit.is_of(tag, now))
    }

    /// Launches a machine, or finds the one that was launched under the same key.
    pub(crate) fn launch(
        &mut self,
        request: &LaunchRequest,
        birth: Birth,
        rng: &mut Rng,
        now: Instant,
        today: Timestamp,
    ) -> Result<Machine, ProviderError> {
        if let Some(unit) = self.units.values_mut().find(|unit| unit.is_of(&request.tag, now)) {
            unit.appears_at = unit.appears_at.min(now);
            return Ok(unit.machine.clone());
        }
        let (found, offering) = self.find(&request.offering)?;
        if self.is_sold_out(&request.offering, now) {
            let message = format!("{} is sold out", request.offering.instance_type);
            return Err(ProviderError::InsufficientCapacity { message });
        }
        self.launches += 1;
        let node = format!("machine-{:03}", self.launches);
        let machine = Machine {
            provider_id: format!("sim://{node}").into(),
            tag: request.tag.clone(),
            offering: request.offering.clone(),
            price: offering.price,
            capacity: found.capacity.clone(),
            allocatable: found.allocatable.clone(),
            labels: found.labels_with(&offering),
            node_name: None,
            created_at: today,
            ends_at: None,
            drift: None,
            state: MachineState::Running,
        };
        let joins_in = Duration::from_millis(rng.u64(5_000..40_000));
        let unit = Unit {
            node,
            labels: request.labels.clone(),
            taints: request.taints.clone(),
            appears_at: now + birth.appears_in,
            joins_at: (!birth.never_joins).then_some(now + birth.appears_in + joins_in),
            joined: false,
            settles_in: Duration::from_millis(rng.u64(500..8_000)),
            ends_late: None,
            gone_at: None,
            announced_end: None,
            tagged: true,
            kubelet_dead: false,
            not_ready_until: None,
            machine: machine.clone(),
        };
        self.journal.push(JournalEntry::Launched {
            provider_id: machine.provider_id.to_string(),
            cluster_id: machine.tag.cluster_id.to_string(),
            claim_uid: machine.tag.claim_uid.to_string(),
        });
        self.units.insert(machine.provider_id.clone(), unit);
        Ok(machine)
    }

    fn find(&self, key: &OfferingKey) -> Result<(InstanceType, Offering), ProviderError> {
        let found = self.types.iter().find(|found| found.name == key.instance_type);
        let offering = found.and_then(|found| {
            let matching = |one: &&Offering| one.zone == key.zone && one.capacity_type == key.capacity_type;
            Some((found.clone(), found.offerings.iter().find(matching)?.clone()))
        });
        let message = format!("there is no offering {key:?}");
        offering.ok_or(ProviderError::InvalidConfiguration { message })
    }

    /// Ends a machine after so long, if it bears this tag.
    pub(crate) fn terminate(
        &mut self,
        id: &str,
        tag: &MachineTag,
        takes: Duration,
        now: Instant,
    ) -> Result<Termination, ProviderError> {
        let unit = self.visible(id, now)?;
        if unit.machine.tag != *tag {
            let message = format!("it is tagged {:?}", unit.machine.tag);
            return Err(ProviderError::NotOurs { provider_id: id.to_owned(), message });
        }
        if unit.gone_at.is_none() {
            unit.gone_at = Some(now + takes);
            unit.machine.state = MachineState::Terminating;
            self.journal.push(JournalEntry::Terminated { provider_id: id.to_owned() });
        }
        Ok(Termination::UnderWay)
    }

    /// Ends a machine a while later, which nobody is told.
    pub(crate) fn terminate_late(&mut self, id: &str, tag: &MachineTag, at: Instant, now: Instant) {
        if let Ok(unit) = self.visible(id, now)
            && unit.machine.tag == *tag
            && unit.gone_at.is_none()
        {
            unit.ends_late = Some(at);
        }
    }

    pub(crate) fn get(&mut self, id: &str, now: Instant) -> Result<Machine, ProviderError> {
        self.visible(id, now).map(|unit| unit.machine.clone())
    }

    /// The machine as a call about it finds it.
    fn visible(&mut self, id: &str, now: Instant) -> Result<&mut Unit, ProviderError> {
        let found = self.units.get_mut(id).filter(|unit| !unit.is_gone(now) && unit.appears_at <= now);
        let unit = found.ok_or_else(|| ProviderError::NotFound { provider_id: id.to_owned() })?;
        if unit.is_ours() {
            return Ok(unit);
        }
        let message = "it does not bear our tag".to_owned();
        Err(ProviderError::NotOurs { provider_id: id.to_owned(), message })
    }

    pub(crate) fn list(&self, now: Instant) -> Vec<Machine> {
        match &self.stale {
            Some((until, machines)) if *until > now => machines.clone(),
            _ => self.true_list(now),
        }
    }

    fn true_list(&self, now: Instant) -> Vec<Machine> {
        let visible = |unit: &&Unit| unit.is_ours() && !unit.is_gone(now) && unit.appears_at <= now;
        self.units.values().filter(visible).map(|unit| unit.machine.clone()).collect()
    }

    /// From now on, until then, lists show what is there now.
    pub(crate) fn lists_lag(&mut self, until: Instant, now: Instant) {
        self.stale = Some((until, self.true_list(now)));
    }

    /// Everything that comes to pass by itself; when to look again.
    pub(crate) fn turn(&mut self, now: Instant) -> Option<Instant> {
        for unit in self.units.values_mut() {
            let id = unit.machine.provider_id.to_string();
            if unit.ends_late.take_if(|at| *at <= now).is_some() && unit.gone_at.is_none() {
                unit.gone_at = Some(now + Duration::from_secs(5));
                unit.machine.state = MachineState::Terminating;
                self.journal.push(JournalEntry::Terminated { provider_id: id });
            } else if unit.announced_end.take_if(|at| *at <= now).is_some() && unit.gone_at.is_none() {
                unit.gone_at = Some(now);
                self.journal.push(JournalEntry::Vanished { provider_id: id });
            }
        }
        let pending = |unit: &Unit| [unit.ends_late, unit.announced_end, unit.gone_at, unit.not_ready_until];
        self.units.values().flat_map(pending).flatten().filter(|at| *at > now).min()
    }

    /// Somebody takes the tag off one of our machines. Says which: it belongs to that somebody now. One whose end was asked
    /// for while it was ours is left alone, as nobody can keep it.
    pub(crate) fn lose_tag(&mut self, number: u32, now: Instant) -> Option<String> {
        let id = self.pick(number, now)?;
        let unit = self.units.get_mut(&id).filter(|unit| unit.ends_late.is_none())?;
        unit.tagged = false;
        self.journal.push(JournalEntry::Vanished { provider_id: id.to_string() });
        Some(id.to_string())
    }

    pub(crate) fn vanish(&mut self, number: u32, now: Instant) {
        if let Some(id) = self.pick(number, now)
            && let Some(unit) = self.units.get_mut(&id)
        {
            if unit.machine.state == MachineState::Running {
                self.journal.push(JournalEntry::Vanished { provider_id: id.to_string() });
            }
            unit.gone_at = Some(now);
        }
    }

    pub(crate) fn give_notice(&mut self, number: u32, after: Duration, now: Instant, today: Timestamp) {
        if let Some(id) = self.pick(number, now)
            && let Some(unit) = self.units.get_mut(&id)
        {
            unit.announced_end = Some(now + after);
            unit.machine.ends_at = today.checked_add(after).ok();
        }
    }

    fn pick(&self, number: u32, now: Instant) -> Option<Text> {
        let ours: Vec<&Text> = self
            .units
            .iter()
            .filter(|(_, unit)| unit.is_ours() && !unit.is_gone(now))
            .map(|(id, _)| id)
            .collect();
        pick(&ours, number).map(|id| Text::clone(id))
    }

    pub(crate) fn units_mut(&mut self) -> impl Iterator<Item = &mut Unit> {
        self.units.values_mut()
    }

    pub(crate) fn unit(&self, id: &str) -> Option<&Unit> {
        self.units.get(id)
    }

    /// Our machines that are there to stay.
    pub(crate) fn running(&self, now: Instant) -> impl Iterator<Item = &Machine> {
        let running = move |unit: &&Unit| {
            unit.is_ours() && !unit.is_gone(now) && unit.machine.state == MachineState::Running
        };
        self.units.values().filter(running).map(|unit| &unit.machine)
    }

    /// The machine of the claim with this UID, if it is there to stay and both lists and the truth show it.
    pub(crate) fn running_in_list(&self, claim_uid: &str, now: Instant) -> Option<&Machine> {
        let listed = self.list(now);
        let listed = |machine: &&Machine| listed.iter().any(|one| one.provider_id == machine.provider_id);
        self.running(now).filter(|machine| &*machine.tag.claim_uid == claim_uid).find(listed)
    }

    /// What was done since this was last asked.
    pub(crate) fn take_journal(&mut self) -> Vec<JournalEntry> {
        std::mem::take(&mut self.journal)
    }

    /// Machines behave from now on, except those that history has taken away for good.
    pub(crate) fn heal(&mut self) {
        self.sold_out.clear();
        self.stale = None;
        for unit in self.units.values_mut() {
            unit.not_ready_until = None;
            unit.kubelet_dead = false;
        }
    }
}

/// The n-th, round and round.
pub(crate) fn pick<T>(all: &[T], number: u32) -> Option<&T> {
    let place = usize::try_from(number).unwrap_or_default().checked_rem(all.len())?;
    all.get(place)
}

/// Three sizes in two zones, all on demand and the smaller ones also as spot machines.
fn catalogue() -> Vec<InstanceType> {
    let sizes = [("small", 2, 100_000), ("medium", 4, 190_000), ("large", 8, 370_000)];
    let make = |(name, cores, price): (&str, i64, i64)| {
        let capacity = Resources::new()
            .with(Resources::CPU, cores * 1000)
            .with(Resources::MEMORY, cores * 4 * GIB)
            .with(Resources::PODS, 30);
        let mut allocatable = capacity.clone();
        allocatable.subtract(&Resources::new().with(Resources::CPU, 100).with(Resources::MEMORY, GIB / 2));
        let offering = |zone: &str, kind: &str, price: i64| Offering {
            zone: zone.into(),
            capacity_type: kind.into(),
            price: Price::from_micros(price),
            available: None,
            avoid_until: None,
            draws: None,
        };
        let mut offerings = vec![
            offering("zone-a", labels::ON_DEMAND, price),
            offering("zone-b", labels::ON_DEMAND, price + 5_000),
        ];
        if cores < 8 {
            offerings.push(offering("zone-a", "spot", price / 2));
        }
        let labels = Labels::new().with(labels::ARCH, "amd64").with(labels::OS, "linux");
        InstanceType { name: name.into(), capacity, allocatable, labels, offerings }
    };
    sizes.map(make).into()
}

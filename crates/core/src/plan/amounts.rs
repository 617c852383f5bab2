use std::collections::BTreeSet;

use super::volumes::{Attached, VolumeNeeds, attach_resource};
use crate::Text;
use crate::model::{AttachLimits, HostPort, PodShape, ResourceName, Resources};

/// What some pod of this plan asks for. Only that can decide where a pod fits, so the planner counts in short rows of
/// numbers, one for each of them, rather than in maps of names.
pub(super) struct Dimensions(Vec<Dimension>);

/// Something that a node has so much of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Dimension {
    Resource(ResourceName),
    /// Volumes that a driver can attach.
    Volumes {
        driver: Text,
        resource: ResourceName,
    },
    /// Room for the volumes that several pods share, which is there or not.
    Shared {
        driver: Text,
    },
    /// A port on all addresses: who takes it on all of them takes all there is, who takes it on one takes one.
    Port {
        protocol: Text,
        port: u16,
    },
    /// A port on one address.
    PortAt {
        protocol: Text,
        port: u16,
        address: Text,
    },
}

/// One amount for each dimension.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Amounts(Box<[i64]>);

/// What is asked for: dimensions and amounts, where there is something.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Demand(Box<[(usize, i64)]>);

/// More than anybody can ask for, for what nobody says how much there is of.
const PLENTY: i64 = i64::MAX / 4;
/// How many addresses a node may have.
const ADDRESSES: i64 = 1 << 20;
const ALL_ADDRESSES: &str = "0.0.0.0";

impl Dimensions {
    pub(super) fn of<'a>(asked: impl IntoIterator<Item = (&'a PodShape, &'a VolumeNeeds)>) -> Self {
        let mut all = BTreeSet::new();
        for (shape, needs) in asked {
            let resources = shape.requests.iter().filter(|(_, amount)| *amount > 0);
            all.extend(resources.map(|(name, _)| Dimension::Resource(name.clone())));
            all.extend(needs.attached.keys().chain(&needs.shared).map(Dimension::volumes));
            all.extend(needs.shared.iter().map(|driver| Dimension::Shared { driver: driver.clone() }));
            all.extend(shape.host_ports.iter().flat_map(|port| Dimension::ports(port).map(|(each, _)| each)));
        }
        Self(all.into_iter().collect())
    }

    /// The resources among the dimensions, with their numbers.
    pub(super) fn resources(&self) -> impl Iterator<Item = (usize, &ResourceName)> {
        self.0.iter().enumerate().filter_map(|(number, dimension)| match dimension {
            Dimension::Resource(name) | Dimension::Volumes { resource: name, .. } => Some((number, name)),
            Dimension::Shared { .. } | Dimension::Port { .. } | Dimension::PortAt { .. } => None,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it matters how many volumes are attached where.
    pub(super) fn count_volumes(&self) -> bool {
        self.0.iter().any(|dimension| matches!(dimension, Dimension::Volumes { .. }))
    }

    /// What every node has of something that no node says how much it has of.
    pub(super) fn bare(&self, dimension: usize) -> i64 {
        match self.0.get(dimension) {
            Some(Dimension::Port { .. }) => ADDRESSES,
            Some(Dimension::PortAt { .. }) => 1,
            Some(Dimension::Resource(_) | Dimension::Volumes { .. } | Dimension::Shared { .. }) | None => {
                PLENTY
            }
        }
    }

    /// What a node has to be used, which may be overdrawn. What its drivers say of volumes counts before what it says
    /// itself.
    pub(super) fn supply(&self, resources: &Resources, limits: Option<&AttachLimits>) -> Amounts {
        self.supply_where(resources, limits, |said, named| said.or(named))
    }

    /// What a machine that is not there yet will have. What its provider says of volumes counts before what is known of
    /// others like it.
    pub(super) fn promised(&self, resources: &Resources, limits: Option<&AttachLimits>) -> Amounts {
        self.supply_where(resources, limits, |said, named| named.or(said))
    }

    fn supply_where(
        &self,
        resources: &Resources,
        limits: Option<&AttachLimits>,
        choose: impl Fn(Option<i64>, Option<i64>) -> Option<i64>,
    ) -> Amounts {
        let amount = |dimension: &Dimension| match dimension {
            Dimension::Resource(name) => resources.get(name),
            Dimension::Volumes { driver, resource } => {
                let named = Some(resources.get(resource)).filter(|amount| *amount > 0);
                let said = limits.and_then(|limits| limits.get(driver)).map(|limit| i64::from(*limit));
                choose(said, named).unwrap_or(PLENTY)
            }
            Dimension::Shared { .. } => PLENTY,
            Dimension::Port { .. } => ADDRESSES,
            Dimension::PortAt { .. } => 1,
        };
        Amounts(self.0.iter().map(amount).collect())
    }

    /// Takes away the volumes that are attached to a node, and keeps a place for each of those that several pods share.
    /// Where there is none the pods that share them cannot be there.
    pub(super) fn attach(&self, free: &mut Amounts, attached: &Attached, shared: &Attached) {
        let mut crowded = BTreeSet::new();
        for (dimension, free) in self.0.iter().zip(&mut free.0) {
            match dimension {
                Dimension::Volumes { driver, .. } => {
                    let none = BTreeSet::new();
                    let both =
                        attached.get(driver).unwrap_or(&none).union(shared.get(driver).unwrap_or(&none));
                    *free = free.saturating_sub(i64::try_from(both.count()).unwrap_or(i64::MAX));
                    crowded.extend((*free < 0).then_some(driver));
                }
                Dimension::Shared { driver } if crowded.contains(driver) => *free = 0,
                _ => {}
            }
        }
    }

    /// What a pod asks for. A negative request would make room out of nothing, so it counts as none.
    pub(super) fn demand(&self, shape: &PodShape, needs: &VolumeNeeds) -> Demand {
        let asked = self.0.iter().enumerate().map(|(number, dimension)| {
            let amount = match dimension {
                Dimension::Resource(name) => shape.requests.get(name).max(0),
                Dimension::Volumes { driver, .. } => needs.attached.get(driver).copied().unwrap_or(0),
                Dimension::Shared { driver } => i64::from(needs.shared.contains(driver)),
                Dimension::Port { .. } | Dimension::PortAt { .. } => {
                    let ports = shape.host_ports.iter().flat_map(Dimension::ports);
                    let here = ports.filter(|(each, _)| each == dimension).map(|(_, amount)| amount);
                    // A pod that names a port twice takes it once.
                    here.max().unwrap_or(0)
                }
            };
            (number, amount)
        });
        Demand(asked.filter(|(_, amount)| *amount > 0).collect())
    }
}

impl Dimension {
    fn volumes(driver: &Text) -> Self {
        Self::Volumes { driver: driver.clone(), resource: attach_resource(driver) }
    }

    /// What a port takes: for all addresses, all there are; for one, that one and one of all.
    fn ports(port: &HostPort) -> impl Iterator<Item = (Self, i64)> {
        let HostPort { protocol, address, port } = port.clone();
        let of_all = Self::Port { protocol: protocol.clone(), port };
        let one = (&*address != ALL_ADDRESSES).then_some((Self::PortAt { protocol, port, address }, 1));
        let share = if one.is_some() { 1 } else { ADDRESSES };
        std::iter::once((of_all, share)).chain(one)
    }
}

impl Demand {
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, i64)> {
        self.0.iter().copied()
    }

    /// What is asked for in one dimension.
    pub(super) fn get(&self, dimension: usize) -> i64 {
        self.iter().find(|(number, _)| *number == dimension).map_or(0, |(_, amount)| amount)
    }
}

impl Amounts {
    pub(super) fn iter(&self) -> impl Iterator<Item = i64> {
        self.0.iter().copied()
    }

    pub(super) fn get(&self, dimension: usize) -> i64 {
        self.0.get(dimension).copied().unwrap_or(0)
    }

    pub(super) fn covers(&self, demand: &Demand) -> bool {
        demand.iter().all(|(dimension, wanted)| wanted <= self.get(dimension))
    }

    /// How many times the demand fits, up to a number.
    pub(super) fn times(&self, demand: &Demand, at_most: usize) -> usize {
        demand.iter().fold(at_most, |times, (dimension, wanted)| {
            times.min(usize::try_from(self.get(dimension).max(0) / wanted).unwrap_or(usize::MAX))
        })
    }

    /// Takes the demand away so many times.
    pub(super) fn take(&mut self, demand: &Demand, times: usize) {
        let times = i64::try_from(times).unwrap_or(i64::MAX);
        for (dimension, wanted) in demand.iter() {
            if let Some(there) = self.0.get_mut(dimension) {
                *there = there.saturating_sub(wanted.saturating_mul(times));
            }
        }
    }

    /// Gives the demand back so many times.
    pub(super) fn give(&mut self, demand: &Demand, times: usize) {
        let times = i64::try_from(times).unwrap_or(i64::MAX);
        for (dimension, wanted) in demand.iter() {
            if let Some(there) = self.0.get_mut(dimension) {
                *there = there.saturating_add(wanted.saturating_mul(times));
            }
        }
    }

    /// Whether no amount is less than the other's.
    pub(super) fn exceeds(&self, other: &Self) -> bool {
        self.iter().zip(other.iter()).all(|(own, other)| own >= other)
    }

    /// Lowers each amount to the other's where that is smaller.
    pub(super) fn lower_to(&mut self, other: &Self) {
        for (amount, other) in self.0.iter_mut().zip(other.iter()) {
            *amount = other.min(*amount);
        }
    }

    /// Each amount of the other's, or of this one's where the other has none.
    pub(super) fn overridden_by(&self, other: &Self) -> Self {
        Self(self.iter().zip(other.iter()).map(|(own, other)| if other > 0 { other } else { own }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Dimensions;
    use crate::model::{HostPort, PodShape, Resources};
    use crate::plan::volumes::VolumeNeeds;

    fn asks(requests: impl IntoIterator<Item = (&'static str, i64)>) -> PodShape {
        PodShape { requests: Resources::from_iter(requests), ..PodShape::default() }
    }

    fn listens(address: &str) -> PodShape {
        let port = HostPort { protocol: "TCP".into(), address: address.into(), port: 80 };
        PodShape { host_ports: vec![port], ..PodShape::default() }
    }

    #[test]
    fn a_negative_request_makes_no_room() {
        let (shape, none) = (asks([("cpu", 100), ("memory", -5)]), VolumeNeeds::default());
        let dimensions = Dimensions::of([(&shape, &none)]);
        let mut free = dimensions.supply(&Resources::from_iter([("cpu", 250), ("memory", -9)]), None);
        let demand = dimensions.demand(&shape, &none);
        assert_eq!(free.times(&demand, 9), 2);
        free.take(&demand, 2);
        assert_eq!(free.iter().collect::<Vec<_>>(), [50]);
    }

    #[test]
    fn what_asks_for_nothing_fits_as_often_as_wanted() {
        let (shape, none) = (asks([("cpu", 1)]), VolumeNeeds::default());
        let dimensions = Dimensions::of([(&shape, &none)]);
        let overdrawn = dimensions.supply(&Resources::from_iter([("cpu", -1)]), None);
        assert_eq!(overdrawn.times(&dimensions.demand(&PodShape::default(), &none), 7), 7);
    }

    #[test]
    fn a_port_is_there_once_for_each_address_and_once_for_all_of_them() {
        let (all, one, other) = (listens("0.0.0.0"), listens("10.0.0.1"), listens("10.0.0.2"));
        let none = VolumeNeeds::default();
        let dimensions = Dimensions::of([(&all, &none), (&one, &none), (&other, &none)]);
        let demand = |shape| dimensions.demand(shape, &none);
        let free = dimensions.supply(&Resources::new(), None);
        let after = |shape| {
            let mut free = free.clone();
            free.take(&demand(shape), 1);
            free
        };
        assert_eq!(free.times(&demand(&all), 9), 1);
        assert!(!after(&all).covers(&demand(&one)) && !after(&one).covers(&demand(&all)));
        assert!(!after(&one).covers(&demand(&one)) && after(&one).covers(&demand(&other)));
    }
}

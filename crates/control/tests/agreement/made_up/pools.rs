//! Pools and what they offer.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::model::{
    Effect, InstanceType, Labels, Offering, Operator, Pool, Requirement, Requirements, Resources, Taint,
    well_known,
};
use windlass_core::{Price, Text};

use super::{ATTACHABLE, MadeUp, OURS};

impl MadeUp {
    pub(super) fn add_pool(&mut self, number: usize) {
        let zones = self.random.usize(1..=3);
        let types = (0..self.random.usize(2..=5)).map(|kind| self.instance_type(number, kind, zones));
        let instance_types = Arc::new(types.collect());
        let tier = if number == 0 { "front" } else { "back" };
        let pool = Pool {
            name: format!("{}-pool{number}", self.id).into(),
            provider: "none".into(),
            weight: i32::from(self.random.u8(0..=1)) * 10,
            requirements: self.requirements(),
            labels: Labels::new().with(OURS, &self.id).with("tier", tier),
            taints: self.taints(number),
            startup_taints: self.startup_taints(),
            min_values: self.min_values(),
            limits: if self.once_in(5) { Resources::from_iter([("cpu", 40_000)]) } else { Resources::new() },
            max_nodes: self.once_in(5).then_some(6),
            instance_types,
            ..Pool::default()
        };
        self.pools.push(pool);
    }

    /// Demands on the machines, and a label that the pool defines by asking for it.
    fn requirements(&mut self) -> Requirements {
        let mut requirements = Requirements::new();
        let mut demand = |key: &str, operator, values: &[&str]| {
            let (key, values) = (Text::from(key), values.iter().map(|value| Text::from(*value)));
            let requirement = Requirement::new(&key, operator, &values.collect::<Vec<_>>()).unwrap();
            requirements.add(&key, requirement);
        };
        match self.random.u8(0..10) {
            0 => demand("cores", Operator::Gte, &["4"]),
            1 => demand("cores", Operator::Lte, &["8"]),
            2 => demand(well_known::CAPACITY_TYPE, Operator::In, &["on-demand", "reserved"]),
            3 | 4 => demand("lane", Operator::In, &["fast", "slow"]),
            _ => {}
        }
        requirements
    }

    fn taints(&mut self, number: usize) -> Vec<Taint> {
        match number {
            2 => vec![Taint::new("dedicated", "batch", Effect::NoSchedule)],
            _ if self.once_in(5) => vec![Taint::new("busy", "", Effect::PreferNoSchedule)],
            _ => Vec::new(),
        }
    }

    fn startup_taints(&mut self) -> Vec<Taint> {
        let effect = self.one_of(&[Effect::NoSchedule, Effect::NoExecute]);
        if self.once_in(4) { vec![Taint::new("example.com/starting", "", effect)] } else { Vec::new() }
    }

    fn min_values(&mut self) -> BTreeMap<Text, u32> {
        let key = self.one_of(&[well_known::INSTANCE_TYPE, well_known::CAPACITY_TYPE, well_known::ZONE]);
        if self.once_in(6) { BTreeMap::from([(key.into(), 2)]) } else { BTreeMap::new() }
    }

    fn instance_type(&mut self, pool: usize, kind: usize, zones: usize) -> InstanceType {
        let cores = self.one_of(&[2_i64, 4, 8, 16]);
        let gib = cores * self.one_of(&[2, 4, 8]);
        let mut resources = Resources::from_iter([
            (Resources::CPU, cores * 1000 - 100),
            (Resources::MEMORY, gib << 30),
            (Resources::PODS, self.random.i64(8..=40)),
        ]);
        if self.once_in(4) {
            resources.set("example.com/gpu", self.random.i64(1..=4));
        }
        if self.once_in(3) {
            resources.set(ATTACHABLE, self.random.i64(2..=6));
        }
        let arch = if self.once_in(4) { "arm64" } else { "amd64" };
        let labels = Labels::new()
            .with(well_known::ARCH, arch)
            .with(well_known::OS, "linux")
            .with("cores", &cores.to_string())
            .with(&self.rack_key(), &format!("r{}", self.random.u8(0..3)));
        let price = cores * 40_000 + gib * 5_000 + self.random.i64(0..20_000);
        InstanceType {
            name: format!("{}-{pool}-{kind}", self.id).into(),
            capacity: resources.clone(),
            allocatable: resources,
            labels,
            offerings: self.offerings(price, zones),
        }
    }

    /// On demand in every zone, and in some also otherwise: the last machines of a reservation, or a few on the spot market.
    fn offerings(&mut self, price: i64, zones: usize) -> Vec<Offering> {
        let mut offerings = Vec::new();
        let ways: &[(&str, i64)] = match self.random.u8(0..4) {
            0 => &[("on-demand", 100), ("spot", 40)],
            1 => &[("on-demand", 100), ("reserved", 0)],
            2 => &[("on-demand", 100), ("spot", 50), ("reserved", 10)],
            _ => &[("on-demand", 100)],
        };
        for zone in 0..zones {
            for (capacity_type, percent) in ways {
                let few = *capacity_type == "reserved" || self.once_in(6);
                offerings.push(Offering {
                    zone: self.zone(zone).into(),
                    capacity_type: (*capacity_type).into(),
                    price: Price::from_micros(price * percent / 100 + self.random.i64(0..100)),
                    available: few.then(|| self.random.u32(0..=3)),
                    avoid_until: None,
                    draws: None,
                });
            }
        }
        offerings
    }
}

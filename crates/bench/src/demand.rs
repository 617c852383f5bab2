//! Pods to place.

use std::path::Path;

use anyhow::Result;
use windlass_core::model::{
    AffinityTerm, Labels, Namespaces, PodShape, Requirements, Resources, Selector, SpreadConstraint,
    well_known,
};

use crate::catalogue::read;
use crate::cluster::NAMESPACE;
use crate::dice::Dice;

/// The resource by which GPUs are asked for.
pub(crate) const GPU: &str = "nvidia.com/gpu";

/// What a pod asks for, and its labels.
pub type Demand = (PodShape, Labels);

/// The sizes of Karpenter's scheduling benchmark; one pod of so many wants a node without others of its kind.
pub fn karpenter_sizes(count: usize, apart: Option<usize>) -> Vec<Demand> {
    let mut dice = Dice(42);
    let pod = |number: usize| {
        let pod = karpenter_size(&mut dice);
        if apart.is_some_and(|apart| number.is_multiple_of(apart)) { away_from_its_kind(pod) } else { pod }
    };
    (0..count).map(pod).collect()
}

/// The pods of Karpenter's scheduling benchmark: a fifth each that want nothing, that are spread over zones, that are
/// spread over nodes, that follow each other to a zone, and that avoid each other on nodes.
pub fn karpenter_mix(count: usize) -> Vec<Demand> {
    let mut dice = Dice(42);
    let values = ["a", "b", "c", "d", "e", "f", "g"];
    let fifth = count / 5;
    let pod = |number: usize| {
        let (value, other) = (dice.pick(&values), dice.pick(&values));
        let (mut shape, mut labels) = karpenter_size(&mut dice);
        let kind = if fifth == 0 || number >= 5 * fifth { 0 } else { number / fifth };
        match kind {
            1 => shape.spread.push(spread(well_known::ZONE, &labelled("my-label", other))),
            2 => shape.spread.push(spread(well_known::HOSTNAME, &labelled("my-label", other))),
            3 => shape.pod_affinity.push(near(well_known::ZONE, &labelled("my-affinity", value))),
            4 => return away_from_its_kind((shape, labels)),
            _ => {}
        }
        labels.set(if kind == 3 { "my-affinity" } else { "my-label" }, value);
        (shape, labels)
    };
    (0..count).map(pod).collect()
}

fn karpenter_size(dice: &mut Dice) -> Demand {
    let cpu = dice.pick(&[100, 250, 500, 1000, 1500]);
    (asking(cpu, dice.pick(&[100, 256, 512, 1024, 2048, 4096]), 0), Labels::new())
}

fn away_from_its_kind((mut shape, labels): Demand) -> Demand {
    let labels = labels.with("app", "nginx");
    shape.pod_anti_affinity.push(near(well_known::HOSTNAME, &labels));
    (shape, labels)
}

/// Services of few sizes, small ones more often than large ones.
pub fn microservices(count: usize) -> Vec<Demand> {
    let mut dice = Dice(7);
    let cores = [50, 100, 100, 250, 250, 250, 500, 500, 500, 1000, 1000, 2000, 2000, 4000];
    let ratios = [512, 1024, 2048, 2048, 4096, 4096, 8192];
    let pod = |_| {
        let cpu: i64 = dice.pick(&cores);
        (asking(cpu, (cpu * dice.pick(&ratios) / 1000).max(64), 0), Labels::new())
    };
    (0..count).map(pod).collect()
}

/// Sizes of all kinds, rounded as people and recommenders do: the finer the grain, the more of them.
pub fn continuous(count: usize, grain: f64) -> Vec<Demand> {
    let mut dice = Dice(99);
    let pod = |_| {
        let cpu = 50.0 * 80.0_f64.powf(dice.roll());
        let memory = cpu * 0.5 * 16.0_f64.powf(dice.roll());
        #[allow(clippy::cast_possible_truncation, reason = "small numbers")]
        let coarse = |value: f64| {
            let step = 2.0_f64.powf(value.log2().floor()) / grain;
            ((value / step).round() * step) as i64
        };
        (asking(coarse(cpu), coarse(memory).max(32), 0), Labels::new())
    };
    (0..count).map(pod).collect()
}

/// The pods of a production cluster with GPUs.
pub fn openb(data: &Path) -> Result<Vec<Demand>> {
    let text = read(data, "openb_pod_list_default.csv")?;
    let pod = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells.get(at)?.parse::<i64>().ok();
        Some((asking(number(1)?, number(2)?, number(3)?), Labels::new()))
    };
    Ok(text.lines().skip(1).filter_map(pod).collect())
}

/// Services of which no two are alike: each of its own size, and spread over zones, apart on nodes, or near another.
pub fn services(count: usize, replicas: usize) -> Vec<Demand> {
    let mut dice = Dice(5);
    let service = |number: usize| {
        let own = labelled("app", &format!("service-{number}"));
        let cpu = dice.pick(&[50, 100, 200, 300, 500, 800, 1200, 2000, 3100]);
        let mut shape = asking(cpu, 64 + 7 * i64::try_from(number).unwrap_or(0), 0);
        match number % 4 {
            0 => shape.spread.push(spread(well_known::ZONE, &own)),
            1 => shape.pod_anti_affinity.push(near(well_known::HOSTNAME, &own)),
            2 => shape.pod_affinity.push(near(well_known::ZONE, &own)),
            _ => shape.spread.extend([spread(well_known::ZONE, &own), spread(well_known::HOSTNAME, &own)]),
        }
        (shape, own)
    };
    let services: Vec<Demand> = (0..count).map(service).collect();
    services.into_iter().flat_map(|demand| vec![demand; replicas]).collect()
}

/// A pod that asks for thousandths of a core, MiB and GPUs.
pub fn asking(milli: i64, mib: i64, gpus: i64) -> PodShape {
    let requests = Resources::from_iter([("cpu", milli), ("memory", mib << 20), ("pods", 1)]);
    let requests = if gpus > 0 { requests.with(GPU, gpus) } else { requests };
    PodShape { requests, ..PodShape::default() }
}

fn labelled(key: &str, value: &str) -> Labels {
    Labels::new().with(key, value)
}

fn those(labels: &Labels) -> Selector {
    Selector::Matching(Requirements::from_labels(labels))
}

fn spread(key: &str, over: &Labels) -> SpreadConstraint {
    SpreadConstraint {
        topology_key: key.into(),
        max_skew: 1,
        min_domains: None,
        required: true,
        selector: those(over),
        honors_node_affinity: true,
        honors_taints: false,
    }
}

fn near(key: &str, to: &Labels) -> AffinityTerm {
    let namespaces = Namespaces::only(NAMESPACE.into());
    AffinityTerm { topology_key: key.into(), selector: those(to), namespaces }
}

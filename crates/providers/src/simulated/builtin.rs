//! The built-in catalogues: made-up machines in the proportions and price relations that clouds have.

use windlass_core::Price;
use windlass_core::model::{InstanceType, Offering, Resources};

use crate::stated::{DEFAULT_PODS, less, plain_labels};

/// The label by which a pool picks a family.
const FAMILY: &str = "windlass.dev/family";
const GIB: i64 = 1 << 30;
const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];
const CORES: [i64; 7] = [2, 4, 8, 16, 32, 48, 64];
const MICROS_PER_CORE: i64 = 24_000;
const MICROS_PER_GIB: i64 = 3_000;
const MICROS_PER_GPU: i64 = 900_000;
const SPOT_PERCENT: i64 = 35;

/// Machines with 2 (`c`), 4 (`m`) and 8 (`r`) GiB of memory per core.
pub(super) fn general() -> Vec<InstanceType> {
    let families = [("c", 2), ("m", 4), ("r", 8)];
    let sizes = |(family, memory): (&'static str, i64)| {
        CORES.map(move |cores| machine(format!("{family}-{cores}"), cores, memory * cores, 0))
    };
    families.into_iter().flat_map(sizes).collect()
}

/// The same and machines with GPUs (`g`).
pub(super) fn gpu() -> Vec<InstanceType> {
    let with_gpus = [1, 2, 4, 8].map(|gpus| machine(format!("g-{gpus}"), 8 * gpus, 64 * gpus, gpus));
    general().into_iter().chain(with_gpus).collect()
}

fn machine(name: String, cores: i64, gib: i64, gpus: i64) -> InstanceType {
    let mut capacity = Resources::new()
        .with(Resources::CPU, cores * 1000)
        .with(Resources::MEMORY, gib * GIB)
        .with("ephemeral-storage", 100 * GIB)
        .with(Resources::PODS, DEFAULT_PODS);
    if gpus > 0 {
        capacity.set("nvidia.com/gpu", gpus);
    }
    // The system and the kubelet take a fixed part and a little more on larger machines.
    let overhead = Resources::new()
        .with(Resources::CPU, 60 + 5 * cores)
        .with(Resources::MEMORY, GIB / 2 + gib * GIB / 64)
        .with("ephemeral-storage", 10 * GIB);
    let price = cores * MICROS_PER_CORE + gib * MICROS_PER_GIB + gpus * MICROS_PER_GPU;
    let offering = |zone: &str, capacity_type: &str, price: i64| Offering {
        zone: zone.into(),
        capacity_type: capacity_type.into(),
        price: Price::from_micros(price),
        available: None,
        avoid_until: None,
        draws: None,
    };
    let in_zone =
        |zone| [offering(zone, "on-demand", price), offering(zone, "spot", price * SPOT_PERCENT / 100)];
    let family = name.split('-').next().unwrap_or_default();
    InstanceType {
        labels: plain_labels().with(FAMILY, family),
        name: name.into(),
        allocatable: less(&capacity, &overhead),
        capacity,
        offerings: ZONES.into_iter().flat_map(in_zone).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{general, gpu};

    #[test]
    fn the_general_catalogue_has_three_families_in_three_zones() {
        let types = general();
        assert_eq!(types.len(), 21);
        let m8 = types.iter().find(|found| &*found.name == "m-8").unwrap();
        assert_eq!(m8.capacity.to_string(), "cpu 8, ephemeral-storage 100Gi, memory 32Gi, pods 110");
        assert_eq!(m8.allocatable.to_string(), "cpu 7900m, ephemeral-storage 90Gi, memory 31Gi, pods 110");
        let prices: BTreeSet<String> =
            m8.offerings.iter().map(|offering| offering.price.to_string()).collect();
        assert_eq!(prices, BTreeSet::from(["0.288".to_owned(), "0.1008".to_owned()]));
        assert_eq!(m8.offerings.len(), 6);
    }

    #[test]
    fn the_gpu_catalogue_adds_machines_with_gpus() {
        let types = gpu();
        let gpus: Vec<i64> =
            types.iter().map(|found| found.capacity.get("nvidia.com/gpu")).filter(|n| *n > 0).collect();
        assert_eq!(gpus, [1, 2, 4, 8]);
        let names: BTreeSet<_> = types.iter().map(|found| &found.name).collect();
        assert_eq!(names.len(), types.len());
    }
}

//! Machines to choose from.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use windlass_core::model::{InstanceType, Labels, Offering, Resources, well_known};
use windlass_core::{Price, Text};

use crate::dice::Dice;

/// An EC2 type, and what it is chosen by.
#[derive(Clone, Debug)]
pub struct Ec2Type {
    family: String,
    category: String,
    cores: i64,
    gpus: i64,
    machine: InstanceType,
}

/// The EC2 types for amd64 that are no bare metal.
pub fn ec2(data: &Path) -> Result<Vec<Ec2Type>> {
    let json: Value = serde_json::from_str(&read(data, "aws_instance_types.json")?)?;
    let types = json["types"].as_array().context("aws_instance_types.json has no list `types`")?;
    Ok(types.iter().filter_map(ec2_type).collect())
}

fn ec2_type(of: &Value) -> Option<Ec2Type> {
    let text = |key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str| of[key].as_i64().unwrap_or(0);
    if text("arch") != "amd64" || of["bare_metal"].as_bool() == Some(true) {
        return None;
    }
    let price = micros(of["price_usd_hour"].as_f64()?);
    let room = room(number("alloc_cpu_milli"), number("alloc_memory_mib"), number("max_pods"), number("gpu"));
    Some(Ec2Type {
        family: text("family"),
        category: text("category"),
        cores: number("vcpu"),
        gpus: number("gpu"),
        machine: machine(&text("name"), room, vec![offering("zone-a", "on-demand", price)]),
    })
}

/// Those of compute, general and memory families with at most so many cores.
pub fn general(types: &[Ec2Type], most_cores: i64) -> Vec<InstanceType> {
    those(types, |kind| is_general(kind) && kind.cores <= most_cores)
}

/// Those of the seventh generation.
pub fn seventh(types: &[Ec2Type]) -> Vec<InstanceType> {
    those(types, |kind| ["c7i", "m7i", "r7i"].contains(&kind.family.as_str()))
}

/// Those with GPUs.
pub fn with_gpus(types: &[Ec2Type]) -> Vec<InstanceType> {
    those(types, has_gpus)
}

/// Those with GPUs and the general ones.
pub fn mixed(types: &[Ec2Type]) -> Vec<InstanceType> {
    those(types, |kind| is_general(kind) || has_gpus(kind))
}

fn is_general(kind: &Ec2Type) -> bool {
    kind.gpus == 0 && ["c", "m", "r"].contains(&kind.category.as_str())
}

fn has_gpus(kind: &Ec2Type) -> bool {
    kind.gpus > 0 && ["g", "p"].contains(&kind.category.as_str())
}

fn those(types: &[Ec2Type], keep: impl Fn(&Ec2Type) -> bool) -> Vec<InstanceType> {
    types.iter().filter(|kind| keep(kind)).map(|kind| kind.machine.clone()).collect()
}

/// The types of Karpenter's KWOK provider.
pub fn kwok(data: &Path) -> Result<Vec<InstanceType>> {
    let text = read(data, "karpenter_kwok_linux_amd64.csv")?;
    let kind = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells.get(at)?.parse::<i64>().ok();
        let price = micros(cells.get(5)?.parse().ok()?);
        let room = room(number(1)?, number(2)?, number(3)?, number(4)?);
        Some(machine(cells.first()?, room, vec![offering("zone-a", "on-demand", price)]))
    };
    Ok(text.lines().skip(1).filter_map(kind).collect())
}

/// The 400 types of Karpenter's scheduling benchmark: spot in two zones and on demand in three, all for the same price.
pub fn fake() -> Vec<InstanceType> {
    let kind = |size: i64| {
        let memory = 2 * size * 1024;
        let price = Price::from_micros(100_000 * size + (memory << 20) / 10_000);
        let spot = ["test-zone-1", "test-zone-2"].map(|zone| offering(zone, "spot", price));
        let on_demand =
            ["test-zone-1", "test-zone-2", "test-zone-3"].map(|zone| offering(zone, "on-demand", price));
        let offerings = spot.into_iter().chain(on_demand).collect();
        machine(
            &format!("fake-it-{}", size - 1),
            room(size * 1000 - 100, memory - 10, 10 * size, 0),
            offerings,
        )
    };
    (1..=400).map(kind).collect()
}

/// Those of these types that have as many cores as machines on offer mostly do.
pub fn usual_sizes() -> Vec<InstanceType> {
    let usual: BTreeSet<usize> = [2, 4, 8, 16, 32, 64].into();
    fake()
        .into_iter()
        .enumerate()
        .filter(|(number, _)| usual.contains(&(number + 1)))
        .map(|(_, kind)| kind)
        .collect()
}

/// The same machines in five zones, where each costs a little more or less.
pub fn in_five_zones(types: &[InstanceType], available: Option<u32>) -> Vec<InstanceType> {
    let mut dice = Dice(1);
    let mut spread = |kind: &InstanceType| {
        let price = kind.offerings.first().map_or(Price::ZERO, |offering| offering.price);
        let offerings = (1..=5).map(|zone| {
            let price = Price::from_micros(price.micros() * dice.pick(&[95, 97, 100, 104]) / 100);
            Offering { available, ..offering(&format!("zone-{zone}"), "on-demand", price) }
        });
        InstanceType { offerings: offerings.collect(), ..kind.clone() }
    };
    types.iter().map(&mut spread).collect()
}

/// The same machines, of which so many can be had.
pub fn scarce(types: &[InstanceType], available: u32) -> Vec<InstanceType> {
    let mut types = types.to_vec();
    for offering in types.iter_mut().flat_map(|kind| &mut kind.offerings) {
        offering.available = Some(available);
    }
    types
}

fn machine(name: &str, room: Resources, offerings: Vec<Offering>) -> InstanceType {
    let labels = Labels::new().with(well_known::ARCH, "amd64").with(well_known::OS, "linux");
    InstanceType { name: name.into(), capacity: room.clone(), allocatable: room, labels, offerings }
}

/// Thousandths of a core, MiB, places for pods and GPUs.
fn room(milli: i64, mib: i64, pods: i64, gpus: i64) -> Resources {
    let room = Resources::from_iter([("cpu", milli), ("memory", mib << 20), ("pods", pods)]);
    if gpus > 0 { room.with(crate::demand::GPU, gpus) } else { room }
}

fn offering(zone: &str, capacity_type: &str, price: Price) -> Offering {
    let (zone, capacity_type): (Text, Text) = (zone.into(), capacity_type.into());
    Offering { zone, capacity_type, price, available: None, avoid_until: None, draws: None }
}

fn micros(dollars: f64) -> Price {
    #[allow(clippy::cast_possible_truncation, reason = "prices are small")]
    let micros = (dollars * 1e6).round() as i64;
    Price::from_micros(micros)
}

/// A file of the data folder.
pub(crate) fn read(data: &Path, name: &str) -> Result<String> {
    let path = data.join(name);
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

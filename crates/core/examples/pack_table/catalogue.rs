//! Machines to choose from.

use std::path::Path;

use serde_json::Value;
use windlass_core::pack::Offer;

/// A machine of a catalogue.
#[derive(Clone, Debug)]
pub struct Machine {
    pub family: String,
    pub category: String,
    pub amd64: bool,
    pub metal: bool,
    pub cores: i64,
    pub gpus: i64,
    pub offer: Offer,
}

/// The EC2 types.
pub fn aws(data: &Path) -> Vec<Machine> {
    let text = std::fs::read_to_string(data.join("aws_instance_types.json")).unwrap_or_default();
    let json: Value = serde_json::from_str(&text).unwrap_or_default();
    let types = json["types"].as_array().cloned().unwrap_or_default();
    types.iter().filter_map(machine).collect()
}

fn machine(of: &Value) -> Option<Machine> {
    let text = |key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str| of[key].as_i64().unwrap_or(0);
    let price = micros(of["price_usd_hour"].as_f64()?);
    let capacity =
        vec![number("alloc_cpu_milli"), number("alloc_memory_mib") << 20, number("max_pods"), number("gpu")];
    Some(Machine {
        family: text("family"),
        category: text("category"),
        amd64: text("arch") == "amd64",
        metal: of["bare_metal"].as_bool().unwrap_or(false),
        cores: number("vcpu"),
        gpus: number("gpu"),
        offer: Offer { capacity, price, ..Offer::default() },
    })
}

/// The types of Karpenter's KWOK provider.
pub fn kwok(data: &Path) -> Vec<Offer> {
    let text = std::fs::read_to_string(data.join("karpenter_kwok_linux_amd64.csv")).unwrap_or_default();
    let offer = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells.get(at)?.parse::<i64>().ok();
        let price = micros(cells.get(5)?.parse().ok()?);
        let capacity = vec![number(1)?, number(2)? << 20, number(3)?, number(4)?];
        Some(Offer { capacity, price, ..Offer::default() })
    };
    text.lines().skip(1).filter_map(offer).collect()
}

/// The types of Karpenter's scheduling benchmark.
pub fn fake() -> Vec<Offer> {
    let offer = |size: i64| {
        let memory = (2 * size) << 30;
        let price = 100_000 * size + memory / 10_000;
        Offer {
            capacity: vec![size * 1000 - 100, memory - (10 << 20), 10 * size, 0],
            price: price.unsigned_abs(),
            ..Offer::default()
        }
    };
    (1..=400).map(offer).collect()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "prices are small and positive")]
fn micros(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}

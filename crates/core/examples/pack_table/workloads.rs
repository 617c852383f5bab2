//! Pods to pack.

use std::collections::BTreeMap;
use std::path::Path;

use windlass_core::pack::{Class, Offer, OfferSet, Problem};

use crate::catalogue::{Machine, aws, fake, kwok};

/// What is packed, and what it is called.
pub struct Workload {
    pub name: String,
    pub problem: Problem,
}

/// What one pod asks for: cpu in thousandths, memory in MiB, GPUs, and whether no other such pod may be on its node.
type Pod = (i64, i64, i64, bool);

/// A generator of numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        #[allow(clippy::cast_precision_loss, reason = "any number will do")]
        let number = (self.0 >> 11) as f64;
        number / 9_007_199_254_740_992.0
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "few"
    )]
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.roll() * of.len() as f64) as usize]
    }
}

/// All workloads.
pub fn workloads(data: &Path) -> Vec<Workload> {
    let aws = aws(data);
    let plain = |machine: &&Machine| machine.amd64 && !machine.metal;
    let offers = |keep: &dyn Fn(&Machine) -> bool| -> Vec<Offer> {
        aws.iter()
            .filter(plain)
            .filter(|machine| keep(machine))
            .map(|machine| machine.offer.clone())
            .collect()
    };
    let general =
        |machine: &Machine| machine.gpus == 0 && ["c", "m", "r"].contains(&machine.category.as_str());
    let cmr = offers(&general);
    let small = offers(&|machine| general(machine) && machine.cores <= 16);
    let seventh = offers(&|machine| ["c7i", "m7i", "r7i"].contains(&machine.family.as_str()));
    let with_gpus = offers(&|machine| machine.gpus > 0 && ["g", "p"].contains(&machine.category.as_str()));
    let mixed = offers(&|machine| {
        general(machine) || machine.gpus > 0 && ["g", "p"].contains(&machine.category.as_str())
    });
    let (kwok, fake) = (kwok(data), fake());
    let openb = openb(data);
    let gpu_pods: Vec<Pod> = openb.iter().copied().filter(|pod| pod.2 > 0).collect();
    let mut all = Vec::new();
    let mut add = |name: &str, pods: &[Pod], offers: &[Offer]| {
        all.push(Workload { name: name.to_owned(), problem: problem(pods, offers) });
    };
    for count in [1_000, 5_000, 10_000] {
        add(&format!("karpenter mix, c/m/r, {count}"), &karpenter(count, 0), &cmr);
        add(&format!("karpenter mix, <=16 vCPU, {count}"), &karpenter(count, 0), &small);
        add(&format!("karpenter mix, kwok, {count}"), &karpenter(count, 0), &kwok);
        add(&format!("karpenter mix, 400 fake types, {count}"), &karpenter(count, 0), &fake);
        add(&format!("mix + 20 % anti-affinity, <=16 vCPU, {count}"), &karpenter(count, 5), &small);
        add(&format!("microservices, <=16 vCPU, {count}"), &microservices(count), &small);
        add(&format!("microservices, c7i/m7i/r7i, {count}"), &microservices(count), &seventh);
        add(&format!("continuous, <=16 vCPU, {count}"), &continuous(count, 4.0), &small);
        add(&format!("continuous, c/m/r, {count}"), &continuous(count, 4.0), &cmr);
    }
    add("openb GPU pods, g/p", &gpu_pods, &with_gpus);
    let some: Vec<Pod> = gpu_pods.iter().copied().step_by(7).collect();
    add("openb GPU pods, g/p, 1 of 7", &some, &with_gpus);
    add("openb all pods, untainted", &openb, &mixed);
    add("karpenter mix, c/m/r, 51,000", &karpenter(51_000, 0), &cmr);
    add("one class, c/m/r, 51,000", &vec![(500, 1024, 0, false); 51_000], &cmr);
    add("fine sizes, <=16 vCPU, 10,000", &continuous(10_000, 6.5), &small);
    add("very fine sizes, <=16 vCPU, 10,000", &continuous(10_000, 13.0), &small);
    let zones: Vec<Offer> = (1..=5).flat_map(|zone| with_prices(&cmr, zone)).collect();
    add("karpenter mix, five times c/m/r, 10,000", &karpenter(10_000, 0), &zones);
    add("fine sizes, five times c/m/r, 10,000", &continuous(10_000, 6.5), &zones);
    let scarce: Vec<Offer> =
        zones.iter().map(|offer| Offer { available: Some(2), ..offer.clone() }).collect();
    add("karpenter mix, two of each, 10,000", &karpenter(10_000, 0), &scarce);
    let scarce: Vec<Offer> =
        small.iter().map(|offer| Offer { available: Some(3), ..offer.clone() }).collect();
    add("karpenter mix, <=16 vCPU, three of each, 10,000", &karpenter(10_000, 0), &scarce);
    add("karpenter mix, c/m/r, 100", &karpenter(100, 0), &cmr);
    all
}

/// The same machines where each costs a little more or less.
fn with_prices(offers: &[Offer], seed: u64) -> Vec<Offer> {
    let mut dice = Dice(seed);
    let change =
        |offer: &Offer| Offer { price: offer.price * dice.pick(&[95, 97, 100, 104]) / 100, ..offer.clone() };
    offers.iter().map(change).collect()
}

/// The sizes of Karpenter's scheduling benchmark; one pod of so many wants a node without others of its kind.
fn karpenter(count: usize, apart: usize) -> Vec<Pod> {
    let mut dice = Dice(42);
    let pod = |number: usize| {
        let cpu = dice.pick(&[100, 250, 500, 1000, 1500]);
        let memory = dice.pick(&[100, 256, 512, 1024, 2048, 4096]);
        (cpu, memory, 0, apart > 0 && number.is_multiple_of(apart))
    };
    (0..count).map(pod).collect()
}

/// Services of few sizes, small ones more often than large ones.
fn microservices(count: usize) -> Vec<Pod> {
    let mut dice = Dice(7);
    let cores = [50, 100, 100, 250, 250, 250, 500, 500, 500, 1000, 1000, 2000, 2000, 4000];
    let ratios = [512, 1024, 2048, 2048, 4096, 4096, 8192];
    let pod = |_| {
        let cpu: i64 = dice.pick(&cores);
        (cpu, (cpu * dice.pick(&ratios) / 1000).max(64), 0, false)
    };
    (0..count).map(pod).collect()
}

/// Sizes of all kinds, rounded as people and recommenders do.
#[allow(clippy::cast_possible_truncation, reason = "small numbers")]
fn continuous(count: usize, grain: f64) -> Vec<Pod> {
    let mut dice = Dice(99);
    let pod = |_| {
        let cpu = 50.0 * 80.0_f64.powf(dice.roll());
        let memory = cpu * 0.5 * 16.0_f64.powf(dice.roll());
        let coarse = |value: f64| {
            let step = 2.0_f64.powf(value.log2().floor()) / grain;
            ((value / step).round() * step) as i64
        };
        (coarse(cpu), coarse(memory).max(32), 0, false)
    };
    (0..count).map(pod).collect()
}

/// The pods of a production cluster.
fn openb(data: &Path) -> Vec<Pod> {
    let text = std::fs::read_to_string(data.join("openb_pod_list_default.csv")).unwrap_or_default();
    let pod = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells.get(at)?.parse::<i64>().ok();
        Some((number(1)?, number(2)?, number(3)?, false))
    };
    text.lines().skip(1).filter_map(pod).collect()
}

fn problem(pods: &[Pod], offers: &[Offer]) -> Problem {
    let mut classes: BTreeMap<Pod, u32> = BTreeMap::new();
    for pod in pods {
        *classes.entry(*pod).or_default() += 1;
    }
    let class = |((cpu, memory, gpus, apart), count): (Pod, u32)| Class {
        count,
        request: vec![cpu, memory << 20, 1, gpus],
        slots: if apart { vec![(0, 1)] } else { Vec::new() },
        offers: OfferSet::first(offers.len()),
    };
    Problem {
        classes: classes.into_iter().map(class).collect(),
        offers: offers.to_vec(),
        pools: Vec::new(),
        slots: vec![1],
    }
}

//! How large machines may be, read from the specification.

use windlass_api::{ApiQuantity, ProxmoxProvider, ProxmoxShape};
use windlass_core::model::{Draw, InstanceType, Labels, Offering, OfferingKey, Resources, well_known};
use windlass_core::{Price, Quantity, Text};

use crate::ProviderError;
use crate::names::{is_label_value, is_qualified_name};

/// How many pods a node takes.
const PODS: i64 = 110;
const MIB: i64 = 1 << 20;
/// What is less is no machine.
const LEAST_MIB: i64 = 256;
const CAPACITY_TYPE: &str = windlass_api::labels::ON_DEMAND;

/// A size of machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub name: Text,
    pub cpu: u32,
    pub memory_mib: i64,
    pub price: Price,
    pub capacity: Resources,
    pub allocatable: Resources,
    /// What a machine of this size takes of its host.
    pub takes: Resources,
}

/// All sizes, and what they have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shapes {
    pub shapes: Vec<Shape>,
    labels: Labels,
}

impl Shapes {
    /// Reads them, or says what is wrong with them.
    pub fn read(spec: &ProxmoxProvider) -> Result<Self, ProviderError> {
        Self::checked(spec)
            .map_err(|message| ProviderError::InvalidConfiguration { message: format!("proxmox: {message}") })
    }

    fn checked(spec: &ProxmoxProvider) -> Result<Self, String> {
        if let Some(flaw) = spec.flaw() {
            return Err(flaw);
        }
        let overhead = bytes("memoryOverhead", &spec.memory_overhead)?;
        let reserved = amounts("reserved", &spec.reserved)?;
        let price =
            |of: &str, text: &str| text.parse::<Price>().map_err(|error| format!("prices.{of}: {error}"));
        let prices = (price("cpu", &spec.prices.cpu.0)?, price("memoryGib", &spec.prices.memory_gib.0)?);
        let mut shapes: Vec<Shape> = Vec::new();
        for ProxmoxShape { cpu, memory } in wanted(spec) {
            let memory_mib = bytes("shapes: memory", &memory)? / MIB;
            if cpu == 0 || memory_mib < LEAST_MIB {
                return Err(format!(
                    "shapes: {cpu} cores and {memory}: a machine has a core and {LEAST_MIB}Mi at least"
                ));
            }
            let capacity = Resources::new()
                .with(Resources::CPU, i64::from(cpu) * 1000)
                .with(Resources::MEMORY, memory_mib * MIB)
                .with(Resources::PODS, PODS);
            let allocatable: Resources = capacity
                .iter()
                .map(|(name, amount)| (&**name, (amount - reserved.get(name)).max(0)))
                .collect();
            if allocatable.get(Resources::MEMORY) == 0 || allocatable.get(Resources::CPU) == 0 {
                return Err(format!("shapes: of {cpu} cores and {memory} nothing is left beside reserved"));
            }
            let takes = Resources::new()
                .with(Resources::CPU, capacity.get(Resources::CPU))
                .with(Resources::MEMORY, capacity.get(Resources::MEMORY).saturating_add(overhead));
            let micros = i128::from(prices.0.micros()) * i128::from(cpu)
                + i128::from(prices.1.micros()) * i128::from(memory_mib) / 1024;
            let price = Price::from_micros(i64::try_from(micros).unwrap_or(i64::MAX));
            let name = name(cpu, memory_mib);
            if !shapes.iter().any(|shape| shape.name == name) {
                shapes.push(Shape { name, cpu, memory_mib, price, capacity, allocatable, takes });
            }
        }
        Ok(Self { shapes, labels: labels(spec)? })
    }

    /// The size of this name.
    pub fn get(&self, name: &str) -> Option<&Shape> {
        self.shapes.iter().find(|shape| *shape.name == *name)
    }

    /// A size as an instance type, with how many machines of it its hosts can hold, and what those have left for all sizes.
    pub fn instance_type(
        &self,
        shape: &Shape,
        hosts: impl Iterator<Item = (Text, Option<(u32, Resources)>)>,
    ) -> InstanceType {
        let offering = |(host, room): (Text, Option<(u32, Resources)>)| {
            let (available, left) = room.unzip();
            Offering {
                capacity_type: CAPACITY_TYPE.into(),
                price: shape.price,
                available,
                avoid_until: None,
                draws: left.map(|left| Draw { from: host.clone(), left, takes: shape.takes.clone() }),
                zone: host,
            }
        };
        InstanceType {
            name: shape.name.clone(),
            capacity: shape.capacity.clone(),
            allocatable: shape.allocatable.clone(),
            labels: self.labels.clone(),
            offerings: hosts.map(offering).collect(),
        }
    }

    /// The labels of a node of this offering.
    pub fn labels_of(&self, key: &OfferingKey) -> Labels {
        self.labels
            .clone()
            .with(well_known::INSTANCE_TYPE, &key.instance_type)
            .with(well_known::ZONE, &key.zone)
            .with(well_known::CAPACITY_TYPE, &key.capacity_type)
    }
}

fn wanted(spec: &ProxmoxProvider) -> Vec<ProxmoxShape> {
    let grid = spec.shapes.cpus.iter().flat_map(|cpu| {
        let memory = spec.shapes.memory.iter();
        memory.map(|memory| ProxmoxShape { cpu: *cpu, memory: memory.clone() })
    });
    grid.chain(spec.shapes.list.iter().cloned()).collect()
}

fn name(cpu: u32, memory_mib: i64) -> Text {
    if memory_mib % 1024 == 0 {
        format!("{cpu}cpu-{}gi", memory_mib / 1024).into()
    } else {
        format!("{cpu}cpu-{memory_mib}mi").into()
    }
}

fn bytes(field: &str, amount: &ApiQuantity) -> Result<i64, String> {
    let quantity: Quantity = amount.as_str().parse().map_err(|error| format!("{field}: {error}"))?;
    if quantity.units() < 0 {
        return Err(format!("{field}: {amount}: it cannot be negative"));
    }
    Ok(quantity.units())
}

/// Amounts of resources that somebody keeps.
pub(super) fn amounts<'a>(
    field: &str,
    given: impl IntoIterator<Item = (&'a String, &'a ApiQuantity)>,
) -> Result<Resources, String> {
    let list = given.into_iter().map(|(name, amount)| (name.as_str(), amount.as_str()));
    let amounts = Resources::parse(list).map_err(|(name, error)| format!("{field}: {name}: {error}"))?;
    if let Some((name, _)) = amounts.iter().find(|(_, amount)| *amount < 0) {
        return Err(format!("{field}: {name}: it cannot be negative"));
    }
    Ok(amounts)
}

fn labels(spec: &ProxmoxProvider) -> Result<Labels, String> {
    let mut labels = Labels::new().with(well_known::ARCH, "amd64").with(well_known::OS, "linux");
    for (key, value) in &spec.labels {
        if !is_qualified_name(key) || !is_label_value(value) {
            return Err(format!("labels: {key}: {value:?} is not a label that Kubernetes takes"));
        }
        labels.set(key.as_str(), value.as_str());
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Shapes;

    fn read(shapes: Value) -> Result<Shapes, String> {
        let spec = json!({
            "endpoints": [{"url": "https://pve1:8006"}],
            "credentialsSecretRef": {"name": "proxmox"},
            "vmids": {"first": 5000, "last": 5999},
            "clone": {"template": "debian"},
            "shapes": shapes,
        });
        Shapes::read(&serde_json::from_value(spec).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_grid_has_each_size_of_both_and_a_price_that_grows_with_them() {
        let shapes = read(json!({"cpus": [2, 4], "memory": ["4Gi", "8Gi"]})).unwrap();
        let shown: Vec<String> =
            shapes.shapes.iter().map(|each| format!("{} {}", each.name, each.price)).collect();
        assert_eq!(shown, ["2cpu-4gi 0.05", "2cpu-8gi 0.06", "4cpu-4gi 0.09", "4cpu-8gi 0.10"]);
        let first = &shapes.shapes[0];
        assert_eq!(first.allocatable.to_string(), "cpu 2, memory 3584Mi, pods 110");
        assert_eq!(first.takes.to_string(), "cpu 2, memory 4352Mi");
    }

    #[test]
    fn a_size_without_room_for_pods_is_refused() {
        assert!(
            read(json!({"list": [{"cpu": 1, "memory": "512Mi"}]})).unwrap_err().contains("nothing is left")
        );
        assert!(read(json!({"list": [{"cpu": 1, "memory": "1"}]})).unwrap_err().contains("at least"));
        assert!(read(json!({"list": [{"cpu": 1, "memory": "-4Gi"}]})).unwrap_err().contains("negative"));
        assert_eq!(
            read(json!({"list": [{"cpu": 1, "memory": "1536Mi"}]})).unwrap().shapes[0].name,
            "1cpu-1536mi".into()
        );
    }
}

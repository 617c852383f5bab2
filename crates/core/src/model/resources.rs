use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Quantity, QuantityError, Text};

/// The name of a resource, such as `cpu` or `nvidia.com/gpu`.
pub type ResourceName = Text;

/// Amounts of resources as whole numbers: cpu in thousandths of a core, everything else in its own unit (bytes of
/// memory, pods, GPUs). A resource that is not named is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Resources(BTreeMap<ResourceName, i64>);

impl Resources {
    /// Thousandths of a core.
    pub const CPU: &'static str = "cpu";
    /// Bytes.
    pub const MEMORY: &'static str = "memory";
    /// Places for pods.
    pub const PODS: &'static str = "pods";

    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a Kubernetes resource list; the error names the resource.
    pub fn parse<'a>(
        list: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, (ResourceName, QuantityError)> {
        let mut resources = Self::new();
        for (name, text) in list {
            let quantity: Quantity = text.parse().map_err(|error| (name.into(), error))?;
            resources.set(name, if name == Self::CPU { quantity.milli() } else { quantity.units() });
        }
        Ok(resources)
    }

    /// The amount of a resource.
    pub fn get(&self, name: &str) -> i64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Sets the amount of a resource.
    pub fn set(&mut self, name: &str, amount: i64) {
        match self.0.get_mut(name) {
            Some(existing) => *existing = amount,
            None => {
                self.0.insert(name.into(), amount);
            }
        }
    }

    /// The same with one amount set.
    #[must_use]
    pub fn with(mut self, name: &str, amount: i64) -> Self {
        self.set(name, amount);
        self
    }

    /// Names and amounts in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&ResourceName, i64)> {
        self.0.iter().map(|(name, amount)| (name, *amount))
    }

    /// Adds each amount.
    pub fn add(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            let sum = self.get(name).saturating_add(amount);
            self.set(name, sum);
        }
    }

    /// Subtracts each amount; what is left may be negative.
    pub fn subtract(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            let rest = self.get(name).saturating_sub(amount);
            self.set(name, rest);
        }
    }

    /// So many times each amount. What is negative counts as nothing.
    #[must_use]
    pub fn times_over(&self, times: i64) -> Self {
        self.iter().map(|(name, each)| (&**name, each.max(0).saturating_mul(times))).collect()
    }

    /// Raises each amount to the other's where that is larger.
    pub fn raise_to(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            if amount > self.get(name) {
                self.set(name, amount);
            }
        }
    }

    /// Lowers each amount to the other's where that is smaller; what the other does not name is zero.
    pub fn lower_to(&mut self, other: &Self) {
        for (name, amount) in &mut self.0 {
            *amount = other.get(name).min(*amount);
        }
    }

    /// How many times something is there that takes so much each time; none if it takes nothing.
    pub fn times(&self, takes: &Self) -> Option<u64> {
        let taken = takes.iter().filter(|(_, each)| *each > 0);
        taken.map(|(name, each)| u64::try_from(self.get(name).max(0) / each).unwrap_or(0)).min()
    }

    /// Whether every amount asked for is there. What is not asked for does not matter, even where it is overdrawn.
    pub fn covers(&self, request: &Self) -> bool {
        self.lacking(request).is_none()
    }

    /// The first resource of which there is less than asked for, with what is there and what is asked.
    pub fn lacking(&self, request: &Self) -> Option<(ResourceName, i64, i64)> {
        request.iter().find_map(|(name, wanted)| {
            let there = self.get(name);
            (wanted > 0 && wanted > there).then(|| (name.clone(), there, wanted))
        })
    }

    /// Whether nothing is named or all is zero.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(|amount| *amount == 0)
    }

    /// An amount as Kubernetes writes it: `1500m`, `64Gi`, `3`.
    pub fn show(name: &str, amount: i64) -> String {
        if name == Self::CPU {
            return if amount % 1000 == 0 { (amount / 1000).to_string() } else { format!("{amount}m") };
        }
        let in_bytes =
            matches!(name, Self::MEMORY | "ephemeral-storage" | "storage") || name.starts_with("hugepages-");
        if in_bytes && amount != 0 {
            for (unit, bits) in [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)] {
                if amount % (1_i64 << bits) == 0 {
                    return format!("{}{unit}", amount >> bits);
                }
            }
        }
        amount.to_string()
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (name, amount)) in self.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}{name} {}", Self::show(name, amount))?;
        }
        Ok(())
    }
}

impl<'a> FromIterator<(&'a str, i64)> for Resources {
    fn from_iter<I: IntoIterator<Item = (&'a str, i64)>>(amounts: I) -> Self {
        Self(amounts.into_iter().map(|(name, amount)| (name.into(), amount)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Resources;

    #[test]
    fn cpu_counts_in_thousandths_and_the_rest_in_units() {
        let resources =
            Resources::parse([("cpu", "1.5"), ("memory", "2Gi"), ("nvidia.com/gpu", "2")]).unwrap();
        assert_eq!(resources.get("cpu"), 1500);
        assert_eq!(resources.get("memory"), 2 << 30);
        assert_eq!(resources.to_string(), "cpu 1500m, memory 2Gi, nvidia.com/gpu 2");
    }

    #[test]
    fn a_bad_amount_is_named_with_its_resource() {
        let (name, _) = Resources::parse([("cpu", "1"), ("memory", "lots")]).unwrap_err();
        assert_eq!(&*name, "memory");
    }

    #[test]
    fn an_overdrawn_resource_does_not_matter_to_whoever_asks_for_none_of_it() {
        let free = Resources::from_iter([("cpu", 100), ("memory", -5)]);
        assert!(free.covers(&Resources::from_iter([("cpu", 100)])));
        assert!(free.covers(&Resources::from_iter([("cpu", 100), ("memory", 0)])));
        assert!(!free.covers(&Resources::from_iter([("memory", 1)])));
    }
}

//! How much each host has left for machines.

use windlass_api::ProxmoxProvider;
use windlass_core::Quantity;
use windlass_core::model::Resources;

use super::cluster::{Cluster, Guest, HostState};
use super::shapes::amounts;
use crate::ProviderError;

/// What of a host is not for machines, and what its cores count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room {
    reserved: Resources,
    memory_overhead: i64,
    /// How many thousandths of a core there may be for each that the host has.
    milli_per_core: i64,
}

impl Room {
    pub fn read(spec: &ProxmoxProvider) -> Result<Self, ProviderError> {
        let invalid =
            |message: String| ProviderError::InvalidConfiguration { message: format!("proxmox: {message}") };
        let quantity = |field: &str, text: &str| {
            text.parse::<Quantity>().map_err(|error| invalid(format!("{field}: {error}")))
        };
        let milli_per_core = quantity("cpuOvercommit", spec.cpu_overcommit.as_str())?.milli();
        if milli_per_core < 1000 {
            return Err(invalid(format!("cpuOvercommit: {} is less than 1", spec.cpu_overcommit)));
        }
        Ok(Self {
            reserved: amounts("hostReserved", &spec.host_reserved).map_err(invalid)?,
            memory_overhead: quantity("memoryOverhead", spec.memory_overhead.as_str())?.units(),
            milli_per_core,
        })
    }

    /// What each host has left: of its cores and memory, what is not reserved, not given to a guest that runs or is ours, and
    /// not `asked` for by launches that are under way. What guests are given counts, and not what they use just now. A shape
    /// takes of it what its field `takes` says.
    pub fn left(
        &self,
        host: &str,
        cluster: &Cluster,
        is_ours: impl Fn(&Guest) -> bool,
        asked: impl IntoIterator<Item = Resources>,
    ) -> Resources {
        let Some(host) = cluster.hosts.iter().find(|each| *each.name == *host) else {
            return Resources::new();
        };
        if host.state != HostState::Online {
            return Resources::new();
        }
        let mut left = Resources::new()
            .with(Resources::CPU, host.cores.saturating_mul(self.milli_per_core))
            .with(Resources::MEMORY, host.memory);
        left.subtract(&self.reserved);
        for guest in cluster.guests.iter().filter(|guest| guest.host == host.name) {
            if !guest.is_template && (guest.is_running || is_ours(guest)) {
                let taken = Resources::new()
                    .with(Resources::CPU, guest.cores.saturating_mul(1000))
                    .with(Resources::MEMORY, guest.memory.saturating_add(self.memory_overhead));
                left.subtract(&taken);
            }
        }
        for taken in asked {
            left.subtract(&taken);
        }
        left.iter()
            .filter(|(name, _)| matches!(&***name, Resources::CPU | Resources::MEMORY))
            .map(|(name, amount)| (&**name, amount.max(0)))
            .collect()
    }
}

/// How many machines that take so much find room in what is left.
pub(super) fn how_many(left: &Resources, takes: &Resources) -> u32 {
    let each =
        takes.iter().filter(|(_, amount)| *amount > 0).map(|(name, amount)| left.get(name).max(0) / amount);
    each.min().and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::model::Resources;

    use super::{Room, how_many};
    use crate::proxmox::cluster::Cluster;

    const GIB: i64 = 1 << 30;

    #[test]
    fn what_guests_are_given_counts_if_they_run_or_are_ours() {
        let room = Room {
            reserved: Resources::new().with("memory", 2 * GIB),
            memory_overhead: 0,
            milli_per_core: 1500,
        };
        let guest = |vmid: u32, status: &str, template: u8| {
            json!({"type": "qemu", "node": "pve1", "vmid": vmid, "status": status, "template": template,
                "maxcpu": 2, "maxmem": 4 * GIB, "tags": "windlass"})
        };
        let cluster = Cluster::read(&[
            json!({"type": "node", "node": "pve1", "status": "online", "maxcpu": 8, "maxmem": 32 * GIB}),
            json!({"type": "node", "node": "pve2", "status": "offline"}),
            guest(100, "running", 0),
            guest(101, "stopped", 0),
            guest(102, "stopped", 0),
            guest(103, "stopped", 1),
        ]);
        let asked = [Resources::new().with("cpu", 1000).with("memory", GIB)];
        let left = room.left("pve1", &cluster, |guest| guest.vmid == 101, asked);
        assert_eq!(left.to_string(), "cpu 7, memory 21Gi");
        assert_eq!(how_many(&left, &Resources::new().with("cpu", 2000).with("memory", 4 * GIB)), 3);
        for host in ["pve2", "pve3"] {
            assert!(room.left(host, &cluster, |_| true, []).is_empty(), "{host}");
        }
    }

    #[test]
    fn nothing_fits_where_less_than_nothing_is_left() {
        let left = Resources::new().with("cpu", -1).with("memory", GIB);
        assert_eq!(how_many(&left, &Resources::new().with("cpu", 1000)), 0);
    }
}

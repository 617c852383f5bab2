//! The cluster as one call shows it: hosts, guests and storage.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_core::Text;

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cluster {
    pub hosts: Vec<HostSeen>,
    pub guests: Vec<Guest>,
    /// The names of storages that all their hosts see the same of.
    pub shared_storage: BTreeSet<String>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostSeen {
    pub name: Text,
    pub state: HostState,
    pub cores: i64,
    pub memory: i64,
}

/// How a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostState {
    Online,
    /// It does not answer the others. What runs on it is not gone for that.
    Offline,
    /// It is there, and the token may not see how large it is.
    Hidden,
}

/// A virtual machine or a container, ours or not. What is said of it may be seconds old, but for its id, its host and its
/// tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guest {
    pub vmid: u32,
    pub host: Text,
    /// None while nothing is known of it but that it is there.
    pub name: Option<String>,
    pub tags: Vec<String>,
    pub is_running: bool,
    pub is_template: bool,
    pub is_container: bool,
    pub lock: Option<String>,
    pub cores: i64,
    pub memory: i64,
}

impl Cluster {
    /// Reads what the cluster lists. What is not understood is of no use here.
    pub fn read(entries: &[Value]) -> Self {
        let mut cluster = Self::default();
        for entry in entries {
            match text(entry, "type").as_deref() {
                Some("node") => cluster.hosts.extend(host(entry)),
                Some(kind @ ("qemu" | "lxc")) => cluster.guests.extend(guest(entry, kind == "lxc")),
                Some("storage") if number(entry, "shared") == Some(1) => {
                    cluster.shared_storage.extend(text(entry, "storage"));
                }
                _ => {}
            }
        }
        cluster.hosts.sort_by(|a, b| a.name.cmp(&b.name));
        cluster
    }

    pub fn host(&self, name: &str) -> Option<&HostSeen> {
        self.hosts.iter().find(|host| *host.name == *name)
    }

    pub fn guest(&self, vmid: u32) -> Option<&Guest> {
        self.guests.iter().find(|guest| guest.vmid == vmid)
    }
}

fn host(entry: &Value) -> Option<HostSeen> {
    let (cores, memory) = (number(entry, "maxcpu"), number(entry, "maxmem"));
    let state = match text(entry, "status").as_deref() {
        Some("online") if cores.is_none() || memory.is_none() => HostState::Hidden,
        Some("online") => HostState::Online,
        _ => HostState::Offline,
    };
    Some(HostSeen {
        name: text(entry, "node")?.into(),
        state,
        cores: cores.unwrap_or(0),
        memory: memory.unwrap_or(0),
    })
}

fn guest(entry: &Value, is_container: bool) -> Option<Guest> {
    Some(Guest {
        vmid: u32::try_from(number(entry, "vmid")?).ok()?,
        host: text(entry, "node")?.into(),
        name: text(entry, "name"),
        tags: tags(&text(entry, "tags").unwrap_or_default()),
        is_running: text(entry, "status").as_deref() == Some("running"),
        is_template: number(entry, "template") == Some(1),
        is_container,
        lock: text(entry, "lock"),
        cores: number(entry, "maxcpu").unwrap_or(0),
        memory: number(entry, "maxmem").unwrap_or(0),
    })
}

/// The tags in a list of them, which may be separated in several ways.
pub(super) fn tags(list: &str) -> Vec<String> {
    list.split([';', ',', ' ']).filter(|tag| !tag.is_empty()).map(str::to_ascii_lowercase).collect()
}

/// A text, also where a number is given for one.
pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A whole number, also where it is given as a text, a fraction or a truth.
pub(super) fn number(value: &Value, key: &str) -> Option<i64> {
    match value.get(key)? {
        #[expect(clippy::cast_possible_truncation, reason = "a fraction of a core or a byte is none")]
        Value::Number(number) => number.as_i64().or_else(|| Some(number.as_f64()? as i64)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Bool(truth) => Some(i64::from(*truth)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Cluster, HostState};

    #[test]
    fn numbers_are_read_however_they_are_written_and_nonsense_is_left_out() {
        let cluster = Cluster::read(&[
            json!({"type": "node", "node": "b", "status": "online", "maxcpu": 8, "maxmem": "1024"}),
            json!({"type": "node", "node": "a", "status": "online"}),
            json!({"type": "qemu", "vmid": "100", "node": "b", "status": "unknown", "tags": "A;b c", "maxcpu": 1.5}),
            json!({"type": "qemu", "vmid": "many", "node": "b"}),
            json!({"type": "storage", "storage": "ceph", "shared": 1}),
            json!({"type": "storage", "storage": "local", "shared": 0}),
            json!("nonsense"),
        ]);
        let states: Vec<_> = cluster.hosts.iter().map(|host| (&*host.name, host.state)).collect();
        assert_eq!(states, [("a", HostState::Hidden), ("b", HostState::Online)]);
        let [guest] = &cluster.guests[..] else { panic!("{cluster:?}") };
        assert_eq!((guest.vmid, guest.cores, guest.is_running, &guest.name), (100, 1, false, &None));
        assert_eq!(guest.tags, ["a", "b", "c"]);
        assert!(cluster.shared_storage.iter().eq(["ceph"]));
    }
}

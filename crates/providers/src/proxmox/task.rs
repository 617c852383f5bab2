//! Tasks, by which Proxmox VE does what takes time.

use std::fmt;

use serde_json::Value;

/// The id of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Upid {
    id: String,
    /// The host that runs it, which is to be asked about it. It may be another than the one that a machine is made on.
    pub host: String,
}

impl Upid {
    /// Reads `UPID:host:pid:pstart:starttime:type:id:user:`.
    pub fn read(answer: &Value) -> Option<Self> {
        let id = answer.as_str()?;
        let mut parts = id.split(':');
        let (kind, host) = (parts.next()?, parts.next()?);
        (kind == "UPID" && !host.is_empty()).then(|| Self { id: id.to_owned(), host: host.to_owned() })
    }

    pub fn as_str(&self) -> &str {
        &self.id
    }
}

impl fmt::Display for Upid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Upid;

    #[test]
    fn a_task_names_its_host() {
        let upid =
            Upid::read(&json!("UPID:pve2:0000C350:001F4A2B:65A1B2C3:qmclone:9000:windlass@pve!nodes:"))
                .unwrap();
        assert_eq!(upid.host, "pve2");
        for other in [json!(null), json!(""), json!("OK"), json!("UPID:")] {
            assert_eq!(Upid::read(&other), None, "{other}");
        }
    }
}

//! The calls to the API, as far as they are needed.

use reqwest::Method;
use serde_json::Value;
use tokio::time::{Duration, Instant, sleep};

use super::cluster::{Cluster, number, tags, text};
use super::connection::{Connection, Sent};
use super::failure::{Failure, FailureKind};
use super::task::Upid;

/// How a task ended that did what it was to do.
const OK: &str = "OK";

#[derive(Debug)]
pub(super) struct Client {
    pub connection: Connection,
    /// How often a task is asked how far it has come.
    pub poll: Duration,
}

/// Parameters of a call.
pub(super) type Parameters = Vec<(String, String)>;

/// What is written down of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Config {
    pub name: String,
    pub tags: Vec<String>,
    pub notes: String,
    pub uuid: Option<String>,
    pub lock: Option<String>,
    pub is_template: bool,
    pub digest: Option<String>,
    pub cores: i64,
    pub memory: i64,
    /// The volumes of its disks and drives.
    pub volumes: Vec<String>,
}

impl Client {
    pub async fn version(&self) -> Result<Option<String>, Failure> {
        let answer = self.get(&["version"], &[], "asking for the version").await?;
        Ok(text(&answer, "version"))
    }

    pub async fn cluster(&self) -> Result<Cluster, Failure> {
        let answer = self.get(&["cluster", "resources"], &[], "listing what the cluster has").await?;
        let entries = answer.as_array().ok_or_else(|| {
            Failure::lost("what the cluster has is not listed as Proxmox VE does".to_owned())
        })?;
        Ok(Cluster::read(entries))
    }

    /// Whether the token has a privilege on one of these paths.
    pub async fn is_allowed(&self, privilege: &str, paths: &[&str]) -> Result<bool, Failure> {
        for path in paths {
            let query = [("path".to_owned(), (*path).to_owned())];
            let answer = self.get(&["access", "permissions"], &query, "asking what the token may do").await?;
            let granted = answer.get(*path).and_then(|privileges| number(privileges, privilege));
            if granted.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub async fn config(&self, host: &str, vmid: u32) -> Result<Config, Failure> {
        let doing = format!("reading VM {vmid} on {host}");
        let answer = self.get(&["nodes", host, "qemu", &vmid.to_string(), "config"], &[], &doing).await?;
        Ok(Config::read(&answer))
    }

    /// Whether a machine runs at this moment.
    pub async fn is_running(&self, host: &str, vmid: u32) -> Result<bool, Failure> {
        let doing = format!("asking whether VM {vmid} on {host} runs");
        let path = ["nodes", host, "qemu", &vmid.to_string(), "status", "current"];
        let answer = self.get(&path, &[], &doing).await?;
        match text(&answer, "status").as_deref() {
            Some("stopped") => Ok(false),
            Some("running") => Ok(true),
            other => Err(Failure::lost(format!(
                "VM {vmid} on {host} is {}",
                other.unwrap_or("in an unknown state")
            ))),
        }
    }

    pub async fn create(&self, host: &str, parameters: &Parameters) -> Result<Upid, Failure> {
        let doing = format!("making a VM on {host}");
        self.begin(Method::POST, &["nodes", host, "qemu"], Sent::Parameters(parameters), &doing).await
    }

    pub async fn clone(&self, host: &str, template: u32, parameters: &Parameters) -> Result<Upid, Failure> {
        let doing = format!("cloning template {template} on {host}");
        let path = ["nodes", host, "qemu", &template.to_string(), "clone"];
        self.begin(Method::POST, &path, Sent::Parameters(parameters), &doing).await
    }

    pub async fn set(&self, host: &str, vmid: u32, parameters: &Parameters) -> Result<(), Failure> {
        let doing = format!("configuring VM {vmid} on {host}");
        let path = ["nodes", host, "qemu", &vmid.to_string(), "config"];
        self.connection.call(Method::PUT, &path, Sent::Parameters(parameters), &doing).await.map(drop)
    }

    pub async fn start(&self, host: &str, vmid: u32) -> Result<Upid, Failure> {
        let path = ["nodes", host, "qemu", &vmid.to_string(), "status", "start"];
        self.begin(Method::POST, &path, Sent::Nothing, &format!("starting VM {vmid} on {host}")).await
    }

    pub async fn stop(&self, host: &str, vmid: u32) -> Result<Upid, Failure> {
        let path = ["nodes", host, "qemu", &vmid.to_string(), "status", "stop"];
        self.begin(Method::POST, &path, Sent::Nothing, &format!("stopping VM {vmid} on {host}")).await
    }

    /// Deletes a machine with all that belongs to it.
    pub async fn delete(&self, host: &str, vmid: u32) -> Result<Upid, Failure> {
        let parameters = ["purge", "destroy-unreferenced-disks"].map(|key| (key.to_owned(), "1".to_owned()));
        let path = ["nodes", host, "qemu", &vmid.to_string()];
        let doing = format!("deleting VM {vmid} on {host}");
        self.begin(Method::DELETE, &path, Sent::Parameters(&parameters), &doing).await
    }

    /// Puts an image of a drive on a storage.
    pub async fn upload(&self, host: &str, storage: &str, file: &str, image: &[u8]) -> Result<Upid, Failure> {
        let boundary = "windlass-69f0c1a2b7d34e58";
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n--{boundary}\r\n\
             Content-Disposition: form-data; name=\"filename\"; filename=\"{file}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        let body = [head.as_bytes(), image, format!("\r\n--{boundary}--\r\n").as_bytes()].concat();
        let content_type = format!("multipart/form-data; boundary={boundary}");
        let path = ["nodes", host, "storage", storage, "upload"];
        let doing = format!("putting a drive on storage {storage} of {host}");
        self.begin(Method::POST, &path, Sent::Body(&content_type, &body), &doing).await
    }

    /// The volumes of drives on a storage.
    pub async fn drives(&self, host: &str, storage: &str) -> Result<Vec<String>, Failure> {
        let query = [("content".to_owned(), "iso".to_owned())];
        let path = ["nodes", host, "storage", storage, "content"];
        let answer =
            self.get(&path, &query, &format!("listing the drives on storage {storage} of {host}")).await?;
        Ok(answer.as_array().into_iter().flatten().filter_map(|volume| text(volume, "volid")).collect())
    }

    /// Deletes a volume, such as `local:iso/name.iso`. Where that takes time it is a task.
    pub async fn delete_volume(&self, host: &str, volume: &str) -> Result<Option<Upid>, Failure> {
        let storage = volume.split_once(':').map_or(volume, |(storage, _)| storage);
        let path: Vec<&str> =
            ["nodes", host, "storage", storage, "content"].into_iter().chain(volume.split('/')).collect();
        let doing = format!("deleting {volume} on {host}");
        let answer = self.connection.call(Method::DELETE, &path, Sent::Nothing, &doing).await?;
        Ok(Upid::read(&answer))
    }

    /// Waits until a task has ended well.
    pub async fn wait(&self, upid: &Upid, doing: &str, until: Instant) -> Result<(), Failure> {
        let path = ["nodes", &upid.host, "tasks", upid.as_str(), "status"];
        loop {
            let answer = self.get(&path, &[], &format!("asking how far task {upid} is")).await?;
            if text(&answer, "status").as_deref() == Some("stopped") {
                return match text(&answer, "exitstatus").as_deref() {
                    Some(OK) => Ok(()),
                    other => Err(Failure::of_task(other.unwrap_or("without saying how"), doing)),
                };
            }
            if Instant::now() >= until {
                return Err(Failure::under_way(format!("{doing} is under way as task {upid}; ask again")));
            }
            sleep(self.poll).await;
        }
    }

    async fn get(&self, path: &[&str], query: &[(String, String)], doing: &str) -> Result<Value, Failure> {
        self.connection.call(Method::GET, path, Sent::Parameters(query), doing).await
    }

    async fn begin(
        &self,
        method: Method,
        path: &[&str],
        sent: Sent<'_>,
        doing: &str,
    ) -> Result<Upid, Failure> {
        let answer = self.connection.call(method, path, sent, doing).await?;
        Upid::read(&answer).ok_or_else(|| Failure {
            kind: FailureKind::Lost,
            ..Failure::lost(format!("{doing} was answered without a task"))
        })
    }
}

impl Config {
    fn read(answer: &Value) -> Self {
        let field = |key: &str| text(answer, key);
        let smbios = field("smbios1").unwrap_or_default();
        let uuid = smbios.split(',').find_map(|part| part.strip_prefix("uuid="));
        let memory = field("memory").unwrap_or_default();
        let is_drive = |key: &str| {
            let bus = key.trim_end_matches(|c: char| c.is_ascii_digit());
            bus != key && ["scsi", "virtio", "sata", "ide"].contains(&bus)
        };
        let drives = answer.as_object().into_iter().flatten().filter(|(key, _)| is_drive(key));
        let volume = |value: &Value| {
            value.as_str()?.split(',').next().map(|first| first.trim_start_matches("file=").to_owned())
        };
        Self {
            name: field("name").unwrap_or_default(),
            tags: tags(&field("tags").unwrap_or_default()),
            notes: field("description").unwrap_or_default(),
            uuid: uuid.map(str::to_ascii_lowercase),
            lock: field("lock"),
            is_template: number(answer, "template") == Some(1),
            digest: field("digest"),
            cores: number(answer, "cores")
                .unwrap_or(1)
                .saturating_mul(number(answer, "sockets").unwrap_or(1)),
            memory: memory
                .trim_start_matches("current=")
                .parse::<i64>()
                .unwrap_or(512)
                .saturating_mul(1 << 20),
            volumes: drives
                .filter_map(|(_, value)| volume(value))
                .filter(|volume| volume.contains(':'))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Config;

    #[test]
    fn a_configuration_is_read_as_proxmox_writes_it() {
        let config = Config::read(&json!({
            "name": "web", "tags": "windlass;a", "smbios1": "serial=x,uuid=ABC", "cores": 4, "memory": "2048",
            "scsi0": "fast:vm-1-disk-0,size=8G", "ide2": "none,media=cdrom", "scsihw": "virtio-scsi-pci", "digest": "d",
        }));
        assert_eq!((config.uuid.as_deref(), config.cores, config.memory), (Some("abc"), 4, 2 << 30));
        assert_eq!(config.volumes, ["fast:vm-1-disk-0"]);
    }
}

//! What each call does, in the words of Proxmox VE.

use serde_json::{Map, Value, json};

use super::schema::Parameters;
use super::world::{Effect, FakeVm, World};

/// An answer: the data, or status and words.
pub(super) type Answer = Result<Value, (u16, String)>;

/// A request as far as it matters.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub token: &'a str,
    pub method: &'a str,
    pub path: Vec<&'a str>,
    pub parameters: &'a Parameters,
    pub file: Option<Vec<u8>>,
}

impl World {
    /// Answers a call.
    pub(super) fn answer(&mut self, call: &Call<'_>) -> Answer {
        let get = |name: &str| call.get(name);
        match (call.method, &call.path[..]) {
            ("GET", ["version"]) => {
                Ok(json!({"version": "9.2.1", "release": "9.2", "repoid": "0123456789abcdef"}))
            }
            ("GET", ["cluster", "resources"]) => Ok(self.resources(call.token)),
            ("GET", ["access", "permissions"]) => {
                Ok(self.permissions(call.token, get("path").unwrap_or("/")))
            }
            (_, ["nodes", host, ..]) if !self.hosts.contains_key(*host) => Err((
                500,
                format!(
                    "hostname lookup '{host}' failed - failed to get address info for: {host}: Name or service not known"
                ),
            )),
            (_, ["nodes", host, ..]) if !self.is_online(host) => Err((595, "No route to host".to_owned())),
            ("GET", ["nodes", host, "tasks", upid, "status"]) => self.task_status(host, upid),
            ("POST", ["nodes", host, "qemu"]) => self.create(call, host),
            (_, ["nodes", host, "qemu", vmid, rest @ ..]) => {
                self.machine(call, host, vmid.parse().unwrap_or(0), rest)
            }
            (_, ["nodes", host, "storage", storage, rest @ ..]) => self.storage(call, host, storage, rest),
            _ => Err((501, format!("Method '{} /{}' not implemented", call.method, call.path.join("/")))),
        }
    }

    fn machine(&mut self, call: &Call<'_>, host: &str, vmid: u32, rest: &[&str]) -> Answer {
        let privilege = match (call.method, rest) {
            ("GET", _) => "VM.Audit",
            ("PUT", ["config"]) => "VM.Config.Options",
            ("POST", ["status", _]) => "VM.PowerMgmt",
            ("POST", ["clone"]) => "VM.Clone",
            _ => "VM.Allocate",
        };
        self.expect(call.token, vmid, privilege)?;
        let Some(vm) = self.vms.get(&vmid).filter(|vm| vm.host == host) else {
            return Err((
                500,
                format!("Configuration file 'nodes/{host}/qemu-server/{vmid}.conf' does not exist"),
            ));
        };
        let locked = vm.config.get("lock").map(|lock| (500, format!("VM is locked ({lock})\n")));
        let timeout =
            || (500, format!("can't lock file '/var/lock/qemu-server/lock-{vmid}.conf' - got timeout\n"));
        match (call.method, rest) {
            ("GET", ["config"]) => Ok(config(vm)),
            ("GET", ["status", "current"]) => {
                Ok(json!({"vmid": vmid, "status": status(vm), "name": vm.config.get("name"), "uptime": 0}))
            }
            ("PUT", ["config"]) => match locked {
                Some(locked) => Err(locked),
                None if self.is_busy(vmid) => Err(timeout()),
                None => self.configure(call, vmid),
            },
            ("POST", ["clone"]) => self.clone_of(call, host, vmid),
            (method, [] | ["status", _]) => {
                let (kind, effect) = match (method, rest) {
                    ("DELETE", []) => ("qmdestroy", Effect::Destroy),
                    (_, ["status", "start"]) => ("qmstart", Effect::Start),
                    (_, ["status", "stop"]) => ("qmstop", Effect::Stop),
                    _ => return Err((501, "Method not implemented".to_owned())),
                };
                if let Some(locked) = locked.filter(|_| kind != "qmdestroy") {
                    return Err(locked);
                }
                let is_busy = self.is_busy(vmid);
                let upid = self.begin(host, kind, vmid, effect);
                if let Some(task) = self.tasks.get_mut(&upid).filter(|_| is_busy) {
                    task.failure = Some(timeout().1);
                }
                Ok(json!(upid))
            }
            _ => Err((501, "Method not implemented".to_owned())),
        }
    }

    fn create(&mut self, call: &Call<'_>, host: &str) -> Answer {
        let vmid: u32 = call.get("vmid").and_then(|id| id.parse().ok()).unwrap_or(0);
        self.expect_new(call, vmid)?;
        for (_, volume) in
            call.parameters.iter().filter(|(key, _)| key.starts_with("scsi") && key != "scsihw")
        {
            let storage = volume.split(':').next().unwrap_or_default();
            if !self.storages.contains_key(storage) {
                return Err((500, format!("storage '{storage}' does not exist\n")));
            }
            self.expect_on(call.token, &format!("/storage/{storage}"), "Datastore.AllocateSpace")?;
        }
        if let Some(other) = self.vms.get(&vmid) {
            // It is said in two ways.
            let words = if vmid.is_multiple_of(2) {
                format!("unable to create VM {vmid} - VM {vmid} already exists on node '{}'\n", other.host)
            } else {
                format!("unable to create VM {vmid}: config file already exists\n")
            };
            return Err((500, words));
        }
        let not_config = ["vmid", "pool", "storage", "start"];
        let mut config: std::collections::BTreeMap<String, String> =
            call.parameters.iter().filter(|(key, _)| !not_config.contains(&&**key)).cloned().collect();
        for (key, value) in &mut config {
            if key.starts_with("scsi") && key != "scsihw" {
                let (storage, size) = value.split_once(':').unwrap_or((value, "8"));
                *value = format!("{storage}:vm-{vmid}-disk-0,size={size}G");
            }
        }
        let made = FakeVm {
            host: host.to_owned(),
            is_running: false,
            config,
            pool: call.get("pool").map(str::to_owned),
        };
        self.reserve(vmid, &made);
        Ok(json!(self.begin(host, "qmcreate", vmid, Effect::Make(made))))
    }

    fn clone_of(&mut self, call: &Call<'_>, host: &str, template: u32) -> Answer {
        let vmid: u32 = call.get("newid").and_then(|id| id.parse().ok()).unwrap_or(0);
        self.expect_new(call, vmid)?;
        let source = self.vms.get(&template).cloned().unwrap_or_default();
        let target = call.get("target").unwrap_or(host).to_owned();
        if target != host && !self.disks_are_shared(&source) {
            return Err((500, format!("Can't clone VM to node '{target}' (VM uses local storage)\n")));
        }
        if call.get("storage").is_some() && call.get("full") != Some("1") {
            return Err((
                400,
                "Parameter verification failed. storage: parameter 'storage' not allowed for linked clones"
                    .to_owned(),
            ));
        }
        if self.vms.contains_key(&vmid) {
            return Err((500, format!("unable to create VM {vmid}: config file already exists\n")));
        }
        let mut config = source.config.clone();
        config.remove("template");
        config.insert("smbios1".to_owned(), format!("uuid=00000000-0000-4000-8000-{:012}", self.counter));
        for (key, parameter) in [("name", "name"), ("description", "description")] {
            if let Some(value) = call.get(parameter) {
                config.insert(key.to_owned(), value.to_owned());
            }
        }
        let made =
            FakeVm { host: target, is_running: false, config, pool: call.get("pool").map(str::to_owned) };
        self.reserve(vmid, &made);
        Ok(json!(self.begin(host, "qmclone", vmid, Effect::Make(made))))
    }

    /// Puts a machine where one is being made: an id that is taken and says nothing of itself.
    fn reserve(&mut self, vmid: u32, made: &FakeVm) {
        let config = [("lock".to_owned(), "create".to_owned())].into();
        let pool = made.pool.clone();
        self.vms.insert(vmid, FakeVm { host: made.host.clone(), is_running: false, config, pool });
    }

    fn disks_are_shared(&self, vm: &FakeVm) -> bool {
        let disks = vm.config.iter().filter(|(key, _)| key.starts_with("scsi") && *key != "scsihw");
        disks
            .filter_map(|(_, volume)| volume.split(':').next())
            .all(|storage| self.storages.get(storage).is_some_and(|storage| storage.is_shared))
    }

    fn configure(&mut self, call: &Call<'_>, vmid: u32) -> Answer {
        let Some(vm) = self.vms.get_mut(&vmid) else { return Ok(Value::Null) };
        if let Some(digest) = call.get("digest")
            && digest != digest_of(vm)
        {
            return Err((
                500,
                "detected modified configuration - file changed by other user? Try again.\n".to_owned(),
            ));
        }
        for (key, value) in call.parameters.iter().filter(|(key, _)| key != "digest") {
            let volume = value.split(',').next().unwrap_or_default();
            if let Some((storage, _)) = volume.split_once(":iso/")
                && !self.storages.get(storage).is_some_and(|storage| storage.volumes.contains_key(volume))
            {
                return Err((500, format!("volume '{volume}' does not exist\n")));
            }
            vm.config.insert(key.clone(), value.clone());
        }
        Ok(Value::Null)
    }

    fn storage(&mut self, call: &Call<'_>, host: &str, storage: &str, rest: &[&str]) -> Answer {
        if !self.storages.contains_key(storage) {
            return Err((500, format!("storage '{storage}' does not exist\n")));
        }
        let path = format!("/storage/{storage}");
        let privilege = if call.method == "GET" { "Datastore.Audit" } else { "Datastore.AllocateTemplate" };
        self.expect_on(call.token, &path, privilege)?;
        match (call.method, rest) {
            ("POST", ["upload"]) => {
                let volume = format!("{storage}:iso/{}", call.get("filename").unwrap_or_default());
                let effect =
                    Effect::Upload(storage.to_owned(), volume, call.file.clone().unwrap_or_default());
                Ok(json!(self.begin(host, "imgcopy", 0, effect)))
            }
            ("GET", ["content"]) => {
                let volumes =
                    self.storages.get(storage).into_iter().flat_map(|storage| storage.volumes.iter());
                Ok(volumes.map(|(id, bytes)| json!({"volid": id, "content": "iso", "format": "iso", "size": bytes.len()})).collect())
            }
            ("DELETE", ["content", volume @ ..]) => {
                let volume = volume.join("/");
                self.storages.get_mut(storage).map(|storage| storage.volumes.remove(&volume));
                Ok(Value::Null)
            }
            _ => Err((501, "Method not implemented".to_owned())),
        }
    }

    fn task_status(&self, host: &str, upid: &str) -> Answer {
        match self.tasks.get(upid).filter(|task| task.host == host) {
            None => Err((500, format!("no such task on node '{host}'\n"))),
            Some(task) => {
                let mut answer = json!({"upid": upid, "node": host, "type": task.kind, "id": task.vmid.to_string(), "status": "running"});
                if let Some(exit) = &task.exit_status {
                    answer["status"] = json!("stopped");
                    answer["exitstatus"] = json!(exit);
                }
                Ok(answer)
            }
        }
    }

    fn resources(&self, token: &str) -> Value {
        let hosts = self.hosts.iter().map(|(name, host)| {
            let mut entry = json!({"type": "node", "id": format!("node/{name}"), "node": name,
                "status": if host.is_online { "online" } else { "offline" }});
            if host.is_online && self.is_granted(token, &format!("/nodes/{name}"), "Sys.Audit") {
                entry["maxcpu"] = json!(host.cores);
                entry["maxmem"] = json!(host.memory_mib << 20);
            }
            entry
        });
        let vms = self.vms.iter().filter(|(vmid, _)| self.expect(token, **vmid, "VM.Audit").is_ok());
        let vms = vms.map(|(vmid, vm)| {
            let mut entry = json!({"type": "qemu", "id": format!("qemu/{vmid}"), "vmid": vmid, "node": vm.host,
                "status": "unknown"});
            for key in ["tags", "lock"] {
                if let Some(value) = vm.config.get(key) {
                    entry[key] = json!(value);
                }
            }
            if self.is_online(&vm.host) && vm.config.contains_key("name") {
                let memory: u64 = vm.config.get("memory").and_then(|memory| memory.parse().ok()).unwrap_or(512);
                let cores: u64 = vm.config.get("cores").and_then(|cores| cores.parse().ok()).unwrap_or(1);
                entry["name"] = json!(vm.config.get("name"));
                entry["status"] = json!(status(vm));
                entry["maxmem"] = json!(memory << 20);
                entry["maxcpu"] = json!(cores);
            }
            entry["template"] = json!(u8::from(vm.config.contains_key("template")));
            entry
        });
        let storages = self.storages.iter().map(|(name, storage)| {
            json!({"type": "storage", "id": format!("storage/{name}"), "storage": name, "shared": u8::from(storage.is_shared)})
        });
        hosts.chain(vms).chain(storages).collect()
    }

    fn permissions(&self, token: &str, path: &str) -> Value {
        let known = ["VM.Audit", "VM.Allocate", "VM.Clone", "VM.PowerMgmt", "VM.Config.Options", "Sys.Audit"];
        let granted = known.iter().filter(|privilege| self.is_granted(token, path, privilege));
        let granted: Map<String, Value> =
            granted.map(|privilege| ((*privilege).to_owned(), json!(1))).collect();
        if granted.is_empty() { json!({}) } else { json!({ path: granted }) }
    }

    fn expect(&self, token: &str, vmid: u32, privilege: &str) -> Result<(), (u16, String)> {
        let in_pool = self.vms.get(&vmid).and_then(|vm| vm.pool.as_ref());
        if in_pool.is_some_and(|pool| self.is_granted(token, &format!("/pool/{pool}"), privilege)) {
            return Ok(());
        }
        self.expect_on(token, &format!("/vms/{vmid}"), privilege)
    }

    fn expect_new(&self, call: &Call<'_>, vmid: u32) -> Result<(), (u16, String)> {
        match call.get("pool") {
            Some(pool) if self.is_granted(call.token, &format!("/pool/{pool}"), "VM.Allocate") => Ok(()),
            _ => self.expect_on(call.token, &format!("/vms/{vmid}"), "VM.Allocate"),
        }
    }

    fn expect_on(&self, token: &str, path: &str, privilege: &str) -> Result<(), (u16, String)> {
        if self.is_granted(token, path, privilege) {
            return Ok(());
        }
        Err((403, format!("Permission check failed ({path}, {privilege})\n")))
    }
}

impl Call<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

fn status(vm: &FakeVm) -> &'static str {
    if vm.is_running { "running" } else { "stopped" }
}

fn config(vm: &FakeVm) -> Value {
    let mut answer: Map<String, Value> = vm
        .config
        .iter()
        .map(|(key, value)| {
            // Whole numbers come as such, but for the memory, which may be more than that.
            let number = if key == "memory" { None } else { value.parse::<i64>().ok() };
            (key.clone(), number.map_or_else(|| json!(value), |number| json!(number)))
        })
        .collect();
    answer.insert("digest".to_owned(), json!(digest_of(vm)));
    Value::Object(answer)
}

fn digest_of(vm: &FakeVm) -> String {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    vm.config.hash(&mut hasher);
    format!("{:040x}", hasher.finish())
}

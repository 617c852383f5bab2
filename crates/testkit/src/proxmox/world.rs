//! What the fake has: hosts, machines, storages and tokens, and the tasks that change them.

use std::collections::BTreeMap;

/// Everything there is. Tests look at it and change it as somebody would by hand.
#[derive(Debug, Default)]
pub struct World {
    /// The hosts, by name.
    pub hosts: BTreeMap<String, FakeHost>,
    /// Machines and templates, by id.
    pub vms: BTreeMap<u32, FakeVm>,
    /// The storages, by name.
    pub storages: BTreeMap<String, FakeStorage>,
    /// The secret and the permissions of each token, by its id.
    pub tokens: BTreeMap<String, FakeToken>,
    /// Requests that Proxmox VE would not have taken, and why.
    pub violations: Vec<String>,
    /// All requests, as `METHOD path`.
    pub requests: Vec<String>,
    /// How many further requests a task takes to end.
    pub task_length: u32,
    /// How the next tasks of a kind such as `qmclone` fail.
    pub failing_tasks: BTreeMap<String, Vec<String>>,
    pub(super) tasks: BTreeMap<String, Task>,
    pub(super) counter: u32,
}

/// A host.
#[derive(Debug, Clone)]
pub struct FakeHost {
    /// Whether it answers.
    pub is_online: bool,
    /// Its cores.
    pub cores: u32,
    /// Its memory in MiB.
    pub memory_mib: u64,
}

/// A virtual machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FakeVm {
    /// The host that it is on.
    pub host: String,
    /// Whether it runs.
    pub is_running: bool,
    /// What is written down of it.
    pub config: BTreeMap<String, String>,
    /// The resource pool that it is in.
    pub pool: Option<String>,
}

/// A storage.
#[derive(Debug, Clone, Default)]
pub struct FakeStorage {
    /// Whether all hosts see the same of it.
    pub is_shared: bool,
    /// What is on it besides the disks of machines, by volume id.
    pub volumes: BTreeMap<String, Vec<u8>>,
}

/// A token.
#[derive(Debug, Clone, Default)]
pub struct FakeToken {
    /// Its secret.
    pub secret: String,
    /// Privileges, by the path from which on they hold.
    pub grants: BTreeMap<String, Vec<String>>,
}

/// Something that takes time.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub host: String,
    pub kind: String,
    pub vmid: u32,
    pub left: u32,
    pub effect: Effect,
    pub exit_status: Option<String>,
    pub failure: Option<String>,
}

/// What a task does.
#[derive(Debug, Clone)]
pub(super) enum Effect {
    Make(FakeVm),
    Start,
    Stop,
    Destroy,
    Upload(String, String, Vec<u8>),
}

impl World {
    /// Begins a task and answers with its id.
    pub(super) fn begin(&mut self, host: &str, kind: &str, vmid: u32, effect: Effect) -> String {
        self.counter += 1;
        let upid =
            format!("UPID:{host}:{:08X}:{:08X}:65A1B2C3:{kind}:{vmid}:windlass@pve!nodes:", self.counter, 77);
        let failure = self.failing_tasks.get_mut(kind).and_then(Vec::pop);
        let task = Task {
            host: host.to_owned(),
            kind: kind.to_owned(),
            vmid,
            left: self.task_length,
            effect,
            exit_status: None,
            failure,
        };
        self.tasks.insert(upid.clone(), task);
        upid
    }

    /// Lets a moment pass.
    pub(super) fn tick(&mut self) {
        let running: Vec<String> = self
            .tasks
            .iter()
            .filter(|(_, task)| task.exit_status.is_none() && self.is_online(&task.host))
            .map(|(upid, _)| upid.clone())
            .collect();
        for upid in running {
            let Some(mut task) = self.tasks.remove(&upid) else { continue };
            if task.left > 0 {
                task.left -= 1;
                self.half(&task);
            } else {
                task.exit_status = Some(self.finish(&task).err().unwrap_or_else(|| "OK".to_owned()));
            }
            self.tasks.insert(upid, task);
        }
    }

    /// What shows of a task before it has ended: a clone has its name and notes, and is locked.
    fn half(&mut self, task: &Task) {
        if let (Effect::Make(made), "qmclone", Some(vm)) =
            (&task.effect, &*task.kind, self.vms.get_mut(&task.vmid))
        {
            vm.config.clone_from(&made.config);
            vm.config.insert("lock".to_owned(), "clone".to_owned());
        }
    }

    fn finish(&mut self, task: &Task) -> Result<(), String> {
        let missing = || {
            format!("Configuration file 'nodes/{}/qemu-server/{}.conf' does not exist", task.host, task.vmid)
        };
        if let Some(failure) = &task.failure {
            if matches!(task.effect, Effect::Make(_)) {
                self.vms.remove(&task.vmid);
            }
            return Err(failure.clone());
        }
        let vmid = task.vmid;
        match &task.effect {
            Effect::Make(made) => _ = self.vms.insert(vmid, made.clone()),
            Effect::Start => self.vms.get_mut(&vmid).ok_or_else(missing)?.is_running = true,
            Effect::Stop => self.vms.get_mut(&vmid).ok_or_else(missing)?.is_running = false,
            Effect::Destroy => {
                let vm = self.vms.get(&vmid).ok_or_else(missing)?;
                if vm.is_running {
                    return Err(format!("VM {vmid} is running - destroy failed"));
                }
                if let Some(lock) = vm.config.get("lock") {
                    return Err(format!("VM is locked ({lock})"));
                }
                self.vms.remove(&vmid);
            }
            Effect::Upload(storage, volume, bytes) => {
                let storage = self.storages.entry(storage.clone()).or_default();
                storage.volumes.insert(volume.clone(), bytes.clone());
            }
        }
        Ok(())
    }

    /// Whether a machine has a task that has not ended.
    pub(super) fn is_busy(&self, vmid: u32) -> bool {
        // Who waits for a lock does not hold it.
        let holds =
            |task: &Task| !task.failure.as_ref().is_some_and(|failure| failure.contains("got timeout"));
        let is = |task: &Task| task.vmid == vmid && task.exit_status.is_none() && holds(task);
        self.tasks.values().any(is)
    }

    pub(super) fn is_online(&self, host: &str) -> bool {
        self.hosts.get(host).is_some_and(|host| host.is_online)
    }

    /// Takes a host away. What it was doing is not finished, and does not go on when it is back.
    pub fn take_offline(&mut self, host: &str) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.is_online = false;
        }
        for task in self.tasks.values_mut().filter(|task| task.host == host && task.exit_status.is_none()) {
            task.exit_status = Some("unexpected status".to_owned());
        }
    }

    /// Brings a host back.
    pub fn bring_online(&mut self, host: &str) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.is_online = true;
        }
    }

    /// Whether a token has a privilege on a path, or on one above it.
    pub(super) fn is_granted(&self, token: &str, path: &str, privilege: &str) -> bool {
        let Some(token) = self.tokens.get(token) else { return false };
        token.grants.iter().any(|(from, privileges)| {
            let above = from == "/"
                || path == from
                || path.strip_prefix(from.as_str()).is_some_and(|rest| rest.starts_with('/'));
            above && privileges.iter().any(|each| each == privilege)
        })
    }
}

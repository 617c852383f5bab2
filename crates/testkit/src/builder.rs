//! How a control plane is set up.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::credentials::Credentials;
use crate::error::PlaneError;
use crate::flags::Flags;
use crate::plane::{ControlPlane, write};
use crate::ports::free_port;
use crate::programs::{Component, Programs};
use crate::ready;
use crate::supervised::Launch;

const AUDIT_POLICY: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n  - level: Metadata\n";

/// The options of a [`ControlPlane`].
#[derive(Debug, Clone)]
pub struct ControlPlaneBuilder {
    kwok: bool,
    node_monitor_grace: Duration,
    audit_log: bool,
}

impl Default for ControlPlaneBuilder {
    fn default() -> Self {
        Self { kwok: true, node_monitor_grace: Duration::from_hours(100), audit_log: false }
    }
}

impl ControlPlaneBuilder {
    /// Whether KWOK plays the kubelets; without it nodes and pods are what the test makes of them.
    #[must_use]
    pub fn kwok(mut self, kwok: bool) -> Self {
        self.kwok = kwok;
        self
    }

    /// How long a node may go without a heartbeat before its readiness is unknown. The default is so long that tests
    /// which stop KWOK, or do without it, keep their nodes.
    #[must_use]
    pub fn node_monitor_grace(mut self, grace: Duration) -> Self {
        self.node_monitor_grace = grace;
        self
    }

    /// Whether the API server writes down who asked for what, see [`ControlPlane::audit_log_path`].
    #[must_use]
    pub fn audit_log(mut self, audit_log: bool) -> Self {
        self.audit_log = audit_log;
        self
    }

    /// Starts the control plane and waits until it takes pods. This blocks the thread while the binary is built, and
    /// for moments afterwards.
    pub async fn start(self) -> Result<ControlPlane, PlaneError> {
        let plane = self.prepare(&Programs::find()?)?;
        plane.launch(Component::Etcd)?;
        plane.launch(Component::ApiServer)?;
        ready::api_server(&plane).await?;
        plane.launch(Component::ControllerManager)?;
        plane.launch(Component::Scheduler)?;
        if self.kwok {
            plane.launch(Component::Kwok)?;
        }
        ready::controllers(&plane).await?;
        Ok(plane)
    }

    fn prepare(&self, programs: &Programs) -> Result<ControlPlane, PlaneError> {
        let folder = tempfile::Builder::new()
            .prefix("windlass-plane-")
            .tempdir()
            .map_err(PlaneError::io("create a temporary folder"))?;
        let path = folder.path();
        let port = || free_port().map_err(PlaneError::io("find a free port on 127.0.0.1"));
        let (etcd_port, api_port) = (port()?, port()?);
        let credentials = Credentials::create(path, api_port)?;

        let logs = path.join("logs");
        fs::create_dir(&logs).map_err(PlaneError::io(format!("create {}", logs.display())))?;
        let kwok_config = path.join("kwok.yaml");
        write(&kwok_config, include_str!("kwok.yaml"))?;
        let audit = self.audit_log.then(|| (path.join("audit-policy.yaml"), logs.join("audit.log")));
        if let Some((policy, _)) = &audit {
            write(policy, AUDIT_POLICY)?;
        }

        let flags = Flags { folder: path, credentials: &credentials, etcd_port, api_port };
        let embedded_etcd = programs.get(Component::Etcd).subcommand.is_some();
        let audit_paths = audit.as_ref().map(|(policy, log)| (policy.as_path(), log.as_path()));
        let lines = [
            (Component::Etcd, flags.etcd(embedded_etcd)),
            (Component::ApiServer, flags.api_server(audit_paths)),
            (Component::Scheduler, flags.scheduler()),
            (Component::ControllerManager, flags.controller_manager(self.node_monitor_grace)),
            (Component::Kwok, flags.kwok(&kwok_config, self.node_monitor_grace)),
        ];
        let launches = lines.map(|(component, args)| (component, launch(programs, component, args, &logs)));

        Ok(ControlPlane {
            launches: BTreeMap::from(launches),
            running: Mutex::default(),
            kubectl: programs.get(Component::Kubectl).clone(),
            audit_log: audit.map(|(_, log)| log),
            keep: AtomicBool::new(env::var_os("WINDLASS_KEEP_LOGS").is_some()),
            credentials,
            folder,
        })
    }
}

fn launch(programs: &Programs, component: Component, flags: Vec<OsString>, logs: &Path) -> Launch {
    let program = programs.get(component);
    Launch {
        program: program.path.clone(),
        args: program.subcommand.map(Into::into).into_iter().chain(flags).collect(),
        // It lives for minutes: collecting garbage less often saves a seventh of its work and costs only memory.
        envs: vec![("GOGC".to_owned(), "400".to_owned())],
        log: logs.join(format!("{}.log", component.name())),
    }
}

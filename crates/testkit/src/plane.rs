//! A Kubernetes control plane of this process's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::{Client, Config};
use tempfile::TempDir;

use crate::builder::ControlPlaneBuilder;
use crate::credentials::{Credentials, User};
use crate::error::PlaneError;
use crate::log::tail;
use crate::programs::{Component, Program};
use crate::ready;
use crate::supervised::{Launch, Supervised};

/// A running control plane: etcd, API server, scheduler, controller manager and, for nodes, KWOK.
///
/// There is no kubelet and no container runtime: nodes annotated `kwok.x-k8s.io/node=fake` become ready by themselves
/// and pods bound to them run. Everything listens on loopback only, lives in a temporary folder, and ends with this
/// value, or with this process however it ends.
///
/// Nothing in it belongs to an async runtime, so tests on different runtimes can share one.
#[derive(Debug)]
pub struct ControlPlane {
    pub(crate) credentials: Credentials,
    pub(crate) launches: BTreeMap<Component, Launch>,
    pub(crate) running: Mutex<BTreeMap<Component, Supervised>>,
    pub(crate) kubectl: Program,
    pub(crate) audit_log: Option<PathBuf>,
    pub(crate) keep: AtomicBool,
    pub(crate) folder: TempDir,
}

impl ControlPlane {
    /// Starts one as the builder's defaults have it.
    pub async fn start() -> Result<Self, PlaneError> {
        Self::builder().start().await
    }

    /// For a control plane that differs from the usual one.
    pub fn builder() -> ControlPlaneBuilder {
        ControlPlaneBuilder::default()
    }

    /// The kubeconfig of a user who may do everything.
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.credentials.kubeconfig(User::Admin)
    }

    /// A client of a user who may do everything. It belongs to the runtime it is made on.
    pub fn client(&self) -> Result<Client, PlaneError> {
        client(self.config())
    }

    /// A client of whoever `token` stands for, such as a service account.
    pub fn client_for_token(&self, token: &str) -> Result<Client, PlaneError> {
        client(self.config_for_token(token))
    }

    /// The configuration behind [`Self::client`], to be changed before a client is made of it.
    pub fn config(&self) -> Config {
        self.config_for_token(&self.credentials.admin_token)
    }

    /// Writes a kubeconfig for whoever `token` stands for, to be given to another process.
    pub fn kubeconfig_for_token(&self, file_name: &str, token: &str) -> Result<PathBuf, PlaneError> {
        self.credentials.write_kubeconfig(file_name, token)
    }

    fn config_for_token(&self, token: &str) -> Config {
        config(&self.credentials, token)
    }

    /// The API server's address.
    pub fn url(&self) -> &str {
        &self.credentials.url
    }

    /// Runs `kubectl` as a user who may do everything and returns what it printed and how it ended.
    pub fn kubectl(&self, args: &[&str]) -> Result<Output, PlaneError> {
        Command::new(&self.kubectl.path)
            .args(self.kubectl.subcommand)
            .args(args)
            .env("KUBECONFIG", self.kubeconfig_path())
            // It keeps a cache of the API there, and answers for another plane would be wrong.
            .env("KUBECACHEDIR", self.folder.path().join("kubectl-cache"))
            .stdin(Stdio::null())
            .output()
            .map_err(PlaneError::io(format!("run {}", self.kubectl.path.display())))
    }

    /// The program and leading arguments that are this plane's `kubectl`, for scripts.
    pub fn kubectl_command(&self) -> (&Path, Option<&'static str>) {
        (&self.kubectl.path, self.kubectl.subcommand)
    }

    /// The folder with the components' logs and data.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The API server's audit log, when the builder asked for one.
    pub fn audit_log_path(&self) -> Option<&Path> {
        self.audit_log.as_deref()
    }

    /// Leaves the folder behind when the plane ends.
    pub fn keep(&self) {
        self.keep.store(true, Ordering::Relaxed);
    }

    /// The process ids of the components that are running.
    pub fn process_ids(&self) -> BTreeMap<Component, u32> {
        self.running().iter().map(|(component, process)| (*component, process.pid())).collect()
    }

    /// The end of a component's log.
    pub fn log_tail(&self, component: Component, lines: usize) -> String {
        self.launches.get(&component).map(|launch| tail(&launch.log, lines)).unwrap_or_default()
    }

    /// Kills the API server, if it runs.
    pub fn stop_apiserver(&self) {
        self.stop(Component::ApiServer);
    }

    /// Starts the API server again, at the address it had, and waits until it is ready.
    pub async fn start_apiserver(&self) -> Result<(), PlaneError> {
        self.launch(Component::ApiServer)?;
        ready::api_server(self).await
    }

    /// Kills the API server and starts it again.
    pub async fn restart_apiserver(&self) -> Result<(), PlaneError> {
        self.stop_apiserver();
        self.start_apiserver().await
    }

    /// Kills KWOK, if it runs: leases are no longer renewed and pods stay as they are.
    pub fn stop_kwok(&self) {
        self.stop(Component::Kwok);
    }

    /// Starts KWOK.
    pub fn start_kwok(&self) -> Result<(), PlaneError> {
        self.launch(Component::Kwok)
    }

    /// Kills the scheduler, if it runs: new pods stay unbound.
    pub fn stop_scheduler(&self) {
        self.stop(Component::Scheduler);
    }

    /// Starts the scheduler.
    pub fn start_scheduler(&self) -> Result<(), PlaneError> {
        self.launch(Component::Scheduler)
    }

    fn stop(&self, component: Component) {
        self.running().remove(&component);
    }

    /// Starts a component; one that runs already goes on running.
    pub(crate) fn launch(&self, component: Component) -> Result<(), PlaneError> {
        let mut running = self.running();
        if running.contains_key(&component) {
            return Ok(());
        }
        let process = Supervised::start(&self.launches[&component])
            .map_err(PlaneError::io(format!("start {}", component.name())))?;
        running.insert(component, process);
        Ok(())
    }

    /// Says what a component did, with the end of its log.
    pub(crate) fn failure(&self, component: Component, problem: String) -> PlaneError {
        PlaneError::Component { component: component.name(), problem, log: self.log_tail(component, 15) }
    }

    /// Fails if one of `components` has ended.
    pub(crate) fn expect_running(&self, components: &[Component]) -> Result<(), PlaneError> {
        for (component, process) in self.running().iter_mut() {
            let exited =
                process.exited().map_err(PlaneError::io(format!("wait for {}", component.name())))?;
            if let (true, Some(status)) = (components.contains(component), exited) {
                return Err(self.failure(*component, format!("ended with {status}")));
            }
        }
        Ok(())
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<Component, Supervised>> {
        // A panic while it is held leaves a map of processes that is as good as before.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ControlPlane {
    #[expect(clippy::print_stderr, reason = "a folder that is kept is of use to who knows where it is")]
    fn drop(&mut self) {
        // The clients of the API server first, so that their last lines are not about losing it.
        while self.running().pop_last().is_some() {}
        if self.keep.load(Ordering::Relaxed) {
            self.folder.disable_cleanup(true);
            eprintln!("the test control plane's logs and data are in {}", self.folder.path().display());
        }
    }
}

fn config(credentials: &Credentials, token: &str) -> Config {
    #[expect(clippy::expect_used, reason = "it is made of a loopback address and a port number")]
    let url = credentials.url.parse().expect("the API server's address is a URL");
    let mut config = Config::new(url);
    config.root_cert = Some(vec![credentials.certificate_der.clone()]);
    config.auth_info.token = Some(token.to_owned().into());
    // A refused eviction is an answer to test for; retrying it, as is the default, takes minutes.
    config.default_retry = false;
    config
}

pub(crate) fn client(config: Config) -> Result<Client, PlaneError> {
    // An error means that one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::try_from(config).map_err(|error| PlaneError::Client(Box::new(error)))
}

/// Writes one of the files of the plane's folder.
pub(crate) fn write(path: &Path, contents: &str) -> Result<(), PlaneError> {
    fs::write(path, contents).map_err(PlaneError::io(format!("write {}", path.display())))
}

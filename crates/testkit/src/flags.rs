//! The command lines of the components.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::credentials::{Credentials, User};

/// What the components of one plane have to agree on.
pub(crate) struct Flags<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) credentials: &'a Credentials,
    pub(crate) etcd_port: u16,
    pub(crate) api_port: u16,
}

impl Flags<'_> {
    /// For our embedded etcd, or for the real one, which insists on peers' addresses even when it is alone.
    pub(crate) fn etcd(&self, embedded: bool) -> Vec<OsString> {
        let url = self.etcd_url();
        let mut flags = Line::default()
            .path("data-dir", &self.folder.join("etcd"))
            .text("listen-client-urls", &url)
            .switch("unsafe-no-fsync");
        if !embedded {
            flags = flags.text("advertise-client-urls", &url).text("listen-peer-urls", "http://127.0.0.1:0");
        }
        flags.0
    }

    pub(crate) fn api_server(&self, audit: Option<(&Path, &Path)>) -> Vec<OsString> {
        let mut flags = Line::default()
            .text("etcd-servers", &self.etcd_url())
            .text("bind-address", "127.0.0.1")
            .text("secure-port", &self.api_port.to_string())
            .text("advertise-address", "127.0.0.1")
            // There is one API server and no pod that could reach it, so nobody needs its endpoints.
            .text("endpoint-reconciler-type", "none")
            .path("cert-dir", &self.folder.join("apiserver-certs"))
            .path("tls-cert-file", &self.credentials.certificate())
            .path("tls-private-key-file", &self.credentials.serving_key())
            .text("service-account-issuer", "https://kubernetes.default.svc")
            .path("service-account-key-file", &self.credentials.service_account_public_key())
            .path("service-account-signing-key-file", &self.credentials.service_account_key())
            .text("service-cluster-ip-range", "10.0.0.0/24")
            .switch("enable-bootstrap-token-auth")
            .path("token-auth-file", &self.credentials.tokens())
            .text("authorization-mode", "Node,RBAC");
        if let Some((policy, log)) = audit {
            flags = flags.path("audit-policy-file", policy).path("audit-log-path", log);
        }
        flags.0
    }

    pub(crate) fn scheduler(&self) -> Vec<OsString> {
        Line::default()
            .path("kubeconfig", &self.credentials.kubeconfig(User::Scheduler))
            .text("leader-elect", "false")
            .text("secure-port", "0")
            .text("kube-api-qps", "2000")
            .text("kube-api-burst", "4000")
            .0
    }

    pub(crate) fn controller_manager(&self, node_monitor_grace: Duration) -> Vec<OsString> {
        Line::default()
            .path("kubeconfig", &self.credentials.kubeconfig(User::ControllerManager))
            .text("leader-elect", "false")
            .text("secure-port", "0")
            .path("service-account-private-key-file", &self.credentials.service_account_key())
            .path("root-ca-file", &self.credentials.certificate())
            // Without it ReplicaSets are not synced.
            .text("use-service-account-credentials", "true")
            .text("kube-api-qps", "2000")
            .text("kube-api-burst", "4000")
            // Low, so that a short grace period is kept to the second.
            .text("node-monitor-period", "1s")
            .text("node-monitor-grace-period", &format!("{}s", node_monitor_grace.as_secs()))
            .0
    }

    /// Leases are renewed four times in the seconds they are good for, which is often enough for the grace period.
    pub(crate) fn kwok(&self, config: &Path, node_monitor_grace: Duration) -> Vec<OsString> {
        Line::default()
            .path("kubeconfig", &self.credentials.kubeconfig(User::Kwok))
            .path("config", config)
            .text("node-lease-duration-seconds", &node_monitor_grace.as_secs().clamp(4, 40).to_string())
            .0
    }

    fn etcd_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.etcd_port)
    }
}

/// Flags in the form every one of the programs reads: `--name=value` in one argument.
#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn switch(mut self, name: &str) -> Self {
        self.0.push(format!("--{name}").into());
        self
    }

    fn text(mut self, name: &str, value: &str) -> Self {
        self.0.push(format!("--{name}={value}").into());
        self
    }

    fn path(mut self, name: &str, value: &Path) -> Self {
        let mut flag = OsString::from(format!("--{name}="));
        flag.push(value);
        self.0.push(flag);
        self
    }
}

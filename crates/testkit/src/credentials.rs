//! Keys, tokens and kubeconfigs of one control plane.

use std::iter;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::error::PlaneError;
use crate::plane::write;

/// A user of the API server that is known by a static token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Admin,
    Scheduler,
    ControllerManager,
    Kwok,
}

impl User {
    const ALL: [Self; 4] = [Self::Admin, Self::Scheduler, Self::ControllerManager, Self::Kwok];

    /// The user's name and group. Roles for the components' names are there from the start.
    fn identity(self) -> (&'static str, &'static str) {
        match self {
            Self::Admin => ("admin", "system:masters"),
            Self::Scheduler => ("system:kube-scheduler", ""),
            Self::ControllerManager => ("system:kube-controller-manager", ""),
            Self::Kwok => ("kwok", "system:masters"),
        }
    }

    /// A line of the file the API server knows its users from.
    fn csv_line(self, token: &str) -> String {
        let (name, group) = self.identity();
        format!("{token},{name},{name},\"{group}\"\n")
    }

    fn file_name(self) -> &'static str {
        match self {
            Self::Admin => "kubeconfig",
            Self::Scheduler => "scheduler.kubeconfig",
            Self::ControllerManager => "controller-manager.kubeconfig",
            Self::Kwok => "kwok.kubeconfig",
        }
    }
}

/// What the components and clients of one control plane trust each other by. The files lie in its folder.
#[derive(Debug)]
pub(crate) struct Credentials {
    folder: PathBuf,
    /// The address clients find the API server at.
    pub(crate) url: String,
    /// The API server's certificate, which is all that clients trust.
    pub(crate) certificate_der: Vec<u8>,
    pub(crate) admin_token: String,
}

impl Credentials {
    /// Makes them for an API server on `port` and writes them to `folder`.
    pub(crate) fn create(folder: &Path, port: u16) -> Result<Self, PlaneError> {
        let serving = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        let tokens = User::ALL.map(|user| (user, random_token()));
        let credentials = Self {
            folder: folder.to_owned(),
            url: format!("https://127.0.0.1:{port}"),
            certificate_der: serving.cert.der().to_vec(),
            admin_token: tokens[0].1.clone(),
        };

        write(&credentials.certificate(), &serving.cert.pem())?;
        write(&credentials.serving_key(), &serving.signing_key.serialize_pem())?;
        let accounts = rcgen::KeyPair::generate()?;
        write(&credentials.service_account_key(), &accounts.serialize_pem())?;
        write(&credentials.service_account_public_key(), &accounts.public_key_pem())?;
        write(&credentials.tokens(), &tokens.each_ref().map(|(user, token)| user.csv_line(token)).concat())?;
        for (user, token) in &tokens {
            credentials.write_kubeconfig(user.file_name(), token)?;
        }
        Ok(credentials)
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.join("apiserver.crt")
    }

    pub(crate) fn serving_key(&self) -> PathBuf {
        self.folder.join("apiserver.key")
    }

    pub(crate) fn service_account_key(&self) -> PathBuf {
        self.folder.join("service-accounts.key")
    }

    pub(crate) fn service_account_public_key(&self) -> PathBuf {
        self.folder.join("service-accounts.pub")
    }

    pub(crate) fn tokens(&self) -> PathBuf {
        self.folder.join("tokens.csv")
    }

    pub(crate) fn kubeconfig(&self, user: User) -> PathBuf {
        self.folder.join(user.file_name())
    }

    /// Writes a kubeconfig for whoever `token` stands for. JSON is YAML too.
    pub(crate) fn write_kubeconfig(&self, file_name: &str, token: &str) -> Result<PathBuf, PlaneError> {
        let name = "windlass-test";
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{
                "name": name,
                "cluster": { "server": self.url, "certificate-authority": self.certificate() },
            }],
            "users": [{ "name": name, "user": { "token": token } }],
            "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
        });
        let path = self.folder.join(file_name);
        write(&path, &format!("{kubeconfig:#}\n"))?;
        Ok(path)
    }
}

/// Hard enough to guess for a server that listens on loopback for the length of a test.
fn random_token() -> String {
    iter::repeat_with(fastrand::alphanumeric).take(32).collect()
}

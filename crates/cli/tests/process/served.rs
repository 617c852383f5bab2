//! Node groups that a Windlass serves by gRPC, with certificates for both ends.

use std::path::PathBuf;
use std::process::Command;

use crate::stage::Stage;
use crate::windlass::Windlass;

/// Where groups are served, which stays the same when the server is started again, and with which certificates.
pub struct Served {
    pub address: String,
    /// What Cluster Autoscaler needs to know of it.
    pub cloud_config: PathBuf,
    certs: tempfile::TempDir,
}

impl Served {
    pub async fn new() -> Self {
        let certs = tempfile::tempdir().unwrap();
        let port = free_port().await;
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(["grpc", "certs", "--port", &port.to_string(), "--out"]).arg(certs.path());
        let output = command.args(["--server-name", "127.0.0.1", "localhost"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let cloud_config = certs.path().join("cloud-config.yaml");
        std::fs::write(&cloud_config, output.stdout).unwrap();
        Self { address: format!("127.0.0.1:{port}"), cloud_config, certs }
    }

    /// Starts a Windlass that serves them.
    pub fn start(&self, stage: &Stage) -> Windlass {
        let file = |name: &str| self.file(name).display().to_string();
        let (cert, key, ca) = (file("server.crt"), file("server.key"), file("ca.crt"));
        let flags = [
            ("--grpc-addr", self.address.as_str()),
            ("--grpc-cert", &cert),
            ("--grpc-key", &key),
            ("--grpc-client-ca", &ca),
        ];
        stage.start_as(&["grpc", "serve"], &flags)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.certs.path().join(name)
    }
}

async fn free_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}

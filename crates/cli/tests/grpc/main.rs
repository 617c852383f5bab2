//! `windlass grpc certs`, and its certificates in use at both ends.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod nothing;

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use serde::Deserialize;
use tokio::net::TcpListener;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use windlass_externalgrpc::wire::GpuLabelRequest;
use windlass_externalgrpc::wire::cloud_provider_client::CloudProviderClient;
use windlass_serve::grpc::{Security, TlsFiles, serve_grpc};

use nothing::{LABEL, Nothing};

/// What Cluster Autoscaler reads.
#[derive(Deserialize)]
struct CloudConfig {
    address: String,
    key: String,
    cert: String,
    cacert: String,
    grpc_timeout: String,
}

fn certs(folder: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["grpc", "certs", "--out", folder.to_str().unwrap()]).args(more);
    command.env_clear().output().unwrap()
}

fn printed(output: &Output) -> CloudConfig {
    assert!(output.status.success(), "{output:?}");
    serde_saphyr::from_str(&String::from_utf8_lossy(&output.stdout)).unwrap()
}

fn complaint(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Serves with the certificates in a folder until the test ends.
async fn serve(folder: &Path) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let file = |name: &str| folder.join(name);
    let files =
        TlsFiles { certificate: file("server.crt"), key: file("server.key"), client_ca: file("ca.crt") };
    let security = Security::choose(address, Some(files), false).unwrap();
    tokio::spawn(serve_grpc(listener, security, Arc::new(Nothing), std::future::pending()));
    address
}

/// What a client hears that goes by a cloud-config as Cluster Autoscaler does: the server's name is the address's host.
async fn heard(server: SocketAddr, config: &CloudConfig, identify: bool) -> Option<String> {
    let (host, _) = config.address.rsplit_once(':').unwrap();
    let read = |path: &str| fs::read(path).unwrap();
    let mut tls =
        ClientTlsConfig::new().domain_name(host).ca_certificate(Certificate::from_pem(read(&config.cacert)));
    if identify {
        tls = tls.identity(Identity::from_pem(read(&config.cert), read(&config.key)));
    }
    let endpoint = Endpoint::from_shared(format!("https://{server}")).unwrap().tls_config(tls).unwrap();
    let mut client = CloudProviderClient::new(endpoint.connect().await.ok()?);
    Some(client.gpu_label(GpuLabelRequest {}).await.ok()?.into_inner().label)
}

#[tokio::test]
async fn the_certificates_let_the_client_in_under_every_name_and_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["--server-name", "windlass.windlass-system.svc", "--server-name", "127.0.0.1"];
    let config = printed(&certs(folder.path(), &names));
    let server = serve(folder.path()).await;
    assert_eq!(heard(server, &config, true).await.as_deref(), Some(LABEL));
    let by_address = CloudConfig { address: "127.0.0.1:8086".to_owned(), ..config };
    assert_eq!(heard(server, &by_address, true).await.as_deref(), Some(LABEL));
    assert_eq!(heard(server, &by_address, false).await, None, "without the client's certificate");

    let other = tempfile::tempdir().unwrap();
    let foreign = printed(&certs(other.path(), &names));
    let impostor = CloudConfig { cacert: by_address.cacert, ..foreign };
    assert_eq!(heard(server, &impostor, true).await, None, "of another authority");
}

#[tokio::test]
async fn a_client_that_looks_for_another_name_does_not_trust_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let config = printed(&certs(folder.path(), &["--server-name", "windlass.windlass-system.svc"]));
    let wrong = CloudConfig { address: "localhost:8086".to_owned(), ..config };
    assert_eq!(heard(serve(folder.path()).await, &wrong, true).await, None);
}

#[test]
fn the_cloud_config_says_where_the_server_and_the_clients_files_are() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--server-name", "::1", "localhost", "--port", "9000", "--client-folder", "/etc/ca"];
    let output = certs(&folder.path().join("new/certs"), &more);
    let config = printed(&output);
    assert_eq!((config.address.as_str(), config.grpc_timeout.as_str()), ("[::1]:9000", "30s"));
    let files = [config.key, config.cert, config.cacert];
    assert_eq!(files, ["/etc/ca/client.key", "/etc/ca/client.crt", "/etc/ca/ca.crt"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let server = folder.path().join("new/certs/server.crt").display().to_string();
    for words in ["--grpc-addr 0.0.0.0:9000", &server, "--cloud-provider=externalgrpc", "hold until 20"] {
        assert!(text.contains(words), "{words:?} is missing:\n{text}");
    }
}

#[test]
fn keys_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    printed(&certs(folder.path(), &["--server-name", "localhost"]));
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["ca.key", "server.key", "client.key"].map(mode), [0o600; 3]);
}

#[test]
fn nothing_is_overwritten_and_nothing_is_written_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("client.key"), "precious").unwrap();
    let words = complaint(&certs(folder.path(), &["--server-name", "localhost"]));
    assert!(words.contains("client.key is there already"), "{words}");
    assert_eq!(fs::read_to_string(folder.path().join("client.key")).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_name_that_no_server_can_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let words = complaint(&certs(folder.path(), &["--server-name", "windlass:8086"]));
    assert!(words.contains("without a port"), "{words}");
    let words = complaint(&certs(folder.path(), &[]));
    assert!(words.contains("--server-name"), "{words}");
}

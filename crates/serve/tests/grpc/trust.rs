//! Who may call.

use std::fs;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tonic::transport::Endpoint;
use windlass_externalgrpc::wire::cloud_provider_client::CloudProviderClient;
use windlass_serve::grpc::{Security, serve_grpc};

use crate::authority::{Authority, Paper, connect, files};
use crate::barn::Barn;
use crate::stage::{Stage, ask};

/// A server with certificates, and who made them.
async fn set() -> (Stage, Authority, TempDir) {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let stage = Stage::set(Some(authority.equip(folder.path()))).await;
    (stage, authority, folder)
}

/// Whether someone with this paper is answered on a new connection.
async fn answered(stage: &Stage, trusted: &Authority, paper: Option<Paper>) -> bool {
    match connect(stage, trusted, paper).await {
        Ok(mut client) => ask(&mut client).await.is_ok(),
        Err(_) => false,
    }
}

#[tokio::test]
async fn a_client_that_the_authority_vouches_for_is_answered() {
    let (stage, authority, _folder) = set().await;
    let mut client = connect(&stage, &authority, Some(authority.client())).await.unwrap();
    assert_eq!(ask(&mut client).await.unwrap(), 3);
    drop(client);
    stage.strike().await;
}

#[tokio::test]
async fn nobody_else_gets_anything() {
    let (stage, authority, _folder) = set().await;
    assert!(!answered(&stage, &authority, None).await, "without a certificate");
    let other = Authority::new();
    assert!(!answered(&stage, &authority, Some(other.client())).await, "of another authority");
    assert!(!answered(&stage, &authority, Some(authority.server())).await, "a server is no client");
    let plain = Endpoint::from_shared(format!("http://{}", stage.address)).unwrap().connect().await;
    if let Ok(channel) = plain {
        assert!(ask(&mut CloudProviderClient::new(channel)).await.is_err(), "in plaintext");
    }
    assert_eq!(*stage.barn.questions.borrow(), 0, "none of them came so far as to ask");
}

#[tokio::test]
async fn a_server_of_another_authority_is_not_trusted_by_clients() {
    let (stage, authority, _folder) = set().await;
    assert!(!answered(&stage, &Authority::new(), Some(authority.client())).await);
}

#[tokio::test]
async fn callers_that_say_nothing_hold_up_nobody() {
    let (stage, authority, _folder) = set().await;
    let mut silent = Vec::new();
    for _ in 0..50 {
        silent.push(TcpStream::connect(stage.address).await.unwrap());
    }
    // If each had to give up first, this would take many minutes.
    let answer = answered(&stage, &authority, Some(authority.client()));
    assert!(timeout(Duration::from_secs(60), answer).await.unwrap());
}

#[tokio::test]
async fn new_files_hold_for_new_connections_and_old_connections_stay() {
    let (stage, old, folder) = set().await;
    let mut connected = connect(&stage, &old, Some(old.client())).await.unwrap();
    assert_eq!(ask(&mut connected).await.unwrap(), 3);

    let new = Authority::new();
    new.equip(folder.path());
    assert!(answered(&stage, &new, Some(new.client())).await);
    assert!(!answered(&stage, &new, Some(old.client())).await, "the old authority vouches for nobody");
    assert!(!answered(&stage, &old, Some(new.client())).await, "the server shows its new certificate");
    assert_eq!(ask(&mut connected).await.unwrap(), 3);
}

#[tokio::test]
async fn files_that_are_broken_leave_the_old_ones_in_force_until_they_are_mended() {
    let (stage, old, folder) = set().await;
    assert!(answered(&stage, &old, Some(old.client())).await);
    let files = files(folder.path());
    for path in [&files.certificate, &files.key, &files.client_ca] {
        let good = fs::read(path).unwrap();
        for wrong in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            fs::write(path, wrong).unwrap();
            assert!(answered(&stage, &old, Some(old.client())).await, "{wrong:?} in {}", path.display());
        }
        fs::remove_file(path).unwrap();
        assert!(answered(&stage, &old, Some(old.client())).await, "without {}", path.display());
        fs::write(path, good).unwrap();
    }

    let (new, other) = (Authority::new(), tempfile::tempdir().unwrap());
    let renewed = new.equip(other.path());
    fs::copy(&renewed.client_ca, &files.client_ca).unwrap();
    fs::copy(&renewed.certificate, &files.certificate).unwrap();
    assert!(
        answered(&stage, &old, Some(old.client())).await,
        "the new certificate is not that of the old key"
    );
    fs::copy(&renewed.key, &files.key).unwrap();
    assert!(answered(&stage, &new, Some(new.client())).await);
    assert!(!answered(&stage, &new, Some(old.client())).await);
}

#[tokio::test]
async fn a_server_whose_files_are_broken_from_the_start_says_which_and_does_not_serve() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let files = authority.equip(folder.path());
    fs::write(&files.key, "nonsense").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let security = Security::choose(listener.local_addr().unwrap(), Some(files), false).unwrap();
    let barn = std::sync::Arc::new(Barn::default());
    let error = serve_grpc(listener, security, barn, std::future::pending()).await.unwrap_err().to_string();
    assert!(error.contains("server.key holds no private key"), "{error}");
}

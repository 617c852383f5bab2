//! Who may be spoken to, and what may be done.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_providers::{ErrorKind, Provider};
use windlass_testkit::ControlPlane;
use windlass_testkit::proxmox::{PRIVILEGES, SECRET, TOKEN};

use crate::lab::{Lab, launch, request};

pub async fn a_token_that_may_not_is_told_what_it_lacks(plane: Arc<ControlPlane>) {
    for (privilege, is_listed) in [
        ("VM.Audit", false),
        ("VM.Allocate", true),
        ("VM.PowerMgmt", true),
        ("VM.Clone", true),
        ("VM.Config.Options", true),
        ("Sys.Audit", true),
    ] {
        let lab =
            Lab::cloning(&plane, &format!("no-{}", privilege.to_ascii_lowercase().replace('.', "-"))).await;
        let rest =
            PRIVILEGES.iter().filter(|each| **each != privilege).map(|each| (*each).to_owned()).collect();
        for token in lab.fake.world().tokens.values_mut() {
            token.grants.insert("/".to_owned(), Vec::clone(&rest));
        }
        let error = lab.provider().launch(&request("web")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthorized, "{privilege}: {error}");
        assert!(error.to_string().contains(privilege), "{privilege}: {error}");
        let listed = lab.provider().list().await;
        assert_eq!(
            listed.is_ok(),
            is_listed,
            "who may not see them does not say that there are none: {listed:?}"
        );
    }
}

pub async fn a_certificate_is_taken_by_its_fingerprint_or_its_authority_and_no_other(
    plane: Arc<ControlPlane>,
) {
    let mut lab = Lab::new(&plane, "fingerprint").await;
    let digest = ring::digest::digest(&ring::digest::SHA256, &lab.fake.certificate_der);
    let fingerprint: Vec<String> = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    assert!(lab.provider().list().await.is_ok(), "its authority vouches for it");
    lab.spec["caBundle"] = Value::Null;
    lab.spec["endpoints"][0]["fingerprint"] = json!(fingerprint.join(":"));
    assert!(lab.provider().list().await.is_ok());
    lab.spec["endpoints"][0]["fingerprint"] = json!(["00"; 32].join(":"));
    let error = lab.provider().list().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
    assert!(error.to_string().contains(&fingerprint.join(":")), "it says which it has: {error}");
    lab.spec["endpoints"][0]["fingerprint"] = Value::Null;
    let error = lab.provider().list().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "nobody vouches for it: {error}");
    assert!(lab.fake.world().requests.iter().all(|request| !request.contains("qemu")));
}

pub async fn another_endpoint_is_asked_when_one_does_not_answer(plane: Arc<ControlPlane>) {
    let mut lab = Lab::new(&plane, "failover").await;
    let dead = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = dead.local_addr().unwrap();
    drop(dead);
    let live = lab.spec["endpoints"][0].clone();
    lab.spec["endpoints"] = json!([{"url": format!("https://{address}")}, live]);
    launch(&*lab.provider(), &request("web")).await;
    lab.spec["endpoints"] = json!([{"url": format!("https://{address}")}]);
    let error = lab.provider().list().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

pub async fn a_secret_that_is_missing_or_wrong_is_named_and_never_shown(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "secret").await;
    for data in [
        &[][..],
        &[("tokenID", TOKEN)],
        &[("tokenID", "root"), ("secret", SECRET)],
        &[("tokenID", TOKEN), ("secret", "wrong-secret-5e0cb5a6")],
        &[("tokenID", TOKEN), ("secret", "wrong\nsecret-5e0cb5a6")],
    ] {
        lab.write_secret(data).await;
        let provider = lab.provider();
        let error = provider.list().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
        let words = format!("{error} {error:?} {provider:?}");
        assert!(words.contains("Secret proxmox"), "{words}");
        assert!(!words.contains("5e0cb5a6"), "{words}");
    }
    let provider = lab.provider();
    assert!(provider.list().await.is_err());
    lab.write_secret(&[("tokenID", TOKEN), ("secret", SECRET)]).await;
    assert_eq!(provider.list().await, Ok(vec![]), "a refused token is read again at once");
}

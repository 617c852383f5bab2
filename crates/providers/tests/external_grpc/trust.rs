//! Who may be spoken to, and how that is proved.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};
use windlass_providers::{ErrorKind, Provider};
use windlass_testkit::ControlPlane;

use crate::lab::Lab;

/// Someone who vouches for servers and clients.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate and its key.
    fn vouch(&self, purpose: ExtendedKeyUsagePurpose) -> (String, String) {
        let mut params = CertificateParams::new(["machines.test".to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }

    fn server(&self) -> ServerTlsConfig {
        let (certificate, key) = self.vouch(ExtendedKeyUsagePurpose::ServerAuth);
        let identity = Identity::from_pem(certificate, key);
        ServerTlsConfig::new().identity(identity).client_ca_root(Certificate::from_pem(self.0.pem()))
    }

    /// What a client needs that trusts this authority and is vouched for by another.
    fn secret(&self, vouched_by: &Self) -> BTreeMap<String, ByteString> {
        let (certificate, key) = vouched_by.vouch(ExtendedKeyUsagePurpose::ClientAuth);
        let parts = [("ca.crt", self.0.pem()), ("tls.crt", certificate), ("tls.key", key)];
        parts.map(|(name, pem)| (name.to_owned(), ByteString(pem.into_bytes()))).into()
    }
}

async fn lab(plane: &ControlPlane, name: &str, authority: &Authority) -> Lab {
    let mut lab = Lab::secured(plane, name, Some(authority.server())).await;
    lab.spec = json!({
        "endpoint": format!("https://{}", lab.address),
        "tls": {"secretRef": {"name": "client"}, "serverName": "machines.test"},
    });
    lab
}

async fn write(lab: &Lab, data: BTreeMap<String, ByteString>) {
    let secrets: Api<Secret> = Api::namespaced(lab.client.clone(), &lab.namespace());
    _ = secrets.delete("client", &DeleteParams::default()).await;
    let mut secret = Secret { data: Some(data), ..Secret::default() };
    secret.metadata.name = Some("client".to_owned());
    secrets.create(&PostParams::default(), &secret).await.unwrap();
}

pub async fn certificates_let_both_sides_in_and_new_ones_are_used(plane: Arc<ControlPlane>) {
    let authority = Authority::new();
    let lab = lab(&plane, "certificates", &authority).await;
    let provider = lab.provider();
    write(&lab, authority.secret(&Authority::new())).await;
    assert!(provider.instance_types().await.is_err());
    write(&lab, authority.secret(&authority)).await;
    assert_eq!(provider.instance_types().await.unwrap().len(), 1, "without being built anew");
}

pub async fn a_certificate_of_another_authority_is_refused_in_words(plane: Arc<ControlPlane>) {
    let (authority, other) = (Authority::new(), Authority::new());
    let lab = lab(&plane, "other-authority", &authority).await;
    write(&lab, authority.secret(&other)).await;
    let error = lab.provider().instance_types().await.unwrap_err();
    assert!(error.to_string().contains("Secret client"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
    write(&lab, other.secret(&authority)).await;
    let error = lab.provider().instance_types().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
}

pub async fn a_secret_that_is_missing_or_incomplete_is_named(plane: Arc<ControlPlane>) {
    let authority = Authority::new();
    let lab = lab(&plane, "no-secret", &authority).await;
    let error = lab.provider().instance_types().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    assert!(error.to_string().contains("there is no Secret client"), "{error}");
    let mut data = authority.secret(&authority);
    data.remove("tls.key");
    write(&lab, data.clone()).await;
    let error = lab.provider().list().await;
    assert_eq!(error, Ok(vec![]), "without machines there is nothing to ask the server for");
    let error = lab.provider().instance_types().await.unwrap_err();
    assert!(error.to_string().contains("it has no tls.key"), "{error}");
    data.insert("tls.key".to_owned(), ByteString(b"nonsense".to_vec()));
    write(&lab, data).await;
    let error = lab.provider().instance_types().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    assert!(error.to_string().contains("Secret client cannot be used"), "{error}");
}

pub async fn plaintext_to_another_machine_has_to_be_asked_for(plane: Arc<ControlPlane>) {
    let mut lab = Lab::new(&plane, "plaintext").await;
    lab.spec = json!({"endpoint": "machines.test:8086"});
    let error = lab.provider_at(lab.client.clone(), lab.pace).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfiguration);
    assert!(error.to_string().contains("insecure: true"), "{error}");
    lab.spec["insecure"] = json!(true);
    assert!(lab.provider_at(lab.client.clone(), lab.pace).is_ok());
}

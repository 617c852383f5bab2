//! Certificates for both ends.

use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use windlass_externalgrpc::wire::cloud_provider_client::CloudProviderClient;
use windlass_serve::grpc::TlsFiles;

use crate::stage::{Client, Stage};

/// Someone who vouches for servers and clients.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub(crate) struct Paper {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    fn vouch(&self, purpose: ExtendedKeyUsagePurpose) -> Paper {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        Paper { certificate: params.signed_by(&key, &self.0).unwrap().pem(), key: key.serialize_pem() }
    }

    pub(crate) fn server(&self) -> Paper {
        self.vouch(ExtendedKeyUsagePurpose::ServerAuth)
    }

    pub(crate) fn client(&self) -> Paper {
        self.vouch(ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// Writes a server's files.
    pub(crate) fn equip(&self, folder: &Path) -> TlsFiles {
        let files = files(folder);
        let paper = self.server();
        fs::write(&files.certificate, paper.certificate).unwrap();
        fs::write(&files.key, paper.key).unwrap();
        fs::write(&files.client_ca, self.pem()).unwrap();
        files
    }
}

pub(crate) fn files(folder: &Path) -> TlsFiles {
    TlsFiles {
        certificate: folder.join("server.crt"),
        key: folder.join("server.key"),
        client_ca: folder.join("ca.crt"),
    }
}

/// A client on a connection of its own that trusts one authority and shows a paper, if it has one.
pub(crate) async fn connect(
    stage: &Stage,
    trusted: &Authority,
    paper: Option<Paper>,
) -> Result<Client, tonic::transport::Error> {
    let mut tls =
        ClientTlsConfig::new().domain_name("localhost").ca_certificate(Certificate::from_pem(trusted.pem()));
    if let Some(paper) = paper {
        tls = tls.identity(Identity::from_pem(paper.certificate, paper.key));
    }
    let endpoint = Endpoint::from_shared(format!("https://{}", stage.address)).unwrap();
    Ok(CloudProviderClient::new(endpoint.tls_config(tls)?.connect().await?))
}

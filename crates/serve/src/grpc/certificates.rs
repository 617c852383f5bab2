use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, fs, io};

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, crypto};
use tracing::{info, warn};

/// The files by which a server and its callers know each other, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, and those between it and its authority.
    pub certificate: PathBuf,
    /// The key of that certificate.
    pub key: PathBuf,
    /// The authorities whose clients may call.
    pub client_ca: PathBuf,
}

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum CertificateError {
    #[error("cannot read {}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} holds no certificate in PEM", .path.display())]
    NoCertificate { path: PathBuf },
    #[error("{} holds a certificate that cannot be read", .path.display())]
    BadCertificate { path: PathBuf, source: pem::Error },
    #[error("{} holds no private key in PEM", .path.display())]
    NoKey { path: PathBuf, source: pem::Error },
    #[error("{} holds a certificate that cannot vouch for clients", .path.display())]
    BadAuthority { path: PathBuf, source: rustls::Error },
    #[error("clients cannot be verified by {}", .path.display())]
    NoVerifier { path: PathBuf, source: VerifierBuilderError },
    #[error("the certificate {} and the key {} cannot be used", .certificate.display(), .key.display())]
    Unusable { certificate: PathBuf, key: PathBuf, source: rustls::Error },
}

/// Certificates that are read again for each handshake, so that they can be replaced while the server runs. A caller keeps its
/// connection for days, so that handshakes are few; and whether a file has changed is nowhere said as surely as in the file.
pub(super) struct Certificates {
    files: TlsFiles,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    contents: Contents,
    config: Arc<ServerConfig>,
    /// What was last said to be wrong with newer files, so that it is said once.
    complaint: Option<String>,
}

/// The files as they were read. Never shown: one of them is secret.
#[derive(PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Vec<u8>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Certificates {
    pub(super) fn load(files: TlsFiles) -> Result<Self, CertificateError> {
        let contents = Contents::read(&files)?;
        let config = contents.config(&files)?;
        Ok(Self { files, loaded: Mutex::new(Loaded { contents, config, complaint: None }) })
    }

    /// What the next handshake goes by: the files as they are, or as they last were in order.
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = loaded.renew(&self.files) {
            let complaint = in_words(&error);
            if loaded.complaint.as_ref() != Some(&complaint) {
                warn!(error = complaint, "the new certificates for gRPC are not used, the old ones stay");
                loaded.complaint = Some(complaint);
            }
        }
        loaded.config.clone()
    }
}

impl Loaded {
    fn renew(&mut self, files: &TlsFiles) -> Result<(), CertificateError> {
        let contents = Contents::read(files)?;
        if contents != self.contents {
            self.config = contents.config(files)?;
            self.contents = contents;
            info!(certificate = %files.certificate.display(), "the certificates for gRPC have changed and are used");
        }
        self.complaint = None;
        Ok(())
    }
}

impl Contents {
    fn read(files: &TlsFiles) -> Result<Self, CertificateError> {
        let read = |path: &Path| {
            fs::read(path).map_err(|source| CertificateError::Unreadable { path: path.to_owned(), source })
        };
        Ok(Self {
            certificate: read(&files.certificate)?,
            key: read(&files.key)?,
            client_ca: read(&files.client_ca)?,
        })
    }

    fn config(&self, files: &TlsFiles) -> Result<Arc<ServerConfig>, CertificateError> {
        let provider = Arc::new(crypto::ring::default_provider());
        let mut authorities = RootCertStore::empty();
        for authority in certificates(&self.client_ca, &files.client_ca)? {
            let refuse = |source| CertificateError::BadAuthority { path: files.client_ca.clone(), source };
            authorities.add(authority).map_err(refuse)?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(authorities.into(), provider.clone())
            .build()
            .map_err(|source| CertificateError::NoVerifier { path: files.client_ca.clone(), source })?;
        let chain = certificates(&self.certificate, &files.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|source| CertificateError::NoKey { path: files.key.clone(), source })?;
        let unusable = |source| CertificateError::Unusable {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
            source,
        };
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_client_cert_verifier(verifier).with_single_cert(chain, key))
            .map_err(unusable)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(config))
    }
}

/// The certificates in a file, at least one.
fn certificates(pem: &[u8], path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|source| CertificateError::BadCertificate { path: path.to_owned(), source })?;
    if certificates.is_empty() {
        return Err(CertificateError::NoCertificate { path: path.to_owned() });
    }
    Ok(certificates)
}

fn in_words(error: &CertificateError) -> String {
    let cause = std::error::Error::source(error).map(|source| format!(": {source}"));
    format!("{error}{}", cause.unwrap_or_default())
}

//! HTTPS to servers in private racks, whose certificates often no public authority vouches for.

use std::sync::Arc;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::ProviderError;

/// By what a server is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The authorities that this system trusts.
    System,
    /// These authorities, as PEM.
    Authorities(String),
    /// The SHA-256 of its certificate, in hexadecimal digits, with or without colons. Neither its name nor its age counts.
    Fingerprint(String),
}

/// How long a connection may take to come about, and a call in all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub connect: Duration,
    pub call: Duration,
}

/// A client that speaks only with servers it knows. It follows no redirects: credentials would go along.
pub(crate) fn client(trust: &Trust, limits: Limits) -> Result<reqwest::Client, ProviderError> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(config(trust)?)
        .https_only(true)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect)
        .timeout(limits.call)
        .build()
        .map_err(|error| invalid(format!("no client could be made: {}", with_causes(&error))))
}

/// An error with all that is behind it, of which the first often says little.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

fn config(trust: &Trust) -> Result<ClientConfig, ProviderError> {
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::System => {
            let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(&crypto));
            Arc::new(verifier.map_err(|error| invalid(format!("the system's certificates: {error}")))?)
        }
        Trust::Authorities(pem) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate =
                    certificate.map_err(|error| invalid(format!("the CA bundle is no PEM: {error}")))?;
                roots.add(certificate).map_err(|error| invalid(format!("the CA bundle: {error}")))?;
            }
            if roots.is_empty() {
                return Err(invalid("the CA bundle has no certificate in it".to_owned()));
            }
            WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(&crypto))
                .build()
                .map_err(|error| invalid(format!("the CA bundle: {error}")))?
        }
        Trust::Fingerprint(text) => {
            let digest = parse_fingerprint(text).ok_or_else(|| {
                invalid(format!("the fingerprint {text:?} is not the 64 hexadecimal digits of a SHA-256"))
            })?;
            Arc::new(Pinned { digest, algorithms: crypto.signature_verification_algorithms })
        }
    };
    Ok(ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

fn invalid(message: String) -> ProviderError {
    ProviderError::InvalidConfiguration { message }
}

fn parse_fingerprint(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| *byte != b':')
        .map(|byte| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> =
        digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
    if digits.len() == 64 { bytes.try_into().ok() } else { None }
}

/// Takes one certificate and no other.
#[derive(Debug)]
struct Pinned {
    digest: [u8; 32],
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let seen = digest(&SHA256, certificate);
        if seen.as_ref() == self.digest {
            return Ok(ServerCertVerified::assertion());
        }
        let seen: Vec<String> = seen.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        Err(Error::General(format!(
            "the certificate's fingerprint is {}, not the one expected",
            seen.join(":")
        )))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::parse_fingerprint;

    #[test]
    fn fingerprints_are_read_with_and_without_colons_and_nothing_else_is() {
        let plain = "0a".repeat(32);
        let colons = vec!["0A"; 32].join(":");
        assert_eq!(parse_fingerprint(&plain), Some([10; 32]));
        assert_eq!(parse_fingerprint(&colons), Some([10; 32]));
        for bad in ["", "0a", &"0g".repeat(32), &"0a".repeat(33)] {
            assert_eq!(parse_fingerprint(bad), None, "{bad}");
        }
    }
}

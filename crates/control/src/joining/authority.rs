use std::fmt::Write as _;

use ring::digest::{SHA256, digest};
use windlass_core::Text;
use x509_parser::parse_x509_certificate;
use x509_parser::pem::Pem;

/// Why something does not say whom to trust.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// There is no certificate.
    #[error("there is no certificate in it; give a file that begins with -----BEGIN CERTIFICATE-----")]
    NoCertificate,
    /// It is no certificate.
    #[error("the first certificate in it cannot be read: {0}")]
    Unreadable(String),
}

/// The hash of the public key of the first certificate in some PEM, as `kubeadm join --discovery-token-ca-cert-hash` takes
/// it.
pub fn ca_hash(pem: &str) -> Result<Text, AuthorityError> {
    let unreadable = |error: &dyn std::error::Error| AuthorityError::Unreadable(error.to_string());
    let certificate = Pem::iter_from_buffer(pem.as_bytes())
        .find(|found| found.as_ref().map_or(true, |block| block.label == "CERTIFICATE"))
        .ok_or(AuthorityError::NoCertificate)?
        .map_err(|error| unreadable(&error))?;
    let (_, certificate) =
        parse_x509_certificate(&certificate.contents).map_err(|error| unreadable(&error))?;
    let mut text = "sha256:".to_owned();
    for byte in digest(&SHA256, certificate.public_key().raw).as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::{AuthorityError, ca_hash};

    /// Made by `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj /CN=test`.
    const PEM: &str = include_str!("testdata/ca.pem");

    /// What `openssl x509 -pubkey -noout -in ca.pem | openssl pkey -pubin -outform der | sha256sum` says.
    const OPENSSL_SAYS: &str = "dd0a93955f9b81921183ac90c4cbbbd0b20ec59961faddefedf090761bbbe2fb";

    #[test]
    fn the_hash_is_that_of_openssl_and_kubeadm() {
        assert_eq!(*ca_hash(PEM).unwrap(), format!("sha256:{OPENSSL_SAYS}"));
    }

    #[test]
    fn of_several_certificates_the_first_counts_and_text_before_it_does_not() {
        let several = format!("# the cluster's authority\n{PEM}{PEM}");
        assert_eq!(ca_hash(&several).unwrap(), ca_hash(PEM).unwrap());
    }

    #[test]
    fn what_is_no_certificate_is_refused_in_words() {
        for (pem, words) in [
            ("", "BEGIN CERTIFICATE"),
            ("hello", "BEGIN CERTIFICATE"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be read"),
            ("-----BEGIN CERTIFICATE-----\nAAAA", "cannot be read"),
        ] {
            let error: AuthorityError = ca_hash(pem).unwrap_err();
            assert!(error.to_string().contains(words), "{pem}: {error}");
        }
    }
}

use std::net::SocketAddr;

use super::certificates::TlsFiles;

/// How callers are known and what they say is kept secret.
#[derive(Clone, Debug)]
pub struct Security(pub(super) Kind);

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Plaintext,
    MutualTls(TlsFiles),
}

/// Whoever may call can launch and end machines, so that an open door has to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "refusing to serve node groups on {0} without certificates: whoever reaches it could launch and end machines; \\
     give certificates, listen on a loopback address, or allow plaintext explicitly"
)]
pub struct Unsecured(SocketAddr);

impl Security {
    /// Mutual TLS where there are certificates. Without them plaintext, but only where no other machine can listen in or
    /// call, or where someone said that they want it all the same.
    pub fn choose(
        address: SocketAddr,
        certificates: Option<TlsFiles>,
        allow_plaintext: bool,
    ) -> Result<Self, Unsecured> {
        match certificates {
            Some(files) => Ok(Self(Kind::MutualTls(files))),
            None if allow_plaintext || address.ip().to_canonical().is_loopback() => Ok(Self(Kind::Plaintext)),
            None => Err(Unsecured(address)),
        }
    }

    /// Whether what is said can be read on the way.
    pub fn is_plaintext(&self) -> bool {
        matches!(self.0, Kind::Plaintext)
    }
}

#[cfg(test)]
mod tests {
    use super::{Security, Unsecured};
    use crate::grpc::TlsFiles;

    fn choose(address: &str, certificates: bool, allow_plaintext: bool) -> Result<bool, Unsecured> {
        let files = certificates.then(|| TlsFiles {
            certificate: "server.crt".into(),
            key: "server.key".into(),
            client_ca: "ca.crt".into(),
        });
        Ok(Security::choose(address.parse().unwrap(), files, allow_plaintext)?.is_plaintext())
    }

    #[test]
    fn with_certificates_nothing_is_said_in_plaintext() {
        for address in ["127.0.0.1:1", "0.0.0.0:1"] {
            assert_eq!((choose(address, true, false), choose(address, true, true)), (Ok(false), Ok(false)));
        }
    }

    #[test]
    fn without_certificates_only_a_loopback_address_is_served_unless_plaintext_is_allowed() {
        for address in ["127.0.0.1:1", "127.8.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(choose(address, false, false), Ok(true), "{address}");
        }
        for address in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1"] {
            let refusal = choose(address, false, false).unwrap_err().to_string();
            assert!(refusal.contains(address) && refusal.contains("certificates"), "{refusal}");
            assert_eq!(choose(address, false, true), Ok(true), "{address}");
        }
    }
}

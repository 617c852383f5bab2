//! Certificates for both ends of gRPC, from an authority that vouches for nobody else.

use anyhow::{Context, Result};
use jiff::civil::Date;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

/// A certificate and its key, in PEM.
pub(super) struct Paper {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// What both ends need.
pub(super) struct Papers {
    pub(super) authority: Paper,
    pub(super) server: Paper,
    pub(super) client: Paper,
}

/// From when to when papers hold.
#[derive(Clone, Copy)]
pub(super) struct Term {
    pub(super) from: Date,
    pub(super) until: Date,
}

impl Papers {
    /// Papers for a server under these names and for a client.
    pub(super) fn make(server_names: &[String], term: Term) -> Result<Self> {
        let mut own = params(&[], "windlass grpc authority", term)?;
        own.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        own.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer =
            CertifiedIssuer::self_signed(own, KeyPair::generate()?).context("cannot make an authority")?;
        let vouch = |names: &[String], name: &str, purpose| -> Result<Paper> {
            let mut params = params(names, name, term)?;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![purpose];
            params.use_authority_key_identifier_extension = true;
            let key = KeyPair::generate()?;
            let certificate =
                params.signed_by(&key, &issuer).with_context(|| format!("cannot vouch for {name}"))?;
            Ok(Paper { certificate: certificate.pem(), key: key.serialize_pem() })
        };
        Ok(Self {
            server: vouch(server_names, "windlass", ExtendedKeyUsagePurpose::ServerAuth)?,
            client: vouch(&[], "cluster-autoscaler", ExtendedKeyUsagePurpose::ClientAuth)?,
            authority: Paper { certificate: issuer.pem(), key: issuer.key().serialize_pem() },
        })
    }
}

fn params(names: &[String], common_name: &str, term: Term) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    let midnight = |date: Date| {
        date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    (params.not_before, params.not_after) = (midnight(term.from), midnight(term.until));
    Ok(params)
}

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::Ipv6Addr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rustls::pki_types::ServerName;
use serde::Serialize;
use windlass_api::labels;
use windlass_providers::{Clock as _, SystemClock};

use super::papers::{Papers, Term};
use crate::output;

/// How long Cluster Autoscaler waits for an answer: adding many nodes takes as long as writing as many claims.
const TIMEOUT: &str = "30s";

/// Make certificates for both ends.
#[derive(Debug, Args)]
pub(crate) struct Certs {
    /// The folder to write to; it is made if it is not there. Files that are there already are left alone.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Under which name or IP address Cluster Autoscaler reaches the server, as in windlass.windlass-system.svc; may be given
    /// several times. The first one is in the cloud-config.
    #[arg(long = "server-name", value_name = "NAME", required = true, num_args = 1.., value_parser = server_name)]
    server_names: Vec<String>,
    /// The port at which Cluster Autoscaler reaches the server.
    #[arg(long, default_value_t = 8086, value_name = "PORT")]
    port: u16,
    /// Where Cluster Autoscaler finds ca.crt, client.crt and client.key, if that is not where they are written.
    #[arg(long, value_name = "FOLDER")]
    client_folder: Option<PathBuf>,
    /// For how many days from now on the certificates hold.
    #[arg(long, default_value_t = 3650, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..))]
    days: u16,
}

/// What Cluster Autoscaler reads as its cloud-config.
#[derive(Serialize)]
struct CloudConfig {
    address: String,
    key: PathBuf,
    cert: PathBuf,
    cacert: PathBuf,
    grpc_timeout: &'static str,
}

impl Certs {
    pub(crate) fn execute(self) -> Result<()> {
        let term = term(SystemClock.now().to_zoned(TimeZone::UTC).date(), self.days)?;
        let papers = Papers::make(&self.server_names, term)?;
        let folder = absolute(&self.out).with_context(|| format!("cannot use {}", self.out.display()))?;
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        write(&folder, &papers)?;
        output::print(&self.instructions(&folder, term)?)?;
        output::note(&format!(
            "the certificates are in {}; keep ca.key where nobody else gets it, for it makes further clients",
            folder.display()
        ));
        Ok(())
    }

    /// The cloud-config, and in its comments what else to do.
    fn instructions(&self, folder: &Path, term: Term) -> Result<String> {
        let client = self.client_folder.as_deref().unwrap_or(folder);
        let config = CloudConfig {
            address: self.address(),
            key: client.join("client.key"),
            cert: client.join("client.crt"),
            cacert: client.join("ca.crt"),
            grpc_timeout: TIMEOUT,
        };
        let (port, unregistered) = (self.port, labels::UNREGISTERED_TAINT);
        let server = |file: &str| folder.join(file).display().to_string();
        Ok(format!(
            "# For Windlass:\n\
             #   windlass run --grpc-addr 0.0.0.0:{port} --grpc-cert {} --grpc-key {} --grpc-client-ca {}\n\
             # For Cluster Autoscaler, with this file as FILE:\n\
             #   --cloud-provider=externalgrpc --cloud-config=FILE --startup-taint={unregistered}\n\
             # The certificates hold until {}. Windlass takes new files as they come, Cluster Autoscaler when it is restarted.\n\
             {}",
            server("server.crt"),
            server("server.key"),
            server("ca.crt"),
            term.until,
            serde_saphyr::to_string(&config)?,
        ))
    }

    fn address(&self) -> String {
        let name = self.server_names.first().map(String::as_str).unwrap_or_default();
        let host = if name.parse::<Ipv6Addr>().is_ok() { format!("[{name}]") } else { name.to_owned() };
        format!("{host}:{}", self.port)
    }
}

/// From the day before, for clocks that are slow and for other time zones' midnights.
fn term(today: Date, days: u16) -> Result<Term> {
    let (from, until) = (today.checked_sub(1.day())?, today.checked_add(i64::from(days).days())?);
    Ok(Term { from, until })
}

/// A name that a certificate can be for and that a client can look for.
fn server_name(text: &str) -> Result<String, String> {
    let advice = "write the name or the IP address under which the server is reached, without a port";
    ServerName::try_from(text).map(|_| text.to_owned()).map_err(|_| advice.to_owned())
}

/// Writes all files or, if one is in the way, none.
fn write(folder: &Path, papers: &Papers) -> Result<()> {
    const PUBLIC: u32 = 0o644;
    const SECRET: u32 = 0o600;
    let files = [
        ("ca.crt", &papers.authority.certificate, PUBLIC),
        ("ca.key", &papers.authority.key, SECRET),
        ("server.crt", &papers.server.certificate, PUBLIC),
        ("server.key", &papers.server.key, SECRET),
        ("client.crt", &papers.client.certificate, PUBLIC),
        ("client.key", &papers.client.key, SECRET),
    ];
    if let Some((name, ..)) = files.iter().find(|(name, ..)| folder.join(name).symlink_metadata().is_ok()) {
        let path = folder.join(name);
        return Err(anyhow!("{} is there already: remove it, or choose another folder", path.display()));
    }
    for (name, text, mode) in files {
        let path = folder.join(name);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(mode).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::{server_name, term};

    #[test]
    fn certificates_hold_from_yesterday_on() {
        let term = term(date(2028, 3, 1), 365).unwrap();
        assert_eq!((term.from, term.until), (date(2028, 2, 29), date(2029, 3, 1)));
    }

    #[test]
    fn servers_are_named_by_what_clients_look_for() {
        for name in ["windlass.windlass-system.svc", "localhost", "10.0.0.1", "::1"] {
            assert_eq!(server_name(name).as_deref(), Ok(name));
        }
        for wrong in ["", "windlass:8086", "*.svc", "two words", "https://windlass"] {
            assert!(server_name(wrong).unwrap_err().contains("without a port"), "{wrong}");
        }
    }
}

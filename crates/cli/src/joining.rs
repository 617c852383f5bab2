use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use kube::Config;
use windlass_control::joining::{JoinSettings, ca_hash};

use crate::duration::parse_interval as interval;

/// What machines are told that join by user data.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machines that join by user data")]
pub(crate) struct Joining {
    /// The URL at which machines find the API server. Default: that of the kubeconfig; where that is of this machine or of
    /// the cluster's inside, what kube-public/cluster-info says.
    #[arg(long, env = "WINDLASS_JOIN_API_SERVER", value_name = "URL", value_parser = url)]
    join_api_server: Option<String>,
    /// A file with the certificate of who vouches for the API server. Default: from where the URL is.
    #[arg(long, env = "WINDLASS_JOIN_CA_FILE", value_name = "FILE")]
    join_ca_file: Option<PathBuf>,
    /// For how long a machine's bootstrap token is good at most. Default: ten minutes longer than --launch-deadline and
    /// --registration-deadline together.
    #[arg(long, env = "WINDLASS_BOOTSTRAP_TOKEN_TTL", value_name = "TIME", value_parser = interval)]
    bootstrap_token_ttl: Option<Duration>,
    /// The groups that a machine with a bootstrap token is in, separated by commas.
    #[arg(
        long,
        env = "WINDLASS_BOOTSTRAP_TOKEN_GROUPS",
        value_name = "GROUPS",
        value_delimiter = ',',
        value_parser = group,
        default_values_t = JoinSettings::default().bootstrap_token_groups
    )]
    bootstrap_token_groups: Vec<String>,
}

impl Joining {
    /// The settings of a process that reaches the API server like this.
    pub(crate) fn settings(&self, config: &Config) -> Result<JoinSettings> {
        let service_host = std::env::var("KUBERNETES_SERVICE_HOST").ok();
        let ca_bundle = self.join_ca_file.as_ref().map(|file| {
            let cannot = || format!("--join-ca-file {}", file.display());
            let text = std::fs::read_to_string(file).with_context(cannot)?;
            ca_hash(&text).with_context(cannot)?;
            anyhow::Ok(text.into())
        });
        let given = JoinSettings {
            api_server: self.join_api_server.as_deref().map(Into::into),
            ca_bundle: ca_bundle.transpose()?,
            bootstrap_token_ttl: self.bootstrap_token_ttl,
            bootstrap_token_groups: self.bootstrap_token_groups.clone(),
            ..JoinSettings::default()
        };
        Ok(given.reached_by(config, service_host.as_deref()))
    }
}

fn url(text: &str) -> Result<String, String> {
    let advice = || "write a URL such as https://api.example.com:6443".to_owned();
    let host = text.strip_prefix("https://").ok_or_else(advice)?.trim_end_matches('/');
    let is_address =
        text.parse::<http::Uri>().is_ok() && !host.is_empty() && !host.contains(['/', '?', '#', '@']);
    if is_address { Ok(format!("https://{host}")) } else { Err(advice()) }
}

/// The API server takes no other groups from a token.
fn group(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("system:bootstrappers:").unwrap_or_default();
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b":-".contains(&byte);
    let ends_well =
        rest.bytes().last().is_some_and(|last| last.is_ascii_lowercase() || last.is_ascii_digit());
    if ends_well && rest.len() < 256 && rest.bytes().all(inner) {
        Ok(text.to_owned())
    } else {
        Err("write groups that begin with system:bootstrappers:, in lower-case letters, digits, dashes and colons"
            .to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::{group, url};

    #[test]
    fn the_address_is_one_that_kubeadm_takes() {
        for good in ["https://10.0.0.1", "https://api.example.com:6443", "https://[fd00::1]:6443/"] {
            assert_eq!(url(good).unwrap(), good.trim_end_matches('/'));
        }
        for bad in
            ["", "10.0.0.1", "http://10.0.0.1", "https://", "https://a/b", "https://a b", "https://u@a"]
        {
            assert!(url(bad).unwrap_err().contains("https://api.example.com:6443"), "{bad}");
        }
    }

    #[test]
    fn groups_are_ones_that_the_api_server_takes() {
        assert!(group("system:bootstrappers:kubeadm:default-node-token").is_ok());
        for bad in [
            "",
            "system:masters",
            "system:bootstrappers:",
            "system:bootstrappers:A",
            "system:bootstrappers:a-",
        ] {
            assert!(group(bad).is_err(), "{bad}");
        }
    }
}

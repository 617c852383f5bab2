//! How a machine that boots is told to become a node of the cluster.

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use windlass_core::Text;
use windlass_core::model::{Labels, Taint};

use crate::ProviderError;

/// What it takes to join the cluster, and the text that tells a machine so. The token is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Join {
    /// What the machine gets as its user data, with variables such as `{{windlass.token}}`.
    pub template: Text,
    /// A bootstrap token for this machine alone.
    pub token: Text,
    /// The URL of the API server.
    pub api_server: Text,
    /// Who vouches for the API server, as PEM.
    pub ca_bundle: Text,
    /// The hash of the certificate authority's public key, in the notation of `kubeadm join`: `sha256:...`.
    pub ca_hash: Text,
}

/// The node that a machine is to become, as far as only its provider knows.
#[derive(Clone, Copy, Debug)]
pub struct Joining<'a> {
    /// What the node is to be called.
    pub node_name: &'a str,
    /// What its kubelet is to say as `spec.providerID`.
    pub provider_id: &'a str,
    /// The labels that it is to register with.
    pub labels: &'a Labels,
    /// The taints that it is to register with.
    pub taints: &'a [Taint],
}

/// What may be written in a template, in `{{windlass.` and `}}`.
const VARIABLES: [&str; 9] = [
    "token",
    "apiServer",
    "apiServerEndpoint",
    "caBundle",
    "caHash",
    "nodeName",
    "providerID",
    "labels",
    "taints",
];
const OPEN: &str = "{{windlass.";
const CLOSE: &str = "}}";

impl Join {
    /// What is wrong with a template, if anything. Whatever else is in double braces is somebody else's, for example
    /// cloud-init's own.
    pub fn flaw(template: &str) -> Option<String> {
        fill(template, |name| VARIABLES.contains(&name).then(String::new)).err()
    }

    /// The user data of a machine.
    pub fn user_data(&self, machine: Joining<'_>) -> Result<String, ProviderError> {
        let filled = fill(&self.template, |name| {
            Some(match name {
                "token" => self.token.to_string(),
                "apiServer" => self.api_server.to_string(),
                "apiServerEndpoint" => self.api_server_endpoint(),
                "caBundle" => BASE64_STANDARD.encode(self.ca_bundle.as_bytes()),
                "caHash" => self.ca_hash.to_string(),
                "nodeName" => machine.node_name.to_owned(),
                "providerID" => machine.provider_id.to_owned(),
                "labels" => machine.labels(),
                "taints" => machine.taints(),
                _ => return None,
            })
        });
        filled.map_err(|flaw| ProviderError::InvalidConfiguration { message: format!("user data: {flaw}") })
    }
}

impl Join {
    /// Host and port, as `kubeadm join` wants them.
    fn api_server_endpoint(&self) -> String {
        let host = self.api_server.trim_start_matches("https://").trim_end_matches('/');
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        if has_port { host.to_owned() } else { format!("{host}:443") }
    }
}

impl Joining<'_> {
    /// In the notation of the kubelet's flag `--node-labels`.
    fn labels(&self) -> String {
        let pairs: Vec<String> = self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        pairs.join(",")
    }

    /// In the notation of the kubelet's flag `--register-with-taints`.
    fn taints(&self) -> String {
        let each = |taint: &Taint| format!("{}={}:{:?}", taint.key, taint.value, taint.effect);
        self.taints.iter().map(each).collect::<Vec<_>>().join(",")
    }
}

/// Puts values in place of variables, or says what is wrong with the template.
fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let Some((name, after)) = after.split_once(CLOSE) else {
            return Err(format!("a {OPEN} is never closed with {CLOSE}"));
        };
        let value = value(name.trim()).ok_or_else(|| no_variable(name))?;
        filled.push_str(before);
        filled.push_str(&value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// What stands between the braces is repeated only if it looks like a name: where they are closed much later it is a part of
/// the user data, which nobody is to see.
fn no_variable(name: &str) -> String {
    let looks_like_a_name = name.len() <= 30 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let named = if looks_like_a_name { name } else { "..." };
    format!("there is no variable {OPEN}{named}{CLOSE}; there are {}", VARIABLES.join(", "))
}

impl fmt::Debug for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join").field("api_server", &self.api_server).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::model::{Effect, Labels, Taint};

    use super::{Join, Joining};

    fn join(template: &str) -> Join {
        Join {
            template: template.into(),
            token: "abcdef.0123456789abcdef".into(),
            api_server: "https://10.0.0.1".into(),
            ca_bundle: "PEM".into(),
            ca_hash: "sha256:00".into(),
        }
    }

    #[test]
    fn variables_are_filled_in_and_other_braces_left_alone() {
        let template = "{{ v1.region }} {{windlass.token}} {{windlass.apiServerEndpoint}} {{windlass.nodeName}} \
             {{windlass.labels}} {{windlass.taints}} {{windlass.caBundle}}";
        let labels = Labels::new().with("a", "1").with("b", "");
        let taints = [Taint::new("t", "", Effect::NoSchedule), Taint::new("u", "v", Effect::NoExecute)];
        let machine = Joining { node_name: "n", provider_id: "p://n", labels: &labels, taints: &taints };
        let expected =
            "{{ v1.region }} abcdef.0123456789abcdef 10.0.0.1:443 n a=1,b= t=:NoSchedule,u=v:NoExecute UEVN";
        assert_eq!(join(template).user_data(machine).unwrap(), expected);
    }

    #[test]
    fn a_template_with_an_unknown_or_unclosed_variable_is_refused_in_words() {
        assert_eq!(Join::flaw("{{windlass.token}} {{ds.meta_data}}"), None);
        assert!(Join::flaw("{{windlass.tokne}}").unwrap().contains("windlass.tokne"));
        assert!(Join::flaw("{{windlass.token").unwrap().contains("never closed"));
    }

    #[test]
    fn a_refusal_does_not_repeat_the_user_data() {
        let unclosed = "{{windlass.token\npassword: hunter2\n{{ v1.region }}";
        let refusal = Join::flaw(unclosed).unwrap();
        assert!(refusal.contains("{{windlass....}}") && !refusal.contains("hunter2"), "{refusal}");
    }

    #[test]
    fn the_token_is_not_in_what_is_printed_for_debugging() {
        assert!(!format!("{:?}", join("{{windlass.token}}")).contains("abcdef"));
    }
}

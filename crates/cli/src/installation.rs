use anyhow::{Context, Result};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt};
use windlass_core::Text;

/// Which installation of Windlass in a cluster is meant.
#[derive(Debug, Args)]
pub(crate) struct Installation {
    /// The namespace for the lease and for the records that Windlass keeps. It has to exist.
    #[arg(long, env = "WINDLASS_NAMESPACE", default_value = "windlass-system", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) namespace: String,
    /// The name by which this cluster's machines are told apart from others'. Default: the UID of the namespace
    /// kube-system.
    #[arg(long, env = "WINDLASS_CLUSTER_ID", value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    cluster_id: Option<String>,
    /// Manage only pools, providers and claims with this value of the label windlass.dev/scope, for several
    /// installations beside each other. Default: those without the label.
    #[arg(long, env = "WINDLASS_SCOPE", value_name = "NAME", value_parser = scope_name)]
    pub(crate) scope: Option<String>,
}

impl Installation {
    /// Machines of another installation in the same cluster are others' machines, so the scope is part of the name.
    pub(crate) async fn cluster_id(&self, client: &Client) -> Result<Text> {
        let cluster = if let Some(id) = &self.cluster_id {
            id.clone()
        } else {
            let namespaces: Api<Namespace> = Api::all(client.clone());
            let system = namespaces.get("kube-system").await;
            let system = system
                .context("cannot read the namespace kube-system for the cluster's id: give --cluster-id")?;
            system.uid().context("the namespace kube-system has no UID: give --cluster-id")?
        };
        Ok(match &self.scope {
            Some(scope) => format!("{cluster}.{scope}").into(),
            None => cluster.into(),
        })
    }
}

/// The scope becomes a label's value and a part of the lease's name.
fn scope_name(text: &str) -> Result<String, String> {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_name = (1..=26).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-');
    if is_name {
        Ok(text.to_owned())
    } else {
        Err("write 1 to 26 lower-case letters, digits and dashes".to_owned())
    }
}

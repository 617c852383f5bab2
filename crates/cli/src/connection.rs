use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::time::timeout;
use windlass_control::controller_config;

/// How long the API server may take for its first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(20);

/// How to find the API server.
#[derive(Debug, Args)]
pub(crate) struct Connection {
    /// The kubeconfig file, or several as kubectl takes them. Without it, the usual places and then the service account
    /// of the pod are tried.
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<OsString>,
    /// The context in the kubeconfig file.
    #[arg(long, env = "WINDLASS_CONTEXT", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    context: Option<String>,
}

impl Connection {
    /// Makes a client of an API server that has answered.
    pub(crate) async fn connect(&self) -> Result<Client> {
        connect_by(self.config().await?).await
    }

    /// How the API server is reached.
    pub(crate) async fn config(&self) -> Result<Config> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let config = match self.kubeconfig()? {
            Some(file) => Config::from_custom_kubeconfig(file, &options)
                .await
                .context("the kubeconfig file cannot be used")?,
            // A context is one of a file, so the service account of the pod is no answer.
            None if self.context.is_some() => Config::from_kubeconfig(&options)
                .await
                .context("--context needs a kubeconfig file that has it: give --kubeconfig")?,
            None => {
                Config::infer().await.context("cannot find a cluster: give --kubeconfig or run inside one")?
            }
        };
        Ok(controller_config(config))
    }

    /// The file that was given; several are one, and those of several that do not exist are left out, as in kubectl.
    fn kubeconfig(&self) -> Result<Option<Kubeconfig>> {
        let given: Vec<PathBuf> = self.kubeconfig.iter().flat_map(std::env::split_paths).collect();
        let mut given: Vec<&PathBuf> = given.iter().filter(|path| !path.as_os_str().is_empty()).collect();
        if given.iter().any(|path| path.exists()) {
            given.retain(|path| path.exists());
        }
        let mut merged: Option<Kubeconfig> = None;
        for path in given {
            let cannot = || format!("cannot read the kubeconfig file {}", path.display());
            let file = Kubeconfig::read_from(path).with_context(cannot)?;
            merged = Some(match merged {
                Some(earlier) => earlier.merge(file).with_context(cannot)?,
                None => file,
            });
        }
        Ok(merged)
    }
}

/// Makes a client of an API server that has answered.
pub(crate) async fn connect_by(config: Config) -> Result<Client> {
    let address = config.cluster_url.to_string();
    let client = Client::try_from(config).context("cannot make a client for the API server")?;
    greet(&client, &address).await?;
    Ok(client)
}

/// Finds out at the start, where someone is looking, that the API server cannot be used. Later it is waited for.
async fn greet(client: &Client, address: &str) -> Result<()> {
    let answer = timeout(FIRST_ANSWER, client.apiserver_version()).await;
    let answer = answer.with_context(|| format!("the API server at {address} does not answer"))?;
    match answer {
        Ok(_) => Ok(()),
        // It answers; whether it lets us do what we have to do shows when we do it.
        Err(kube::Error::Api(status)) if status.code != 401 => Ok(()),
        Err(error @ kube::Error::Api(_)) => Err(error).with_context(|| {
            format!("the API server at {address} does not take these credentials: check those in the kubeconfig file")
        }),
        Err(error) => Err(error).with_context(|| {
            format!("the API server at {address} cannot be reached: check the address in the kubeconfig file and that it runs")
        }),
    }
}

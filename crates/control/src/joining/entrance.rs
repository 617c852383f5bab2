use base64::prelude::{BASE64_STANDARD, Engine as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::Kubeconfig;
use kube::{Api, Client, Config};
use windlass_core::Text;

use super::{JoinError, JoinSettings, ca_hash};

/// Where machines find the API server, and by what they know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entrance {
    /// Its URL.
    pub api_server: Text,
    /// Who vouches for it, as PEM.
    pub ca_bundle: Text,
    /// The hash of that one's public key.
    pub ca_hash: Text,
}

impl JoinSettings {
    /// The same, with how this process reaches the API server. `service_host` is the cluster's own name for it, inside the
    /// cluster.
    #[must_use]
    pub fn reached_by(self, config: &Config, service_host: Option<&str>) -> Self {
        let url = config.cluster_url.to_string();
        let host = config.cluster_url.host().unwrap_or_default();
        let certificates = config.root_cert.as_deref().unwrap_or_default();
        let bundle: String = certificates.iter().map(|certificate| pem(certificate)).collect();
        Self {
            own_api_server: Some(url.trim_end_matches('/').into()),
            own_ca_bundle: (!bundle.is_empty()).then(|| bundle.into()),
            is_local: is_local(host, service_host),
            ..self
        }
    }
}

impl Entrance {
    /// What machines are told. The cluster is asked about itself only where nothing else will do.
    pub(super) async fn find(client: &Client, settings: &JoinSettings) -> Result<Self, JoinError> {
        let (mut api_server, mut ca_bundle) = (settings.api_server.clone(), settings.ca_bundle.clone());
        if api_server.is_none() && !settings.is_local {
            api_server.clone_from(&settings.own_api_server);
        }
        if api_server.is_none() {
            let (server, bundle) = said_by_cluster(client, settings).await?;
            api_server = Some(server);
            ca_bundle = ca_bundle.or(bundle);
        }
        let api_server = api_server.unwrap_or_default();
        let ca_bundle = ca_bundle.or_else(|| settings.own_ca_bundle.clone()).ok_or(JoinError::NoAuthority)?;
        let ca_hash = ca_hash(&ca_bundle)?;
        Ok(Self { api_server, ca_bundle, ca_hash })
    }
}

/// The `ConfigMap` in which `kubeadm` says how the cluster is found.
async fn said_by_cluster(
    client: &Client,
    settings: &JoinSettings,
) -> Result<(Text, Option<Text>), JoinError> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-public");
    let found = maps.get_opt("cluster-info").await;
    let found =
        found.map_err(|error| JoinError::api("reading ConfigMap kube-public/cluster-info", &error))?;
    let Some(info) = found else {
        return Err(JoinError::NoAddress(settings.own_api_server.as_deref().unwrap_or_default().to_owned()));
    };
    let text = info.data.and_then(|mut data| data.remove("kubeconfig"));
    let text = text.ok_or(JoinError::ClusterInfo("it has no kubeconfig in it"))?;
    read_cluster_info(&text).map_err(JoinError::ClusterInfo)
}

fn read_cluster_info(text: &str) -> Result<(Text, Option<Text>), &'static str> {
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(|_| "the kubeconfig in it cannot be read")?;
    let cluster = kubeconfig.clusters.into_iter().find_map(|named| named.cluster);
    let cluster = cluster.ok_or("the kubeconfig in it names no cluster")?;
    let server = cluster.server.ok_or("the kubeconfig in it names no server")?;
    let bundle = cluster.certificate_authority_data.map(|data| {
        let pem = BASE64_STANDARD.decode(data.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        pem.map(Text::from).ok_or("the certificate in its kubeconfig cannot be read")
    });
    Ok((server.trim_end_matches('/').into(), bundle.transpose()?))
}

/// Whether a host is one that only this machine, or only pods, can reach.
fn is_local(host: &str, service_host: Option<&str>) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let loopback = host == "localhost" || host == "::1" || host.starts_with("127.");
    let service = host == "kubernetes" || host.starts_with("kubernetes.default");
    loopback || service || service_host == Some(host)
}

/// A certificate as PEM.
fn pem(certificate: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(certificate);
    let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for (number, letter) in encoded.chars().enumerate() {
        if number > 0 && number % 64 == 0 {
            text.push('\n');
        }
        text.push(letter);
    }
    text + "\n-----END CERTIFICATE-----\n"
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use base64::prelude::{BASE64_STANDARD, Engine as _};
    use http::{Request, Response};
    use kube::client::Body;
    use kube::{Client, Config};
    use serde_json::{Value, json};
    use x509_parser::pem::Pem;

    use super::{Entrance, JoinError, is_local};
    use crate::joining::{JoinSettings, ca_hash};

    const PEM: &str = include_str!("testdata/ca.pem");

    /// How a controller finds the API server that was given this address, and whose kube-public has this `cluster-info`.
    async fn found(url: &str, given: JoinSettings, info: Option<Value>) -> Result<Entrance, JoinError> {
        let mut config = Config::new(url.parse().unwrap());
        config.root_cert =
            Some(vec![Pem::iter_from_buffer(PEM.as_bytes()).next().unwrap().unwrap().contents]);
        let api_server = tower::service_fn(move |request: Request<Body>| {
            assert!(request.uri().path().ends_with("/kube-public/configmaps/cluster-info"));
            let missing = json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "no"});
            let (code, body) = info.clone().map_or((404, missing), |info| (200, info));
            let response = Response::builder().status(code).body(Body::from(body.to_string().into_bytes()));
            async move { Ok::<_, Infallible>(response.unwrap()) }
        });
        let client = Client::new(api_server, "default");
        Entrance::find(&client, &given.reached_by(&config, Some("10.96.0.1"))).await
    }

    fn cluster_info(server: &str) -> Value {
        let data = BASE64_STANDARD.encode(PEM);
        let cluster = json!({"server": server, "certificate-authority-data": data});
        let kubeconfig = json!({"clusters": [{"name": "", "cluster": cluster}]}).to_string();
        json!({"metadata": {"name": "cluster-info"}, "data": {"kubeconfig": kubeconfig}})
    }

    #[tokio::test]
    async fn an_address_that_others_can_reach_is_passed_on_as_it_is() {
        let entrance = found("https://api.example.com:6443", JoinSettings::default(), None).await.unwrap();
        assert_eq!(&*entrance.api_server, "https://api.example.com:6443");
        assert_eq!(&*entrance.ca_bundle, PEM, "the certificate comes out as it went in");
        assert_eq!(entrance.ca_hash, ca_hash(PEM).unwrap());
    }

    #[tokio::test]
    async fn in_place_of_an_address_of_this_machine_or_of_pods_goes_what_the_cluster_says() {
        for url in ["https://127.0.0.1:6443", "https://kubernetes.default.svc", "https://10.96.0.1:443"] {
            let entrance =
                found(url, JoinSettings::default(), Some(cluster_info("https://10.0.0.1:6443"))).await;
            assert_eq!(&*entrance.unwrap().api_server, "https://10.0.0.1:6443", "{url}");
        }
    }

    #[tokio::test]
    async fn what_is_given_comes_before_all_else() {
        let given = JoinSettings { api_server: Some("https://given".into()), ..JoinSettings::default() };
        let entrance =
            found("https://127.0.0.1:1", given, Some(cluster_info("https://10.0.0.1"))).await.unwrap();
        assert_eq!(&*entrance.api_server, "https://given");
        let nonsense = JoinSettings { ca_bundle: Some("nonsense".into()), ..JoinSettings::default() };
        let error = found("https://api.example.com", nonsense, None).await.unwrap_err();
        assert!(error.to_string().contains("no certificate"), "{error}");
    }

    #[tokio::test]
    async fn where_no_address_can_be_found_it_is_said_how_to_give_one() {
        let error = found("https://localhost:6443", JoinSettings::default(), None).await.unwrap_err();
        let words = error.to_string();
        assert!(words.contains("https://localhost:6443") && words.contains("--join-api-server"), "{words}");
        let empty = Some(json!({"metadata": {"name": "cluster-info"}}));
        let error = found("https://localhost:6443", JoinSettings::default(), empty).await.unwrap_err();
        assert!(error.to_string().contains("cluster-info is no help"), "{error}");
    }

    #[test]
    fn local_addresses_are_told_from_others() {
        for local in
            ["localhost", "127.0.0.1", "127.8.0.1", "::1", "[::1]", "kubernetes.default.svc", "10.96.0.1"]
        {
            assert!(is_local(local, Some("10.96.0.1")), "{local}");
        }
        for other in ["10.0.0.1", "api.example.com", "localhost.example.com", "kubernetes.example.com"] {
            assert!(!is_local(other, Some("10.96.0.1")), "{other}");
        }
    }
}

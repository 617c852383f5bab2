//! A round of Cluster Autoscaler's calls about a large cluster, over the network as it makes them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use windlass_control::groups::PoolGroups;
use windlass_control::index::{Index, Kind};
use windlass_control::{Settings, adapt};
use windlass_externalgrpc::wire::cloud_provider_client::CloudProviderClient;
use windlass_externalgrpc::wire::{
    ExternalGrpcNode, GpuLabelRequest, NodeGroupAutoscalingOptions, NodeGroupAutoscalingOptionsRequest,
    NodeGroupForNodeRequest, NodeGroupNodesRequest, NodeGroupTargetSizeRequest,
    NodeGroupTemplateNodeInfoRequest, NodeGroupsRequest, PricingNodePriceRequest, RefreshRequest,
};
use windlass_providers::stated_offers;
use windlass_serve::grpc::{Security, TlsFiles, serve_grpc};

const GROUPS: usize = 20;
const NODES: usize = 1_000;

/// What a round took.
#[derive(Debug)]
pub struct Round {
    /// How many groups there are.
    pub groups: usize,
    /// How many nodes there are.
    pub nodes: usize,
    /// How many calls it was.
    pub calls: usize,
    /// How long they took, one after the other.
    pub took: Duration,
}

/// Serves a thousand nodes in twenty groups over mutual TLS, and makes the calls that one loop of Cluster Autoscaler
/// makes about them, one after the other as it does; says what the best of three rounds took.
pub fn round() -> Result<Round> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let folder = tempfile::tempdir()?;
        let (files, tls) = certificates(folder.path())?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let security = Security::choose(address, Some(files), false)?;
        let groups = PoolGroups::of_index(index()?, Settings::new("bench".into(), "ns".into(), "me".into()));
        let server = tokio::spawn(serve_grpc(listener, security, Arc::new(groups), std::future::pending()));
        let channel = Endpoint::from_shared(format!("https://localhost:{}", address.port()))?;
        let client = CloudProviderClient::new(channel.tls_config(tls)?.connect().await?);
        let mut best: Option<Round> = None;
        for _ in 0..3 {
            let round = calls(client.clone()).await?;
            if best.as_ref().is_none_or(|best| round.took < best.took) {
                best = Some(round);
            }
        }
        server.abort();
        best.context("there was a round")
    })
}

/// The calls of one loop: whose each node is, what the groups are like and how large they are, how each node is to be
/// treated (twice to see whether it is ready, twice to see whether it may go), and what a new node of each would cost.
async fn calls(mut client: CloudProviderClient<Channel>) -> Result<Round> {
    let (started, mut calls) = (Instant::now(), 0);
    client.gpu_label(GpuLabelRequest {}).await?;
    client.refresh(RefreshRequest {}).await?;
    let groups = client.node_groups(NodeGroupsRequest {}).await?.into_inner().node_groups;
    calls += 3;
    let ids: Vec<String> = groups.into_iter().map(|group| group.id).collect();
    let mut owners = Vec::new();
    for number in 0..NODES {
        let node = Some(external(number));
        let answer = client.node_group_for_node(NodeGroupForNodeRequest { node }).await?.into_inner();
        owners.push(answer.node_group.context("each node has a group")?.id);
        calls += 1;
    }
    for id in &ids {
        client.node_group_template_node_info(NodeGroupTemplateNodeInfoRequest { id: id.clone() }).await?;
        client.node_group_nodes(NodeGroupNodesRequest { id: id.clone() }).await?;
        for _ in 0..3 {
            client.node_group_target_size(NodeGroupTargetSizeRequest { id: id.clone() }).await?;
        }
        let hour = |hours: i64| Some(prost_types::Timestamp { seconds: hours * 3600, nanos: 0 });
        let node = Some(external(0));
        let span = PricingNodePriceRequest {
            node,
            start_timestamp: hour(0),
            end_timestamp: hour(1),
            ..PricingNodePriceRequest::default()
        };
        client.pricing_node_price(span).await?;
        calls += 6;
    }
    for id in owners.iter().cycle().take(4 * NODES).chain(&ids) {
        let defaults = Some(NodeGroupAutoscalingOptions::default());
        // It has none of its own, and says so.
        drop(
            client
                .node_group_get_options(NodeGroupAutoscalingOptionsRequest { id: id.clone(), defaults })
                .await,
        );
        calls += 1;
    }
    Ok(Round { groups: ids.len(), nodes: owners.len(), calls, took: started.elapsed() })
}

fn external(number: usize) -> ExternalGrpcNode {
    ExternalGrpcNode {
        provider_id: provider_id(number),
        name: node_name(number),
        ..ExternalGrpcNode::default()
    }
}

fn provider_id(number: usize) -> String {
    format!("simulated://s/{}", node_name(number))
}

fn node_name(number: usize) -> String {
    format!("node-{number:04}")
}

/// A pool of twenty kinds of machines, with fifty nodes of each.
fn index() -> Result<Index> {
    let mut index = Index::default();
    for kind in Kind::ALL {
        index.listed(kind);
    }
    let kinds = (0..GROUPS).map(|number| {
        json!({"name": kind(number), "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
               "offerings": [{"zone": "a", "price": "0.40"}]})
    });
    let provider: windlass_api::NodeProvider = serde_json::from_value(json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeProvider", "metadata": {"name": "s", "uid": "s"},
        "spec": {"simulated": {"instanceTypes": kinds.collect::<Vec<_>>()}},
    }))?;
    let offers = stated_offers(&"s".into(), &provider.spec)?;
    index.saw_provider(provider);
    index.saw_catalogue("s", windlass_control::index::Catalogue::Known(Arc::new(offers)));
    index.saw_pool(adapt::pool(&serde_json::from_value(json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "NodePool", "metadata": {"name": "web", "uid": "web"},
        "spec": {"providerRef": {"name": "s"}, "driver": "ClusterAutoscaler"},
    }))?));
    for number in 0..NODES {
        index.claims.saw(serde_json::from_value(claim(number))?);
        let node = json!({"metadata": {"name": node_name(number), "uid": node_name(number)},
                          "spec": {"providerID": provider_id(number)}});
        index.saw_node(adapt::seen_node(&serde_json::from_value(node)?));
    }
    Ok(index)
}

fn kind(number: usize) -> String {
    format!("kind-{number:02}")
}

fn claim(number: usize) -> serde_json::Value {
    let (now, kind) = (Timestamp::UNIX_EPOCH, kind(number % GROUPS));
    let amounts = json!({"cpu": "8", "memory": "32Gi", "pods": "110"});
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": now});
    json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeClaim",
        "metadata": {"name": format!("web-{number:04}"), "uid": format!("u-{number}"), "resourceVersion": "1",
                     "creationTimestamp": now},
        "spec": {"poolRef": {"name": "web"}, "providerRef": {"name": "s"},
                 "reason": {"purpose": "ClusterAutoscaler"},
                 "offerings": [{"instanceType": kind, "zone": "a", "capacityType": "on-demand", "price": "0.40",
                                "capacity": amounts, "allocatable": amounts}]},
        "status": {"providerID": provider_id(number), "instanceType": kind, "zone": "a",
                   "capacityType": "on-demand", "price": "0.40", "nodeName": node_name(number),
                   "launch": {"offering": 0}, "capacity": amounts, "allocatable": amounts,
                   "conditions": [condition("Launched"), condition("Registered"), condition("Initialized")]},
    })
}

/// A server's files, and what a client says for itself.
fn certificates(folder: &std::path::Path) -> Result<(TlsFiles, ClientTlsConfig)> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let vouch = |purpose| -> Result<(String, String)> {
        let mut params = CertificateParams::new(["localhost".to_owned()])?;
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate()?;
        Ok((params.signed_by(&key, &authority)?.pem(), key.serialize_pem()))
    };
    let ((certificate, key), (client, client_key)) =
        (vouch(ExtendedKeyUsagePurpose::ServerAuth)?, vouch(ExtendedKeyUsagePurpose::ClientAuth)?);
    let files = TlsFiles {
        certificate: folder.join("server.crt"),
        key: folder.join("server.key"),
        client_ca: folder.join("ca.crt"),
    };
    std::fs::write(&files.certificate, certificate)?;
    std::fs::write(&files.key, key)?;
    std::fs::write(&files.client_ca, authority.pem())?;
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(authority.pem()))
        .identity(Identity::from_pem(client, client_key))
        .domain_name("localhost");
    Ok((files, tls))
}

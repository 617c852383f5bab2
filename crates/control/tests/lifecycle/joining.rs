//! Machines that are told how to join, each with a token of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, UserInfo};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use windlass_api::{NodeClaim, conditions, labels};
use windlass_control::joining::{JoinSettings, ca_hash};
use windlass_core::model::Labels;
use windlass_providers::{Join, Joining};
use windlass_testkit::{ControlPlane, eventually};

use crate::hands::{claim_says, disown, new_lab, now, only_claim, pool_says};
use crate::kubelets::{Named, boots, join, silent};
use crate::lab::{Lab, PATIENCE};
use crate::twist::twisted;

const USER_DATA: &str = "#cloud-config\npassword: hunter2\n{{windlass.token}} {{windlass.apiServerEndpoint}} \
     {{windlass.caHash}} {{windlass.nodeName}}";
const GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";

/// Fields of a pool whose machines are told this.
fn told(user_data: &str) -> Value {
    json!({"template": {"spec": {"join": "UserData", "userData": user_data}}})
}

/// A lab whose API server machines find where the test does.
async fn joining_lab(plane: Arc<ControlPlane>, name: &str) -> Lab {
    let mut lab = new_lab(plane, name).await;
    let given = JoinSettings { api_server: Some(lab.plane.url().into()), ..JoinSettings::default() };
    lab.settings.joining = given.reached_by(&lab.plane.config(), None);
    lab
}

fn secrets(lab: &Lab) -> Api<Secret> {
    Api::namespaced(lab.client.clone(), "kube-system")
}

/// The Secrets with this test's tokens.
async fn tokens(lab: &Lab) -> Vec<Secret> {
    let ours = ListParams::default().labels(&format!("{}={}", labels::CLUSTER_ID, lab.settings.cluster_id));
    secrets(lab).list(&ours).await.unwrap().items
}

async fn only_token(lab: &Lab) -> Secret {
    eventually("a token", PATIENCE, async || tokens(lab).await.pop()).await
}

async fn no_tokens(lab: &Lab) {
    eventually("no token is left", PATIENCE, async || {
        let left = tokens(lab).await;
        if left.is_empty() { Ok(()) } else { Err(format!("{} tokens", left.len())) }
    })
    .await;
}

fn entry(secret: &Secret, key: &str) -> String {
    let bytes = secret.data.as_ref().unwrap()[key].0.clone();
    String::from_utf8(bytes).unwrap()
}

/// Who the API server takes the bearer of a token for.
async fn whoami(plane: &ControlPlane, token: &str) -> Result<UserInfo, kube::Error> {
    let api: Api<SelfSubjectReview> = Api::all(plane.client_for_token(token).unwrap());
    let review = api.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
    Ok(review.status.and_then(|status| status.user_info).unwrap_or_default())
}

/// Waits for the first launch, and says with which words it was asked for.
async fn first_join(provider: &Named) -> Join {
    eventually("a launch", PATIENCE, async || {
        provider.requests().first().map(|request| request.join.clone().unwrap())
    })
    .await
}

pub async fn a_machine_gets_a_token_that_lets_it_join_and_is_good_for_nothing_afterwards(
    plane: Arc<ControlPlane>,
) {
    let mut lab = joining_lab(plane.clone(), "token").await;
    lab.plain_provider(&silent()).await;
    lab.pool("pool", &told(USER_DATA)).await;
    let provider = Arc::new(Named::default());
    lab.start_with(twisted(&provider)).await;
    lab.pods("p", 1, "3").await;
    let join_info = first_join(&provider).await;

    let machine = Joining { node_name: "n", provider_id: "p://n", labels: &Labels::new(), taints: &[] };
    let filled = join_info.user_data(machine).unwrap();
    let endpoint = plane.url().trim_start_matches("https://");
    let ca = lab.settings.joining.own_ca_bundle.clone().unwrap();
    let rest = format!(" {endpoint} {} n", ca_hash(&ca).unwrap());
    assert!(filled.ends_with(&rest) && !filled.contains("windlass."), "{filled}");

    let secret = only_token(&lab).await;
    let token = format!("{}.{}", entry(&secret, "token-id"), entry(&secret, "token-secret"));
    assert_eq!(*join_info.token, *token);
    assert_eq!(secret.name_any(), format!("bootstrap-token-{}", entry(&secret, "token-id")));
    let claim = only_claim(&lab).await;
    assert_eq!(secret.labels()[labels::CLAIM_UID], claim.uid().unwrap());
    assert!(entry(&secret, "description").contains(&claim.name_any()));
    let expires: Timestamp = entry(&secret, "expiration").parse().unwrap();
    assert!(expires > now() + lab.settings.registration_deadline);

    // The token is shown to the API server as the machine would show it.
    let user = eventually("the token to be taken", PATIENCE, async || whoami(&plane, &token).await).await;
    assert_eq!(user.username, Some(format!("system:bootstrap:{}", entry(&secret, "token-id"))));
    assert!(user.groups.unwrap().contains(&GROUP.to_owned()));

    let machine = lab.machines().await.remove(0);
    boots(&machine).await;
    let expected = only_claim(&lab).await.status.unwrap().expected_node_name.unwrap();
    join(&lab, &expected).await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    let status = claim.status.clone().unwrap();
    assert_eq!(status.node_name.as_deref(), Some(expected.as_str()));
    let node = lab.node_api().get(&expected).await.unwrap();
    assert_eq!(node.spec.unwrap().provider_id, status.provider_id, "Windlass has said whose node it is");

    no_tokens(&lab).await;
    eventually("the token to be refused", PATIENCE, async || match whoami(&plane, &token).await {
        Err(kube::Error::Api(status)) if status.code == 401 => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    eventually("the claim to say so", PATIENCE, async || {
        let status = lab.claim_api().get(&claim.name_any()).await.ok()?.status?;
        (!status.launch?.bootstrap_token).then_some(())
    })
    .await;
    crate::hands::delete_pods(&lab).await;
    lab.everything_is_gone().await;
    lab.finish().await;
}

pub async fn neither_token_nor_user_data_is_written_where_people_look(plane: Arc<ControlPlane>) {
    let log = crate::eavesdrop::Log::default();
    let _listening = log.listen();
    let mut lab = joining_lab(plane, "hush").await;
    lab.plain_provider(&silent()).await;
    lab.pool("pool", &told(USER_DATA)).await;
    let provider = Arc::new(Named::default());
    lab.start_with(twisted(&provider)).await;
    lab.pods("p", 1, "3").await;
    let token = first_join(&provider).await.token;
    let secret = token.split_once('.').unwrap().1.to_owned();
    let machine = eventually("the machine", PATIENCE, async || lab.machines().await.pop()).await;
    boots(&machine).await;
    // A pool that breaks says what is wrong, and that is no part of the user data either.
    lab.pool("broken", &told("{{windlass.token password: hunter2 }}")).await;
    pool_says(&lab, &lab.named("broken"), "False", "there is no variable").await;
    let claim = eventually("the claim to know of its machine", PATIENCE, async || {
        lab.claims()
            .await
            .pop()
            .filter(|claim| claim.status.as_ref().is_some_and(|it| it.provider_id.is_some()))
    })
    .await;
    join(&lab, claim.status.unwrap().expected_node_name.as_deref().unwrap()).await;
    lab.all_pods_run().await;
    no_tokens(&lab).await;

    let events = Api::<Event>::all(lab.client.clone()).list(&ListParams::default()).await.unwrap();
    let pools = lab.pool_api().list(&ListParams::default()).await.unwrap();
    let statuses: Vec<_> = pools.items.iter().map(|pool| &pool.status).collect();
    let seen = [
        ("events", serde_json::to_string(&events).unwrap()),
        ("claims", serde_json::to_string(&lab.claims().await).unwrap()),
        ("nodes", serde_json::to_string(&lab.nodes().await).unwrap()),
        ("the status of pools", serde_json::to_string(&statuses).unwrap()),
        ("requests in debug output", format!("{:?}", provider.requests())),
        ("pools in debug output", format!("{pools:?}").replace("last-applied-configuration", "")),
        ("the log", log.text()),
    ];
    for (place, text) in seen {
        assert!(text.len() > 50, "there is something to look at in {place}: {text}");
        assert!(!text.contains(&secret), "the token is in {place}");
        assert!(!text.contains("hunter2"), "the user data is in {place}");
    }
    lab.finish().await;
}

/// A controller whose launches fail for now, so that a claim is at its launch for as long as the test wants.
async fn stuck_at_launch(plane: Arc<ControlPlane>, name: &str) -> (Lab, NodeClaim) {
    let mut lab = joining_lab(plane, name).await;
    let fault = json!({"effect": "Error", "calls": ["Launch"], "error": "Transient"});
    lab.plain_provider(&json!({"faults": [fault]})).await;
    lab.pool("pool", &told(USER_DATA)).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    let claim = only_claim(&lab).await;
    claim_says(&lab, &claim.name_any(), conditions::LAUNCHED, "Unknown", "Transient").await;
    (lab, claim)
}

pub async fn a_token_that_has_expired_before_the_launch_succeeds_is_renewed(plane: Arc<ControlPlane>) {
    let (mut lab, _) = stuck_at_launch(plane, "renewed").await;
    lab.crash().await;
    let before = only_token(&lab).await;
    let past = ByteString(b"2020-01-01T00:00:00Z".to_vec());
    let expired = Patch::Merge(json!({"data": {"expiration": past}}));
    secrets(&lab).patch(&before.name_any(), &PatchParams::default(), &expired).await.unwrap();
    lab.start().await;
    let after = eventually("the token to be renewed", PATIENCE, async || {
        let token = tokens(&lab).await.pop()?;
        (entry(&token, "expiration") >= entry(&before, "expiration")).then_some(token)
    })
    .await;
    assert_eq!((after.uid(), entry(&after, "token-secret")), (before.uid(), entry(&before, "token-secret")));
    lab.finish().await;
}

pub async fn a_secret_of_somebody_elses_in_the_tokens_place_is_left_alone(plane: Arc<ControlPlane>) {
    let (mut lab, _) = stuck_at_launch(plane, "intheway").await;
    lab.crash().await;
    let ours = only_token(&lab).await;
    secrets(&lab).delete(&ours.name_any(), &DeleteParams::default()).await.unwrap();
    let data: BTreeMap<String, ByteString> =
        [("token-id".to_owned(), ByteString(b"theirs".to_vec()))].into_iter().collect();
    let theirs = Secret {
        metadata: kube::api::ObjectMeta { name: Some(ours.name_any()), ..Default::default() },
        type_: ours.type_.clone(),
        data: Some(data),
        ..Secret::default()
    };
    let theirs = secrets(&lab).create(&PostParams::default(), &theirs).await.unwrap();
    lab.start().await;
    let other = only_token(&lab).await;
    assert_ne!(other.name_any(), theirs.name_any());
    lab.plain_provider(&json!({"faults": []})).await;
    lab.all_pods_run().await;
    no_tokens(&lab).await;
    assert_eq!(secrets(&lab).get(&theirs.name_any()).await.unwrap(), theirs);
    secrets(&lab).delete(&theirs.name_any(), &DeleteParams::default()).await.unwrap();
    lab.finish().await;
}

pub async fn the_tokens_of_claims_that_are_gone_are_swept_up_and_those_of_others_are_not(
    plane: Arc<ControlPlane>,
) {
    let (mut lab, claim) = stuck_at_launch(plane, "swept").await;
    let token = only_token(&lab).await;
    let mut neighbours = token.clone();
    neighbours.metadata = kube::api::ObjectMeta {
        name: Some("bootstrap-token-nghbrs".to_owned()),
        labels: Some(BTreeMap::from([
            (labels::CLAIM_UID.to_owned(), "their-claim".to_owned()),
            (labels::CLUSTER_ID.to_owned(), "lab.neighbours".to_owned()),
        ])),
        ..Default::default()
    };
    let neighbours = secrets(&lab).create(&PostParams::default(), &neighbours).await.unwrap();
    crate::hands::delete_pods(&lab).await;
    disown(&mut lab, &claim.name_any()).await;
    no_tokens(&lab).await;
    assert_eq!(secrets(&lab).get(&neighbours.name_any()).await.unwrap(), neighbours);
    secrets(&lab).delete(&neighbours.name_any(), &DeleteParams::default()).await.unwrap();
    lab.finish().await;
}

pub async fn a_claim_that_leaves_before_its_machine_has_joined_takes_its_token_along(
    plane: Arc<ControlPlane>,
) {
    let mut lab = joining_lab(plane, "takesalong").await;
    lab.plain_provider(&silent()).await;
    lab.pool("pool", &told(USER_DATA)).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    let claim = only_claim(&lab).await;
    claim_says(&lab, &claim.name_any(), conditions::LAUNCHED, "True", "Launched").await;
    only_token(&lab).await;
    crate::hands::delete_pods(&lab).await;
    crate::hands::delete_claim(&lab, &claim.name_any()).await;
    lab.everything_is_gone().await;
    no_tokens(&lab).await;
    lab.finish().await;
}

pub async fn a_claim_whose_machine_cannot_be_told_how_to_join_says_why_and_goes_on_when_it_can(
    plane: Arc<ControlPlane>,
) {
    let (lab, claim) = stuck_at_launch(plane, "untold").await;
    let name = claim.name_any();
    lab.pool("pool", &told("{{windlass.tokne}}")).await;
    pool_says(&lab, &lab.named("pool"), "False", "there is no variable {{windlass.tokne}}").await;
    let why = claim_says(&lab, &name, conditions::LAUNCHED, "Unknown", "CannotJoin").await;
    assert!(why.contains("{{windlass.tokne}}"), "{why}");
    let image = json!({"template": {"spec": {"join": "Image"}}});
    lab.pool("pool", &image).await;
    eventually("the claim to say that its pool is another now", PATIENCE, async || {
        let why = claim_says(&lab, &name, conditions::LAUNCHED, "Unknown", "CannotJoin").await;
        if why.contains("does not say join: UserData any more") { Ok(()) } else { Err(why) }
    })
    .await;
    lab.plain_provider(&json!({"faults": []})).await;
    lab.pool("pool", &told(USER_DATA)).await;
    lab.all_pods_run().await;
    lab.finish().await;
}

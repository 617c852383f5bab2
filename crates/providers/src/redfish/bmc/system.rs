//! A computer system as its BMC describes it. What is missing is not known, and nothing is taken for granted.

use reqwest::header::HeaderValue;
use serde_json::Value;
use windlass_core::model::Resources;

use super::wire::{Answer, Wire};

/// Whether a host is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Power {
    On,
    Off,
    /// On its way from one to the other.
    Changing,
    /// The BMC does not say.
    Unknown,
}

/// One host, as its BMC shows it.
#[derive(Clone, Debug)]
pub(in super::super) struct System {
    pub power: Power,
    /// The cpu and memory that it says it has.
    pub size: Resources,
    /// The version of Redfish that its BMC speaks.
    pub version: Option<windlass_core::Text>,
    pub(super) path: String,
    pub(super) etag: Option<HeaderValue>,
    pub(super) boot: BootSettings,
    pub(super) reset: Option<ResetAction>,
}

/// What can be said about the next boot.
#[derive(Clone, Debug, Default)]
pub(super) struct BootSettings {
    pub targets: Option<Vec<String>>,
    pub durations: Option<Vec<String>>,
    pub is_legacy: bool,
}

/// How the host is powered on and off.
#[derive(Clone, Debug)]
pub(super) struct ResetAction {
    pub target: String,
    /// What may be asked for, where that is said.
    pub allowed: Option<Vec<String>>,
    /// Where it is said otherwise.
    pub info: Option<String>,
}

const ALLOWED: &str = "@Redfish.AllowableValues";
const GIB: f64 = 1_073_741_824.0;
/// No host has as much memory.
const TOO_MUCH_GIB: f64 = 1e7;

impl System {
    pub(super) fn read(path: String, answer: &Answer, wire: &Wire) -> Self {
        let body = &answer.body;
        Self {
            power: power(body.get("PowerState")),
            size: size(body),
            version: None,
            etag: answer.etag.clone(),
            boot: body.get("Boot").map(boot).unwrap_or_default(),
            reset: reset(body, wire),
            path,
        }
    }
}

fn power(state: Option<&Value>) -> Power {
    match state.and_then(Value::as_str) {
        Some("On") => Power::On,
        Some("Off") => Power::Off,
        Some("PoweringOn" | "PoweringOff") => Power::Changing,
        _ => Power::Unknown,
    }
}

/// Cores as Kubernetes counts them, which are those that run one thread. The number of sockets, which is all that some say,
/// is no help.
fn size(body: &Value) -> Resources {
    let mut size = Resources::new();
    let cores = body.get("ProcessorSummary").and_then(|summary| {
        let count = |field: &str| summary.get(field).and_then(Value::as_i64).filter(|count| *count > 0);
        count("LogicalProcessorCount").or_else(|| count("CoreCount"))
    });
    if let Some(cores) = cores {
        size.set(Resources::CPU, cores.saturating_mul(1000));
    }
    let memory = body.get("MemorySummary").and_then(|summary| summary.get("TotalSystemMemoryGiB"));
    let memory = memory.and_then(Value::as_f64).filter(|gib| *gib > 0.0 && *gib < TOO_MUCH_GIB);
    if let Some(gib) = memory {
        #[expect(clippy::cast_possible_truncation, reason = "it is far below 2^63")]
        size.set(Resources::MEMORY, (gib * GIB) as i64);
    }
    size
}

fn boot(boot: &Value) -> BootSettings {
    BootSettings {
        targets: strings(boot.get(format!("BootSourceOverrideTarget{ALLOWED}"))),
        durations: strings(boot.get(format!("BootSourceOverrideEnabled{ALLOWED}"))),
        is_legacy: boot.get("BootSourceOverrideMode").and_then(Value::as_str) == Some("Legacy"),
    }
}

fn reset(body: &Value, wire: &Wire) -> Option<ResetAction> {
    let action = body.get("Actions")?.get("#ComputerSystem.Reset")?;
    Some(ResetAction {
        target: wire.local(action.get("target")?.as_str()?)?,
        allowed: strings(action.get(format!("ResetType{ALLOWED}"))),
        info: action.get("@Redfish.ActionInfo").and_then(Value::as_str).and_then(|link| wire.local(link)),
    })
}

/// The values that a parameter of an action may have, as an `ActionInfo` says.
pub(super) fn allowed_by_info(info: &Value, parameter: &str) -> Option<Vec<String>> {
    let parameters = info.get("Parameters")?.as_array()?;
    let found = parameters.iter().find(|each| each.get("Name").and_then(Value::as_str) == Some(parameter))?;
    strings(found.get("AllowableValues"))
}

/// A list of strings; an empty one says nothing.
fn strings(list: Option<&Value>) -> Option<Vec<String>> {
    let list: Vec<String> =
        list?.as_array()?.iter().filter_map(|each| Some(each.as_str()?.to_owned())).collect();
    (!list.is_empty()).then_some(list)
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use serde_json::{Value, json};

    use super::super::wire::tests::wire;
    use super::{Answer, Power, System};

    fn read(body: Value) -> System {
        let wire = wire("https://bmc");
        let answer = Answer { status: StatusCode::OK, body, etag: None, location: None, token: None };
        System::read("/redfish/v1/Systems/1".to_owned(), &answer, &wire)
    }

    #[test]
    fn what_a_bmc_leaves_out_or_garbles_is_not_known() {
        for body in [json!(null), json!({}), json!([1]), json!({"PowerState": 7, "Actions": "no", "Boot": 1})]
        {
            let system = read(body);
            assert_eq!((system.power, system.size.is_empty()), (Power::Unknown, true));
            assert!(system.reset.is_none() && system.boot.targets.is_none());
        }
        let huge =
            json!({"MemorySummary": {"TotalSystemMemoryGiB": 1e300}, "ProcessorSummary": {"CoreCount": -4}});
        assert!(read(huge).size.is_empty());
    }

    #[test]
    fn cores_that_run_a_thread_are_counted_and_sockets_are_not() {
        let of = |processors: Value| {
            read(json!({"ProcessorSummary": processors, "MemorySummary": {"TotalSystemMemoryGiB": 96.5}}))
                .size
        };
        let both = json!({"Count": 2, "CoreCount": 32, "LogicalProcessorCount": 64});
        assert_eq!(of(both).to_string(), "cpu 64, memory 98816Mi");
        assert_eq!(of(json!({"Count": 2, "CoreCount": 32})).to_string(), "cpu 32, memory 98816Mi");
        assert_eq!(of(json!({"Count": 2})).to_string(), "memory 98816Mi");
    }

    #[test]
    fn an_action_that_leads_elsewhere_is_no_action() {
        let body = |target: &str| json!({"Actions": {"#ComputerSystem.Reset": {"target": target}}});
        assert!(read(body("https://evil/reset")).reset.is_none());
        assert_eq!(read(body("/redfish/v1/reset")).reset.unwrap().target, "/redfish/v1/reset");
    }
}

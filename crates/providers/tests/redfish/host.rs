//! A host behind our own BMC.

use serde_json::{Value, json};

#[derive(Debug)]
pub struct System {
    pub power: &'static str,
    /// How often it is looked at before it has become what it was told.
    pub inertia: usize,
    pub pending: Option<(usize, &'static str)>,
    pub target: String,
    pub enabled: String,
    pub version: usize,
    /// What it has booted, each time it went on.
    pub booted: Vec<String>,
    pub allowed: Option<Vec<&'static str>>,
    /// Whether what is allowed is said elsewhere.
    pub by_info: bool,
    /// Whether it shuts down when it is asked to.
    pub is_deaf: bool,
    /// What it says about its processors and its memory.
    pub size: Value,
}

impl System {
    pub fn new() -> Self {
        Self {
            power: "Off",
            inertia: 1,
            pending: None,
            target: "None".to_owned(),
            enabled: "Disabled".to_owned(),
            version: 1,
            booted: Vec::new(),
            allowed: Some(vec!["On", "ForceOff", "GracefulShutdown", "ForceRestart"]),
            by_info: false,
            is_deaf: false,
            size: json!({
                "ProcessorSummary": {"Count": 2, "LogicalProcessorCount": 64},
                "MemorySummary": {"TotalSystemMemoryGiB": 256},
            }),
        }
    }

    pub fn etag(&self) -> String {
        format!("\"{}\"", self.version)
    }

    /// Time goes by.
    pub fn tick(&mut self) {
        let Some((left, power)) = self.pending.take() else { return };
        if left > 0 {
            self.pending = Some((left - 1, power));
        } else {
            self.become_(power);
        }
    }

    pub fn become_(&mut self, power: &'static str) {
        self.power = power;
        self.version += 1;
        if power == "On" {
            let once = self.enabled == "Once";
            self.booted.push(if once { self.target.clone() } else { "Hdd".to_owned() });
            "Disabled".clone_into(&mut self.enabled);
        }
    }

    pub fn show(&self, id: &str) -> Value {
        let mut shown = json!({
            "@odata.id": format!("/redfish/v1/Systems/{id}"),
            "Id": id,
            "PowerState": self.power,
            "Boot": {
                "BootSourceOverrideTarget": self.target,
                "BootSourceOverrideEnabled": self.enabled,
                "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Hdd", "UefiHttp"],
                "BootSourceOverrideEnabled@Redfish.AllowableValues": ["Disabled", "Once", "Continuous"],
            },
            "Actions": {"#ComputerSystem.Reset": {"target": format!("/redfish/v1/odd/place/{id}/reset")}},
        });
        for (field, value) in self.size.as_object().unwrap() {
            shown[field] = value.clone();
        }
        let action = &mut shown["Actions"]["#ComputerSystem.Reset"];
        if self.by_info {
            action["@Redfish.ActionInfo"] = json!(format!("/redfish/v1/odd/place/{id}/info"));
        } else if let Some(allowed) = &self.allowed {
            action["ResetType@Redfish.AllowableValues"] = json!(allowed);
        }
        shown
    }
}

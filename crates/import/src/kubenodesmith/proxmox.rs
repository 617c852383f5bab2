use serde_json::{Map, Value, json};
use windlass_manifests::Flaw;

use super::options;
use crate::fields::Fields;
use crate::remark::Remarks;

/// What the addresses of KubeNodeSmith end in.
const API: &str = "/api2/json";
/// Sizes of machines, for a provider that made each as large as its pods.
const CPUS: [u32; 5] = [1, 2, 4, 8, 16];
const MEMORY: [&str; 6] = ["2Gi", "4Gi", "8Gi", "16Gi", "32Gi", "64Gi"];

/// The machines of a Proxmox VE cluster that boot from the network.
pub(super) fn proxmox(mut given: Fields, remarks: &mut Remarks) -> Result<Value, Flaw> {
    let mut made = Map::new();
    let mut say = |name: &str, value: Value| made.insert(name.to_owned(), value);

    let endpoint = given.required("endpoint")?;
    let endpoint = endpoint.trim_end_matches('/');
    let endpoint = endpoint.strip_suffix(API).unwrap_or(endpoint).trim_end_matches('/');
    say("endpoints", json!([{"url": endpoint}]));
    let hosts = given.texts("nodeWhitelist")?;
    if !hosts.is_empty() {
        say("hosts", hosts.into());
    }
    say("vmids", vmids(&mut given, remarks)?);
    let tags = tags(&mut given, remarks)?;
    if !tags.is_empty() {
        say("tags", tags.into());
    }
    let path = given.path("vmMemOverheadMiB");
    if let Some(overhead) = given.count("vmMemOverheadMiB")?.filter(|overhead| *overhead > 0) {
        // It is added to what pods ask for, so it is what of a machine pods do not get.
        remarks.changed(path, "becomes reserved.memory: what of each machine its system keeps from pods");
        say("reserved", json!({"memory": format!("{overhead}Mi")}));
    }

    let interfaces = interfaces(&mut given, remarks)?;
    let options = options::options(&mut given, remarks)?;
    say("storage", options.disk.storage.into());
    say("networkBoot", json!({"diskGib": options.disk.gib, "interfaces": interfaces}));
    if let Some(pool) = options.pool {
        say("pool", pool.into());
    }
    if !options.others.is_empty() {
        say("options", json!(options.others));
    }
    say("shapes", json!({"cpus": CPUS, "memory": MEMORY}));
    remarks.changed(
        given.path(""),
        "KubeNodeSmith makes each machine as large as its pods; here there are sizes: write those in shapes that suit the hosts",
    );
    given.tell_unknown(remarks);
    Ok(Value::Object(made))
}

fn vmids(given: &mut Fields, remarks: &mut Remarks) -> Result<Value, Flaw> {
    let path = given.path("vmIDRange");
    let mut range = given.inner("vmIDRange")?;
    let mut end = |name: &str| {
        let path = range.path(name);
        range.count(name)?.ok_or_else(|| Flaw::new(path, "is missing"))
    };
    let vmids = json!({"first": end("lower")?, "last": end("upper")?});
    range.tell_unknown(remarks);
    remarks.changed(
        path,
        "becomes vmids: while KubeNodeSmith still launches machines, give one of the two another range",
    );
    Ok(vmids)
}

/// The tags of machines beside Windlass' own.
fn tags(given: &mut Fields, remarks: &mut Remarks) -> Result<Vec<String>, Flaw> {
    let path = given.path("managedNodeTag");
    let text = given.text("managedNodeTag")?.unwrap_or_default();
    let (tags, others): (Vec<&str>, Vec<&str>) =
        text.split([';', ',', ' ']).filter(|tag| !tag.is_empty()).partition(|tag| is_tag(tag));
    if !others.is_empty() {
        remarks.left_out(
            path,
            "tags are of lower-case letters, digits, dashes, dots and underscores here: use another",
        );
    }
    Ok(tags.into_iter().map(str::to_owned).collect())
}

fn is_tag(text: &str) -> bool {
    let may_begin = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.len() <= 63 && text.starts_with(may_begin) && text.chars().all(|c| may_begin(c) || "+-.".contains(c))
}

fn interfaces(given: &mut Fields, remarks: &mut Remarks) -> Result<Vec<Value>, Flaw> {
    let mut made = Vec::new();
    for (number, mut interface) in given.objects("networkInterfaces")?.into_iter().enumerate() {
        let usual = format!("net{number}");
        let path = interface.path("name");
        if let Some(name) = interface.text("name")?.filter(|name| *name != usual) {
            remarks.changed(
                path,
                format!("{name} becomes {usual}: they are counted here, and machines boot from the first"),
            );
        }
        let mut fields = Map::new();
        if let Some(model) = interface.text("model")?.filter(|model| !model.is_empty()) {
            fields.insert("model".to_owned(), model.into());
        }
        fields.insert("bridge".to_owned(), interface.required("bridge")?.into());
        if let Some(vlan) = interface.count("vlanTag")?.filter(|vlan| *vlan > 0) {
            fields.insert("vlan".to_owned(), vlan.into());
        }
        let path = interface.path("macPrefix");
        if let Some(prefix) = interface.text("macPrefix")?.filter(|prefix| !prefix.is_empty()) {
            if is_mac_prefix(&prefix) {
                fields.insert("macPrefix".to_owned(), prefix.into());
            } else {
                remarks.left_out(
                    path,
                    "an address begins with three bytes such as BC:24:11 here, the first of them even",
                );
            }
        }
        interface.tell_unknown(remarks);
        made.push(Value::Object(fields));
    }
    Ok(made)
}

fn is_mac_prefix(text: &str) -> bool {
    let bytes: Vec<Option<u8>> = text
        .split(':')
        .map(|part| (part.len() == 2).then(|| u8::from_str_radix(part, 16).ok()).flatten())
        .collect();
    matches!(bytes.as_slice(), [Some(first), Some(_), Some(_)] if first % 2 == 0) && !text.contains('+')
}

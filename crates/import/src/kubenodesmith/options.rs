use std::collections::BTreeMap;

use serde_json::Value;
use windlass_manifests::Flaw;

use crate::fields::Fields;
use crate::remark::Remarks;

/// What the options of machines say.
pub(super) struct Options {
    pub(super) disk: Disk,
    /// The resource pool that machines are put into.
    pub(super) pool: Option<String>,
    /// Those that Proxmox VE is given as they are.
    pub(super) others: BTreeMap<String, String>,
}

/// The disk of a machine.
pub(super) struct Disk {
    pub(super) storage: String,
    pub(super) gib: u32,
}

/// Where a machine's first disk may be.
const DISKS: [&str; 4] = ["scsi0", "virtio0", "sata0", "ide0"];
/// What a fresh Proxmox VE has.
const USUAL_STORAGE: &str = "local-lvm";
const USUAL_GIB: u32 = 32;

/// The options of machines.
pub(super) fn options(proxmox: &mut Fields, remarks: &mut Remarks) -> Result<Options, Flaw> {
    let path = proxmox.path("vmOptions");
    let (mut disk, mut pool, mut others) = (None, None, BTreeMap::new());
    for mut option in proxmox.objects("vmOptions")? {
        let path = option.path("value");
        let name = option.required("name")?;
        let value = value(&mut option)?;
        option.tell_unknown(remarks);
        match name.as_str() {
            "boot" if value == "order=net0" => {}
            "boot" => {
                remarks.changed(path, format!("{value} becomes order=net0: machines boot from the network"))
            }
            "cores" | "memory" | "name" | "tags" => {
                remarks.changed(
                    path,
                    format!("{name} has no effect in KubeNodeSmith either, which sets it by itself"),
                );
            }
            "sockets" if value == "1" => {}
            "sockets" => remarks.left_out(path, "machines have one socket here: ask for more cores"),
            "pool" => pool = Some(value),
            _ if DISKS.contains(&name.as_str()) && disk.is_none() => match read_disk(&value) {
                Some(read) => {
                    if let Some((_, rest)) = value.split_once(',') {
                        remarks
                            .left_out(path, format!("{rest}: of a disk there is only storage and size here"));
                    }
                    disk = Some(read);
                }
                None => {
                    others.insert(name, value);
                }
            },
            _ => {
                others.insert(name, value);
            }
        }
    }
    let disk = disk.unwrap_or_else(|| {
        let message = format!(
            "no disk is named, and machines have one here: {USUAL_GIB} GiB on {USUAL_STORAGE}, unless you write another in \
             storage and networkBoot.diskGib"
        );
        remarks.changed(path, message);
        Disk { storage: USUAL_STORAGE.to_owned(), gib: USUAL_GIB }
    });
    Ok(Options { disk, pool, others })
}

/// The value of an option, which may be written as a number.
fn value(option: &mut Fields) -> Result<String, Flaw> {
    let path = option.path("value");
    match option.value("value") {
        Some(Value::String(text)) => Ok(text),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(Value::Bool(is_on)) => Ok(u8::from(is_on).to_string()),
        Some(_) => Err(Flaw::new(path, "is neither a text nor a number")),
        None => Err(Flaw::new(path, "is missing")),
    }
}

/// A disk to be made, as in `local-zfs:16` or `local-zfs:16,discard=on`.
fn read_disk(value: &str) -> Option<Disk> {
    let (storage, size) = value.split(',').next()?.split_once(':')?;
    let gib = size.parse().ok().filter(|gib| *gib > 0)?;
    Some(Disk { storage: storage.to_owned(), gib })
}

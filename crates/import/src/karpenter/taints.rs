use windlass_api::Taint;
use windlass_manifests::Flaw;

use super::keys::is_karpenters;
use crate::fields::Fields;
use crate::remark::Remarks;

/// The taints in a list of a template.
pub(super) fn taints(spec: &mut Fields, name: &str, remarks: &mut Remarks) -> Result<Vec<Taint>, Flaw> {
    let mut made = Vec::new();
    for mut entry in spec.objects(name)? {
        let path = entry.path("");
        let key = entry.required("key")?;
        let value = entry.text("value")?.filter(|value| !value.is_empty());
        let missing = || Flaw::new(path.clone(), "effect is missing");
        let effect = entry.word("effect")?.ok_or_else(missing)?;
        // When a taint was added is known only of nodes.
        entry.value("timeAdded");
        entry.tell_unknown(remarks);
        if is_karpenters(&key) || key.starts_with("windlass.dev/") {
            remarks
                .left_out(path, format!("{key}: marks of this kind are the autoscaler's own; use another"));
        } else {
            made.push(Taint { key, value, effect });
        }
    }
    Ok(made)
}

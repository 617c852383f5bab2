use windlass_api::{NodeRequirement, RequirementOperator as Operator};
use windlass_manifests::Flaw;

use super::keys::Key;
use crate::fields::Fields;
use crate::remark::Remarks;

/// The machines that a pool takes.
pub(super) fn requirements(spec: &mut Fields, remarks: &mut Remarks) -> Result<Vec<NodeRequirement>, Flaw> {
    let mut made = Vec::new();
    for entry in spec.objects("requirements")? {
        made.extend(requirement(entry, remarks)?);
    }
    Ok(made)
}

fn requirement(mut entry: Fields, remarks: &mut Remarks) -> Result<Option<NodeRequirement>, Flaw> {
    let path = entry.path("");
    let name = entry.required("key")?;
    let missing = || Flaw::new(path.clone(), "operator is missing");
    let operator: Operator = entry.word("operator")?.ok_or_else(missing)?;
    let mut values = entry.texts("values")?;
    let min_values = entry.small_count("minValues")?;
    entry.tell_unknown(remarks);

    let (needs_label, takes_values) = match operator {
        Operator::Exists => (true, false),
        Operator::DoesNotExist => (false, false),
        Operator::NotIn => (false, true),
        Operator::In | Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => (true, true),
    };
    let words = format!("{name} {operator:?}{}", listed(&values));
    let key = match Key::of(&name) {
        Key::OfMachines(key) | Key::Plain(key) => key,
        Key::SetByUs => {
            remarks.left_out(path, format!("{words}: every node has its own, so a pool cannot ask for it"));
            return Ok(None);
        }
        Key::Karpenters if needs_label => {
            let message = format!(
                "{words}: no machine has this label here, so the pool takes all machines in this regard; ask for those that \
                 it is to take by node.kubernetes.io/instance-type or a label of the provider's machines"
            );
            remarks.left_out(path, message);
            return Ok(None);
        }
        Key::Karpenters => {
            remarks.changed(path, format!("{words}: always so here, where no machine has this label"));
            return Ok(None);
        }
    };
    if takes_values && operator == Operator::NotIn && values.is_empty() {
        remarks.changed(path, format!("{words}: without values it excludes nothing and is not needed"));
        return Ok(None);
    }
    if !takes_values && !values.is_empty() {
        remarks.changed(path, format!("{words}: the values have no effect and are not needed"));
        values.clear();
    }
    Ok(Some(NodeRequirement { key, operator, values, min_values }))
}

fn listed(values: &[String]) -> String {
    match values {
        [] => String::new(),
        [..] if values.len() <= 5 => format!(" {}", values.join(", ")),
        [first, .., last] => format!(" {first} ... {last} ({} values)", values.len()),
        [..] => String::new(),
    }
}

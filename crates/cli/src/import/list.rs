use std::fmt::Write as _;

use windlass_import::{Imported, Outcome, Remark};

/// How many objects of a kind that is ignored are named.
const NAMED: usize = 5;

/// What there is to say about an import, object by object.
pub(super) fn write(imported: &Imported) -> String {
    let mut text = String::new();
    let mut last: Option<&Remark> = None;
    for remark in &imported.remarks {
        let is_same = |last: &Remark| (&last.object, &last.place) == (&remark.object, &remark.place);
        if !last.is_some_and(is_same) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} ({})", remark.object, remark.place);
        }
        let outcome = match remark.outcome {
            Outcome::LeftOut => "left out",
            Outcome::Changed => "changed ",
        };
        let field = if remark.field.is_empty() { String::new() } else { format!("{}: ", remark.field) };
        let _ = writeln!(text, "  {outcome}  {field}{}", remark.message);
        last = Some(remark);
    }
    for (kind, names) in &imported.ignored {
        let named = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(text, "ignored, as Windlass has nothing like it: {kind} {named}{more}");
    }
    text
}

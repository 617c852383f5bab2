use serde_json::Value;

use super::Source;
use crate::fault::Flaw;
use crate::{Fault, Place};

/// The documents of a text that have content, numbered from 1.
pub(super) fn documents(source: &Source) -> Result<Vec<(Place, Value)>, Fault> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    if text.trim_start().starts_with('{') { json(&source.name, text) } else { yaml(&source.name, text) }
}

fn place(file: &str, document: usize) -> Place {
    Place { file: file.to_owned(), document, item: None }
}

fn json(file: &str, text: &str) -> Result<Vec<(Place, Value)>, Fault> {
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let place = place(file, found.len() + 1);
        match value {
            Ok(value) => found.push((place, value)),
            Err(error) => {
                let flaw = Flaw::new("", format!("this is not JSON: {error}"));
                return Err(Fault { place, object: None, flaw });
            }
        }
    }
    Ok(found)
}

fn yaml(file: &str, text: &str) -> Result<Vec<(Place, Value)>, Fault> {
    let mut found = Vec::new();
    for (line, part) in split(text) {
        if is_blank(part) {
            continue;
        }
        let place = place(file, found.len() + 1);
        // The files are the user's own: nobody is kept from reading large ones.
        let options = serde_saphyr::options! { budget: None, with_snippet: false };
        match serde_saphyr::from_str_with_options(part, options) {
            Ok(Value::Null) => {}
            Ok(value) => found.push((place, value)),
            Err(error) => {
                let at = error.location().map(|at| format!(" in line {}", at.line() + line as u64));
                let flaw =
                    Flaw::new("", format!("this is not YAML{}: {}", at.unwrap_or_default(), words(&error)));
                return Err(Fault { place, object: None, flaw });
            }
        }
    }
    Ok(found)
}

/// What the parser says, without the place, which it counts from the document's start.
fn words(error: &serde_saphyr::Error) -> String {
    let words = error.without_snippet().to_string();
    let first = words.lines().next().unwrap_or_default();
    first.split(" at line ").next().unwrap_or(first).trim_start_matches("error: ").to_owned()
}

/// The parts of a text between lines `---`, with the number of lines before each.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut start_line, mut position) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let rest = line.strip_prefix("---");
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace)) {
            parts.push((start_line, text.get(start..position).unwrap_or_default()));
            // What follows the dashes on their line belongs to the document.
            (start, start_line) = (position + 3, number);
        }
        position += line.len();
    }
    parts.push((start_line, text.get(start..).unwrap_or_default()));
    parts
}

fn is_blank(part: &str) -> bool {
    part.lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line == "..."
    })
}

#[cfg(test)]
mod tests {
    use super::{Source, documents};

    fn read(text: &str) -> Result<Vec<(usize, String)>, String> {
        let source = Source { name: "a.yaml".to_owned(), text: text.to_owned() };
        let found = documents(&source).map_err(|fault| fault.to_string())?;
        Ok(found.into_iter().map(|(place, value)| (place.document, value.to_string())).collect())
    }

    #[test]
    fn documents_without_content_do_not_count() {
        let two = [(1, r#"{"a":1}"#.to_owned()), (2, r#"{"b":"---"}"#.to_owned())].to_vec();
        assert_eq!(read("# first\n---\na: 1\n---\n# nothing\n\n---\nb: '---'\n").unwrap(), two);
        assert_eq!(read("{\"a\": 1}\n{\"b\": \"---\"}").unwrap(), two);
        assert_eq!(read("--- {a: 1}\n---   \nb: |-\n  ---\n").unwrap(), two);
        assert_eq!(read("\u{feff}a: 1\r\n---\r\nb: '---'\r\n").unwrap(), two);
        assert_eq!(read("").unwrap(), []);
    }

    #[test]
    fn what_is_no_yaml_is_named_with_its_line_in_the_file() {
        let words = read("a: 1\n---\nb: 2\n---\nc:\n  - x\n y: [\n").unwrap_err();
        assert!(words.starts_with("a.yaml, document 3: this is not YAML in line "), "{words}");
        let words = read("{\"a\": 1}\n{\"b\" 2}").unwrap_err();
        assert!(words.starts_with("a.yaml, document 2: this is not JSON: expected `:` at line 2"), "{words}");
        let twice = read("a: 1\na: 2\n").unwrap_err();
        assert!(twice.contains("duplicate"), "{twice}");
    }
}

//! Arguments that stand in files: `@FILE` on a compiler's command line.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use super::CompilerError;

/// How deep files of arguments may name others; gcc allows 2000 in all, nobody nests more than two or three.
const DEEPEST: usize = 20;

/// The arguments with every `@FILE` replaced by what stands in the file. As compilers do, an argument whose file cannot be read
/// is left as it is.
///
/// # Errors
/// Files that name one another without end.
pub fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>, CompilerError> {
    expand_within(arguments, 0)
}

fn expand_within(arguments: Vec<OsString>, depth: usize) -> Result<Vec<OsString>, CompilerError> {
    let mut expanded = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let path = argument.to_str().and_then(|text| text.strip_prefix('@')).map(PathBuf::from);
        let Some((path, text)) = path.and_then(|path| fs::read_to_string(&path).ok().map(|text| (path, text))) else {
            expanded.push(argument);
            continue;
        };
        if depth == DEEPEST {
            return Err(CompilerError::Nested { path, deepest: DEEPEST });
        }
        let inner = words(&text).into_iter().map(OsString::from).collect();
        expanded.extend(expand_within(inner, depth + 1)?);
    }
    Ok(expanded)
}

/// The words of a file of arguments, by the rules of GNU's tools: separated by white space; quotes of either kind, and
/// backslashes before any character, keep white space.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', _) => word.get_or_insert_default().extend(characters.next()),
            (_, Some(open)) if character == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (_, None) if character.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_quoted_as_in_gnu_tools() {
        assert_eq!(words("-c  a.c\n-o\t'b c.o' "), ["-c", "a.c", "-o", "b c.o"]);
        assert_eq!(words(r#"-DX=\"y\" "-I a"b '' \ "#), ["-DX=\"y\"", "-I ab", "", " "]);
        assert_eq!(words(r#"'it"s' "it's" a\\b"#), ["it\"s", "it's", r"a\b"]);
    }

    #[test]
    fn files_may_name_files_but_not_themselves() {
        let folder = tempfile::tempdir().expect("a folder");
        let outer = folder.path().join("outer");
        let inner = folder.path().join("inner");
        fs::write(&inner, "-c 'x y.c'").expect("written");
        fs::write(&outer, format!("-O2 @{} -g", inner.display())).expect("written");
        let given = |path: &PathBuf| vec![OsString::from(format!("@{}", path.display())), "@/no/such/file".into()];
        let expanded = expand(given(&outer)).expect("two files");
        assert_eq!(expanded, ["-O2", "-c", "x y.c", "-g", "@/no/such/file"]);
        fs::write(&inner, format!("@{}", outer.display())).expect("written");
        let error = expand(given(&outer)).expect_err("they name each other").to_string();
        assert!(error.contains("nested more than 20 deep"), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_quoted_comes_back(given in prop::collection::vec(".*", 0..6)) {
            let quoted = |word: &String| format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""));
            let text = given.iter().map(quoted).collect::<Vec<_>>().join("\n ");
            prop_assert_eq!(words(&text), given);
        }
    }
}

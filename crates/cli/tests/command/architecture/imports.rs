//! The imports between the files of one crate, read from their tokens.
//!
//! An import is a `use` or a path that names what another file of the crate defines. A re-export (`pub use`) is none: a name
//! taken through it counts as imported from the file that defines it. Declarations (`mod`) are none either, nor is anything
//! under `#[cfg(test)]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// The longest chain of re-exports that is followed.
const MOST_REEXPORTS: usize = 8;

/// The words before the name of what a file defines.
const DEFINING: [&str; 9] = ["struct", "enum", "union", "trait", "type", "fn", "const", "static", "macro_rules"];

/// The names that each file takes from each other file of its crate.
pub type Imports = BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>;

/// The imports between the files of the crate that begins at `root` (its `lib.rs` or `main.rs`).
pub fn imports(root: &Path) -> Imports {
    let mut modules = Modules(BTreeMap::new());
    modules.read_file(Vec::new(), root, root.parent().expect("a file in a folder"));
    let mut imports = Imports::new();
    for (at, module) in &modules.0 {
        for mention in &module.mentions {
            // A bare name is also that of a local variable.
            if mention.len() == 1 && !module.reexported.contains(&mention[0]) {
                continue;
            }
            let Some(found) = modules.resolve(at, mention, MOST_REEXPORTS) else { continue };
            let target = &modules.0[&found.module].file;
            if *target != module.file {
                let names = imports.entry((module.file.clone(), target.clone())).or_default();
                names.insert(mention.last().expect("no path is empty").clone());
            }
        }
    }
    imports
}

/// The modules of a crate by their paths from its root.
struct Modules(BTreeMap<Vec<String>, Module>);

/// A module, in a file of its own or inline.
#[derive(Default)]
struct Module {
    file: PathBuf,
    defined: BTreeSet<String>,
    /// The names that `use` brings into it, with their paths.
    used: BTreeMap<String, Vec<String>>,
    /// Those of them that are re-exports.
    reexported: BTreeSet<String>,
    /// The modules all of whose names it uses.
    globs: Vec<Vec<String>>,
    /// The paths in it, re-exports aside.
    mentions: BTreeSet<Vec<String>>,
}

/// A name that `use` brings into a module; `None` for all names of the module at the path.
struct Used {
    path: Vec<String>,
    name: Option<String>,
}

impl Modules {
    /// Reads the module `at` from `file`; its submodules are in `folder`.
    fn read_file(&mut self, at: Vec<String>, file: &Path, folder: &Path) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.0.insert(at.clone(), Module { file: file.to_owned(), ..Module::default() });
        self.read(&at, folder, tokens);
    }

    /// Reads tokens of the module `at`.
    fn read(&mut self, at: &[String], folder: &Path, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut position = 0;
        while let Some(token) = tokens.get(position) {
            let rest = &tokens[position..];
            position += match token {
                TokenTree::Punct(mark) if mark.as_char() == '#' => length_of_attribute(rest),
                // A lifetime, or the name after a dot, is no path.
                TokenTree::Punct(mark) if matches!(mark.as_char(), '\'' | '.') => {
                    1 + usize::from(ident(rest.get(1)).is_some())
                }
                TokenTree::Group(group) => {
                    self.read(at, folder, group.stream());
                    1
                }
                TokenTree::Ident(word) if word == "mod" => self.read_module(at, folder, rest),
                TokenTree::Ident(word) if word == "use" && !is_punct(rest.get(1), '<') => {
                    let length = rest.iter().take_while(|token| !is_punct(Some(token), ';')).count();
                    self.note_uses(at, is_public(&tokens[..position]), used(&[], &rest[1..length]));
                    length + 1
                }
                TokenTree::Ident(word) => {
                    if DEFINING.iter().any(|defining| word == defining) {
                        // The name of a macro stands behind a `!`.
                        let name = rest[1..].iter().take(2).find_map(|token| ident(Some(token)));
                        self.module(at).defined.extend(name.map(plain));
                    }
                    let path = path(rest);
                    let length = 3 * path.len() - 2;
                    self.module(at).mentions.insert(path);
                    length
                }
                _ => 1,
            };
        }
    }

    /// Reads a module below `at`, inline or in a file of its own; returns the number of tokens read.
    fn read_module(&mut self, at: &[String], folder: &Path, tokens: &[TokenTree]) -> usize {
        let Some(name) = ident(tokens.get(1)).map(plain) else { return 1 };
        let child = [at, std::slice::from_ref(&name)].concat();
        let within = folder.join(&name);
        match tokens.get(2) {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
                let file = self.module(at).file.clone();
                self.0.insert(child.clone(), Module { file, ..Module::default() });
                self.read(&child, &within, body.stream());
            }
            Some(TokenTree::Punct(mark)) if mark.as_char() == ';' => {
                let [beside, inside] = [within.with_extension("rs"), within.join("mod.rs")];
                self.read_file(child, if beside.exists() { &beside } else { &inside }, &within);
            }
            _ => {}
        }
        3
    }

    fn note_uses(&mut self, at: &[String], reexport: bool, uses: Vec<Used>) {
        let module = self.module(at);
        for Used { path, name } in uses {
            if !reexport {
                module.mentions.insert(path.clone());
            }
            let Some(name) = name else {
                module.globs.push(path);
                continue;
            };
            if reexport {
                module.reexported.insert(name.clone());
            }
            module.used.insert(name, path);
        }
    }

    fn module(&mut self, at: &[String]) -> &mut Module {
        self.0.get_mut(at).expect("the module is being read")
    }

    /// The module of what `path` names in the module `at`; `None` for names of other crates and for local variables.
    fn resolve(&self, at: &[String], path: &[String], most: usize) -> Option<Found> {
        let mut from = match path.first()?.as_str() {
            "crate" => &[],
            "self" | "super" => at,
            _ => return self.walk(at.to_vec(), path, most),
        };
        let mut rest = if path[0] == "super" { path } else { &path[1..] };
        while rest.first().is_some_and(|word| word == "super") {
            (_, from) = from.split_last()?;
            rest = &rest[1..];
        }
        // No token shows the names that a macro defines.
        Some(self.walk(from.to_vec(), rest, most).unwrap_or(Found { module: self.longest(from, rest), item: true }))
    }

    /// The module in which the names of `path`, one below the other, end.
    fn walk(&self, from: Vec<String>, path: &[String], most: usize) -> Option<Found> {
        let most = most.checked_sub(1)?;
        let mut found = Found { module: from, item: false };
        for (depth, name) in path.iter().enumerate() {
            let module = &self.0[&found.module];
            let child = [&found.module[..], std::slice::from_ref(name)].concat();
            if self.0.contains_key(&child) {
                found.module = child;
            } else if let Some(used) = module.used.get(name) {
                found = self.resolve(&found.module, used, most)?;
            } else if module.defined.contains(name) {
                found.item = true;
            } else {
                let all = |glob: &Vec<String>| {
                    let whole = self.resolve(&found.module, glob, most).filter(|whole| !whole.item)?;
                    self.walk(whole.module, std::slice::from_ref(name), most)
                };
                found = module.globs.iter().find_map(all)?;
            }
            if found.item {
                // Only types have names below them: a function may be called like another crate.
                let is_type = name.starts_with(char::is_uppercase);
                return (is_type || depth + 1 == path.len()).then_some(found);
            }
        }
        Some(found)
    }

    /// The last module that `path` passes, as far as it consists of modules.
    fn longest(&self, from: &[String], path: &[String]) -> Vec<String> {
        let mut module = from.to_vec();
        for name in path {
            module.push(name.clone());
            if !self.0.contains_key(&module) {
                module.pop();
                break;
            }
        }
        module
    }
}

/// The target of a path: a module, or an item of it.
struct Found {
    module: Vec<String>,
    item: bool,
}

/// The names that a tree of `use` brings in; all of it is below `prefix`.
fn used(prefix: &[String], tree: &[TokenTree]) -> Vec<Used> {
    let mut all = Vec::new();
    for branch in tree.split(|token| is_punct(Some(token), ',')) {
        let mut path = prefix.to_vec();
        let mut name = None;
        for (position, token) in branch.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if word == "as" => {
                    name = branch.get(position + 1).map(ToString::to_string);
                    break;
                }
                TokenTree::Ident(word) if word == "self" && !path.is_empty() => name = path.last().cloned(),
                TokenTree::Ident(word) => {
                    path.push(plain(word));
                    name = Some(plain(word));
                }
                TokenTree::Punct(mark) if mark.as_char() == '*' => {
                    all.push(Used { path: path.clone(), name: None });
                    name = None;
                }
                TokenTree::Group(branches) => {
                    all.extend(used(&path, &branches.stream().into_iter().collect::<Vec<_>>()));
                    name = None;
                }
                _ => {}
            }
        }
        all.extend(name.map(|name| Used { path, name: Some(name) }));
    }
    all
}

/// The path that `tokens` begin with.
fn path(tokens: &[TokenTree]) -> Vec<String> {
    let mut path: Vec<String> = ident(tokens.first()).map(plain).into_iter().collect();
    while let [_, first, second, third, ..] = &tokens[3 * (path.len() - 1)..] {
        let (true, true, Some(word)) = (is_punct(Some(first), ':'), is_punct(Some(second), ':'), ident(Some(third)))
        else {
            break;
        };
        path.push(plain(word));
    }
    path
}

/// The number of tokens of an attribute, with what it is on if that is only for tests.
fn length_of_attribute(tokens: &[TokenTree]) -> usize {
    let Some(TokenTree::Group(content)) = tokens.get(1) else { return 1 };
    if content.stream().to_string().replace(' ', "") != "cfg(test)" {
        return 2;
    }
    let is_end = |token: &&TokenTree| match token {
        TokenTree::Punct(mark) => matches!(mark.as_char(), ';' | ','),
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    2 + tokens[2..].iter().take_while(|token| !is_end(token)).count() + 1
}

/// Whether the item that follows `before` is public, to anyone or within a part of the crate.
fn is_public(before: &[TokenTree]) -> bool {
    let last = match before {
        [.., word, TokenTree::Group(_)] | [.., word] => word,
        [] => return false,
    };
    ident(Some(last)).is_some_and(|word| word == "pub")
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == character)
}

fn ident(token: Option<&TokenTree>) -> Option<&Ident> {
    match token {
        Some(TokenTree::Ident(word)) => Some(word),
        _ => None,
    }
}

/// A word as others write it: a raw identifier without its mark.
fn plain(word: &Ident) -> String {
    word.to_string().trim_start_matches("r#").to_owned()
}

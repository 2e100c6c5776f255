//! The manual: its reference pages are written, every link leads somewhere, every page is in the contents, and mdBook builds it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A copy of the manual with its reference pages.
fn written() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manual");
        let _none_yet = fs::remove_dir_all(&folder);
        copy(&root().join("manual"), &folder);
        let pages = folder.join("src/reference");
        for _again in 0..2 {
            let run = Command::new(env!("CARGO_BIN_EXE_ccnuma")).arg("manual").arg(&pages).output().expect("it starts");
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        }
        folder
    })
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("read").path();
        let target = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            // Pages of somebody's last build are written anew.
            true if path.ends_with("src/reference") => {}
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).expect("copied")),
        }
    }
}

/// All files below a folder with an ending, by their paths.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("read").path();
        match path.is_dir() {
            true => found.extend(files(&path, ending)),
            false if path.extension().is_some_and(|it| it == ending) => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

/// Text without blocks of code and quoted code, in which brackets are no links.
fn without_code(text: &str) -> String {
    let prose = text.split("```").step_by(2).collect::<String>();
    prose.split('`').step_by(2).collect()
}

/// The targets of links and pictures.
fn links(text: &str) -> Vec<String> {
    let text = without_code(text);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_owned).collect()
}

/// The fragments that lead to headings, as mdBook names them.
fn fragments(text: &str) -> BTreeSet<String> {
    let outside = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    let headings = outside.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let name = |heading: &str| {
        let heading = heading.to_lowercase();
        let kept = heading.chars().filter_map(|character| match character {
            ' ' => Some('-'),
            kept if kept.is_alphanumeric() || kept == '-' || kept == '_' => Some(kept),
            _ => None,
        });
        let name: String = kept.collect();
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name}-{}", *count - 1) }
    };
    headings.map(name).collect()
}

/// A path without `..`.
fn resolved(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    parts
}

/// The broken links of a page.
fn broken(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).expect("read");
    let here = page.parent().expect("a folder");
    let wrong = |link: &String| {
        let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
        let target = if path.is_empty() { page.to_owned() } else { resolved(&here.join(path)) };
        if !target.exists() {
            return Some(format!("{}: {link} leads nowhere", page.display()));
        }
        let leads = fragment.is_empty() || fragments(&fs::read_to_string(&target).expect("read")).contains(fragment);
        (!leads).then(|| format!("{}: {link}: there is no such heading", page.display()))
    };
    links(&text).iter().filter(|link| !link.starts_with("https://")).filter_map(wrong).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let root = root();
    let mut pages = files(&written().join("src"), "md");
    assert!(pages.len() > 20, "{pages:?}");
    // Texts of the repository, which are read where they are.
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root.join(name)));
    pages.retain(|page| page.exists());
    let wrong: Vec<String> = pages.iter().flat_map(|page| broken(page)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_broken_link_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.md");
    fs::write(&page, "# One\n\n[a](page.md#one) [b](page.md#two) [c](none.md) `[d](code.md)`\n").expect("written");
    let wrong = broken(&page);
    assert_eq!(wrong.len(), 2, "{wrong:?}");
}

#[test]
fn every_page_is_in_the_contents() {
    let source = written().join("src");
    let contents = fs::read_to_string(source.join("SUMMARY.md")).expect("read");
    let listed: BTreeSet<PathBuf> = links(&contents).iter().map(|link| source.join(link)).collect();
    let there: BTreeSet<PathBuf> =
        files(&source, "md").into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(listed, there);
}

#[test]
fn a_file_that_is_no_page_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("records.md"), "mine\n").expect("written");
    let run = Command::new(env!("CARGO_BIN_EXE_ccnuma")).arg("manual").arg(folder.path()).output().expect("it starts");
    let errors = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{errors}");
    assert!(errors.contains("records.md") && errors.contains("not written by"), "{errors}");
    assert_eq!(fs::read_to_string(folder.path().join("records.md")).expect("read"), "mine\n");
}

#[test]
fn the_reference_has_what_it_is_generated_from() {
    let page = |name: &str| fs::read_to_string(written().join("src/reference").join(name)).expect("read");
    let commands = page("commands.md");
    for command in ["bench", "sim", "verify", "diagnose", "machines show", "schema"] {
        assert!(commands.contains(&format!(" ccnuma {command}\n")), "{command}");
    }
    assert!(commands.contains("| `--suite SUITE` |") && !commands.contains("## ccnuma manual"));
    assert!(page("machines.md").contains("# machines/origin2000-r12k-300.toml:"));
    assert!(page("programs.md").contains("| `--points` |"));
    assert!(page("counters.md").contains("`mdidle`") && page("metrics.md").contains("`mem`\\*"));
    assert!(page("records.md").contains("| `time_ns` | number |"));
    let paper = page("papers/prestor.md");
    assert!(paper.contains("](prestor-4.6.svg)") && paper.contains(" / 476 ("));
    assert!(written().join("src/reference/papers/prestor-4.6.svg").exists());
}

/// mdBook, if it is installed: `.ci/run` gets it with the Python of the tests.
fn mdbook() -> Option<PathBuf> {
    let beside = root().join("target/test-python/bin/mdbook");
    let candidates = [beside, PathBuf::from("mdbook")];
    candidates
        .into_iter()
        .find(|path| Command::new(path).arg("--version").output().is_ok_and(|said| said.status.success()))
}

#[test]
fn the_site_is_built_and_its_links_lead_somewhere() {
    let Some(mdbook) = mdbook() else {
        eprintln!("SKIPPED: mdbook is not installed");
        return;
    };
    let site = root().join("target/manual");
    let build =
        Command::new(mdbook).arg("build").arg(written()).arg("--dest-dir").arg(&site).output().expect("it starts");
    let said = String::from_utf8_lossy(&build.stderr);
    assert!(build.status.success() && !said.contains("ERROR") && !said.contains("WARN"), "{said}");
    let pages = files(&site, "html");
    let text: BTreeMap<PathBuf, String> =
        pages.iter().map(|page| (page.clone(), fs::read_to_string(page).expect("read"))).collect();
    let mut wrong = Vec::new();
    for (page, html) in &text {
        let targets =
            html.split("href=\"").skip(1).chain(html.split("src=\"").skip(1)).filter_map(|rest| rest.split('"').next());
        for link in targets.filter(|link| !link.contains(':') && !link.is_empty()) {
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if path.is_empty() { page.clone() } else { resolved(&page.parent().expect("a folder").join(path)) };
            let has = |html: &String| fragment.is_empty() || html.contains(&format!("id=\"{fragment}\""));
            // The page of a missing address has links from the site's root.
            let is_found = page.ends_with("404.html") || target.exists() && text.get(&target).is_none_or(has);
            if !is_found {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(pages.len() > 20 && wrong.is_empty(), "{}", wrong.join("\n"));
}

//! The page about a run: what names of programs may be, and, in a browser without a window, that it opens and zooms.

use std::path::Path;
use std::process::Command;

use record::{FindingRow, RegionStatistics, SimulationRow};
use report::html::{Page, SourceLoss, page};
use trace::{Counter, Object, ObjectKind, Preamble, Trace, TraceWriter, Value};

/// Names that would do something if they were taken for markup, script or template.
const HOSTILE: [&str; 5] = [
    "<img src=x onerror=\"document.body.dataset.hacked='img'\">",
    "</script><script>document.body.dataset.hacked='script'</script>",
    "\"><svg onload=\"document.body.dataset.hacked='svg'\">",
    "{{ 7 * 7 }}{% raw %}",
    "<!--<script>",
];

/// A trace of threads, of which the metrics that are built in have something to say; their names are hostile.
fn trace() -> Trace {
    let counter = |name| Counter::count(ObjectKind::Thread, name, "ns", HOSTILE[0]);
    let counters = [counter("run_ns"), counter("wait_ns")];
    let preamble = Preamble {
        machine: HOSTILE[1].into(),
        command: vec![HOSTILE[0].into()],
        clock: "test".into(),
        ..Preamble::default()
    };
    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(&mut bytes, &preamble, &counters).expect("a writer");
    let names = [HOSTILE[0], HOSTILE[1], HOSTILE[2]];
    let objects: Vec<u32> = names
        .iter()
        .zip(1..)
        .map(|(name, key)| writer.object(0, &Object::new(ObjectKind::Thread, key, *name, *name)).expect("an object"))
        .collect();
    for step in 0..200u64 {
        for (number, &object) in objects.iter().enumerate() {
            let values = [step * 1_000_000 * (number as u64 + 1) / 3, step * 1000].map(Value::exact);
            writer.sample(step * 1_000_000, object, &values).expect("a sample");
        }
    }
    writer.finish().expect("an end");
    Trace::read(bytes.as_slice()).expect("a trace")
}

fn hostile_page() -> String {
    let mut row = SimulationRow { program: HOSTILE[0].into(), machine: HOSTILE[1].into(), ..SimulationRow::default() };
    row.spent_ns.insert("busy".into(), 70.0);
    row.spent_ns.insert("barrier".into(), 30.0);
    let region =
        |name: &&str| RegionStatistics { name: (*name).into(), misses: 5, stalled_ns: 10.0, ..Default::default() };
    row.regions = Some(HOSTILE.iter().map(region).collect());
    let finding = FindingRow {
        program: HOSTILE[0].into(),
        machine: HOSTILE[1].into(),
        cpus: 2,
        rank: 1,
        class: "hot spot".into(),
        object: Some(HOSTILE[2].into()),
        place: Some(HOSTILE[3].into()),
        cost_pct: 12.0,
        bound_pct: Some(20.0),
        gain_pct: Some(3.0),
        evidence: HOSTILE[0].into(),
        remedy: HOSTILE[1].into(),
        trial: Some(HOSTILE[4].into()),
    };
    let lines = HOSTILE.map(|name| SourceLoss { place: name.into(), function: name.into(), misses: 1, time_pct: 2.0 });
    let trace = trace();
    page(&Page {
        title: HOSTILE.concat(),
        facts: vec![(HOSTILE[0].into(), HOSTILE[1].into())],
        run: Some(&row),
        findings: &[finding],
        lines: lines.to_vec(),
        picture: Some("<svg xmlns=\"http://www.w3.org/2000/svg\"><title>machine</title></svg>".into()),
        figures: Vec::new(),
        trace: Some(&trace),
    })
    .expect("a page")
}

#[test]
fn names_are_text_whatever_they_are() {
    let page = hostile_page();
    for name in &HOSTILE[..3] {
        assert!(!page.contains(name), "{name} stands in the page as it is");
    }
    assert!(page.contains("{{ 7 * 7 }}"), "names are no templates");
    assert!(!page.contains("src=\"http") && !page.contains("<link"), "nothing is fetched");
    // The page's scripts: the samples, the plotting library, its own.
    assert_eq!(page.matches("<script").count(), 3);
    assert_eq!(page.matches("</script>").count(), 3);
}

#[test]
fn the_end_of_a_simulated_run_is_no_peak() {
    let preamble = Preamble { simulated: true, ..Preamble::default() };
    let counters = [Counter::count(ObjectKind::Thread, "run_ns", "ns", "of a thread")];
    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(&mut bytes, &preamble, &counters).expect("a writer");
    let thread = writer.object(0, &Object::new(ObjectKind::Thread, 1, "t0", "t0")).expect("an object");
    for (time_ns, run_ns) in [(0, 0), (10_000_000, 5_000_000), (20_000_000, 10_000_000), (20_500_000, 10_500_000)] {
        writer.sample(time_ns, thread, &[Value::exact(run_ns)]).expect("a sample");
    }
    writer.finish().expect("an end");
    let trace = Trace::read(bytes.as_slice()).expect("a trace");
    let page = page(&Page { trace: Some(&trace), ..Page::default() }).expect("a page");
    assert!(page.contains("\"times_ms\":[0.0,10.0,20.5]"), "half a millisecond has no rate of its own");
}

#[test]
fn a_page_about_nothing_is_a_page() {
    let page = page(&Page { title: "nothing".into(), ..Page::default() }).expect("a page");
    assert!(page.contains("<h1>nothing</h1>") && !page.contains("<script") && !page.contains("<section"));
}

/// The browser, if there is one.
fn browser() -> Option<&'static str> {
    let known = ["chromium", "chromium-browser", "google-chrome"];
    known
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()))
}

/// The page as the browser has it when its scripts have run.
fn opened(browser: &str, folder: &Path, page: &str) -> String {
    let file = folder.join("page.html");
    std::fs::write(&file, page).expect("writable");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("it starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The value of an attribute of the body.
fn attribute(dom: &str, name: &str) -> Option<String> {
    let body = dom.split("<body").nth(1)?.split('>').next()?;
    Some(body.split(&format!("data-{name}=\"")).nth(1)?.split('"').next()?.to_owned())
}

/// The page with a script of ours at its end.
fn driven(page: &str, script: &str) -> String {
    let nonce = page.split("nonce-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a nonce");
    page.replace("</body>", &format!("<script nonce=\"{nonce}\">{script}</script></body>"))
}

/// A trace of `threads` threads, of a process whose memory is looked at every tenth time alone, and of one that is looked at all the time
/// at first, and then only once more.
fn seldom(threads: u64) -> Trace {
    let level = |name| Counter::level(ObjectKind::Process, name, "KiB", "of a process");
    let counters =
        [Counter::count(ObjectKind::Thread, "run_ns", "ns", "of a thread"), level("kib_total"), level("kib_near")];
    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(&mut bytes, &Preamble::default(), &counters).expect("a writer");
    let mut object =
        |kind, key, name: String| writer.object(0, &Object::new(kind, key, name.clone(), name)).expect("an object");
    let processes = [1, 2].map(|key| object(ObjectKind::Process, key, format!("p{}", key - 1)));
    let objects: Vec<u32> = (0..threads).map(|key| object(ObjectKind::Thread, key + 1, format!("t{key}"))).collect();
    for step in 0..200u64 {
        for (number, &object) in (1..).zip(&objects) {
            let values = [Value::exact(step * number * 100_000)];
            writer.sample(step * 10_000_000, object, &values).expect("a sample");
        }
        for (process, looked_at) in processes.into_iter().zip([step % 10 == 0, step < 50 || step == 150]) {
            if looked_at {
                let values = [1024 * (100 + step), 1024 * 90].map(Value::exact);
                writer.sample(step * 10_000_000, process, &values).expect("a sample");
            }
        }
    }
    writer.finish().expect("an end");
    Trace::read(bytes.as_slice()).expect("a trace")
}

/// Notes how many charts there are, how many coloured points the emptiest has, how many points of the second line's colour the first has
/// in its right half, and how many lines look different in that with the most.
const COUNT: &str = "
setTimeout(() => {
  const count = (canvas, is) => {
    const points = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let found = 0;
    for (let at = 0; at < points.length; at += 4) {
      const [red, green, blue, cover] = points.slice(at, at + 4);
      if (cover > 100 && is(red, green, blue, (at / 4 % canvas.width) / canvas.width)) found += 1;
    }
    return found;
  };
  const coloured = (red, green, blue) => Math.max(red, green, blue) - Math.min(red, green, blue) > 60;
  const second = (red, green, blue, across) => across > 0.6 && red > 190 && green > 60 && green < 130 && blue < 40;
  const charts = [...document.querySelectorAll('.chart')];
  const canvases = charts.map((chart) => chart.querySelector('canvas'));
  const look = (path) => `${path.getAttribute('stroke')} ${path.getAttribute('stroke-dasharray')}`;
  const looks = (chart) => new Set([...chart.querySelectorAll('.u-legend .sample path')].map(look)).size;
  const note = (name, value) => { document.body.dataset[name] = value; };
  note('charts', charts.map((chart) => chart.querySelector('h3').firstChild.textContent.trim()).join(';'));
  note('least', Math.min(...canvases.map((canvas) => count(canvas, coloured))));
  note('lonely', count(canvases[0], second));
  note('looks', Math.max(...charts.map(looks)));
}, 500);
";

#[test]
fn no_plot_that_has_samples_is_blank_and_no_two_lines_look_alike() {
    let Some(browser) = browser() else {
        eprintln!("skipped: there is no chromium here");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let trace = seldom(32);
    let page = page(&Page { title: "seldom".into(), trace: Some(&trace), ..Page::default() }).expect("a page");
    let dom = opened(browser, folder.path(), &driven(&page, COUNT));
    let told = |name: &str| attribute(&dom, name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(told("charts"), "processes: memory, MiB;processes: near, %;threads: cpu, %");
    let number = |name: &str| told(name).parse::<u32>().unwrap_or_else(|_| panic!("{name} is {}", told(name)));
    // Samples that come at a rate of their own are joined by a line, which is wider than this.
    assert!(number("least") >= 800, "{}", number("least"));
    // A sample far from all others is a dot.
    assert!((4..100).contains(&number("lonely")), "{}", number("lonely"));
    assert_eq!(told("looks"), "32");
}

/// Drags the pointer over the middle of the first plot, as a person would, and notes what is then shown.
const DRAG: &str = "
setTimeout(() => {
  const note = (name, value) => { document.body.dataset[name] = value; };
  note('charts', document.querySelectorAll('.chart canvas').length);
  note('wholefrom', document.body.dataset.from); note('wholeto', document.body.dataset.to);
  const over = document.querySelector('.u-over'), box = over.getBoundingClientRect();
  const fire = (kind, share, target) => target.dispatchEvent(new MouseEvent(kind, { bubbles: true, button: 0, view: window,
    movementX: 10, clientX: box.left + share * box.width, clientY: box.top + box.height / 2 }));
  fire('mouseenter', 0.25, over); fire('mousemove', 0.25, over); fire('mousedown', 0.25, over);
  fire('mousemove', 0.5, document); fire('mousemove', 0.75, over); fire('mouseup', 0.75, document);
  setTimeout(() => {
    note('zoomfrom', document.body.dataset.from); note('zoomto', document.body.dataset.to);
    document.getElementById('whole').click();
    setTimeout(() => { note('againto', document.body.dataset.to); note('done', 'yes'); }, 100);
  }, 500);
}, 200);
";

#[test]
fn the_page_opens_in_a_browser_zooms_and_runs_no_names() {
    let Some(browser) = browser() else {
        eprintln!("skipped: there is no chromium here");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = hostile_page();
    let dom = opened(browser, folder.path(), &driven(&page, DRAG));
    let told = |name: &str| {
        attribute(&dom, name).unwrap_or_else(|| panic!("no {name} in {}", &dom[dom.len().saturating_sub(3000)..]))
    };
    let number = |name: &str| told(name).parse::<f64>().unwrap_or_else(|_| panic!("{name} is {}", told(name)));
    assert_eq!(told("done"), "yes");
    assert_eq!(attribute(&dom, "hacked"), None, "a name has become a script");
    assert!(number("charts") >= 1.0);
    let (whole, zoomed) = (number("wholeto") - number("wholefrom"), number("zoomto") - number("zoomfrom"));
    assert!(zoomed > 0.3 * whole && zoomed < 0.7 * whole, "half of the time is shown: {zoomed} of {whole}");
    assert_eq!(number("againto"), number("wholeto"));
    // Hostile names are shown as they are.
    assert!(dom.contains("&lt;img src=x onerror="), "names are shown");
}

//! The full-screen view of `ccnuma sar`: a bar for each metric of each node and link, filled as it is now.

use std::io::Stdout;
use std::ops::ControlFlow;

use profile::Live;
use profile::selection::Selection;
use ratatui::Terminal;
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Gauge, Paragraph};
use trace::Preamble;

use crate::failure::Failure;

/// Width of an object's box, and of the names in it.
const BOX: u16 = 46;
const NAME: u16 = 14;

/// The screen, as long as it is ours.
pub struct Screen<B: Backend> {
    terminal: Terminal<B>,
    state: State,
    /// Whether the terminal is to be given back as it was.
    ours: bool,
}

/// State of the screen.
struct State {
    title: String,
    selection: Selection,
    /// The most that each metric of each object has been: full bars of what has no natural limit.
    most: Vec<Vec<f64>>,
    first: usize,
}

impl Screen<CrosstermBackend<Stdout>> {
    /// Takes over the terminal.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(preamble: &Preamble, selection: Selection) -> Result<Self, Failure> {
        let terminal =
            ratatui::try_init().map_err(|error| Failure::Input(format!("`--screen` needs a terminal: {error}")))?;
        Ok(Self { terminal, state: State::new(preamble, selection), ours: true })
    }
}

impl<B: Backend> Screen<B>
where
    B::Error: std::fmt::Display,
{
    /// Draws the last sample; breaks if somebody wants to leave.
    ///
    /// # Errors
    /// When the terminal fails.
    pub fn draw(&mut self, live: &Live, time_ns: u64) -> Result<ControlFlow<()>, Failure> {
        let state = &mut self.state;
        let failed = |error: B::Error| Failure::run(format!("terminal error: {error}"));
        self.terminal.draw(|frame| state.draw(frame, live, time_ns)).map_err(failed)?;
        if self.ours {
            // Keys that were typed since the last sample.
            while event::poll(std::time::Duration::ZERO)? {
                let Event::Key(key) = event::read()? else { continue };
                let quit = matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
                    || (key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL));
                match key.code {
                    _ if key.kind == KeyEventKind::Release => {}
                    _ if quit => return Ok(ControlFlow::Break(())),
                    KeyCode::Down | KeyCode::PageDown => self.state.first += 1,
                    KeyCode::Up | KeyCode::PageUp => self.state.first = self.state.first.saturating_sub(1),
                    _ => {}
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl<B: Backend> Drop for Screen<B> {
    fn drop(&mut self) {
        if self.ours {
            ratatui::restore();
        }
    }
}

impl State {
    fn new(preamble: &Preamble, selection: Selection) -> Self {
        Self { title: preamble.machine.clone(), selection, most: Vec::new(), first: 0 }
    }

    fn draw(&mut self, frame: &mut ratatui::Frame<'_>, live: &Live, time_ns: u64) {
        let [top, middle, bottom] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]).areas(frame.area());
        let time = format!("{:>9.1} s  {}", time_ns as f64 * 1e-9, self.title);
        frame.render_widget(Paragraph::new(Line::raw(time)), top);
        let objects: Vec<usize> =
            live.sampled().filter(|&object| self.selection.wants(&live.objects()[object])).collect();
        let columns = usize::from((middle.width / BOX).max(1));
        let rows: Vec<&[usize]> = objects.chunks(columns).collect();
        self.first = self.first.min(rows.len().saturating_sub(1));
        let mut below = middle;
        for row in &rows[self.first..] {
            let heights = row.iter().map(|&object| self.metrics(live, object).len() as u16 + 2);
            let height = heights.max().unwrap_or(0).min(below.height);
            if height < 3 {
                break;
            }
            let (line, rest) = (Rect { height, ..below }, below.height - height);
            for (place, &object) in row.iter().enumerate() {
                let x = line.x + place as u16 * BOX;
                let area = Rect { x, width: BOX.min(line.right().saturating_sub(x)), ..line };
                self.object(frame, live, object, area);
            }
            below = Rect { y: below.y + height, height: rest, ..below };
        }
        let keys = format!(
            "q quits  up/down scrolls  {} of {} objects",
            live.sampled().count().min(objects.len()),
            objects.len()
        );
        frame.render_widget(Paragraph::new(Line::raw(keys)), bottom);
    }

    /// The metrics that an object has.
    fn metrics(&self, live: &Live, object: usize) -> Vec<usize> {
        let kind = live.objects()[object].kind;
        (0..live.metrics().len()).filter(|&metric| live.metrics()[metric].metric.of == kind).collect()
    }

    fn object(&mut self, frame: &mut ratatui::Frame<'_>, live: &Live, object: usize, area: Rect) {
        let about = &live.objects()[object];
        let block = Block::bordered().title(format!(" {} {} ", about.name, about.title));
        let inside = block.inner(area);
        frame.render_widget(block, area);
        for (line, metric) in self.metrics(live, object).into_iter().enumerate().take(usize::from(inside.height)) {
            let declared = &live.metrics()[metric].metric;
            let value = live.value(metric, object);
            let part = self.part(object, metric, value.map(|(value, _)| value), declared.unit == "%");
            let digits = usize::from(declared.digits);
            let text = value.map_or("-".to_owned(), |(value, estimate)| {
                format!("{}{value:.digits$} {}", if estimate { "~" } else { "" }, declared.unit)
            });
            let row = Rect { y: inside.y + line as u16, height: 1, ..inside };
            let [name, bar] = Layout::horizontal([Constraint::Length(NAME), Constraint::Min(0)]).areas(row);
            frame.render_widget(Paragraph::new(declared.name.as_str()), name);
            let colour = if part > 0.8 {
                Color::Red
            } else if part > 0.5 {
                Color::Yellow
            } else {
                Color::Green
            };
            let gauge = Gauge::default().ratio(part).label(text).gauge_style(Style::default().fg(colour));
            frame.render_widget(gauge, bar);
        }
    }

    /// How full a bar is: a percentage by itself, another value against the most that it has been.
    fn part(&mut self, object: usize, metric: usize, value: Option<f64>, percentage: bool) -> f64 {
        let value = value.unwrap_or(0.0).max(0.0);
        if percentage {
            return (value / 100.0).clamp(0.0, 1.0);
        }
        if self.most.len() <= object {
            self.most.resize(object + 1, Vec::new());
        }
        let most = &mut self.most[object];
        if most.len() <= metric {
            most.resize(metric + 1, 0.0);
        }
        most[metric] = most[metric].max(value);
        if most[metric] > 0.0 { value / most[metric] } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use profile::Sink;
    use ratatui::backend::TestBackend;
    use trace::metric::{Resolved, parse};
    use trace::{Counter, Object, ObjectKind, Value};

    use super::*;

    /// Two nodes, one of them busy a quarter of the time and the other not seen to do anything.
    fn live() -> Live {
        let counters =
            [Counter::count(ObjectKind::Node, "busy", "", ""), Counter::count(ObjectKind::Node, "idle", "", "")];
        let toml = "group = \"g\"\nwhat = \"w\"\n[[metric]]\nname = \"load\"\nof = \"node\"\nwhat = \"w\"\nunit = \"%\"\n\
            formula = \"percent(busy, busy + idle)\"\n";
        let (metrics, _) = Resolved::derive(&parse("f", toml).expect("TOML"), &counters, &Default::default());
        let mut live = Live::new(metrics, &counters);
        for (index, name) in [(0, "first"), (1, "second")] {
            live.object(0, &Object::node(index, name)).expect("memory");
        }
        for tick in 0..2 {
            live.sample(tick, 0, &[Value::exact(tick * 25), Value::exact(tick * 75)]).expect("memory");
            live.sample(tick, 1, &[Value::exact(0), Value::exact(0)]).expect("memory");
            live.tick(tick).expect("memory");
        }
        live
    }

    fn drawn(width: u16, height: u16, selection: Selection) -> String {
        let terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
        let preamble = Preamble { machine: "a machine".to_owned(), ..Preamble::default() };
        let mut screen = Screen { terminal, state: State::new(&preamble, selection), ours: false };
        assert!(screen.draw(&live(), 1_500_000_000).expect("a screen").is_continue());
        screen.terminal.backend().to_string()
    }

    #[test]
    fn every_node_has_its_bars() {
        let text = drawn(100, 8, Selection::default());
        for part in ["1.5 s  a machine", "n0 first", "n1 second", "load", "25.00 %", " - ", "q quits"] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
        let text = drawn(100, 8, Selection { nodes: vec!["1".into()], ..Selection::default() });
        assert!(!text.contains("first") && text.contains("second"), "{text}");
    }

    #[test]
    fn small_screens_are_no_danger() {
        for (width, height) in [(1, 1), (10, 2), (46, 3), (47, 5), (200, 1)] {
            drawn(width, height, Selection::default());
        }
    }
}

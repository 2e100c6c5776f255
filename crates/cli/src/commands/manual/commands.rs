//! The page of commands, from the argument parser's definitions.

use clap::{Arg, Command};

use super::Page;
use super::markdown::{Rows, block, code, prose};

/// The heading of flags that every program of `ccnuma sim` has, which have a page of their own.
const OF_PROGRAMS: &str = "Parameters of programs";

/// The page.
pub fn page(command: &Command) -> Page {
    let mut command = command.clone();
    command.build();
    let mut text = String::from("# Commands\n\n");
    text.push_str(&format!("{}\n\n", prose(&about(&command))));
    let mut list = Rows::new(&["command", "what it does"]);
    let visible = || command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
    for sub in visible() {
        let link = format!("[`ccnuma {}`](#ccnuma-{})", sub.get_name(), sub.get_name());
        list.row([link, prose(&short(sub))]);
    }
    text.push_str(&list.end());
    text.push_str(&after(&command));
    for sub in visible() {
        text.push_str(&section(sub, "ccnuma", 2));
    }
    Page::markdown("commands.md", &text)
}

/// The description of a command, the long one if there is one.
fn about(command: &Command) -> String {
    command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default()
}

fn short(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// The text below a command's help: its examples, and rules.
fn after(command: &Command) -> String {
    let text = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    text.map_or_else(String::new, |text| block("text", &text))
}

/// A command and its subcommands.
fn section(command: &Command, parent: &str, depth: usize) -> String {
    let name = format!("{parent} {}", command.get_name());
    let mut text = format!("{} {name}\n\n{}\n\n", "#".repeat(depth), prose(&about(command)));
    let usage = command.clone().render_usage().to_string();
    text.push_str(&block("text", usage.trim_start_matches("Usage: ")));
    for (heading, arguments) in by_heading(command) {
        if heading.starts_with(OF_PROGRAMS) {
            text.push_str("The parameters of programs are flags, too: see [programs](programs.md).\n\n");
            continue;
        }
        let mut rows = Rows::new(&[heading.as_str(), ""]);
        arguments.iter().for_each(|argument| rows.row([code(&spelled(argument)), meaning(argument)]));
        text.push_str(&rows.end());
    }
    text.push_str(&after(command));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        text.push_str(&section(sub, &name, depth + 1));
    }
    text
}

/// The arguments by their headings, in order; those without one are positional or plain options.
fn by_heading(command: &Command) -> Vec<(String, Vec<&Arg>)> {
    let mut found: Vec<(String, Vec<&Arg>)> = Vec::new();
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set() && argument.get_id() != "help") {
        let plain = if argument.is_positional() { "argument" } else { "option" };
        let heading = argument.get_help_heading().unwrap_or(plain);
        match found.iter_mut().find(|(known, _)| known == heading) {
            Some((_, arguments)) => arguments.push(argument),
            None => found.push((heading.to_owned(), vec![argument])),
        }
    }
    found
}

/// An argument as it is typed, with the name of its value.
fn spelled(argument: &Arg) -> String {
    let value = || {
        let names = argument.get_value_names().unwrap_or_default();
        names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(" ")
    };
    if argument.is_positional() {
        return value();
    }
    let short = argument.get_short().map(|letter| format!("-{letter}, ")).unwrap_or_default();
    let long = argument.get_long().map(|long| format!("--{long}")).unwrap_or_default();
    let flag = format!("{short}{long}");
    if !argument.get_action().takes_values() {
        return flag;
    }
    let optional = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
    match (optional, argument.is_require_equals_set()) {
        (true, true) => format!("{flag}[={}]", value()),
        (true, false) => format!("{flag} [{}]", value()),
        (false, _) => format!("{flag} {}", value()),
    }
}

/// The meaning of an argument, its default, and the values that it takes.
fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let mut text = prose(&help.map(ToString::to_string).unwrap_or_default());
    let defaults: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && argument.get_action().takes_values() && !argument.is_hide_default_value_set() {
        text.push_str(&format!(" \\[default: {}]", prose(&defaults.join(" "))));
    }
    if argument.get_action().takes_values() && !argument.is_hide_possible_values_set() {
        let values = argument.get_possible_values();
        let told = values.iter().filter(|value| !value.is_hide_set()).map(|value| {
            let help = value.get_help().map(|help| format!(" ({})", prose(&help.to_string()))).unwrap_or_default();
            format!("{}{help}", code(value.get_name()))
        });
        let told: Vec<String> = told.collect();
        if !told.is_empty() {
            text.push_str(&format!(" Values: {}.", told.join(", ")));
        }
    }
    text
}

//! `ccnuma completions`: what shells complete command lines of this command by.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::failure::Failure;
use crate::output::print;

/// Print the completions of a shell
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma completions bash > ~/.local/share/bash-completion/completions/ccnuma
  ccnuma completions zsh > ~/.zfunc/_ccnuma          where ~/.zfunc is in fpath
  ccnuma completions fish > ~/.config/fish/completions/ccnuma.fish

The wheel has those of bash, zsh and fish in share/: an environment that is installed in has them without this command.")]
pub struct CompletionsCommand {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsCommand {
    /// Prints those of `command`.
    ///
    /// # Errors
    /// When standard output fails.
    pub fn run(self, mut command: Command) -> Result<(), Failure> {
        let mut text = Vec::new();
        generate(self.shell, &mut command, "ccnuma", &mut text);
        print(String::from_utf8_lossy(&text))
    }
}

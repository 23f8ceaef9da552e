//! Room `cli/commands`: completions for shells and the manual pages, made from the definitions of the arguments.

use crate::args::Args;
use crate::{Output, Status};
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints a script that completes arguments in a shell.
pub fn completions(shell: Shell, output: &mut Output) -> Status {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "postbop", &mut script);
    output.out.push_str(&String::from_utf8_lossy(&script));
    Status::Good
}

/// Prints the manual page of postbop, or of one of its commands.
pub fn man(command: &Option<String>, output: &mut Output) -> Status {
    let mut all = Args::command();
    // So that commands know their full names, and the options that all commands have.
    all.build();
    let page = match command {
        None => Some(all),
        Some(name) => all.find_subcommand(name).cloned(),
    };
    let Some(page) = page else {
        output.error("there is no such command; `postbop --help` lists all");
        return Status::BadInput;
    };
    let mut text = Vec::new();
    match clap_mangen::Man::new(page).render(&mut text) {
        Ok(()) => {
            output.out.push_str(&String::from_utf8_lossy(&text));
            Status::Good
        }
        Err(error) => {
            output.error(&error.to_string());
            Status::BadInput
        }
    }
}

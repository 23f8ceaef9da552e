//! Room `cli/report`: text of a program where it could be taken for something else.
//!
//! Names may contain anything: `{</script>}`, escape sequences that a terminal obeys, marks that turn the direction of the text
//! around them. Where such text is shown, characters that are not seen are written out; where it stands in another language, it is
//! quoted as that language asks.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character is not seen, or changes how others are.
fn is_unseen(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// The text with characters that are not seen written out, as in `⟨U+202E⟩`. Ends of lines stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_unseen(c) {
            true => drop(write!(out, "⟨U+{:04X}⟩", c as u32)),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The text as a string of Graphviz.
pub fn dot(text: &str) -> String {
    format!("\"{}\"", visible(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// The text within XML, in an element or an attribute.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            // Code points that XML has no place for.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The message of a workflow command of GitHub.
pub fn command(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command of GitHub.
pub fn command_property(text: &str) -> String {
    command(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_written_out() {
        assert_eq!(visible("a\n\tb"), "a\n\tb");
        assert_eq!(visible("\u{1b}[31m\u{202e}x"), "⟨U+001B⟩[31m⟨U+202E⟩x");
    }

    #[test]
    fn text_is_quoted_as_each_language_asks() {
        assert_eq!(dot("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
        assert_eq!(xml("<a & 'b'>\u{0}"), "&lt;a &amp; &apos;b&apos;&gt;⟨U+0000⟩");
        assert_eq!(command("50%\n::error::"), "50%25%0A::error::");
        assert_eq!(command_property("a:b,c"), "a%3Ab%2Cc");
    }
}

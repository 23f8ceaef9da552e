// Elements and text. What comes from a program is put into the page as text, never as markup.

export const byId = (id) => document.getElementById(id);

// An element with attributes and children, also lists of them. A child that is not an element is text.
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// Characters that are not seen, or that turn the direction of the text around them.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

// A text with such characters written out.
export const visible = (text) =>
  text.replace(UNSEEN, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

// A name or a piece of source, as an element.
export const code = (text, attributes = {}) => el("bdi", { class: "code", ...attributes }, visible(text));

export const plural = (count, word) => `${count} ${word}${String(count) === "1" ? "" : "s"}`;

// A number for people: exact if it is short.
export function told(number) {
  const digits = String(number);
  if (digits.length > 24) return `about ${digits[0]}.${digits.slice(1, 3)} · 10^${digits.length - 1}`;
  return digits.length > 4 ? digits.replace(/\B(?=(\d{3})+$)/g, "\u202f") : digits;
}

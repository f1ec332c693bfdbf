/**
 * Half a character is one surrogate of a pair that has lost the other: clients cut texts in the middle of an emoji and send the half in
 * every later turn. Servers in Go, Rust and Python refuse it as broken JSON. No upstream gets one: U+FFFD takes its place.
 */

/** An escape that `JSON.stringify` writes. It escapes surrogates only where they are alone. */
const WRITTEN_ESCAPE = /\\(?:ud[0-9a-f]{3}|.)/g;

/** Returns a text that `JSON.stringify` made, with U+FFFD in place of each half of a character. One search when there is none. */
export function replaceHalves(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(WRITTEN_ESCAPE, (written) => (written.length > 2 ? '\ufffd' : written));
}

/** An escape of any writer of JSON: a pair, one surrogate, or any other. */
const ANY_ESCAPE = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)/gs;
const PAIR_LENGTH = '\\ud83c\\udf0d'.length;

/** Returns a JSON text of any writer, such as the arguments of a call, with U+FFFD for each escape that is half a character. */
export function replaceEscapedHalves(json: string): string {
  if (!json.includes('\\ud') && !json.includes('\\uD')) return json;
  return json.replace(ANY_ESCAPE, (written) => (written.length > 2 && written.length < PAIR_LENGTH ? '\\ufffd' : written));
}

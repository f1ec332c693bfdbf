/** Returns the position of the quote that closes the JSON string whose text begins at `from`, or -1. Skips text at the speed of `indexOf`. */
export function closingQuote(json: string, from: number): number {
  for (let at = json.indexOf('"', from); at !== -1; at = json.indexOf('"', at + 1)) {
    let escapes = 0;
    while (json.charCodeAt(at - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return -1;
}

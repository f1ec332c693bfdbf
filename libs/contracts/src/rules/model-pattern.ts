// Patterns of model ids. Imports nothing: browsers load it.

/** Returns a function that is true for the ids of models that a pattern names, in which `*` stands for any characters. */
export function modelMatcher(pattern: string): (modelId: string) => boolean {
  const parts = pattern.split('*');
  return (modelId) => matches(modelId, parts);
}

/**
 * True when the text has the parts of a pattern in their order, the first at its start and the last at its end. Not a regular expression:
 * its time would grow with the power of the number of stars.
 */
function matches(text: string, [start = '', ...rest]: readonly string[]): boolean {
  const end = rest.pop();
  if (end === undefined) return text === start;
  if (!text.startsWith(start)) return false;
  let at = start.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - end.length >= at && text.endsWith(end);
}

/** Returns the condition of a column that has a text, in upper or lower case. */
export function containsText(text: string): { contains: string; mode: 'insensitive' } {
  // Otherwise these would stand for any characters.
  return { contains: text.replace(/[\\%_]/g, '\\$&'), mode: 'insensitive' };
}

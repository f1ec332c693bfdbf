const WORDS =
  'act add age air all ant any ape arc ark arm art ash ask bar bat bay bed bee bit box bud bus cap cat cow cup day dew dot ear egg elm end eye fan far fig fir fit fog fox fun gem gum hat hen hut ice ink ivy jam jar jet joy key kit lap leg log map'
    .split(' ')
    .map((word) => `${word} `);

/** Four bytes each: two letters of two bytes, one sign of four, or one of three and a space. */
const UNICODE_WORDS = ['éà', 'ßñ', '🌍', '漢 ', 'øå', '🚀', '€ ', 'жя'];

/** Returns `count` tokens of four bytes. The same seed gives the same text, and a longer text starts with the shorter one. */
export function seededWords(seed: number, count: number, unicode = false): string {
  const words = unicode ? UNICODE_WORDS : WORDS;
  let state = seed || 1;
  let text = '';
  for (let written = 0; written < count; written++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    text += words[(state >>> 0) % words.length];
  }
  return text;
}

/** A 32-bit FNV-1a hash of a text's start, end and length: distinguishes requests, and is cheap on megabytes. */
export function seedOf(text: string): number {
  const sample = text.length > 2_048 ? text.slice(0, 1_024) + text.slice(-1_024) + text.length : text;
  let hash = 0x811c9dc5;
  for (let index = 0; index < sample.length; index++) hash = Math.imul(hash ^ sample.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

import type { Vocabulary } from './vocabulary.js';

/** Tokens of a sentence, the space before it included: a text of a multiple of 16 tokens ends with a full stop. */
const SENTENCE_TOKENS = 16;
const BYTES_PER_TOKEN = 4;

/** Four bytes each: two letters of two bytes, one sign of four, or one of three and a space. */
const UNICODE_WORDS = ['éà', 'ßñ', '🌍', '漢 ', 'øå', '🚀', '€ ', 'жя'];

/**
 * Returns `count` tokens of four bytes: English sentences, the last one cut. The same seed gives the same text, and a longer text starts
 * with the shorter one.
 */
export function seededText(seed: number, count: number, vocabulary: Vocabulary): string {
  const random = seededRandom(seed);
  let text = '';
  for (let written = 0; written < count; written += SENTENCE_TOKENS) {
    const separator = text === '' ? '' : ' ';
    text += separator + sentence(random, vocabulary, SENTENCE_TOKENS * BYTES_PER_TOKEN - separator.length);
  }
  return text.slice(0, count * BYTES_PER_TOKEN);
}

/** As `seededText`, but of words of two- to four-byte characters. */
export function seededUnicode(seed: number, count: number): string {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => pick(UNICODE_WORDS, random)).join('');
}

type Random = () => number;

/** An xorshift generator of unsigned 32-bit integers. */
function seededRandom(seed: number): Random {
  let state = seed || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** Returns a sentence of exactly `length` characters: chooses its start freely, then a setting and an action that fill the rest. */
function sentence(random: Random, { subjects, actions, settings }: Vocabulary, length: number): string {
  const subject = pick(subjects, random);
  const first = pick(actions, random);
  const render = random() % 3 === 0 ? settingFirst : settingLast;
  const left = length - render(subject, first, '', '').length;
  const firstSetting = random();
  const firstAction = random();
  for (let tried = 0; tried < settings.length * actions.length; tried++) {
    const setting = settings[(firstSetting + tried) % settings.length] as string;
    const second = actions[(firstAction + Math.floor(tried / settings.length)) % actions.length] as string;
    if (second !== first && setting.length + second.length === left) return capitalised(render(subject, first, second, setting));
  }
  throw new Error(`No sentence of ${length} characters starts with "${subject} ${first}".`);
}

function settingLast(subject: string, first: string, second: string, setting: string): string {
  return `${subject} ${first} and ${second} ${setting}.`;
}

function settingFirst(subject: string, first: string, second: string, setting: string): string {
  return `${setting}, ${subject} ${first} and ${second}.`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[random() % items.length] as Item;
}

/** A 32-bit FNV-1a hash of a text's start, end and length: distinguishes requests, and is cheap on megabytes. */
export function hashSeed(text: string): number {
  const sample = text.length > 2_048 ? text.slice(0, 1_024) + text.slice(-1_024) + text.length : text;
  let hash = 0x811c9dc5;
  for (let index = 0; index < sample.length; index++) hash = Math.imul(hash ^ sample.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

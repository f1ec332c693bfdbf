import { COMMON_WORDS } from './common-words.js';

const LETTER_OF: Record<string, string> = { '@': 'a', '4': 'a', '0': 'o', $: 's', '5': 's', '3': 'e', '1': 'i' };
const PERIOD_MAX = 5;

/**
 * True for a password of digits alone, for one of a few characters repeated, and for one or two common words with anything but letters
 * before or after them: `Password2027!!`, `ILoveJessica1`. Leaked passwords are mostly shorter than the least length; the longer ones have
 * these forms.
 */
export function isCommonPassword(password: string): boolean {
  const text = password.toLowerCase();
  const core = text.replace(/^[^a-z@$]+|[^a-z]+$/g, '').replace(/[@40$531]/g, (sign) => LETTER_OF[sign] ?? sign);
  return core === '' || isOneOrTwoWords(core) || isRepetition(text);
}

function isOneOrTwoWords(core: string): boolean {
  const isPair = (end: number): boolean => COMMON_WORDS.has(core.slice(0, end)) && COMMON_WORDS.has(core.slice(end));
  return COMMON_WORDS.has(core) || Array.from(core, (_, end) => end).some(isPair);
}

/** True for a text that repeats its first one to five characters. */
function isRepetition(text: string): boolean {
  return Array.from({ length: PERIOD_MAX }, (_, index) => index + 1).some((period) => text.slice(period) === text.slice(0, -period));
}

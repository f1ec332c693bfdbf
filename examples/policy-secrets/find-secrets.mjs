import { lintSource } from '@secretlint/core';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';

const CONFIG = { rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: creator }] };

/**
 * Returns the spans of secrets in the texts, in code points as the gateway counts them. Secretlint says what it found in its messages: they
 * go nowhere.
 * @param {readonly { text: string }[]} texts
 * @returns {Promise<{ text: number, start: number, end: number }[]>}
 */
export async function findSecrets(texts) {
  const spans = await Promise.all(texts.map(async ({ text }, index) => spansIn(text, await lint(text), index)));
  return spans.flat();
}

/** @param {string} content */
async function lint(content) {
  const source = { filePath: 'prompt.txt', content, ext: '.txt', contentType: /** @type {const} */ ('text') };
  const { messages } = await lintSource({ source, options: { config: CONFIG } });
  return messages.map(({ range: [start, end] }) => ({ start, end }));
}

/** @param {string} content @param {readonly { start: number, end: number }[]} found @param {number} text */
function spansIn(content, found, text) {
  return found.map(({ start, end }) => ({ text, start: countCharacters(content, start), end: countCharacters(content, end) }));
}

/** @param {string} content @param {number} units */
function countCharacters(content, units) {
  return [...content.slice(0, units)].length;
}

import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, isNode, stringify } from 'yaml';
import { renderListPrices } from '#money/list-prices.js';
import type { Price } from '#money/price.js';
import { readYaml } from './read-yaml.js';

/**
 * Returns a catalog's text with another price of one model, and the rest unchanged. Only the values are replaced. Where this would change the
 * price of another model, which an anchor can do, the text is written anew, without its comments and anchors. Returns the same text when it
 * does not name the model.
 */
export function setPrice(text: string, modelId: string, price: Price): string {
  const { document, plain } = readYaml(text, 'catalog');
  const models = (plain as { models: { id: string }[] }).models;
  const index = models.findIndex(({ id }) => id === modelId);
  if (index === -1) return text;
  const fields: Fields = { ...renderListPrices(price) };
  const wanted = { ...plain, models: models.map((model, at) => (at === index ? { ...model, price: fields } : model)) };
  const edited = replaceValues(text, document, index, fields);
  return contentEquals(edited, wanted) ? edited : stringify(wanted, { aliasDuplicateObjects: false, lineWidth: 0 });
}

type Fields = Record<string, unknown>;

/** Replaces the values of the model's price in the text, or all of it where it has other fields or is an alias. */
function replaceValues(text: string, document: Document.Parsed, index: number, fields: Fields): string {
  const node = document.getIn(['models', index, 'price'], true);
  const quoted = Object.entries(fields).map(([field, value]) => [field, JSON.stringify(value)] as const);
  const hasSameFields = isMap(node) && node.items.length === quoted.length && quoted.every(([field]) => node.has(field));
  const edits: [node: unknown, value: string][] = hasSameFields
    ? quoted.map(([field, value]) => [node.get(field, true), value])
    : [[node, `{ ${quoted.map(([field, value]) => `${field}: ${value}`).join(', ')} }`]];
  const places = edits.flatMap(([at, value]) => {
    const range = isNode(at) ? at.range : undefined;
    // The range of a price in lines ends after its last line.
    return range ? [{ start: range[0], end: range[0] + text.slice(range[0], range[1]).trimEnd().length, value }] : [];
  });
  return places
    .sort((one, other) => other.start - one.start)
    .reduce((edited, { start, end, value }) => edited.slice(0, start) + value + edited.slice(end), text);
}

function contentEquals(text: string, content: object): boolean {
  try {
    return isDeepStrictEqual(readYaml(text, 'catalog').plain, content);
  } catch {
    return false;
  }
}

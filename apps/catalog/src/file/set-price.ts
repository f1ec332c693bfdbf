import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, isNode, stringify } from 'yaml';
import { renderListPrices } from '#money/list-prices.js';
import type { Price } from '#money/price.js';
import { readYaml } from './read-yaml.js';

/**
 * Returns a catalog's text with another price of one model or item, and the rest unchanged. Only the values are replaced. Where this would change the
 * price of another model, which an anchor can do, the text is written anew, without its comments and anchors. Returns the same text when it
 * does not name the model.
 */
export function setPrice(text: string, modelId: string, price: Price): string {
  const { document, plain } = readYaml(text, 'catalog');
  const file = plain as CatalogText;
  const index = file.models.findIndex(({ id }) => id === modelId);
  const change = index === -1 ? changeItem(document, file, modelId, price) : changeModel(document, file, index, price);
  if (change === undefined) return text;
  const edited = replaceTexts(text, change.edits);
  return contentEquals(edited, change.wanted) ? edited : stringify(change.wanted, { aliasDuplicateObjects: false, lineWidth: 0 });
}

interface CatalogText {
  models: { id: string }[];
  services?: { id: string; items: { id: string }[] }[];
}

type Fields = Record<string, unknown>;

/** Texts of nodes to replace, and the content that the whole text must then have. */
interface TextChange {
  edits: [node: unknown, value: string][];
  wanted: object;
}

function changeModel(document: Document.Parsed, file: CatalogText, index: number, price: Price): TextChange {
  const fields: Fields = { ...renderListPrices(price) };
  const wanted = { ...file, models: file.models.map((model, at) => (at === index ? { ...model, price: fields } : model)) };
  return { edits: listEdits(document, index, fields), wanted };
}

/** Undefined when the text does not have the item. */
function changeItem(document: Document.Parsed, file: CatalogText, id: string, price: Price): TextChange | undefined {
  const { services = [] } = file;
  const [index, itemIndex] = services.flatMap((service, at) =>
    service.items.flatMap((item, itemAt) => (`${service.id}/${item.id}` === id ? [at, itemAt] : [])),
  );
  if (index === undefined || itemIndex === undefined) return undefined;
  const { requestUsd: unitUsd = '0.00' } = renderListPrices(price);
  const wanted = {
    ...file,
    services: services.map((service, at) =>
      at === index
        ? { ...service, items: service.items.map((item, itemAt) => (itemAt === itemIndex ? { ...item, unitUsd } : item)) }
        : service,
    ),
  };
  return { edits: [[document.getIn(['services', index, 'items', itemIndex, 'unitUsd'], true), JSON.stringify(unitUsd)]], wanted };
}

/** Replaces the values of the model's price in the text, or all of it where it has other fields or is an alias. */
function listEdits(document: Document.Parsed, index: number, fields: Fields): TextChange['edits'] {
  const node = document.getIn(['models', index, 'price'], true);
  const quoted = Object.entries(fields).map(([field, value]) => [field, JSON.stringify(value)] as const);
  const hasSameFields = isMap(node) && node.items.length === quoted.length && quoted.every(([field]) => node.has(field));
  return hasSameFields
    ? quoted.map(([field, value]) => [node.get(field, true), value])
    : [[node, `{ ${quoted.map(([field, value]) => `${field}: ${value}`).join(', ')} }`]];
}

function replaceTexts(text: string, edits: TextChange['edits']): string {
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

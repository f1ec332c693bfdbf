import { createHash } from 'node:crypto';
import { isObject, type Json } from '../../field-checks.js';
import type { CacheTtl } from '../../prompt-cache.js';
import { SimError } from '../../sim-error.js';

/** A tool, a block of `system` or a block of a message: the units that a marker can end. */
export interface PromptBlock {
  /** Its place in the body, as error messages name it. */
  at: string;
  /** The index of its message; tools and `system` have none. */
  message?: number;
  /** `tools`, `system` or the role of its message. */
  kind: string;
  block: Json;
}

/** A `cache_control` of a request, with the index of its block in the prompt. */
export interface CacheMarker {
  index: number;
  ttl: CacheTtl;
}

const MARKERS_MAX = 4;
const NEVER_MARKED = new Set(['thinking', 'redacted_thinking']);

/** Lists the blocks of a body in the order in which they are cached: tools, system, messages. A string counts as one text block. */
export function promptBlocks({ tools, system, messages }: Json): PromptBlock[] {
  return [
    ...asBlocks(tools).map((block, index) => ({ at: `tools.${index}`, kind: 'tools', block })),
    ...asBlocks(system).map((block, index) => ({ at: `system.${index}`, kind: 'system', block })),
    ...(Array.isArray(messages) ? messages.filter(isObject) : []).flatMap(({ role, content }, message) =>
      asBlocks(content).map((block, index) => ({ at: `messages.${message}.content.${index}`, message, kind: String(role), block })),
    ),
  ];
}

/**
 * Reads the markers of a request.
 *
 * @throws SimError in the vendor's words for markers that it refuses
 */
export function readMarkers(blocks: readonly PromptBlock[]): CacheMarker[] {
  const markers = blocks.flatMap(({ at, block }, index) => {
    const ttl = readTtl(block, at);
    return ttl === undefined ? [] : [{ index, at, ttl }];
  });
  if (markers.length > MARKERS_MAX) {
    throw SimError.invalid(`A maximum of ${MARKERS_MAX} blocks with cache_control may be provided. Found ${markers.length}.`);
  }
  const late = markers.find(({ ttl }, index) => ttl === '1h' && markers[index - 1]?.ttl === '5m');
  if (late !== undefined) {
    throw SimError.invalid(
      `${late.at}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. ` +
        'Note that blocks are processed in the following order: `tools`, `system`, `messages`.',
    );
  }
  return markers.map(({ index, ttl }) => ({ index, ttl }));
}

/** Returns a key for the prompt up to the end of each block. Markers are not part of it. */
export function prefixKeys(model: string, blocks: readonly PromptBlock[]): string[] {
  const hash = createHash('sha256').update(JSON.stringify(model));
  return blocks.map(({ kind, message, block: { cache_control: _, ...content } }) =>
    hash
      .update(JSON.stringify([kind, message, content]))
      .copy()
      .digest('base64'),
  );
}

/** Returns the body of a prompt that has these blocks. */
export function joinBlocks(blocks: readonly PromptBlock[]): Json {
  const messages: { role: string; content: Json[] }[] = [];
  for (const { message, kind: role, block } of blocks) {
    if (message === undefined) continue;
    const open = messages[message] ?? { role, content: [] };
    open.content.push(block);
    messages[message] = open;
  }
  const before = (name: string): Json[] =>
    blocks.filter(({ kind, message }) => kind === name && message === undefined).map(({ block }) => block);
  return { tools: before('tools'), system: before('system'), messages };
}

function asBlocks(content: unknown): Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.filter(isObject) : [];
}

function readTtl({ cache_control: control, type, text }: Json, at: string): CacheTtl | undefined {
  if (NEVER_MARKED.has(String(type)) && control !== undefined) {
    throw SimError.invalid(`${at}.${String(type)}.cache_control: Extra inputs are not permitted`);
  }
  if (control == null) return undefined;
  if (!isObject(control)) throw SimError.invalid(`${at}.cache_control: Input should be an object`);
  const { type: kind, ttl = '5m', ...others } = control;
  if (kind !== 'ephemeral') {
    const found = `Input tag '${String(kind)}' found using 'type' does not match any of the expected tags: 'ephemeral'`;
    throw SimError.invalid(`${at}.cache_control: ${found}`);
  }
  if (ttl !== '5m' && ttl !== '1h') throw SimError.invalid(`${at}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'`);
  for (const name of Object.keys(others)) throw SimError.invalid(`${at}.cache_control.ephemeral.${name}: Extra inputs are not permitted`);
  if (text === '') throw SimError.invalid(`${at}.text: cache_control cannot be set for empty text blocks`);
  return ttl;
}

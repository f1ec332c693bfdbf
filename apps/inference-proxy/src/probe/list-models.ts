import type { UpstreamClient } from '../routing/upstream-client.js';
import { GrowingBuffer } from '../transport/growing-buffer.js';
import { isObject, parseJson } from '../upstreams/replies/json-object.js';
import { holdsMoreValues } from '../upstreams/replies/reply-limits.js';

const LIST_MS = 10_000;
const LIST_BYTES_MAX = 4 * 1024 * 1024;

export interface ListedModel {
  id: string;
  /** Context size, if the upstream lists it. */
  contextTokens: number | undefined;
}

/** Returns what the upstream lists at `GET models`; undefined when it has no list, or none that can be parsed. */
export async function listModels(
  { pool, basePath, query = '' }: Pick<UpstreamClient, 'pool' | 'basePath'> & Partial<Pick<UpstreamClient, 'query'>>,
  headersFor: (path: string) => Promise<Record<string, string>>,
  signal: AbortSignal,
): Promise<ListedModel[] | undefined> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]);
  const path = `${basePath}models${query}`;
  try {
    const { statusCode, body } = await pool.request({
      method: 'GET',
      path,
      headers: { 'user-agent': 'tollgate', ...(await headersFor(path)), accept: 'application/json', 'accept-encoding': 'identity' },
      signal: limited,
    });
    const list = new GrowingBuffer();
    // Leaving the loop closes the socket.
    for await (const chunk of body as AsyncIterable<Buffer>) {
      list.push(chunk);
      if (list.length > LIST_BYTES_MAX) return undefined;
    }
    return statusCode === 200 ? parseModelList(list.take().toString()) : undefined;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Fields in which servers give the context size of a model. */
const CONTEXT_FIELDS = ['max_model_len', 'context_length', 'context_window', 'max_context_length', 'max_input_tokens', 'inputTokenLimit'];

/** Parses `{data: […]}`, `{models: […]}` or a bare list of objects with an `id` or `name`. */
export function parseModelList(text: string): ListedModel[] | undefined {
  const value = holdsMoreValues(text) ? undefined : parseJson(text);
  const list = Array.isArray(value) ? value : isObject(value) ? (value.data ?? value.models) : undefined;
  if (!Array.isArray(list)) return undefined;
  return list.filter(isObject).flatMap((model) => {
    const id = model.id ?? model.name;
    if (typeof id !== 'string') return [];
    const meta = isObject(model.meta) ? model.meta.n_ctx_train : undefined; // llama.cpp
    const sizes = [...CONTEXT_FIELDS.map((field) => model[field]), meta];
    const contextTokens = sizes.find((size): size is number => Number.isSafeInteger(size) && (size as number) > 0);
    return [{ id: id.replace(/^models\//, ''), contextTokens }]; // Gemini names the collection too
  });
}

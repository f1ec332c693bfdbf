import { accountLine } from '#inference/added-texts.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { deriveCacheKey } from './cache-key.js';

/** The rendered parts that a prompt begins with. */
export interface PromptHead {
  tools: { description?: unknown }[];
  system: string | undefined;
}

/**
 * Begins the first tool and the system prompt with the account's line, whichever of them the upstream's template has first: no account
 * finds in the cache what another one has sent, and a line that a client writes itself stands behind its own.
 */
export function nameAccount(prompt: PromptHead, call: UpstreamCall, apiKey: string | undefined): void {
  const line = accountLine(deriveCacheKey(call, undefined, apiKey));
  const [tool] = prompt.tools;
  if (tool !== undefined) tool.description = withLine(line, tool.description);
  if (tool === undefined || prompt.system !== undefined) prompt.system = withLine(line, prompt.system);
}

function withLine(line: string, text: unknown): string {
  return typeof text === 'string' && text !== '' ? `${line}\n${text}` : line;
}

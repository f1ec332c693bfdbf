import { join } from 'node:path';
import { holdList } from '#contracts/billing/holds.js';
import { PIXEL } from '#testing/pixel.js';
import { readArchives } from '#testing/text-archive.js';
import { DIALECTS, type Dialect, type SimModel } from './pairs/scenario.js';
import { joinPairedSystem, modelAt, type PairedSystem } from './pairs/upstreams.js';

/**
 * Recorded requests of agents (docs/use-with), with their headers, at models of each upstream dialect. The simulator is as strict as the
 * strictest real servers, and quotes tool results, so that a reply shows that the whole conversation arrived.
 */
interface AgentRequest {
  fixture: string;
  path: string;
  headers: Record<string, string>;
  /** Expected part of the reply: text, or arguments of calls. */
  says: string;
  /** Expected part of the prompt. */
  shows?: string;
}

/** Part of every request with `shows`. */

const CODEX = {
  path: '/v1/responses',
  headers: { originator: 'codex_exec', 'session-id': '01a1', 'x-codex-turn-metadata': '{}', accept: 'text/event-stream' },
};
const CLAUDE = {
  path: '/v1/messages?beta=true',
  headers: {
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'claude-code-20250219,effort-2025-11-24',
    'x-app': 'cli',
    'x-stainless-lang': 'js',
  },
};
const opencode = (path: string) => ({ path, headers: { 'x-session-id': 'ses_1', 'x-session-affinity': 'ses_1' } });

const AGENT_REQUESTS: AgentRequest[] = [
  { fixture: 'responses/codex-command', ...CODEX, says: 'The result is: Chunk ID' },
  { fixture: 'responses/codex-apply-patch', ...CODEX, says: 'The result is: Exit code: 0' },
  { fixture: 'responses/codex-mcp-server', ...CODEX, says: 'door is green' },
  { fixture: 'responses/codex-script-in-additional-tools', ...CODEX, says: 'The result is: Script completed' },
  { fixture: 'responses/codex-view-image', ...CODEX, says: ' ', shows: PIXEL },
  { fixture: 'responses/codex-compaction', ...CODEX, says: ' ' },
  { fixture: 'responses/codex-output-schema', ...CODEX, says: 'Rome' },
  { fixture: 'responses/opencode', ...opencode('/v1/responses'), says: ' ', shows: PIXEL },
  { fixture: 'messages/claude-code-first-turn', ...CLAUDE, says: 'echo one' },
  { fixture: 'messages/claude-code-parallel-tools', ...CLAUDE, says: 'The result is: one | two.' },
  { fixture: 'messages/claude-code-tool-search', ...CLAUDE, says: 'The result is: door is green.' },
  { fixture: 'messages/claude-code-image', ...CLAUDE, says: ' ', shows: PIXEL },
  { fixture: 'messages/claude-code-failed-tool-in-auto-mode', ...CLAUDE, says: 'Auto mode could not evaluate' },
  { fixture: 'messages/claude-code-web-search', ...CLAUDE, says: ' ' },
  { fixture: 'messages/claude-code-title', ...CLAUDE, says: '{"title":"sim"}' },
  { fixture: 'messages/claude-code-command-check', ...CLAUDE, says: ' ' },
  { fixture: 'messages/claude-code-plain-repeat', ...CLAUDE, says: ' ' },
  { fixture: 'messages/opencode', ...opencode('/v1/messages'), says: ' ', shows: PIXEL },
  { fixture: 'chat/opencode-command', ...opencode('/v1/chat/completions'), says: 'tollgate-42' },
  { fixture: 'chat/opencode-image', ...opencode('/v1/chat/completions'), says: ' ', shows: PIXEL },
  { fixture: 'chat/opencode-reasoning', ...opencode('/v1/chat/completions'), says: ' ' },
  { fixture: 'chat/opencode-title', ...opencode('/v1/chat/completions'), says: ' ' },
];

let system: PairedSystem;
beforeAll(async () => {
  system = await joinPairedSystem();
});
afterAll(() => system?.leave());

describe.each(DIALECTS)('at %s', (dialect) => {
  test.each(AGENT_REQUESTS)('$fixture gets a complete reply', async (agent) => {
    const { status, reply } = await ask(agent, dialect);
    expect([status, reply]).toEqual([200, expect.stringContaining(agent.says)]);
    expect(await lastPrompt(dialect)).toContain(agent.shows ?? '');
  });
});

test('no hold is left', async () => {
  const { administrator, tenant } = system;
  expect(await administrator.request(holdList, { accountId: tenant.accountId })).toEqual({ holds: [], nextCursor: null });
});

async function ask({ fixture, path, headers }: AgentRequest, dialect: Dialect): Promise<{ status: number; reply: string }> {
  const [format = '', name = ''] = fixture.split('/');
  const recorded = readArchives(join('apps/gateway/src/protocols', format, '__fixtures__/requests'));
  const { body } = JSON.parse(String(recorded.get(`${name}.json`))) as { body: { model: SimModel; stream?: boolean } };
  const response = await fetch(system.gatewayUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${system.tenant.apiKey}`, ...headers },
    body: JSON.stringify({ ...body, model: modelAt(body.model, dialect) }),
  });
  const text = await response.text();
  return { status: response.status, reply: body.stream === true && response.ok ? streamed(text) : text };
}

async function lastPrompt(dialect: Dialect): Promise<string> {
  const heard = await fetch(`${system.upstreams[dialect].url}/sim/requests?limit=1`);
  return await heard.text();
}

const ENDED = /\ndata: \[DONE\]\n\n$|\nevent: (response\.completed|message_stop)\n[^\n]+\n\n$/;

/** Joins the text of a stream and the arguments of its calls. */
function streamed(stream: string): string {
  if (!ENDED.test(stream)) return `a stream without its end: ${stream.slice(-300)}`;
  const pieces = [...stream.matchAll(/^data: (\{.*\})$/gm)].map((match) => JSON.parse(match[1] ?? '{}') as Record<string, unknown>);
  return pieces.map(readPiece).join('');
}

function readPiece(event: Record<string, unknown>): string {
  const { delta, choices } = event as { delta?: string | Record<string, string>; choices?: { delta: { content?: string } }[] };
  if (choices !== undefined) return choices[0]?.delta.content ?? '';
  if (typeof delta === 'string') return delta;
  return delta?.text ?? delta?.partial_json ?? '';
}

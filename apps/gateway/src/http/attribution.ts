import type { IncomingHttpHeaders } from 'node:http';
import { ATTRIBUTION_LENGTHS, type Attribution, PARENT_AGENT } from '#contracts/billing/attribution.js';
import { TAG_NAME, TAGS_MAX } from '#contracts/rules/bounds.js';
import type { PicoUsd } from '#money/pico-usd.js';
import { attributeChild } from '../clients/attribute-child.js';
import type { Caller } from '../clients/caller.js';
import { readText } from '../protocols/body-fields/body-attribution.js';
import { invalidField } from '../protocols/body-fields/body-fields.js';
import type { BodyAttribution } from '../protocols/protocol-adapter.js';
import { readDollars } from './read-dollars.js';
import { userAgentFamily } from './user-agent.js';

/** Pairs such as `team=search,env=prod`. */
const TAGS_HEADER = 'x-tollgate-tags';
/** Headers with the session of a client: any client's, then Claude Code's and Codex's own. The first that is there counts. */
export const SESSION_HEADERS = ['x-session-id', 'x-claude-code-session-id', 'session-id', 'session_id'] as const;
/** Headers with an agent and the agent that started it: any client's, then Claude Code's and Codex's own. The first agent that is there counts. */
const AGENT_HEADERS = [
  { agent: 'x-agent-id', parent: 'x-parent-agent-id' },
  { agent: 'x-claude-code-agent-id', parent: 'x-claude-code-parent-agent-id' },
  { agent: 'thread-id', parent: 'x-codex-parent-thread-id' },
  { agent: 'thread_id', parent: 'x-codex-parent-thread-id' },
] as const;
/** Dollars such as `0.50`. */
export const SESSION_BUDGET_HEADER = 'x-tollgate-session-budget';
/** Printable ASCII without the comma: the header has no other encoding. */
const TAG_VALUE = /^[\x21-\x2b\x2d-\x7e](?:[\x20-\x2b\x2d-\x7e]*[\x21-\x2b\x2d-\x7e])?$/;

/**
 * Returns who a request is for, by its headers and its body; undefined when nothing is known. A tag of the header wins over the `metadata`
 * pair of the same name. Only Tollgate's own header is checked: the others are cut and cleaned as fields of the body.
 * @throws {GatewayError} `invalid_request` for `x-tollgate-tags`.
 */
export function readAttribution(
  headers: IncomingHttpHeaders,
  body: BodyAttribution | undefined,
  { tags = [], child }: Pick<Caller, 'tags' | 'child'>,
): Attribution | undefined {
  const attribution: Attribution = {};
  for (const name of tags) set(attribution, `tag:${name}`, ownValue(body?.metadata, name));
  const header = headers[TAGS_HEADER];
  if (typeof header === 'string') addTags(attribution, header);
  set(attribution, 'user', body?.user);
  set(attribution, 'client', readText(userAgentFamily(headers['user-agent']), ATTRIBUTION_LENGTHS.client));
  set(attribution, 'session', readSession(headers) ?? body?.session);
  setAgent(attribution, headers);
  if (child && !attributeChild(attribution, child))
    throw invalidField(TAGS_HEADER, `must have at most ${TAGS_MAX} tags, with those of the child key`);
  return Object.keys(attribution).length > 0 ? attribution : undefined;
}

function set(attribution: Attribution, dimension: string, value: string | undefined): void {
  if (value !== undefined) attribution[dimension] = value;
}

/** `metadata` is the client's: a name such as `constructor` must not find what objects inherit. */
function ownValue(metadata: Record<string, string> | undefined, name: string): string | undefined {
  return metadata !== undefined && Object.hasOwn(metadata, name) ? metadata[name] : undefined;
}

/**
 * Returns the most that the request lets its session cost, by `x-tollgate-session-budget: 0.50`; undefined without the header.
 * @throws {GatewayError} `invalid_request` for a text that is no amount, or without a session.
 */
export function readSessionLimit(headers: IncomingHttpHeaders, attribution: Attribution | undefined): PicoUsd | undefined {
  const header = headers[SESSION_BUDGET_HEADER];
  if (typeof header !== 'string') return undefined;
  if (attribution?.session === undefined) throw invalidField(SESSION_BUDGET_HEADER, 'is of a session, which `x-session-id` must name');
  return readDollars(SESSION_BUDGET_HEADER, header);
}

function readSession(headers: IncomingHttpHeaders): string | undefined {
  for (const name of SESSION_HEADERS) {
    const session = readText(headers[name], ATTRIBUTION_LENGTHS.session);
    if (session !== undefined) return session;
  }
  return undefined;
}

/** No agent is its own parent. */
function setAgent(attribution: Attribution, headers: IncomingHttpHeaders): void {
  for (const names of AGENT_HEADERS) {
    const agent = readText(headers[names.agent], ATTRIBUTION_LENGTHS.agent);
    if (agent === undefined) continue;
    const parent = readText(headers[names.parent], ATTRIBUTION_LENGTHS.agent);
    attribution.agent = agent;
    set(attribution, PARENT_AGENT, parent === agent ? undefined : parent);
    return;
  }
}

function addTags(attribution: Attribution, header: string): void {
  const seen = new Set<string>();
  for (const pair of header.split(',')) {
    const text = pair.trim();
    if (text === '') continue; // lists in headers may have empty entries
    const at = text.indexOf('=');
    const [name, value] = [text.slice(0, Math.max(at, 0)).trimEnd(), text.slice(at + 1).trimStart()];
    if (!TAG_NAME.test(name)) throw invalidField(TAGS_HEADER, 'must be pairs such as team=search,env=prod');
    if (!TAG_VALUE.test(value) || value.length > ATTRIBUTION_LENGTHS.tag) {
      throw invalidField(TAGS_HEADER, `must have values of 1 to ${ATTRIBUTION_LENGTHS.tag} printable ASCII characters: see ${name}`);
    }
    if (seen.has(name)) throw invalidField(TAGS_HEADER, `names ${name} twice`);
    seen.add(name);
    attribution[`tag:${name}`] = value;
  }
  if (Object.keys(attribution).length > TAGS_MAX)
    throw invalidField(TAGS_HEADER, `must have at most ${TAGS_MAX} tags, with those of \`metadata\``);
}

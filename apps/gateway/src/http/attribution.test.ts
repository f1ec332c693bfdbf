import { parseBodyAttribution } from '../protocols/body-fields/body-attribution.js';
import { readAttribution, readSessionLimit } from './attribution.js';

const NO_TAGS = {};

test('client, session and tags come from the headers', () => {
  const headers = { 'user-agent': 'OpenAI/Python 1.2.3', 'x-session-id': 's-1', 'x-tollgate-tags': ' team=search, env = prod,, ' };
  expect(readAttribution(headers, undefined, NO_TAGS)).toEqual({
    client: 'OpenAI/Python',
    session: 's-1',
    'tag:team': 'search',
    'tag:env': 'prod',
  });
});

test('a request that names nothing has no attribution', () => {
  expect(readAttribution({}, parseBodyAttribution({ model: 'm' }), { tags: ['team'] })).toBeUndefined();
});

test.each([
  ['any client', { 'x-session-id': 'a', 'session-id': 'b' }, 'a'],
  ['Claude Code', { 'x-claude-code-session-id': 'c' }, 'c'],
  ['Codex', { 'session-id': 'd' }, 'd'],
  ['an older Codex', { session_id: 'e' }, 'e'],
])('the session of %s is that of its header, before that of the body', (_, headers, session) => {
  expect(readAttribution(headers, { session: 'of the body' }, NO_TAGS)).toEqual({ session });
});

const AGENT = { agent: 'a', 'parent-agent': 'p' };

test.each([
  ['any client', { 'x-agent-id': 'a', 'x-parent-agent-id': 'p', 'x-claude-code-agent-id': 'b', 'thread-id': 'c' }, AGENT],
  ['Claude Code', { 'x-claude-code-agent-id': 'a', 'x-claude-code-parent-agent-id': 'p' }, AGENT],
  ['Codex', { 'thread-id': 'a', 'x-codex-parent-thread-id': 'p' }, AGENT],
  ['an older Codex', { thread_id: 'a', 'x-codex-parent-thread-id': 'p' }, AGENT],
  ['a client that names the parent of another', { 'x-agent-id': 'a', 'x-claude-code-parent-agent-id': 'p' }, { agent: 'a' }],
  ['a client that names no parent', { 'x-agent-id': 'a' }, { agent: 'a' }],
  ['a client that names itself as the parent', { 'x-agent-id': ' a\u200b', 'x-parent-agent-id': 'a' }, { agent: 'a' }],
  ['a client that names only a parent', { 'x-parent-agent-id': 'p' }, undefined],
  ['a client with a blank agent, before its own', { 'x-agent-id': ' ', 'thread-id': 'a' }, { agent: 'a' }],
  ['a client with a long name', { 'x-agent-id': 'a'.repeat(300) }, { agent: 'a'.repeat(256) }],
])('the agent of %s comes with the agent that started it', (_, headers, attribution) => {
  expect(readAttribution(headers, undefined, NO_TAGS)).toEqual(attribution);
});

test.each([
  ['user', { user: 'alice' }, { user: 'alice' }],
  ['safety_identifier, before user', { safety_identifier: 'a1', user: 'alice' }, { user: 'a1' }],
  ['prompt_cache_key', { prompt_cache_key: 'thread-1' }, { session: 'thread-1' }],
  ['metadata.user_id', { metadata: { user_id: 'alice' } }, { user: 'alice' }],
  [
    'metadata.user_id of Claude Code',
    { metadata: { user_id: '{"device_id":"d","account_uuid":"a","session_id":"s"}' } },
    { user: 'a', session: 's' },
  ],
  [
    'metadata.user_id of Claude Code without an account',
    { metadata: { user_id: '{"device_id":"d","account_uuid":"","session_id":"s"}' } },
    { user: 'd', session: 's' },
  ],
  [
    'metadata.user_id of an older Claude Code',
    { metadata: { user_id: 'user_1f_account_0190a6f0_session_0190a6f1' } },
    { user: 'user_1f_account_0190a6f0', session: '0190a6f1' },
  ],
  ['metadata.user_id that only begins like JSON', { metadata: { user_id: '{alice' } }, { user: '{alice' }],
  ['fields that are no texts', { user: 7, prompt_cache_key: null, metadata: ['x'] }, undefined],
  ['a text of 300 characters', { user: 'u'.repeat(300) }, { user: 'u'.repeat(256) }],
  ['a cut surrogate pair, and control characters', { user: `a\0b\n${'u'.repeat(253)}😀` }, { user: `ab${'u'.repeat(253)}` }],
  ['a user with spaces and invisible characters around it', { user: ' \u200balice\ufeff ' }, { user: 'alice' }],
  ['a user in full-width letters', { safety_identifier: 'ａｌｉｃｅ' }, { user: 'alice' }],
  ['a text that is cut before a space', { user: `${'u'.repeat(255)} v` }, { user: 'u'.repeat(255) }],
  ['a text that its form makes longer', { user: 'ﷺ'.repeat(100) }, { user: 'صلى الله عليه وسلم'.repeat(15).slice(0, 256).trimEnd() }],
  ['a blank user, before another field', { safety_identifier: ' \u200b', user: 'alice' }, { user: 'alice' }],
])('the body names %s', (_, body, attribution) => {
  expect(readAttribution({}, parseBodyAttribution(body), NO_TAGS)).toEqual(attribution);
});

test('sessions of headers and tags of metadata have the same form as users', () => {
  const body = parseBodyAttribution({ metadata: { team: ' ｓearch ', user_id: ' alice' } });
  expect(readAttribution({ 'x-session-id': ' s-1\u00ad' }, body, { tags: ['team'] })).toEqual({
    'tag:team': 'search',
    user: 'alice',
    session: 's-1',
  });
});

test('pairs of metadata are tags if the project says so, and the header wins', () => {
  const body = parseBodyAttribution({ metadata: { team: 'search', env: 'test', other: 'x', cost: 7 } });
  const attribution = readAttribution({ 'x-tollgate-tags': 'env=prod' }, body, { tags: ['team', 'env', 'cost', 'constructor'] });
  expect(attribution).toEqual({ 'tag:team': 'search', 'tag:env': 'prod' });
});

test.each([
  ['team', 'must be pairs such as team=search,env=prod'],
  ['=search', 'must be pairs such as team=search,env=prod'],
  ['the team=search', 'must be pairs such as team=search,env=prod'],
  ['team=', 'must have values of 1 to 128 printable ASCII characters: see team'],
  [`team=${'x'.repeat(129)}`, 'must have values of 1 to 128 printable ASCII characters: see team'],
  ['team=sökning', 'must have values of 1 to 128 printable ASCII characters: see team'],
  ['team=a,team=b', 'names team twice'],
  [Array.from({ length: 17 }, (_, n) => `t${n}=x`).join(','), 'must have at most 16 tags, with those of `metadata`'],
])('x-tollgate-tags of %j are refused', (header, rule) => {
  expect(() => readAttribution({ 'x-tollgate-tags': header }, undefined, NO_TAGS)).toThrow(
    expect.objectContaining({ code: 'invalid_request', param: 'x-tollgate-tags', message: `\`x-tollgate-tags\` ${rule}.` }),
  );
});

test.each([
  ['0.50', 500_000_000_000n],
  [' $2 ', 2_000_000_000_000n],
  ['0', 0n],
  [undefined, undefined],
])('a session may cost %j', (header, limit) => {
  expect(readSessionLimit({ 'x-tollgate-session-budget': header }, { session: 's-1' })).toBe(limit);
});

test.each([
  ['no amount', 'cheap', { session: 's-1' }, '`x-tollgate-session-budget` is no amount. Write an amount in dollars such as 25 or 2.50.'],
  ['a negative amount', '-1', { session: 's-1' }, '`x-tollgate-session-budget` is no amount. The amount must not be negative.'],
  ['cents after a comma', '0,50', { session: 's-1' }, '`x-tollgate-session-budget` is no amount. Write cents with a point: 0.50.'],
  ['no session', '0.50', { user: 'alice' }, '`x-tollgate-session-budget` is of a session, which `x-session-id` must name.'],
  ['nothing that the request is for', '0.50', undefined, '`x-tollgate-session-budget` is of a session, which `x-session-id` must name.'],
])('a budget of a session with %s is refused', (_, header, attribution, message) => {
  const code = 'invalid_request';
  expect(() => readSessionLimit({ 'x-tollgate-session-budget': header }, attribution)).toThrow(
    expect.objectContaining({ code, message, param: 'x-tollgate-session-budget' }),
  );
});

describe('of a child key', () => {
  const child = { path: '1798761600-9f86d081884c7d65', limitsPicoUsd: ['5'], tags: new Map([['team', 'search']]) };

  test('the request has the child key and its tags, whatever it names', () => {
    const headers = { 'x-tollgate-tags': 'team=other,env=prod' };
    expect(readAttribution(headers, { metadata: { team: 'third' } }, { tags: ['team'], child })).toEqual({
      child: child.path,
      'tag:env': 'prod',
      'tag:team': 'search',
    });
  });

  test('more tags than a request may have, with its own, are refused', () => {
    const headers = { 'x-tollgate-tags': Array.from({ length: 16 }, (_, number) => `t${number}=x`).join(',') };
    expect(() => readAttribution(headers, undefined, { child })).toThrow('at most 16 tags, with those of the child key');
  });
});

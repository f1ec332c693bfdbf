import { type Entry, findEntries, type Kind } from './find-entries.js';

const entry = (kind: Kind, name: string, more: Partial<Entry> = {}): Entry => ({
  kind,
  id: name,
  name,
  icon: 'search',
  href: `/${name}`,
  ...more,
});
const ENTRIES = [
  entry('Pages', 'Keys'),
  entry('Pages', 'Overview'),
  entry('Projects', 'web shop', { hint: 'acme' }),
  entry('Projects', 'cobweb'),
  entry('Projects', 'website'),
  entry('Keys', 'ci', { hint: 'web shop', words: ['tg_live_…abcd'] }),
  entry('Models', 'acme/web-1'),
];
const names = (text: string, entries = ENTRIES) =>
  findEntries(text, entries).map(({ kind, entries: found }) => [kind, ...found.map(({ name }) => name)]);

test('without a text the pages are there', () => {
  expect(names(' ')).toEqual([['Pages', 'Keys', 'Overview']]);
});

test.each([
  [
    'WEB',
    [
      ['Projects', 'web shop', 'website', 'cobweb'],
      ['Keys', 'ci'],
      ['Models', 'acme/web-1'],
    ],
  ],
  [
    'acme',
    [
      ['Projects', 'web shop'],
      ['Models', 'acme/web-1'],
    ],
  ],
  ['acme shop', [['Projects', 'web shop']]],
  ['abcd', [['Keys', 'ci']]],
  ['key', [['Pages', 'Keys']]],
  ['nothing', []],
])('%s finds, the best first, %j', (text, found) => {
  expect(names(text)).toEqual(found);
});

test.each(['chatcmpl-0190a6f07c1e70008000000000000abc', 'req_0190a6f07c1e70008000000000000abc', ' REQ_0190A6F07C1E70008000000000000ABC '])(
  'the id %s is a request',
  (text) => {
    const id = 'req_0190a6f07c1e70008000000000000abc';
    expect(findEntries(text, ENTRIES)).toEqual([
      { kind: 'Request', entries: [{ kind: 'Request', id, name: id, hint: 'opens its page', icon: 'requests', href: `/requests/${id}` }] },
    ]);
  },
);

test('a pasted line of a log with an id is a request', () => {
  const [group] = findEntries('429 {"id":"chatcmpl-0190a6f07c1e70008000000000000abc"} failed', ENTRIES);
  expect(group?.entries.map(({ href }) => href)).toEqual(['/requests/req_0190a6f07c1e70008000000000000abc']);
});

test('bare digits may be those of a hold or a trace, which the server finds', () => {
  const [group] = findEntries('0190a6f07c1e70008000000000000abc', []);
  expect(group?.entries[0]?.href).toBe('/requests/0190a6f0-7c1e-7000-8000-000000000abc');
});

test('of many that fit, the list shows six of a kind', () => {
  const many = Array.from({ length: 20 }, (_, at) => entry('Keys', `key ${at}`));
  expect(findEntries('key', many).map(({ entries }) => entries.length)).toEqual([6]);
});

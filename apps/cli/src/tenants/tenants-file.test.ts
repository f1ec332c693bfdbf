import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { parseTenantsFile, TenantsFileError } from './tenants-file.js';

const TEXT = `# Tenants of the team.
accounts:
  - name: acme
    projects: &projects
      - name: web
        keys: [{ name: ci }, { name: app }]
  - name: beta
    projects: *projects
`;

function faults(text: string) {
  try {
    parseTenantsFile(text, 'folder/tenants.yaml');
  } catch (error) {
    if (error instanceof TenantsFileError) return error.faults;
    throw error;
  }
  throw new Error('the file was accepted');
}

test('a file has its accounts, its name without the folder, and the digest of its text', () => {
  const { name, digest, accounts } = parseTenantsFile(TEXT, 'folder/tenants.yaml');
  const projects = [{ name: 'web', keys: [{ name: 'ci' }, { name: 'app' }] }];
  expect({ name, digest, accounts }).toEqual({
    name: 'tenants.yaml',
    digest: createHash('sha256').update(TEXT).digest('hex'),
    accounts: [
      { name: 'acme', projects },
      { name: 'beta', projects },
    ],
  });
});

test.each([
  [['accounts', 0, 'name'], { line: 3, column: 5, field: 'accounts[0].name' }],
  [['accounts', 0, 'projects', 0, 'keys', 1], { line: 6, column: 30, field: 'accounts[0].projects[0].keys[1]' }],
  [['accounts', 0, 'projects', 0, 'keys', 1, 'name'], { line: 6, column: 32, field: 'accounts[0].projects[0].keys[1].name' }],
  [['accounts', 0, 'budgets', 0, 'period'], { line: 3, column: 5, field: 'accounts[0].budgets[0].period' }],
  [['accounts', 1, 'projects', 0, 'name'], { line: 5, column: 9, field: 'accounts[1].projects[0].name' }],
])('a fault of %j is where the field is, or its parent', (path, place) => {
  expect(parseTenantsFile(TEXT, 'tenants.yaml').fault(path, 'is wrong')).toEqual({ ...place, problem: 'is wrong' });
});

test.each([
  ['accounts:\n  - name: "acme\n', { line: 3, column: 1, field: '', problem: 'not valid YAML: Missing closing "quote' }],
  ['accounts: []\n---\naccounts: []\n', { line: 2, column: 1, field: '', problem: 'must be one document, without a second --- part' }],
  ['accounts:\n  - name: a\n    name: b\n', { line: 3, column: 5, field: '', problem: 'not valid YAML: Map keys must be unique' }],
  ['- name: acme\n', { line: 1, column: 1, field: '', problem: 'must have the field accounts' }],
  ['tenants: []\naccounts: []\n', { line: 1, column: 1, field: 'tenants', problem: 'is not a field' }],
  ['accounts: acme\n', { line: 1, column: 1, field: 'accounts', problem: 'must be a list of accounts' }],
  ['accounts:\n  - acme\n', { line: 2, column: 5, field: 'accounts[0]', problem: 'must be a group of fields' }],
  ['accounts:\n  - name: a\n  - name: a\n', { line: 3, column: 5, field: 'accounts[1].name', problem: 'is there twice' }],
])('%j is refused', (text, fault) => {
  expect(faults(text)).toEqual([fault]);
});

test.each([
  ['Windows line ends', TEXT.replaceAll('\n', '\r\n')],
  ['a byte order mark', `\uFEFF${TEXT}`],
  ['tabs between values and comments', TEXT.replace('name: acme', 'name:\tacme\t# the first')],
])('%s change neither the accounts nor the places', (_, text) => {
  const [plain, read] = [parseTenantsFile(TEXT, 'tenants.yaml'), parseTenantsFile(text, 'tenants.yaml')];
  expect(read.accounts).toEqual(plain.accounts);
  const path = ['accounts', 0, 'projects', 0, 'keys', 1, 'name'];
  expect(read.fault(path, 'is wrong')).toEqual(plain.fault(path, 'is wrong'));
});

test.each([
  ['accounts:\n  - name: a\n\tprojects: []\n', { line: 3, column: 1, problem: 'not valid YAML: Tabs are not allowed as indentation' }],
  ['accounts:\n  - name: *who\n', { line: 2, column: 11, problem: '*who names no anchor before it' }],
  ['accounts: &all\n  - name: a\n    projects: *all\n', { line: 3, column: 15, problem: '*all is in the value that it names' }],
  ['accounts:\n  - { &n name: a, *n : b }\n', { line: 2, column: 19, problem: 'a field must be a plain name' }],
  ['accounts:\n  - { ? [a, b] : c }\n', { line: 2, column: 9, problem: 'a field must be a plain name' }],
  [`accounts: ${'['.repeat(20_000)}${']'.repeat(20_000)}`, { line: 1, column: expect.any(Number), problem: 'is nested too deeply' }],
])('a text is refused where it is wrong: case %#', (text, fault) => {
  expect(faults(text)[0]).toEqual({ field: '', ...fault });
});

test('a text that grows without end by its anchors is refused', () => {
  const lines = Array.from({ length: 12 }, (_, at) => `x${at + 1}: &x${at + 1} [${`*x${at}, `.repeat(9)}*x${at}]`);
  expect(faults(['x0: &x0 a', ...lines, 'accounts: *x12'].join('\n'))[0]?.problem).toMatch(/^not valid YAML: Excessive alias count/);
});

test('the message has a line for each fault, as editors and CI read them', () => {
  const fault = { line: 3, column: 5, field: 'accounts[0].name', problem: 'is missing' };
  expect(new TenantsFileError('a/t.yaml', [fault, { ...fault, field: '', problem: 'not valid YAML' }]).message).toBe(
    'the file has faults, and nothing was changed\na/t.yaml:3:5: accounts[0].name: is missing\na/t.yaml:3:5: not valid YAML',
  );
});

test('whatever a text is, it is a list of groups of fields or refused with lines and columns inside it', () => {
  const word = fc.oneof(
    fc.string({ maxLength: 4 }),
    fc.constantFrom('\t', '\r\n', '\r', '\uFEFF', '&p ', '*p', '*projects', '<<: *projects', '? ', 'name: a'),
  );
  const cut = fc.tuple(fc.nat(TEXT.length), fc.nat(8), word);
  fc.assert(
    fc.property(fc.array(cut, { minLength: 1, maxLength: 3 }), (cuts) => {
      const text = cuts.reduce((whole, [at, length, put]) => whole.slice(0, at) + put + whole.slice(at + length), TEXT);
      try {
        const { accounts } = parseTenantsFile(text, 'tenants.yaml');
        expect(accounts.every((account) => typeof account === 'object')).toBe(true);
      } catch (error) {
        if (!(error instanceof TenantsFileError)) throw error;
        const lines = text.split(/\r\n|\r|\n/);
        expect(error.faults.length).toBeGreaterThan(0);
        for (const { line, column } of error.faults) {
          expect(line).toBeGreaterThanOrEqual(1);
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(column).toBeGreaterThanOrEqual(1);
        }
      }
    }),
    { numRuns: 500 },
  );
});

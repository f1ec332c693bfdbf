import { readdirSync, readFileSync } from 'node:fs';
import type { ShapeRule, SourceFile } from './shape-rules.js';
import * as rules from './shape-rules.js';

const NOT_OURS = new Set(['.git', '.local', 'node_modules', 'dist', 'generated', '.env', '__fixtures__', 'results']);
const TEXT = /\.(ts|mts|mjs|json|md|ya?ml|conf|prisma|sql|toml)$|^(Dockerfile|\.[a-z]+(rc|ignore)|\.env\.example)$|\.ci\/run$/;

function filesBelow(folder: string): SourceFile[] {
  return readdirSync(folder || '.', { withFileTypes: true }).flatMap((entry) => {
    const path = folder ? `${folder}/${entry.name}` : entry.name;
    if (NOT_OURS.has(entry.name) || entry.name.startsWith('.dist.')) return [];
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() && TEXT.test(path) ? [{ path, text: readFileSync(path, 'utf8') }] : [];
  });
}

const PROTOCOL_FILES = [
  ...['request.dto.ts', 'request.ts', 'turns.ts', 'tools.ts', 'response.ts', 'stream.ts', 'finish-reason.ts', 'usage.ts', 'errors.ts'],
  ...['request-schema.ts', 'reply-schema.ts', 'examples.ts', 'conformance-client.ts', 'adapter.test.ts'],
];

/** Each rule with files that violate it, and its complaints. */
const CASES: [ShapeRule, SourceFile[], string[]][] = [
  [
    rules.adaptersHaveTheCore,
    [
      'apps/gateway/src/protocols/chat/adapter.ts',
      'apps/inference-proxy/src/upstreams/openai-chat/adapter.ts',
      'apps/inference-proxy/src/upstreams/requests/arrange-turns.ts',
    ].map((path) => ({ path, text: '' })),
    [
      ...PROTOCOL_FILES.map((file) => `apps/gateway/src/protocols/chat has no ${file}`),
      ...['call-id.ts', 'errors.ts', 'finish-reason.ts', 'request.ts', 'response.ts', 'stream.ts', 'usage.ts', 'adapter.test.ts'].map(
        (file) => `apps/inference-proxy/src/upstreams/openai-chat has no ${file}`,
      ),
    ],
  ],
  [
    rules.docCommentsNameTheirSubject,
    [
      {
        path: 'libs/a/src/b.ts',
        text: `/** ${'What'} it costs. */\nlet a;\n/** Cost of it. */\nlet b;\n/**\n * ${'Of'} it. */\nlet c;\n  /**\n   * ${'When'} it ends. */\n`,
      },
    ],
    ['libs/a/src/b.ts:1: starts with "What"', 'libs/a/src/b.ts:5: starts with "Of"', 'libs/a/src/b.ts:8: starts with "When"'],
  ],
  [
    rules.hashMembersGiveTheirReason,
    [{ path: 'libs/a/src/b.ts', text: 'class A {\n  readonly #b = 1;\n  /** `#private`, because loggers read it. */\n  #c = 2;\n}\n' }],
    ['libs/a/src/b.ts:2: use private, or say why it is #private'],
  ],
  [
    rules.fewNamesContainOf,
    [{ path: 'libs/a/src/b.ts', text: Array.from({ length: 41 }, (_, at) => `let a${'Of'}${'B'.repeat(at + 1)};`).join('\n') }],
    [expect.stringMatching(/^41 names contain Of, more than 40: /)],
  ],
  [rules.noEmptyNames, [{ path: 'libs/money/src/utils.ts', text: '' }], ['libs/money/src/utils.ts: the name says nothing']],
  [
    rules.noBarrels,
    [{ path: 'libs/money/src/all.ts', text: "// everything\nexport * from './price.js';\nexport { a } from './a.js';\n" }],
    ['libs/money/src/all.ts: only passes on exports'],
  ],
  [rules.filesAreShort, [{ path: 'libs/a/src/b.ts', text: 'x\n'.repeat(301) }], ['libs/a/src/b.ts: 301 lines, more than 300']],
  [
    rules.advisoryLocksAreDistinct,
    [
      { path: 'apps/billing/src/a.ts', text: 'const LOCK = 7_243_900;' },
      { path: 'prisma/migrations/1_a/migration.sql', text: 'SELECT pg_advisory_lock(7243900)' },
    ],
    ['prisma/migrations/1_a/migration.sql: takes advisory lock 7_243_900, as does apps/billing/src/a.ts'],
  ],
  [
    rules.environmentIsReadInOnePlace,
    [{ path: 'apps/billing/src/a.ts', text: 'process.env.SECRET' }],
    ['apps/billing/src/a.ts: reads process.env'],
  ],
  [
    rules.everyAppIsExplained,
    [
      { path: 'apps/billing/src/main.ts', text: '' },
      { path: 'apps/billing/README.md', text: 'It owns money.' },
    ],
    ['apps/billing/README.md does not say: Does not own', 'apps/billing/README.md does not say: Invariants'],
  ],
  [
    rules.noForeignPlaces,
    [
      { path: 'docs/a.md', text: `see /${'home'}/me/notes` },
      { path: 'package-lock.json', text: '"resolved": "https://somewhere/a.tgz"' },
    ],
    [`docs/a.md: names /${'home'}/me/`, 'package-lock.json: names "resolved": "http'],
  ],
  [
    rules.callsGoOutInOnePlace,
    [
      { path: 'apps/billing/src/notify.ts', text: "await fetch('https://example.com');" },
      { path: 'apps/gateway/src/http/pull.ts', text: "import { request } from 'node:https';" },
      { path: 'libs/messaging/src/pool.ts', text: "import { Pool } from 'undici';" },
    ],
    ['apps/billing/src/notify.ts', 'apps/gateway/src/http/pull.ts', 'libs/messaging/src/pool.ts'].map(
      (path) => `${path}: calls out over HTTP`,
    ),
  ],
  [
    rules.patternsAreCompared,
    [
      {
        path: 'apps/a/src/a.test.ts',
        text: ['{ b: expect.stringMatching(/c/) }', '{\n  b: 1,\n  c: /d/,\n}']
          .map((part) => `expect(a).${'toMatchObject'}(${part});\n`)
          .join(''),
      },
    ],
    ['apps/a/src/a.test.ts:2: use expect.stringMatching'],
  ],
  [
    rules.noSilencedTests,
    [
      {
        path: 'apps/a/src/a.test.ts',
        text: ['only', 'skip', 'skip'].map((how, at) => `${at === 2 ? '// needs a cluster\n' : ''}test.${how}('a', f);`).join('\n'),
      },
    ],
    ['apps/a/src/a.test.ts:1: runs alone', 'apps/a/src/a.test.ts:2: left out without a reason'],
  ],
  [
    rules.citationsResolve,
    [
      { path: 'docs/a.md', text: '# A page\n\nSee [b](b.md#there), docs/b.md, "Here", [C-1] and `libs/gone.ts`.\n' },
      { path: 'docs/b.md', text: '# B\n\n## Here\n\n[above](a.md#a-page)\n' },
      { path: 'docs/rules.yaml', text: 'sections:\n  Rules:\n    C-1: A rule\n' },
      { path: 'libs/a.ts', text: `// ${'spec'} 2.5, C-1, C-2, docs/b.md, "Nowhere"\nconst code = 'C-3 in gone.md';\n` },
    ],
    [
      'docs/a.md: cites libs/gone.ts',
      'docs/a.md: cites b.md there',
      'libs/a.ts: cites docs/b.md Nowhere',
      'libs/a.ts: cites C-2',
      `libs/a.ts: cites ${'spec'} 2.5`,
    ],
  ],
  [
    rules.testsStandBesideTheCode,
    [{ path: 'apps/a/src/far/a.test.ts', text: '' }],
    ['apps/a/src/far/a.test.ts: nothing to test in its folder'],
  ],
];

/** Rules whose complaints are printed and do not fail: a long file may read better than two. */
const WARNINGS: ShapeRule[] = [rules.filesAreShort];

const repository = filesBelow('');

test('finds the files of the repository', () => {
  const paths = repository.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(['package.json', 'Dockerfile', 'k8s/base/gateway.yaml', '.ci/run', '.npmrc']));
  expect(paths.length).toBeGreaterThan(200);
});

test('every rule has a case', () => {
  expect(CASES.map(([rule]) => rule.name).sort()).toEqual(Object.keys(rules).sort());
});

describe.each(CASES.map(([rule, broken, complaints]) => ({ name: rule.name, rule, broken, complaints })))('$name', (shape) => {
  test('holds', () => {
    const complaints = shape.rule(repository);
    if (!WARNINGS.includes(shape.rule)) expect(complaints).toEqual([]);
    else for (const complaint of complaints) process.stderr.write(`warning: ${complaint}\n`);
  });
  test('can fail', () => expect(shape.rule(shape.broken)).toEqual(shape.complaints));
});

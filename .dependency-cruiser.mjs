/**
 * Rules of the import graph. `npm test` runs them with scripts/check-imports.ts.
 * test/architecture/import-graph.test.ts violates each rule once.
 */

import { existsSync, readdirSync } from 'node:fs';

const TESTS = '\\.test\\.ts$|/__fixtures__/|/(test-|conformance)[-a-z]*\\.ts$|^libs/testing/|^(apps|libs)/[-a-z]+/test(ing)?/';
const PRODUCTION = '^(apps|libs)/';
const npm = /** @param {string[]} packages */ (...packages) => `(^|/)node_modules/(${packages.join('|')})/`;
/** Code and packages that pure code may import: no I/O, no connections, no clock. */
const PURE = ['^libs/(inference|money)/', npm('class-validator', 'class-transformer', 'reflect-metadata')];

/** Rules of fields that the pages of the panel share with messages. */
const RULES_OF_FIELDS = '^libs/contracts/src/rules/';

/**
 * The folders of `folder` that hold an adapter. Its other folders hold what several adapters share.
 * @param {string} folder
 */
function adaptersIn(folder) {
  const names = readdirSync(new URL(`${folder}/`, import.meta.url)).filter((name) =>
    existsSync(new URL(`${folder}/${name}/adapter.ts`, import.meta.url)),
  );
  return `${folder}/(${names.join('|')})/`;
}

/**
 * An adapter may import its own folder, what its family shares, pure code, and `also`.
 * @param {string} family @param {string} folder @param {string[]} also
 */
function adapterRules(family, folder, also) {
  const adapter = adaptersIn(folder);
  return [
    {
      name: `${family}-adapters-are-pure`,
      comment: 'An adapter translates its input and does no I/O, so that fixtures can test all of it.',
      severity: 'error',
      from: { path: `^${adapter}`, pathNot: TESTS },
      to: { pathNot: [`^${folder}/`, '^libs/validation/', ...PURE, ...also] },
    },
    {
      name: `${family}-adapters-reach-no-connection`,
      comment: 'Also not through a file that its family shares, or through a library.',
      severity: 'error',
      from: { path: `^${adapter}`, pathNot: TESTS },
      to: { path: npm('nats', 'pg', '@prisma', 'undici'), reachable: true },
    },
    {
      name: `${family}-adapters-stand-alone`,
      comment: 'Adapters never import one another: each can be read, changed and deleted separately.',
      severity: 'error',
      from: { path: `^${adapter}` },
      to: { path: `^${adapter}`, pathNot: `^${folder}/$1/` },
    },
  ];
}

export const forbidden = [
  {
    name: 'apps-meet-only-through-contracts',
    comment: 'Services communicate over NATS, with the messages of libs/contracts. Only apps/tollgate starts others in its process.',
    severity: 'error',
    from: { path: '^apps/([^/]+)/', pathNot: '^apps/tollgate/src/targets\\.ts$' },
    to: { path: '^apps/', pathNot: '^apps/$1/' },
  },
  {
    name: 'tollgate-only-starts-services',
    severity: 'error',
    from: { path: '^apps/tollgate/' },
    to: { path: '^apps/', pathNot: ['^apps/tollgate/', '^apps/([-a-z]+)/src/(start-\\1|\\1\\.config)\\.ts$'] },
  },
  {
    name: 'libs-never-import-apps',
    severity: 'error',
    from: { path: '^libs/' },
    to: { path: '^apps/' },
  },
  {
    name: 'canonical-model-imports-nothing',
    comment: 'All other code is written in its types.',
    severity: 'error',
    from: { path: '^libs/inference/', pathNot: TESTS },
    to: { pathNot: '^libs/inference/' },
  },
  {
    name: 'money-imports-nothing',
    severity: 'error',
    from: { path: '^libs/money/', pathNot: TESTS },
    to: { pathNot: '^libs/money/' },
  },
  {
    name: 'contracts-are-messages-only',
    comment: 'Types and validation rules. The checksum of a key is one of them, hence crypto and zlib.',
    severity: 'error',
    from: { path: '^libs/contracts/', pathNot: TESTS },
    to: { pathNot: ['^libs/contracts/', '^(crypto|net|zlib)$', ...PURE] },
  },
  {
    name: 'validation-is-pure',
    comment: 'It checks messages and bodies of clients against their decorators, wherever they come from.',
    severity: 'error',
    from: { path: '^libs/validation/', pathNot: TESTS },
    to: { pathNot: ['^libs/(validation|contracts)/', ...PURE] },
  },
  ...adapterRules('protocol', 'apps/gateway/src/protocols', []),
  ...adapterRules('upstream', 'apps/inference-proxy/src/upstreams', [
    '^crypto$', // digests of call ids
    '^libs/contracts/',
    '^apps/inference-proxy/src/failures/upstream-failure\\.ts$',
  ]),
  {
    name: 'pipeline-knows-no-protocol',
    comment: 'The pipeline is the same for every client format.',
    severity: 'error',
    from: { path: '^apps/gateway/src/pipeline/', pathNot: TESTS },
    to: { path: '^apps/gateway/src/(protocols|http)/' },
  },
  {
    name: 'ledger-knows-no-holds',
    severity: 'error',
    from: { path: '^apps/billing/src/(balance|ledger)/', pathNot: TESTS },
    to: { path: '^apps/billing/src/(batch|holds)/' },
  },
  {
    name: 'nest-at-the-edge',
    comment: 'Domain code runs and is tested without the framework.',
    severity: 'error',
    from: {
      path: PRODUCTION,
      pathNot: [
        TESTS,
        '/src/(main|start-[a-z-]+)\\.ts$',
        '\\.(module|controller|guard|filter|pipe|interceptor|decorator)\\.ts$',
        '^libs/messaging/src/', // the transport strategy
        '^libs/observability/src/logger\\.ts$', // the framework's log goes through ours
      ],
    },
    to: { path: npm('@nestjs') },
  },
  {
    name: 'nats-behind-messaging',
    severity: 'error',
    from: { path: PRODUCTION, pathNot: [TESTS, '^libs/messaging/'] },
    to: { path: npm('nats') },
  },
  {
    name: 'postgres-behind-database',
    comment: 'Only libs/database imports Prisma and pg. Type imports are allowed anywhere.',
    severity: 'error',
    from: { path: PRODUCTION, pathNot: [TESTS, '^libs/database/'] },
    to: { path: npm('pg', '@prisma', 'prisma'), dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'stripe-behind-payments',
    comment: 'Only the payments service knows a provider of payments.',
    severity: 'error',
    from: { path: PRODUCTION, pathNot: [TESTS, '^apps/payments/'] },
    to: { path: npm('stripe') },
  },
  {
    name: 'opentelemetry-behind-tracing',
    comment:
      'Other code makes spans through the interface of libs/tracing, and metrics with prom-client: nothing is loaded while neither is exported.',
    severity: 'error',
    from: { path: PRODUCTION, pathNot: [TESTS, '^libs/tracing/', '^libs/observability/src/otlp/'] },
    to: { path: npm('@opentelemetry') },
  },
  {
    name: 'gateway-and-proxy-own-no-tables',
    comment: 'Billing, the catalog, the panel and payments own a schema each.',
    severity: 'error',
    from: { path: '^apps/', pathNot: [TESTS, '^apps/(billing|catalog|panel|payments)/'] },
    to: { path: '^libs/database/' },
  },
  {
    name: 'panel-ui-knows-only-shapes',
    comment:
      'Browsers get the code of the UI: it uses the API like any other program, with the types of its requests and replies. Its forms read amounts and keep bounds as the services do.',
    severity: 'error',
    from: { path: '^apps/panel/ui/' },
    to: { path: '^(apps|libs)/', pathNot: ['^apps/panel/ui/', '^apps/panel/src/shapes/', '^libs/money/', RULES_OF_FIELDS] },
  },
  {
    name: 'rules-of-fields-import-nothing',
    comment: 'Browsers load them with the pages.',
    severity: 'error',
    from: { path: RULES_OF_FIELDS, pathNot: '\\.test\\.ts$' },
    to: {},
  },
  {
    name: 'panel-server-knows-no-ui',
    severity: 'error',
    from: { path: '^apps/panel/src/' },
    to: { path: '^apps/panel/ui/' },
  },
  {
    name: 'production-never-imports-tests',
    severity: 'error',
    from: { path: PRODUCTION, pathNot: TESTS },
    to: { path: [TESTS, '^test/', '^bench/', '^scripts/', '^conformance/'] },
  },
  {
    name: 'the-conformance-kit-stands-alone',
    comment: 'It judges Tollgate as any other gateway, by public interfaces, and can be used without this repository.',
    severity: 'error',
    from: { path: '^conformance/' },
    to: { path: '^(apps|libs|scripts|bench|test|prisma|dist)/' },
  },
  {
    name: 'production-needs-no-development-package',
    comment: 'A development package is missing in the image. Type imports are erased.',
    severity: 'error',
    from: { path: PRODUCTION, pathNot: [TESTS, '^apps/panel/ui/'] }, // the build puts its packages into its files
    to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only', 'npm'] },
  },
  {
    name: 'no-cycles',
    comment: 'Two modules that import each other are one. Type imports count.',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
  {
    name: 'every-import-resolves',
    severity: 'error',
    from: { pathNot: '/generated/' },
    to: { couldNotResolve: true, pathNot: '/generated/' },
  },
];

/**
 * A rule that dependency-cruiser does not have: scripts/testing/folder-circles.ts checks it. Tests may import any folder.
 */
export const noFolderCircles = {
  name: 'no-folder-circles',
  comment: 'Folders in a circle are one room: none of them can be read, tested or moved alone.',
  path: PRODUCTION,
  pathNot: TESTS,
};

export const options = {
  parser: 'swc',
  tsPreCompilationDeps: true, // `import type` counts
  combinedDependencies: true,
  doNotFollow: { path: ['node_modules', '/generated/'] },
  exclude: { path: ['^dist/', '/generated/'] },
};

export default { forbidden, options };

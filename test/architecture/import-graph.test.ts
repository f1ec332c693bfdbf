import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface Check {
  totalCruised: number;
  rules: string[];
  violations: { rule: string; from: string; to: string }[];
}

function checkImports(args: string[]): Check & { status: number | null } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/check-imports.ts', '--json', ...args], { encoding: 'utf8' });
  if (!stdout) throw new Error(stderr);
  return { status, ...(JSON.parse(stdout) as Check) };
}

/** Files that break each rule; the file at fault has the import. */
const BROKEN: Record<string, Record<string, string>> = {
  'apps-meet-only-through-contracts': {
    'apps/billing/src/a1.ts': "import '../../catalog/src/b1.js';",
    'apps/catalog/src/b1.ts': '',
  },
  'tollgate-only-starts-services': {
    'apps/tollgate/src/targets.ts': "import '../../catalog/src/b27.js';",
    'apps/catalog/src/b27.ts': '',
  },
  'libs-never-import-apps': { 'libs/config/src/a2.ts': "import '../../../apps/cli/src/b2.js';", 'apps/cli/src/b2.ts': '' },
  'canonical-model-imports-nothing': { 'libs/inference/src/a3.ts': "import '#config/b3.js';", 'libs/config/src/b3.ts': '' },
  'money-imports-nothing': { 'libs/money/src/a4.ts': "import 'node:fs';" },
  'contracts-are-messages-only': { 'libs/contracts/src/a5.ts': "import '#config/b5.js';", 'libs/config/src/b5.ts': '' },
  'protocol-adapters-are-pure': { 'apps/gateway/src/protocols/chat/a6.ts': "import 'node:http';" },
  'protocol-adapters-stand-alone': {
    'apps/gateway/src/protocols/chat/a7.ts': "import '../messages/b7.js';",
    'apps/gateway/src/protocols/messages/b7.ts': '',
  },
  'upstream-adapters-are-pure': { 'apps/inference-proxy/src/upstreams/openai-chat/a8.ts': "import 'node:net';" },
  'upstream-adapters-stand-alone': {
    'apps/inference-proxy/src/upstreams/openai-chat/a9.ts': "import '../anthropic-messages/b9.js';",
    'apps/inference-proxy/src/upstreams/anthropic-messages/b9.ts': '',
  },
  'protocol-adapters-reach-no-connection': {
    'apps/gateway/src/protocols/chat/a24.ts': "import '../body-fields/b24.js';",
    'apps/gateway/src/protocols/body-fields/b24.ts': "import '#messaging/c24.js';",
    'libs/messaging/src/c24.ts': "import 'nats';",
  },
  'upstream-adapters-reach-no-connection': {
    'apps/inference-proxy/src/upstreams/openai-chat/a25.ts': "import '../replies/b25.js';",
    'apps/inference-proxy/src/upstreams/replies/b25.ts': "import 'undici';",
  },
  'validation-is-pure': { 'libs/validation/src/a26.ts': "import '#messaging/b26.js';", 'libs/messaging/src/b26.ts': '' },
  'pipeline-knows-no-protocol': {
    'apps/gateway/src/pipeline/a10.ts': "import type { B } from '../protocols/chat/b10.js';\nexport type A = B;",
    'apps/gateway/src/protocols/chat/b10.ts': 'export type B = 1;',
  },
  'ledger-knows-no-holds': { 'apps/billing/src/ledger/a11.ts': "import '../holds/b11.js';", 'apps/billing/src/holds/b11.ts': '' },
  'nest-at-the-edge': { 'apps/billing/src/holds/a12.ts': "import '@nestjs/common';" },
  'nats-behind-messaging': { 'apps/gateway/src/clients/a13.ts': "import 'nats';" },
  'postgres-behind-database': { 'apps/billing/src/holds/a14.ts': "import 'pg';" },
  'the-conformance-kit-stands-alone': { 'conformance/src/a28.ts': "import '../../libs/money/src/b28.ts';", 'libs/money/src/b28.ts': '' },
  'stripe-behind-payments': { 'apps/panel/src/a25.ts': "import 'stripe';" },
  'opentelemetry-behind-tracing': { 'apps/gateway/src/a22.ts': "import '@opentelemetry/api';" },
  'gateway-and-proxy-own-no-tables': { 'apps/gateway/src/a15.ts': "import '#database/b15.js';", 'libs/database/src/b15.ts': '' },
  'panel-ui-knows-only-shapes': { 'apps/panel/ui/src/a20.ts': "import '#contracts/b20.js';", 'libs/contracts/src/b20.ts': '' },
  'rules-of-fields-import-nothing': { 'libs/contracts/src/rules/a24.ts': "import 'class-validator';" },
  'panel-server-knows-no-ui': { 'apps/panel/src/a21.ts': "import '../ui/src/b21.js';", 'apps/panel/ui/src/b21.ts': '' },
  'production-never-imports-tests': { 'apps/billing/src/a16.ts': "import '#testing/b16.js';", 'libs/testing/src/b16.ts': '' },
  'production-needs-no-development-package': { 'apps/billing/src/a17.ts': "import 'fast-check';" },
  'no-cycles': { 'libs/config/src/a18.ts': "import './b18.js';", 'libs/config/src/b18.ts': "import './a18.js';" },
  'no-folder-circles': {
    'apps/billing/src/keys/a23.ts': "import '../limits/b23.js';",
    'apps/billing/src/limits/b23.ts': '',
    'apps/billing/src/limits/c23.ts': "import '../paging/d23.js';",
    'apps/billing/src/paging/d23.ts': '',
    'apps/billing/src/paging/e23.ts': "import '../keys/f23.js';",
    'apps/billing/src/keys/f23.ts': '',
  },
  'every-import-resolves': { 'apps/billing/src/a19.ts': "import '#config/nowhere.js';" },
};

test('every import keeps the rules', () => {
  const { status, totalCruised, violations } = checkImports([]);
  expect(violations).toEqual([]);
  expect(totalCruised).toBeGreaterThan(150);
  expect(status).toBe(0);
});

describe('each rule fails when it is broken', () => {
  let folder: string;
  let rules: string[];
  let violations: Check['violations'];

  beforeAll(() => {
    // Inside the repository, so that packages resolve.
    mkdirSync('.local', { recursive: true });
    folder = mkdtempSync('.local/import-graph-');
    copyFileSync('package.json', join(folder, 'package.json'));
    for (const [file, source] of Object.values(BROKEN).flatMap(Object.entries<string>)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), `${source}\nexport {};\n`);
    }
    const check = checkImports(['--base', folder]);
    expect(check.status).toBe(1);
    ({ rules, violations } = check);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('there is an example for every rule', () => {
    expect(Object.keys(BROKEN).sort()).toEqual(rules.sort());
  });

  test.each(Object.entries(BROKEN))('%s', (rule, files) => {
    const culprits = Object.keys(files).filter((file) => /\/a\d+\.ts$/.test(file));
    const found = violations
      .filter(({ from }) => culprits.includes(from))
      .map((violation) => ({ rule: violation.rule, from: violation.from }));
    expect(found).toEqual(culprits.map((from) => ({ rule, from })));
  });
});

test('a folder without modules fails', () => {
  const folder = mkdtempSync('.local/import-graph-');
  try {
    mkdirSync(join(folder, 'apps'));
    expect(checkImports(['--base', folder])).toMatchObject({ status: 1, totalCruised: 0, violations: [] });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

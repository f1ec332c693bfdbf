import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import { stack } from '#testing/stack.js';
import { parseCatalogFile } from '../../apps/catalog/src/file/parse-catalog-file.js';
import { connectCli } from '../../apps/cli/src/connection.js';
import { runCli } from '../../apps/cli/src/run-cli.js';
import { startSimServer } from '../../apps/upstream-sim/src/sim-server.js';

const { natsUrl, natsPasswords, upstreamUrl } = stack();

interface Result {
  code: number;
  /** Written pieces with their times. */
  out: { at: number; text: string }[];
  err: string;
}

/** Runs a command against the running inference-proxy and its simulator. */
async function tollgate(line: string): Promise<Result> {
  const result: Result = { code: 0, out: [], err: '' };
  const output = {
    writeOut: (text: string) => void result.out.push({ at: performance.now(), text }),
    writeErr: (text: string) => {
      result.err += text;
    },
  };
  result.code = await runCli(line.split(' '), output, () => connectCli({ url: natsUrl, password: natsPasswords.cli ?? '' }));
  return result;
}

const joinText = ({ out }: Result): string => out.map(({ text }) => text).join('');

test('probes every model of an upstream in the catalog, and compares the entry', async () => {
  const result = await tollgate('upstreams test local');
  const lines = joinText(result).split('\n');
  expect({ code: result.code, err: result.err, first: lines[0] }).toEqual({
    code: 0,
    err: '',
    first: expect.stringMatching(/^local \(openai-chat\), model sim-/),
  });
  expect(lines).toEqual(expect.arrayContaining([expect.stringMatching(/^yes +streams /), expect.stringMatching(/^yes +model sim-tiny /)]));
  expect(joinText(result)).toContain('\nThe catalog entry is correct.');
});

test('shows each check when it is done', async () => {
  const slow = await startSimServer({ host: '127.0.0.1', port: 0, defaults: 'ttft=30' });
  const { out } = await tollgate(`upstreams test slow --url ${slow.url}/v1 --allow-private-network --model sim-fast`);
  await slow.close();
  const at = (title: string): number => out.find(({ text }) => text.includes(` ${title} `))?.at ?? Number.NaN;
  // About twenty requests are between the two.
  expect(at('closes its socket after a cancel') - at('plain reply')).toBeGreaterThan(400);
});

test.each(UPSTREAM_KINDS)('an upstream that is not in the catalog yet, %s: what is printed can be applied', async (kind) => {
  const result = await tollgate(`upstreams test new --url ${upstreamUrl}/v1 --allow-private-network --model sim-vision --kind ${kind}`);
  expect({ code: result.code, err: result.err }).toEqual({ code: 0, err: '' });
  const yaml = /^upstreams:\n[\s\S]*/m.exec(joinText(result))?.[0] ?? '';
  const catalog = parseCatalogFile(yaml, 'new.yaml', () => undefined);
  expect(catalog.upstreams).toMatchObject([{ id: 'new', kind, baseUrl: `${upstreamUrl}/v1` }]);
  expect(catalog.models).toMatchObject([
    { id: 'sim-vision', contextTokens: 131_072, input: ['text', 'image'], routes: [{ upstream: 'new', model: 'sim-vision' }] },
  ]);
});

test('each test is an audit row with its author [sec-audit-row]', async () => {
  await tollgate('upstreams test local --model sim-tiny');
  await tollgate(`upstreams test nowhere --url ${upstreamUrl}/v1 --allow-private-network --model sim-tiny`);
  const { entries } = JSON.parse(joinText(await tollgate('audit --action upstream.test --limit 2 --json')));
  const row = { via: 'cli', actor: expect.stringMatching(/^cli\/.+@/), action: 'upstream.test' };
  expect(entries).toMatchObject([
    { ...row, target: 'upstream/nowhere', after: { models: ['sim-tiny'], host: new URL(upstreamUrl).host } },
    { ...row, target: 'upstream/local', after: { models: ['sim-tiny'] } },
  ]);
});

import { createHash, createHmac } from 'node:crypto';
import { DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { collect, REPORTED, START, STOP, setUp, startUpstreamBeforeEach, text, upstream } from '../../test/inference-fixture.js';
import { answering } from '../../test/test-upstream.js';

/** Calls that are signed as AWS describes Signature Version 4, computed here without its library. */
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const MODEL = 'arn:aws:bedrock:us-west-2:123456789012:inference-profile/us.amazon.nova-pro-v1:0';
const environment = { ...process.env };

startUpstreamBeforeEach();
afterEach(() => {
  process.env = { ...environment };
});

const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex');
const hmac = (key: string | Buffer, value: string): Buffer => createHmac('sha256', key).update(value).digest();

test('a call of Converse is signed with the escaped name of its model', async () => {
  process.env.UPSTREAM_KEY_AWS_ID = 'AKIDEXAMPLE';
  process.env.UPSTREAM_KEY_AWS_SECRET = SECRET;
  const host = `127.0.0.1:${upstream.port}`;
  for (const name of ['ID', 'SECRET']) process.env[`UPSTREAM_KEY_AWS_${name}_HOSTS`] = `http://${host}`;
  const paths: (string | undefined)[] = [];
  upstream.behave((request, response) => {
    paths.push(request.url);
    return answering(200, DIALECT_STREAMS['bedrock-converse'].plain('Hello'))(request, response);
  });
  const definition = upstream.definition({
    kind: 'bedrock-converse',
    baseUrl: `http://${host}`,
    auth: {
      kind: 'aws-keys',
      region: 'us-west-2',
      accessKeyId: { env: 'UPSTREAM_KEY_AWS_ID' },
      secretAccessKey: { env: 'UPSTREAM_KEY_AWS_SECRET' },
    },
  });
  const routes = [{ upstream: 'test', model: MODEL }];
  expect(await collect(setUp({ upstreams: [definition], routes, request: { stream: false } }).stream)).toEqual([
    START,
    text('Hello'),
    REPORTED,
    STOP,
  ]);
  const path = `/model/${encodeURIComponent(MODEL)}/converse`;
  expect(paths).toEqual([path]);

  const { authorization = '', 'x-amz-date': date, ...headers } = upstream.headers[0] ?? {};
  const digest = sha256(JSON.stringify(upstream.bodies[0]));
  const [, signed = '', signature] = /SignedHeaders=([^,]+), Signature=(\w+)$/.exec(authorization) ?? [];
  const lines = signed.split(';').map((name) => `${name}:${name === 'x-amz-date' ? date : headers[name]}\n`);
  // Signed is the path as it is sent, escaped once more.
  const escaped = path.split('/').map(encodeURIComponent).join('/');
  const canonical = ['POST', escaped, '', lines.join(''), signed, digest].join('\n');
  const day = String(date).slice(0, 8);
  const scope = `${day}/us-west-2/bedrock/aws4_request`;
  const key = [day, 'us-west-2', 'bedrock', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${SECRET}`);
  expect({ scope: authorization.includes(`Credential=AKIDEXAMPLE/${scope}`), signature }).toEqual({
    scope: true,
    signature: hmac(key, `AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(canonical)}`).toString('hex'),
  });
});

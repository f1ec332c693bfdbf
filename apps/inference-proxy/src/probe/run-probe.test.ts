import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import type { Upstream } from '#contracts/catalog.js';
import type { UpstreamCheck, UpstreamProbeEnd } from '#contracts/probe.js';
import { CAPABILITY_DEFAULTS, TIMEOUT_DEFAULTS } from '#contracts/upstream-defaults.js';
import { TestAuthority } from '#testing/test-certificates.js';
import { issuing, type TokenBehaviour, TokenEndpoint } from '../../test/token-endpoint.js';
import { runProbe } from './run-probe.js';

const KEY_VARIABLE = 'UPSTREAM_KEY_TEST';
const KEY = 'k3y-that-nobody-may-see';
const NEVER = new AbortController().signal;
const servers: (Server | TcpServer)[] = [];

afterEach(() => {
  delete process.env[KEY_VARIABLE];
  delete process.env[`${KEY_VARIABLE}_HOSTS`];
  for (const server of servers.splice(0)) server.close();
});

type Answer = (request: IncomingMessage, response: ServerResponse, body: Record<string, unknown>) => void;

/** Starts a server: `answer` handles generation requests, and `GET models` lists two models. */
async function serve(answer: Answer): Promise<string> {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    if (request.method === 'GET') return void response.end(JSON.stringify({ data: [{ id: 'small-1' }, { id: 'evil\u001b[2J name' }] }));
    answer(request, response, JSON.parse(body) as Record<string, unknown>);
  });
  server.keepAliveTimeout = 1;
  return listen(server);
}

async function listen(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function upstream(over: Partial<Upstream>): Upstream {
  return {
    id: 'new',
    kind: 'openai-chat',
    baseUrl: 'http://127.0.0.1:1/v1',
    apiKeyEnv: null,
    allowPrivateNetwork: true,
    capabilities: { ...CAPABILITY_DEFAULTS },
    timeouts: { ...TIMEOUT_DEFAULTS, connectMs: 5_000, firstByteMs: 10_000 },
    connectionsMax: 2,
    ...over,
  };
}

/** Returns the checks of a probe up to the plain reply. */
async function reach(
  over: Partial<Upstream>,
  model = 'big-2',
): Promise<{ checks: Record<string, string>; end: UpstreamProbeEnd | undefined }> {
  const checks: Record<string, string> = {};
  let end: UpstreamProbeEnd | undefined;
  for await (const events of runProbe({ upstream: upstream(over), isInCatalog: false, models: [model] }, NEVER)) {
    for (const event of events) {
      if (event.type === 'check-end' && event.check.id !== 'embeddings')
        checks[event.check.id] = `${event.check.verdict}: ${event.check.evidence}`;
      if (event.type === 'test-end') end = event;
    }
  }
  return { checks, end };
}

const NOT_REACHED = 'skipped: not reached';
const withoutMs = (text: string | undefined): string | undefined => text?.replace(/\d+ ms/g, 'N ms');

function respond(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

describe('an upstream that cannot be reached', () => {
  async function reachOnly(over: Partial<Upstream>): Promise<string | undefined> {
    const { checks, end } = await reach(over);
    const { reachable, ...others } = checks;
    expect(others).toEqual({ key: NOT_REACHED, model: NOT_REACHED, plain: NOT_REACHED });
    expect(end).toMatchObject({ servesText: false, requests: 1, promptTokens: 0, changes: [] });
    return reachable;
  }

  test('a dead port', async () => {
    expect(await reachOnly({})).toBe('no: nothing listens at 127.0.0.1:1: is it running, and is the port right?');
  });

  test('an unknown name', async () => {
    expect(await reachOnly({ baseUrl: 'http://nowhere.invalid/v1' })).toBe('no: no name server knows nowhere.invalid: check baseUrl');
  });

  test('a private address that is not allowed, by number and by name', async () => {
    const cure = 'is not a public address: if it is yours, say allowPrivateNetwork: true';
    expect(await reachOnly({ allowPrivateNetwork: false })).toBe(`no: 127.0.0.1 ${cure}`);
    expect(await reachOnly({ baseUrl: 'http://localhost:1/v1', allowPrivateNetwork: false })).toBe(`no: localhost ${cure}`);
  });

  test('a forbidden address', async () => {
    expect(await reachOnly({ baseUrl: 'http://169.254.169.254/v1' })).toBe('no: 169.254.169.254 may never be called');
  });

  test('HTTPS to an HTTP server', async () => {
    const host = await serve(respond(200, {}));
    expect((await reachOnly({ baseUrl: `https://${host}/v1` }))?.replace(/ERR_SSL_\w+/, 'CODE')).toBe(
      `no: ${host}: TLS handshake failed. Is the URL http://, not https://? (CODE)`,
    );
  });

  test('something that is not HTTP', async () => {
    const host = await listen(createTcpServer((socket) => socket.end('220 mail ready\r\n')));
    expect(await reachOnly({ baseUrl: `http://${host}/v1` })).toBe(`no: ${host} does not speak HTTP. Is the URL https://, not http://?`);
  });

  test('a server that closes the connection', async () => {
    const host = await listen(createTcpServer((socket) => socket.once('data', () => socket.destroy())));
    expect(await reachOnly({ baseUrl: `http://${host}/v1` })).toBe(
      `no: ${host}: upstream closed the connection without replying. Is the URL https://, not http://? (CLOSED)`,
    );
  });

  test('a certificate for another host: both hosts are named', async () => {
    const authority = new TestAuthority();
    const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
    writeFileSync(join(folder, 'probe-ca.pem'), authority.cert);
    process.env.UPSTREAM_SECRETS_DIR = folder;
    const host = await listen(createTlsServer(authority.issue('upstream', { hosts: ['other.example'] })));
    const reachable = await reachOnly({ baseUrl: `https://${host}/v1`, tls: { caFile: 'probe-ca.pem' } });
    delete process.env.UPSTREAM_SECRETS_DIR;
    rmSync(folder, { recursive: true });
    const words = 'certificate is for other.example, not for 127.0.0.1. Is the host in baseUrl right?';
    expect(reachable).toBe(`no: ${host}: ${words} (ERR_TLS_CERT_ALTNAME_INVALID)`);
  });

  test('a server that does not answer', async () => {
    const host = await listen(createTcpServer(() => undefined));
    const timeouts = { ...TIMEOUT_DEFAULTS, totalMs: 300 };
    expect(await reachOnly({ baseUrl: `http://${host}/v1`, timeouts })).toBe(
      `no: ${host} accepted the request and did not reply: no complete reply within totalMs. If it loads the model first, try again`,
    );
  });
});

describe('an upstream that answers and does not serve', () => {
  const unauthorized = { error: { message: `Incorrect API key provided: ${KEY}.`, code: 'invalid_api_key' } };

  test('a missing key', async () => {
    const host = await serve(respond(401, unauthorized));
    expect((await reach({ baseUrl: `http://${host}/v1` })).checks).toEqual({
      reachable: `yes: ${host} answers, with 401`,
      key: 'no: 401: it requires a key. Name the variable that holds it in apiKeyEnv, or set auth',
      model: NOT_REACHED,
      plain: NOT_REACHED,
    });
  });

  test('a wrong key: the evidence names the variable and not the key', async () => {
    process.env[KEY_VARIABLE] = KEY;
    const host = await serve(respond(401, unauthorized));
    process.env[`${KEY_VARIABLE}_HOSTS`] = `http://${host}`;
    const { checks } = await reach({ baseUrl: `http://${host}/v1`, apiKeyEnv: KEY_VARIABLE });
    expect(checks.key).toBe(`no: 401: check ${KEY_VARIABLE}, as the inference-proxy has it`);
    expect(JSON.stringify(checks)).not.toContain(KEY);
  });

  test('a key that an error repeats is redacted', async () => {
    process.env[KEY_VARIABLE] = KEY;
    const host = await serve(respond(418, { error: { message: `I know ${KEY} well` } }));
    process.env[`${KEY_VARIABLE}_HOSTS`] = `http://${host}`;
    const { checks } = await reach({ baseUrl: `http://${host}/v1`, apiKeyEnv: KEY_VARIABLE });
    expect(checks.plain).toBe('no: refused with 418: “I know … well”');
  });

  describe('with auth', () => {
    const auth = (tokenUrl: string) =>
      ({ kind: 'azure-client-secret', tenantId: 't', clientId: 'c', clientSecret: { env: KEY_VARIABLE }, tokenUrl }) as const;
    const startEndpoint = async (behaviour: TokenBehaviour): Promise<TokenEndpoint> => {
      const endpoint = await TokenEndpoint.start();
      endpoint.behaviour = behaviour;
      const host = await serve(respond(401, unauthorized));
      Object.assign(process.env, { [KEY_VARIABLE]: KEY, [`${KEY_VARIABLE}_HOSTS`]: `http://${host} http://${endpoint.host}` });
      baseUrl = `http://${host}/v1`;
      return endpoint;
    };
    let baseUrl: string;

    test('a token endpoint that refuses: nothing is asked, and the evidence has what it says', async () => {
      const endpoint = await startEndpoint(issuing({ error: 'invalid_client', error_description: `AADSTS7000215: ${KEY} is wrong.` }, 401));
      expect((await reach({ baseUrl, auth: auth(endpoint.url) })).checks).toEqual({
        reachable: 'unclear: not asked, because there is no credential',
        key: `no: azure-client-secret of new: ${endpoint.host} refuses (401 invalid_client): AADSTS7000215: … is wrong.`,
        model: NOT_REACHED,
        plain: NOT_REACHED,
      });
      await endpoint.stop();
    });

    test('a token that is rejected', async () => {
      const endpoint = await startEndpoint(issuing({ access_token: 'token-1' }));
      expect((await reach({ baseUrl, auth: auth(endpoint.url) })).checks.key).toBe(
        'no: 401: check auth (azure-client-secret), as the inference-proxy has it',
      );
      await endpoint.stop();
    });
  });

  test('a key of two lines', async () => {
    process.env[KEY_VARIABLE] = `${KEY}\n${KEY}`;
    const host = await serve(respond(401, unauthorized));
    const { checks } = await reach({ baseUrl: `http://${host}/v1`, apiKeyEnv: KEY_VARIABLE });
    expect(checks.key).toBe(
      `no: the key in ${KEY_VARIABLE} has characters that no header can carry (two lines?), as the inference-proxy sees it`,
    );
    expect(JSON.stringify(checks)).not.toContain(KEY);
  });

  test('a key for another host: it is not sent, and the evidence says what to set', async () => {
    process.env[KEY_VARIABLE] = KEY;
    const sent: (string | undefined)[] = [];
    const host = await serve((request, response, body) => {
      sent.push(request.headers.authorization);
      respond(401, unauthorized)(request, response, body);
    });
    const { checks } = await reach({ baseUrl: `http://${host}/v1`, apiKeyEnv: KEY_VARIABLE });
    expect([checks.key, new Set(sent)]).toEqual([
      `no: the key in ${KEY_VARIABLE} is bound to no host: set ${KEY_VARIABLE}_HOSTS=http://${host} for the inference-proxy if that host may receive it, as the inference-proxy sees it`,
      new Set([undefined]),
    ]);
  });

  test('a variable that is not set', async () => {
    const host = await serve(respond(401, unauthorized));
    expect((await reach({ baseUrl: `http://${host}/v1`, apiKeyEnv: KEY_VARIABLE })).checks.key).toBe(
      `no: no key in ${KEY_VARIABLE}, as the inference-proxy sees it`,
    );
  });

  test('a key in a file: it is sent, and the evidence names the file when it is wrong', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
    writeFileSync(join(folder, 'hosted'), `${KEY}\n`);
    process.env.UPSTREAM_SECRETS_DIR = folder;
    let sent: string | undefined;
    const host = await serve((request, response, body) => {
      sent = request.headers.authorization;
      respond(401, unauthorized)(request, response, body);
    });
    writeFileSync(join(folder, 'hosted.hosts'), `http://${host}\n`);
    const { checks } = await reach({ baseUrl: `http://${host}/v1`, apiKeyFile: 'hosted' });
    delete process.env.UPSTREAM_SECRETS_DIR;
    rmSync(folder, { recursive: true });
    expect({ sent, key: checks.key }).toEqual({
      sent: `Bearer ${KEY}`,
      key: 'no: 401: check the file hosted, as the inference-proxy has it',
    });
    expect(JSON.stringify(checks)).not.toContain(KEY);
  });

  test('an account without credit', async () => {
    const host = await serve(respond(402, { error: { message: 'Insufficient Balance' } }));
    expect((await reach({ baseUrl: `http://${host}/v1` })).checks.key).toBe('no: 402: the account there has no credit');
  });

  test('an unknown model: the evidence repeats the listed names that look like names', async () => {
    const host = await serve(respond(404, { error: { message: 'The model `big-2` does not exist' } }));
    const { checks, end } = await reach({ baseUrl: `http://${host}/v1` });
    expect(checks).toEqual({
      reachable: `yes: ${host} answers, with 404`,
      key: 'yes: none is needed',
      model: 'no: 404: there is no big-2; it lists small-1',
      plain: 'no: refused with 404: “The model `big-2` does not exist”',
    });
    expect(end?.servesText).toBe(false);
  });

  test('garbage', async () => {
    const host = await serve(respond(200, '<html>Welcome to nginx</html>', { 'content-type': 'text/html' }));
    const { checks } = await reach({ baseUrl: `http://${host}/v1` }, 'small-1');
    expect({ ...checks, reachable: withoutMs(checks.reachable) }).toEqual({
      reachable: `yes: ${host} answers: reply is not JSON`,
      key: 'unclear: not reached',
      model: 'yes: on its list',
      plain: 'no: reply is not JSON: not a reply of this kind of upstream; check baseUrl and kind',
    });
  });

  test('a redirect', async () => {
    const host = await serve(respond(301, '', { location: 'http://elsewhere.invalid/' }));
    expect((await reach({ baseUrl: `http://${host}/v1` })).checks.plain).toBe('no: redirect (301) not followed');
  });
});

test('an upstream with Retry-After is waited for once', async () => {
  let calls = 0;
  const host = await serve((request, response, body) => {
    if (!request.url?.endsWith('/embeddings')) calls += 1;
    if (calls === 1) respond(429, { error: { message: 'slow down' } }, { 'retry-after': '1' })(request, response, body);
    else respond(404, { error: { message: 'no model' } })(request, response, body);
  });
  const { checks } = await reach({ baseUrl: `http://${host}/v1` });
  expect({ calls, plain: checks.plain }).toEqual({ calls: 2, plain: 'no: refused with 404: “no model”' });
});

describe('embeddings', () => {
  const VECTOR = Buffer.from(new Float32Array([1, 0, 0]).buffer).toString('base64');
  /** A server whose models `embed-…` make vectors and no text, and whose other models make text and no vectors. */
  const answer: Answer = (request, response, body) => {
    const isAsked = request.url?.endsWith('/embeddings') === true;
    if (isAsked !== String(body.model).startsWith('embed'))
      return respond(400, { error: { message: 'not by this model' } })(request, response, body);
    const text = { choices: [{ index: 0, message: { content: 'pong' }, finish_reason: 'stop' }] };
    const vectors = { data: [{ index: 0, embedding: body.model === 'embed-numbers' ? [1, 0] : VECTOR }] };
    respond(200, isAsked ? vectors : text)(request, response, body);
  };

  async function findEmbeddings(models: readonly [string], embeddingModels?: string[], over: Partial<Upstream> = {}) {
    const entry = upstream({ baseUrl: `http://${await serve(answer)}/v1`, ...over });
    const checks: Record<string, string> = {};
    let end: UpstreamProbeEnd | undefined;
    for await (const events of runProbe({ upstream: entry, isInCatalog: true, models, embeddingModels }, NEVER)) {
      for (const event of events) {
        if (event.type === 'check-end' && event.check.id.startsWith('embeddings'))
          checks[event.check.id] = `${event.check.verdict}: ${event.check.evidence}`;
        if (event.type === 'test-end') end = event;
      }
    }
    return { checks, servesText: end?.servesText, embeddings: end?.embeddings };
  }

  test('a model for embeddings alone makes vectors, whose length is found', async () => {
    expect(await findEmbeddings(['embed-base64'])).toEqual({
      checks: { embeddings: 'yes: vectors of 3 dimensions' },
      servesText: false,
      embeddings: [{ model: 'embed-base64', dimensions: 3 }],
    });
  });

  test('the models that the catalog has for embeddings are asked besides the tested one', async () => {
    expect(await findEmbeddings(['chat-1'], ['embed-numbers', 'chat-2'])).toEqual({
      checks: {
        embeddings: 'no: refused with 400: “not by this model”',
        'embeddings:embed-numbers': 'yes: vectors of 2 dimensions',
        'embeddings:chat-2': 'no: refused with 400: “not by this model”',
      },
      servesText: true,
      embeddings: [{ model: 'embed-numbers', dimensions: 2 }],
    });
  });

  test('a dialect without embeddings is not asked', async () => {
    expect(await findEmbeddings(['chat-1'], [], { kind: 'anthropic-messages' })).toMatchObject({ checks: {}, embeddings: [] });
  });
});

test('cancelling the probe ends it at once, in the middle of a request', async () => {
  const asked = new AbortController();
  let left: Promise<unknown> | undefined;
  const host = await serve((request) => {
    left = once(request.socket, 'close');
    asked.abort(new Error('left'));
  });
  const events = runProbe({ upstream: upstream({ baseUrl: `http://${host}/v1` }), isInCatalog: false, models: ['m'] }, asked.signal);
  const checks: UpstreamCheck[] = [];
  await expect(async () => {
    for await (const batch of events) for (const event of batch) if (event.type === 'check-end') checks.push(event.check);
  }).rejects.toThrow('left');
  await left;
  expect(checks).toEqual([]);
});

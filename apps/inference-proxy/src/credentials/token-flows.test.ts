import { createPublicKey, generateKeyPairSync, verify, X509Certificate } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Upstream } from '#contracts/catalog.js';
import type { UpstreamAuth } from '#contracts/upstream-auth.js';
import { TestAuthority } from '#testing/test-certificates.js';
import { upstreamNamed } from '../../test/routing-fixture.js';
import { issuing, TokenEndpoint } from '../../test/token-endpoint.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { Credential, HeaderFields } from './credential.js';
import { openCredential } from './open-credential.js';

const environment = { ...process.env };
const FORM = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' };
const TOKEN = { authorization: 'Bearer token-1' };

let endpoint: TokenEndpoint;
let folder: string;
/** Names differ between tests, because files are cached by name. */
let prefix: string;
let tests = 0;
let opened: Credential[];

beforeEach(async () => {
  endpoint = await TokenEndpoint.start();
  folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  prefix = `flow${tests++}-`;
  opened = [];
  process.env = {
    ...environment,
    UPSTREAM_SECRETS_DIR: folder,
    UPSTREAM_KEY_FLOW: 'p@ss+word for us',
    UPSTREAM_KEY_FLOW_HOSTS: `api.example.com http://${endpoint.host}`,
  };
});
afterEach(async () => {
  for (const credential of opened) credential.close();
  await endpoint.stop();
  process.env = { ...environment };
  rmSync(folder, { recursive: true });
});

function put(name: string, text: string, hosts = `api.example.com http://${endpoint.host}`): string {
  writeFileSync(join(folder, prefix + name), text);
  writeFileSync(join(folder, `${prefix + name}.hosts`), hosts);
  return prefix + name;
}

async function authorize(auth: UpstreamAuth, over: Partial<Upstream> = {}): Promise<HeaderFields> {
  const timeouts = { connectMs: 1_000, firstByteMs: 5_000, idleMs: 1, totalMs: 1 };
  const upstream = upstreamNamed('u', { auth, baseUrl: 'https://api.example.com/v1', allowPrivateNetwork: true, timeouts, ...over });
  const credential = openCredential(upstream, () => {});
  if (credential === undefined) throw new Error('no credential');
  opened.push(credential);
  return credential.authorize({ method: 'POST', path: '/v1/messages', headers: { 'content-type': 'application/json' }, body: '{}' });
}

/** Returns the one line of the failure. */
async function refusal(auth: UpstreamAuth, over: Partial<Upstream> = {}): Promise<string> {
  try {
    await authorize(auth, over);
  } catch (error) {
    if (error instanceof UpstreamFailure && error.kind === 'credential') return error.detail;
    throw error;
  }
  throw new Error('it was authorized');
}

const SECRET = { env: 'UPSTREAM_KEY_FLOW' };

test('a header of any name has the key, after a word if there is one [credential-forms]', async () => {
  expect(await authorize({ kind: 'header', name: 'Api-Key', secret: SECRET })).toEqual({ 'api-key': 'p@ss+word for us' });
  const auth = { kind: 'header', name: 'authorization', scheme: 'Token', secret: SECRET } as const;
  expect(await authorize(auth)).toEqual({ authorization: 'Token p@ss+word for us' });
});

test('the token of a file goes as a bearer token [credential-forms]', async () => {
  expect(await authorize({ kind: 'file', file: put('token', 'projected\n') })).toEqual({ authorization: 'Bearer projected' });
});

describe('OAuth client credentials [credential-forms]', () => {
  const auth = () => ({ kind: 'oauth', tokenUrl: endpoint.url, clientId: 'us & them', clientSecret: SECRET }) as const;

  test('the client names itself in the header, encoded as RFC 6749, section 2.3.1, says', async () => {
    expect(await authorize({ ...auth(), scope: 'a b', audience: 'https://api' })).toEqual(TOKEN);
    const basic = Buffer.from('us+%26+them:p%40ss%2Bword+for+us').toString('base64');
    const body = 'grant_type=client_credentials&scope=a+b&audience=https%3A%2F%2Fapi';
    expect(endpoint.requests).toEqual([{ line: 'POST /token', headers: { ...FORM, authorization: `Basic ${basic}` }, body }]);
  });

  test('or in the body', async () => {
    expect(await authorize({ ...auth(), clientAuth: 'body' })).toEqual(TOKEN);
    const body = 'grant_type=client_credentials&client_id=us+%26+them&client_secret=p%40ss%2Bword+for+us';
    expect(endpoint.requests).toEqual([{ line: 'POST /token', headers: FORM, body }]);
  });

  test('the secret goes to no endpoint that its owner has not declared, and the token to no such upstream', async () => {
    process.env.UPSTREAM_KEY_FLOW_HOSTS = 'api.example.com';
    expect(await refusal(auth())).toBe(
      `oauth of u: the key in UPSTREAM_KEY_FLOW is not for http://${endpoint.host}: UPSTREAM_KEY_FLOW_HOSTS does not name it`,
    );
    process.env.UPSTREAM_KEY_FLOW_HOSTS = `http://${endpoint.host}`;
    expect(await refusal(auth())).toBe(
      'oauth of u: the key in UPSTREAM_KEY_FLOW is not for api.example.com: UPSTREAM_KEY_FLOW_HOSTS does not name it',
    );
    expect(endpoint.requests).toEqual([]);
  });

  test('the address rules hold for the endpoint', async () => {
    expect(await refusal(auth(), { allowPrivateNetwork: false })).toBe(
      'oauth of u: 127.0.0.1 is a private address, and allowPrivateNetwork is not set',
    );
    process.env.UPSTREAM_KEY_FLOW_HOSTS = 'api.example.com http://169.254.169.254';
    expect(await refusal({ ...auth(), tokenUrl: 'http://169.254.169.254/token' })).toBe('oauth of u: 169.254.169.254 is never called');
    expect(endpoint.requests).toEqual([]);
  });

  test('a forward proxy of the catalog gets no secret in the clear', async () => {
    expect(await refusal(auth(), { proxy: 'http://127.0.0.1:9' })).toMatch(/^oauth of u: forward proxy 127\.0\.0\.1:9 is not declared/);
  });
});

describe('Google [credential-forms]', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const account = () => ({
    type: 'service_account',
    client_email: 'us@p.iam.gserviceaccount.com',
    private_key_id: 'k1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: endpoint.url,
  });

  test('a service account signs an assertion', async () => {
    const before = Math.floor(Date.now() / 1_000);
    expect(await authorize({ kind: 'google-service-account', file: put('sa.json', JSON.stringify(account())) })).toEqual(TOKEN);
    const [request] = endpoint.requests;
    const form = new URLSearchParams(request?.body);
    const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    expect({ ...request, body: [...form.keys()] }).toEqual({ line: 'POST /token', headers: FORM, body: ['grant_type', 'assertion'] });
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    expect(decode(header)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'k1' });
    const { iat, exp, ...others } = decode(claims);
    const scope = 'https://www.googleapis.com/auth/cloud-platform';
    expect(others).toEqual({ iss: 'us@p.iam.gserviceaccount.com', scope, aud: endpoint.url });
    expect([Number(iat) >= before, Number(exp) - Number(iat)]).toEqual([true, 3_600]);
    expect(verify('sha256', Buffer.from(`${header}.${claims}`), publicKey, Buffer.from(signature, 'base64url'))).toBe(true);
  });

  const workload = (over = {}) => ({
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: endpoint.url,
    credential_source: { file: join(folder, put('subject', 'the-subject')) },
    ...over,
  });
  const exchange = (scope: string) =>
    new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience: workload().audience,
      scope,
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      subject_token: 'the-subject',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    }).toString();

  test('a workload exchanges its own token', async () => {
    const file = put('wif.json', JSON.stringify(workload()));
    expect(await authorize({ kind: 'google-workload-identity', file, scope: 'https://a/b' })).toEqual(TOKEN);
    expect(endpoint.requests).toEqual([{ line: 'POST /token', headers: FORM, body: exchange('https://a/b') }]);
  });

  test('a workload takes the part of a service account', async () => {
    const url = `http://${endpoint.host}/v1/projects/-/serviceAccounts/us:generateAccessToken`;
    const named = { type: 'json', subject_token_field_name: 'id' };
    const source = { file: put('subject.json', '{"id":"the-subject"}'), format: named };
    const file = put('wif.json', JSON.stringify(workload({ service_account_impersonation_url: url, credential_source: source })));
    endpoint.behaviour = (request, response) => {
      const expireTime = new Date(Date.now() + 3_600_000).toISOString();
      const isFirst = request.url === '/token';
      response.end(JSON.stringify(isFirst ? { access_token: 'federated', token_type: 'Bearer' } : { accessToken: 'token-1', expireTime }));
    };
    expect(await authorize({ kind: 'google-workload-identity', file, scope: 'https://a/b' })).toEqual(TOKEN);
    expect(endpoint.requests).toEqual([
      { line: 'POST /token', headers: FORM, body: exchange('https://www.googleapis.com/auth/cloud-platform') },
      {
        line: 'POST /v1/projects/-/serviceAccounts/us:generateAccessToken',
        headers: { accept: 'application/json', 'content-type': 'application/json', authorization: 'Bearer federated' },
        body: '{"scope":["https://a/b"],"lifetime":"3600s"}',
      },
    ]);
  });

  test.each<[string, object]>([
    ['a file outside of the folder of secrets', { file: '/etc/passwd' }],
    ['the token of the pod', { file: 'kubernetes.io/serviceaccount/token' }],
    ['a URL', { url: 'http://169.254.169.254/token' }],
    ['a program', { executable: { command: '/bin/true' } }],
  ])('no workload gets %s', async (_what, source) => {
    const file = put('wif.json', JSON.stringify(workload({ credential_source: source })));
    expect(await refusal({ kind: 'google-workload-identity', file })).toBe(
      `google-workload-identity of u: credential_source in the file ${file} must name a file in UPSTREAM_SECRETS_DIR: no other source is read`,
    );
    expect(endpoint.requests).toEqual([]);
  });

  test('the metadata server is asked only where the operator allows it', async () => {
    process.env.GCE_METADATA_HOST = endpoint.host;
    expect(await refusal({ kind: 'google-metadata' })).toBe(
      'google-metadata of u: the metadata service of GOOGLE is bound to no host: set UPSTREAM_METADATA_GOOGLE_HOSTS=api.example.com for the inference-proxy if that host may receive it',
    );
    expect(endpoint.requests).toEqual([]);
    process.env.UPSTREAM_METADATA_GOOGLE_HOSTS = '*.example.com';
    endpoint.behaviour = issuing({ access_token: 'token-1', expires_in: 3_599, token_type: 'Bearer' }, 200, {
      'metadata-flavor': 'Google',
    });
    expect(await authorize({ kind: 'google-metadata' }, { allowPrivateNetwork: false })).toEqual(TOKEN);
    const query = 'scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform';
    expect(endpoint.requests).toEqual([
      {
        line: `GET /computeMetadata/v1/instance/service-accounts/default/token?${query}`,
        headers: { accept: 'application/json', 'metadata-flavor': 'Google' },
        body: '',
      },
    ]);
  });

  test('another server in its place is not believed', async () => {
    Object.assign(process.env, { GCE_METADATA_HOST: endpoint.host, UPSTREAM_METADATA_GOOGLE_HOSTS: 'api.example.com' });
    expect(await refusal({ kind: 'google-metadata' })).toBe(`google-metadata of u: ${endpoint.host} is no metadata server of Google`);
  });
});

describe('Entra [credential-forms]', () => {
  const application = () => ({ tenantId: 'contoso.example', clientId: 'app-1', tokenUrl: endpoint.url });
  const SCOPE = 'scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default';
  const START = `grant_type=client_credentials&client_id=app-1&${SCOPE}`;
  const ASSERTED = 'client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer';

  test('an application sends its secret', async () => {
    expect(await authorize({ kind: 'azure-client-secret', clientSecret: SECRET, ...application() })).toEqual(TOKEN);
    expect(endpoint.requests).toEqual([{ line: 'POST /token', headers: FORM, body: `${START}&client_secret=p%40ss%2Bword+for+us` }]);
  });

  test('an application signs with its certificate', async () => {
    const { cert, key } = new TestAuthority().issue('app', { isRsa: true });
    expect(await authorize({ kind: 'azure-certificate', file: put('app.pem', key + cert), ...application() })).toEqual(TOKEN);
    const [request] = endpoint.requests;
    const assertion = new URLSearchParams(request?.body).get('client_assertion') ?? '';
    expect(request).toEqual({ line: 'POST /token', headers: FORM, body: `${START}&${ASSERTED}&client_assertion=${assertion}` });
    const [header = '', claims = '', signature = ''] = assertion.split('.');
    const thumbprint = Buffer.from(new X509Certificate(cert).fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
    expect(decode(header)).toEqual({ alg: 'PS256', typ: 'JWT', 'x5t#S256': thumbprint });
    const { jti, nbf, exp, ...others } = decode(claims);
    expect(others).toEqual({ aud: endpoint.url, iss: 'app-1', sub: 'app-1' });
    expect([jti, Number(exp) - Number(nbf)]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), 600]);
    const publicKey = { key: createPublicKey(cert), padding: 6, saltLength: 32 };
    expect(verify('sha256', Buffer.from(`${header}.${claims}`), publicKey, Buffer.from(signature, 'base64url'))).toBe(true);
  });

  test('a workload hands on its own token', async () => {
    const file = put('federated', 'their-jwt\n');
    expect(await authorize({ kind: 'azure-workload-identity', file, scope: 'https://ai.azure.com/.default', ...application() })).toEqual(
      TOKEN,
    );
    const start = START.replace(SCOPE, 'scope=https%3A%2F%2Fai.azure.com%2F.default');
    expect(endpoint.requests).toEqual([{ line: 'POST /token', headers: FORM, body: `${start}&${ASSERTED}&client_assertion=their-jwt` }]);
  });

  const ASKED = { accept: 'application/json', metadata: 'true' };

  test('a machine asks its metadata service where the operator allows it', async () => {
    process.env.AZURE_POD_IDENTITY_AUTHORITY_HOST = `http://${endpoint.host}`;
    expect(await refusal({ kind: 'azure-managed-identity' })).toMatch(/set UPSTREAM_METADATA_AZURE_HOSTS=api\.example\.com for/);
    process.env.UPSTREAM_METADATA_AZURE_HOSTS = 'api.example.com';
    endpoint.behaviour = issuing({ access_token: 'token-1', expires_in: '86399', token_type: 'Bearer' });
    expect(await authorize({ kind: 'azure-managed-identity', clientId: 'id-1' })).toEqual(TOKEN);
    const query = 'api-version=2018-02-01&resource=https%3A%2F%2Fcognitiveservices.azure.com&client_id=id-1';
    expect(endpoint.requests).toEqual([{ line: `GET /metadata/identity/oauth2/token?${query}`, headers: ASKED, body: '' }]);
  });

  test('a container asks the service that its environment names', async () => {
    const here = { IDENTITY_ENDPOINT: `http://${endpoint.host}/msi/token`, IDENTITY_HEADER: 'proof' };
    Object.assign(process.env, { UPSTREAM_METADATA_AZURE_HOSTS: 'api.example.com', ...here });
    endpoint.behaviour = issuing({ access_token: 'token-1', expires_on: String(Math.floor(Date.now() / 1_000) + 600) });
    expect(await authorize({ kind: 'azure-managed-identity' })).toEqual(TOKEN);
    const query = 'api-version=2019-08-01&resource=https%3A%2F%2Fcognitiveservices.azure.com';
    const headers = { accept: 'application/json', 'x-identity-header': 'proof' };
    expect(endpoint.requests).toEqual([{ line: `GET /msi/token?${query}`, headers, body: '' }]);
  });
});

describe('AWS [credential-forms]', () => {
  const AT = { region: 'us-west-2' };
  const SIGNED = (id: string) => ({
    'x-amz-date': expect.stringMatching(/^\d{8}T\d{6}Z$/),
    'x-amz-content-sha256': '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
    authorization: expect.stringMatching(
      new RegExp(
        `^AWS4-HMAC-SHA256 Credential=${id}/\\d{8}/us-west-2/bedrock/aws4_request, SignedHeaders=content-type;host;[a-z0-9;-]+, Signature=[0-9a-f]{64}$`,
      ),
    ),
  });

  test('keys of variables and files sign', async () => {
    Object.assign(process.env, { UPSTREAM_KEY_ID: 'AKIDEXAMPLE', UPSTREAM_KEY_ID_HOSTS: 'api.example.com' });
    const secretAccessKey = { file: put('secret', 'wJalrXUtnFEMI\n') };
    const signed = await authorize({ kind: 'aws-keys', ...AT, accessKeyId: { env: 'UPSTREAM_KEY_ID' }, secretAccessKey });
    expect(signed).toEqual(SIGNED('AKIDEXAMPLE'));
  });

  const PROFILES = `# two
[default]
aws_access_key_id = AKIDDEFAULT
aws_secret_access_key=first

[profile other]
aws_access_key_id=AKIDOTHER
aws_secret_access_key = second
aws_session_token = session==
`;

  test('a profile of a file signs', async () => {
    const file = put('credentials', PROFILES);
    expect(await authorize({ kind: 'aws-profile', ...AT, file })).toEqual(SIGNED('AKIDDEFAULT'));
    const other = await authorize({ kind: 'aws-profile', ...AT, file, profile: 'other' });
    expect(other).toEqual({ ...SIGNED('AKIDOTHER'), 'x-amz-security-token': 'session==' });
  });

  test.each([
    ['[default]\nrole_arn=a', 'has no keys of AWS'],
    ['[another]\naws_access_key_id=a', 'has no profile of that name'],
  ])('a profile without keys is named', async (text, problem) => {
    const file = put('credentials', text);
    expect(await refusal({ kind: 'aws-profile', ...AT, file })).toBe(`aws-profile of u: the file ${file} ${problem}`);
  });

  const RESULT = (expiration: string) =>
    `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
      <AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>role/secret+key</SecretAccessKey><SessionToken>role-session==</SessionToken>
      <Expiration>${expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

  test('a workload takes a role', async () => {
    endpoint.behaviour = issuing(RESULT(inAnHour()));
    const roleArn = 'arn:aws:iam::123456789012:role/models';
    const file = put('web', 'their-jwt');
    const signed = await authorize({ kind: 'aws-web-identity', ...AT, roleArn, file, tokenUrl: endpoint.url });
    expect(signed).toEqual({ ...SIGNED('ASIAROLE'), 'x-amz-security-token': 'role-session==' });
    const body =
      'Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fmodels&RoleSessionName=tollgate&WebIdentityToken=their-jwt';
    expect(endpoint.requests).toEqual([{ line: 'POST /token', headers: { ...FORM, accept: 'application/xml' }, body }]);
  });

  test('a container asks the service that its environment names', async () => {
    const tokenFile = join(folder, put('pod-token', 'pod-proof\n'));
    process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI = `http://${endpoint.host}/v1/credentials`;
    process.env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE = tokenFile;
    expect(await refusal({ kind: 'aws-container', ...AT })).toMatch(/set UPSTREAM_METADATA_AWS_HOSTS=api\.example\.com for/);
    process.env.UPSTREAM_METADATA_AWS_HOSTS = 'api.example.com';
    endpoint.behaviour = issuing({ AccessKeyId: 'ASIAPOD', SecretAccessKey: 'pod-secret', Token: 'pod-session', Expiration: inAnHour() });
    const signed = await authorize({ kind: 'aws-container', ...AT });
    expect(signed).toEqual({ ...SIGNED('ASIAPOD'), 'x-amz-security-token': 'pod-session' });
    const headers = { accept: 'application/json', authorization: 'pod-proof' };
    expect(endpoint.requests).toEqual([{ line: 'GET /v1/credentials', headers, body: '' }]);
  });

  test('a container asks no other host in the clear', async () => {
    process.env.UPSTREAM_METADATA_AWS_HOSTS = 'api.example.com';
    process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI = 'http://10.0.0.1/credentials';
    expect(await refusal({ kind: 'aws-container', ...AT })).toBe(
      'aws-container of u: AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https://',
    );
  });
});

describe('a command [credential-forms]', () => {
  const auth = { kind: 'command', command: 'UPSTREAM_COMMAND_FLOW' } as const;
  const runs = (script: string): void => {
    const path = join(folder, `${prefix}login`);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o700);
    Object.assign(process.env, { UPSTREAM_COMMAND_FLOW: `${path} for us`, UPSTREAM_COMMAND_FLOW_HOSTS: 'api.example.com' });
  };

  test.each([
    ['plain text', 'echo token-1'],
    ['an OAuth answer', `echo '{"access_token":"token-1","expires_in":3600}'`],
    ['an ExecCredential', `echo '{"kind":"ExecCredential","status":{"token":"token-1","expirationTimestamp":"2999-01-01T00:00:00Z"}}'`],
    ['parameters and no secret of ours', 'test "$*$UPSTREAM_KEY_FLOW" = "for us" && echo token-1'],
  ])('prints its token: %s', async (_what, script) => {
    runs(script);
    expect(await authorize(auth)).toEqual(TOKEN);
  });

  test.each([
    ['fails', 'echo p@ss-word-for-us >&2; exit 3', 'has failed with exit code 3'],
    ['prints nothing', 'true', 'issues no token that a header can carry'],
    ['prints two lines', 'echo a; echo b', 'issues no token that a header can carry'],
    ['prints too much', 'yes', 'prints more than 65536 bytes'],
  ])('that %s is named', async (_what, script, problem) => {
    runs(script);
    expect(await refusal(auth)).toBe(`command of u: the command of UPSTREAM_COMMAND_FLOW ${problem}`);
  });

  test('that is not there is named, and so is a variable without one', async () => {
    runs('');
    process.env.UPSTREAM_COMMAND_FLOW = '/not/there';
    expect(await refusal(auth)).toBe('command of u: the command of UPSTREAM_COMMAND_FLOW cannot be run (ENOENT)');
    process.env.UPSTREAM_COMMAND_FLOW = '';
    expect(await refusal(auth)).toBe('command of u: no command in UPSTREAM_COMMAND_FLOW');
  });
});

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString());
}

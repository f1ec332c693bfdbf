// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the catalog file
import { readFileSync } from 'node:fs';
import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import { CAPABILITY_DEFAULTS, TIMEOUT_DEFAULTS } from '#contracts/upstream-defaults.js';
import { CatalogFileError } from './catalog-file-error.js';
import { parseCatalogFile, parseStoredPrices, type WantedCatalog } from './parse-catalog-file.js';

const noVariables = () => undefined;

/** A catalog without optional fields. */
const SMALLEST = `
upstreams:
  - id: local
    kind: openai-chat
    baseUrl: http://127.0.0.1:9100/v1
models:
  - id: small
    ownedBy: us
    contextTokens: 131072
    maxOutputTokens: 8192
    price: { inputUsdPerMTok: "0.15", cachedInputUsdPerMTok: "0.015", outputUsdPerMTok: "0.60" }
    routes: [{ upstream: local, model: Org/Small }]
`;

test('absent fields have their defaults', () => {
  expect(parseCatalogFile(SMALLEST, 'c.yaml', noVariables)).toEqual({
    upstreams: [
      {
        id: 'local',
        kind: 'openai-chat',
        enabled: true,
        baseUrl: 'http://127.0.0.1:9100/v1',
        apiKeyEnv: null,
        apiKeyFile: null,
        auth: null,
        tls: null,
        path: null,
        query: null,
        headers: null,
        body: null,
        allowPrivateNetwork: false,
        capabilities: CAPABILITY_DEFAULTS,
        timeouts: TIMEOUT_DEFAULTS,
        proxy: null,
        connectionsMax: 256,
        healthCheck: null,
      },
    ],
    models: [
      {
        id: 'small',
        ownedBy: 'us',
        displayName: null,
        created: null,
        enabled: true,
        contextTokens: 131_072,
        maxOutputTokens: 8_192,
        defaultOutputTokens: 4_096,
        input: ['text'],
        reasoning: false,
        tokensPerImageMax: 1_600,
        embeddingDimensions: null,
        unit: null,
        price: { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n },
        routes: [{ upstream: 'local', model: 'Org/Small', weight: 1, priority: 0, concurrencyMax: null, capabilities: null, cost: null }],
      },
    ],
    pricePlans: [],
    services: [],
  } satisfies WantedCatalog);
});

test('the prices of a stored text are read, though its upstreams break the rules of this version', () => {
  const text = SMALLEST.replace('http://127.0.0.1:9100', '${UPSTREAM_GONE}').replace('kind:', 'apiKeyEnv: OPENAI_API_KEY\n    kind:');
  const { models, pricePlans } = parseCatalogFile(SMALLEST, 'c.yaml', noVariables);
  expect(parseStoredPrices(text, 'c.yaml')).toEqual({ models, pricePlans });
  expect(() => parseStoredPrices(text.replace('"0.15"', '0.15'), 'c.yaml')).toThrow(
    /^c.yaml:12: models\[0\].price.inputUsdPerMTok: must be USD/,
  );
});

test('a price may have one of a request and of an image; zero is none', () => {
  const parsePrice = (units: string) =>
    parseCatalogFile(SMALLEST.replace('outputUsdPerMTok: "0.60"', `outputUsdPerMTok: "0.60"${units}`), 'c.yaml', noVariables).models[0]
      ?.price;
  const tokens = { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n };
  expect(parsePrice(', requestUsd: "0.001", imageUsd: "0.000000000001"')).toEqual({
    ...tokens,
    requestPicoUsd: 1_000_000_000n,
    imagePicoUsd: 1n,
  });
  expect(parsePrice(', requestUsd: "0", imageUsd: "0.00"')).toEqual(tokens);
  expect(() => parsePrice(', requestUsd: 0.001')).toThrow(
    'c.yaml:11: models[0].price.requestUsd: must be USD below 1000000 in quotes with at most twelve decimals, such as "0.01"',
  );
});

const withPrice = (rules: string) => SMALLEST.replace('outputUsdPerMTok: "0.60"', `outputUsdPerMTok: "0.60", ${rules}`);

test('a price may have steps, tiers and image classes', () => {
  const prices = 'inputUsdPerMTok: "0.30", cachedInputUsdPerMTok: "0.03"';
  const rules = `imageUsd: "0.001", imageSteps: [{ aboveBytes: 1000000, imageUsd: "0.004" }],
      steps: [{ above: 200000, ${prices}, outputUsdPerMTok: "0.90" }, { above: 400000, reprices: excess, ${prices}, cacheWriteUsdPerMTok: "0" }],
      tiers: [{ tier: flex, ${prices}, outputUsdPerMTok: "0.30", steps: [{ above: 1, ${prices} }] }]`;
  const parsed = { inputPicoUsd: 300_000n, cachedInputPicoUsd: 30_000n };
  expect(parseCatalogFile(withPrice(rules), 'c.yaml', noVariables).models[0]?.price).toEqual({
    ...{ inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n, imagePicoUsd: 1_000_000_000n },
    imageSteps: [{ aboveBytes: 1_000_000, imagePicoUsd: 4_000_000_000n }],
    steps: [
      { above: 200_000, reprices: 'whole', ...parsed, outputPicoUsd: 900_000n },
      { above: 400_000, reprices: 'excess', ...parsed, cacheWritePicoUsd: 0n },
    ],
    tiers: [{ tier: 'flex', ...parsed, outputPicoUsd: 300_000n, steps: [{ above: 1, reprices: 'whole', ...parsed }] }],
  });
});

const STEP = 'inputUsdPerMTok: "1", cachedInputUsdPerMTok: "1"';

test.each([
  [`steps: [{ above: 2, ${STEP} }, { above: 2, ${STEP} }]`, 'steps[1].above: must be above that of the step before'],
  [`steps: [{ above: 0, ${STEP} }]`, 'steps[0].above: must be a whole number from 1 to 2147483647'],
  [`steps: [{ above: 2, reprices: some, ${STEP} }]`, 'steps[0].reprices: must be whole or excess'],
  [
    `steps: [{ above: 2, reprices: excess, ${STEP}, outputUsdPerMTok: "1" }]`,
    'steps[0].outputUsdPerMTok: is for a step that reprices the whole request: no output is beyond a prompt',
  ],
  [`tiers: [{ tier: standard, ${STEP}, outputUsdPerMTok: "1" }]`, 'tiers[0].tier: is the usual tier: its prices stand outside of tiers'],
  [
    `tiers: [{ tier: a, ${STEP}, outputUsdPerMTok: "1" }, { tier: a, ${STEP}, outputUsdPerMTok: "1" }]`,
    'tiers[1].tier: "a" has prices already',
  ],
  [
    'imageSteps: [{ aboveBytes: 9, imageUsd: "1" }, { aboveBytes: 8, imageUsd: "1" }]',
    'imageSteps[1].aboveBytes: must be above that of the step before',
  ],
])('a price with %s is refused', (rules, fault) => {
  expect(() => parseCatalogFile(withPrice(rules), 'c.yaml', noVariables)).toThrow(`models[0].price.${fault}`);
});

describe('the cost price of a route', () => {
  const PRICE = 'inputUsdPerMTok: "0.10", cachedInputUsdPerMTok: "0.01", outputUsdPerMTok: "0.40"';
  const parse = (...routes: string[]) => {
    const text = SMALLEST.replace('[{ upstream: local, model: Org/Small }]', `\n${routes.map((route) => `      - ${route}\n`).join('')}`);
    return parseCatalogFile(text, 'c.yaml', noVariables).models[0]?.routes.map(({ cost }) => cost);
  };

  test('has the form of a price', () => {
    const step = 'steps: [{ above: 9, inputUsdPerMTok: "0.2", cachedInputUsdPerMTok: "0.02" }]';
    expect(parse(`{ upstream: local, model: a, cost: { ${PRICE}, requestUsd: "0.001", ${step} } }`)).toEqual([
      {
        ...{ inputPicoUsd: '100000', cachedInputPicoUsd: '10000', outputPicoUsd: '400000', requestPicoUsd: '1000000000' },
        steps: [{ above: 9, reprices: 'whole', inputPicoUsd: '200000', cachedInputPicoUsd: '20000' }],
      },
    ]);
  });

  test.each([
    [
      [`{ upstream: local, model: a, cost: { ${PRICE}, outputUSD: "1" } }`],
      'c.yaml:13: models[0].routes[0].cost.outputUSD: is not a field',
    ],
    [[`{ upstream: local, model: a, cost: {} }`], 'c.yaml:13: models[0].routes[0].cost.inputUsdPerMTok: is missing (must be USD per'],
    [[`{ upstream: local, model: a, cost: 3 }`], 'c.yaml:13: models[0].routes[0].cost: must be a group of fields'],
    [
      [`{ upstream: local, model: a, cost: { ${PRICE}, tiers: [{ tier: a, ${PRICE} }, { tier: a, ${PRICE} }] } }`],
      'c.yaml:13: models[0].routes[0].cost.tiers[1].tier: "a" has prices already',
    ],
    [
      [`{ upstream: local, model: a, cost: { ${PRICE} } }`, '{ upstream: local, model: b }'],
      'c.yaml:14: models[0].routes[1].cost: must be that of routes[0], which has the same upstream',
    ],
  ])('%s is refused', (routes, fault) => {
    expect(() => parse(...routes)).toThrow(fault);
  });
});

test('given fields are taken unchanged', () => {
  const { upstreams, models } = parseCatalogFile(
    `
upstreams:
  - id: hosted
    kind: openai-chat
    enabled: false
    baseUrl: https://api.example.com/v1
    auth: { kind: oauth, tokenUrl: "https://login.example/token", clientId: us, clientSecret: { file: keys/hosted } }
    proxy: http://proxy.example.com:3128
    tls: { caFile: ca.pem, certFile: client.pem, keyFile: client.key }
    path: deployments/{model}/chat
    query: { api-version: "2024-10-21" }
    headers: { x-route: a, x-api-key: { env: UPSTREAM_KEY_APIM }, x-b: { file: b } }
    body: { anthropic_version: vertex-2023-10-16, model: null }
    connectionsMax: 32
    healthCheck: { path: /health }
    capabilities: { stop: false, maxTokensField: max_completion_tokens, hiddenReasoning: true, hiddenTokensFloor: 0,
      toolChoice: auto, temperature: false, topP: false, outputCap: false, instructions: true, cachedApart: false }
    timeouts: { idleMs: 5000, readOnMs: 60000 }
models:
  - id: org/big:free
    ownedBy: Org
    displayName: The Big One
    created: 1767225600
    enabled: false
    contextTokens: 4096
    maxOutputTokens: 1024
    defaultOutputTokens: 512
    input: [text, image]
    reasoning: true
    tokensPerImageMax: 85
    price: { inputUsdPerMTok: "0", cachedInputUsdPerMTok: "0", outputUsdPerMTok: "0.000001" }
    routes: [{ upstream: hosted, model: big, weight: 3, priority: 2, concurrencyMax: 8, capabilities: { temperature: false, hiddenReasoning: true } }]
`,
    'c.yaml',
    noVariables,
  );
  expect(upstreams[0]).toMatchObject({
    enabled: false,
    apiKeyEnv: null,
    apiKeyFile: null,
    auth: { kind: 'oauth', tokenUrl: 'https://login.example/token', clientId: 'us', clientSecret: { file: 'keys/hosted' } },
    proxy: 'http://proxy.example.com:3128',
    tls: { caFile: 'ca.pem', certFile: 'client.pem', keyFile: 'client.key' },
    path: 'deployments/{model}/chat',
    query: { 'api-version': '2024-10-21' },
    headers: { 'x-route': 'a', 'x-api-key': { env: 'UPSTREAM_KEY_APIM' }, 'x-b': { file: 'b' } },
    body: { anthropic_version: 'vertex-2023-10-16', model: null },
    connectionsMax: 32,
    healthCheck: { path: '/health', intervalMs: 5_000 },
    capabilities: {
      stop: false,
      maxTokensField: 'max_completion_tokens',
      hiddenReasoning: true,
      hiddenTokensFloor: 0,
      toolChoice: 'auto',
      temperature: false,
      topP: false,
      outputCap: false,
      instructions: true,
      cachedApart: false,
      streamOptions: true,
    },
    timeouts: { idleMs: 5_000, readOnMs: 60_000, connectMs: 5_000 },
  });
  expect(models[0]).toEqual({
    id: 'org/big:free',
    ownedBy: 'Org',
    displayName: 'The Big One',
    created: 1_767_225_600,
    enabled: false,
    contextTokens: 4_096,
    maxOutputTokens: 1_024,
    defaultOutputTokens: 512,
    input: ['text', 'image'],
    reasoning: true,
    tokensPerImageMax: 85,
    embeddingDimensions: null,
    unit: null,
    price: { inputPicoUsd: 0n, cachedInputPicoUsd: 0n, outputPicoUsd: 1n },
    routes: [
      {
        upstream: 'hosted',
        model: 'big',
        weight: 3,
        priority: 2,
        concurrencyMax: 8,
        capabilities: { temperature: false, hiddenReasoning: true },
        cost: null,
      },
    ],
  });
});

test('defaultOutputTokens is maxOutputTokens when that is less than 4,096', () => {
  const text = SMALLEST.replace('maxOutputTokens: 8192', 'maxOutputTokens: 256');
  expect(parseCatalogFile(text, 'c.yaml', noVariables).models[0]?.defaultOutputTokens).toBe(256);
});

test('a model for embeddings has dimensions instead of an output limit', () => {
  const text = SMALLEST.replace('maxOutputTokens: 8192', 'embeddingDimensions: 768');
  expect(parseCatalogFile(text, 'c.yaml', noVariables).models[0]).toMatchObject({ embeddingDimensions: 768, maxOutputTokens: 1 });
});

describe('faults', () => {
  const edited = (...edits: [string, string][]) => edits.reduce((text, [from, to]) => text.replace(from, to), SMALLEST);
  const listFaults = (text: string): string => {
    try {
      parseCatalogFile(text, 'c.yaml', noVariables);
    } catch (error) {
      if (error instanceof CatalogFileError) return error.message;
      throw error;
    }
    return 'accepted';
  };

  test.each<[what: string, text: string, message: string]>([
    [
      'a misspelt price',
      edited(['outputUsdPerMTok', 'outputUsdPerMtok']),
      'c.yaml:11: models[0].price.outputUsdPerMtok: is not a field of the catalog\n' +
        'c.yaml:11: models[0].price.outputUsdPerMTok: is missing (must be USD per million tokens in quotes with at most six decimals, such as "0.15")',
    ],
    [
      'a price that was a float',
      edited(['"0.60"', '0.60']),
      'c.yaml:11: models[0].price.outputUsdPerMTok: must be USD per million tokens in quotes with at most six decimals, such as "0.15"',
    ],
    [
      'a price with too many decimals',
      edited(['"0.60"', '"0.0000001"']),
      'c.yaml:11: models[0].price.outputUsdPerMTok: must be USD per million tokens in quotes with at most six decimals, such as "0.15"',
    ],
    [
      'an unknown field of a model',
      edited(['ownedBy: us', 'owner: us\n    ownedBy: us']),
      'c.yaml:8: models[0].owner: is not a field of the catalog',
    ],
    ['an unknown field at the top', `${SMALLEST}routes: []\n`, 'c.yaml:13: routes: is not a field of the catalog'],
    [
      'a missing field, on the line of its entry',
      edited(['    ownedBy: us\n', '']),
      'c.yaml:7: models[0].ownedBy: is missing (must be text of 1 to 200 characters)',
    ],
    [
      'a missing group of fields',
      edited(['    price: { inputUsdPerMTok: "0.15", cachedInputUsdPerMTok: "0.015", outputUsdPerMTok: "0.60" }\n', '']),
      'c.yaml:7: models[0].price: is missing (must be a group of fields)',
    ],
    [
      'a name that YAML takes for a number',
      edited(['model: Org/Small', 'model: 401']),
      'c.yaml:12: models[0].routes[0].model: must be text of 1 to 256 characters; put it in quotes',
    ],
    [
      'an id that YAML takes for a number, or for true',
      edited(['id: small', 'id: 1.5'], ['upstream: local', 'upstream: true']),
      'c.yaml:7: models[0].id: must be an id of 1 to 256 letters, digits and ._:/@- that begins with a letter or digit; put it in quotes\n' +
        'c.yaml:12: models[0].routes[0].upstream: must be an id of 1 to 64 letters, digits and ._:/@- that begins with a letter or digit; put it in quotes',
    ],
    [
      'an empty value is no default',
      edited(['contextTokens', 'enabled:\n    contextTokens']),
      'c.yaml:9: models[0].enabled: must be true or false',
    ],
    [
      'text where a number belongs',
      edited(['131072', '"131072"']),
      'c.yaml:9: models[0].contextTokens: must be a whole number from 1 to 2147483647',
    ],
    ['a fraction', edited(['8192', '8192.5']), 'c.yaml:10: models[0].maxOutputTokens: must be a whole number from 1 to 2147483647'],
    [
      'output beyond the context',
      edited(['8192', '131073']),
      'c.yaml:10: models[0].maxOutputTokens: must not be above contextTokens (131072)',
    ],
    [
      'a default beyond the maximum',
      edited(['maxOutputTokens: 8192', 'maxOutputTokens: 8192\n    defaultOutputTokens: 8193']),
      'c.yaml:11: models[0].defaultOutputTokens: must not be above maxOutputTokens (8192)',
    ],
    [
      'no output limit',
      edited(['    maxOutputTokens: 8192\n', '']),
      'c.yaml:7: models[0].maxOutputTokens: is missing (must be a whole number from 1 to 2147483647)',
    ],
    [
      'an output limit, images and a dialect without embeddings beside dimensions',
      edited(['kind: openai-chat', 'kind: gemini'], ['8192', '8192\n    embeddingDimensions: 768\n    input: [text, image]']),
      'c.yaml:10: models[0].maxOutputTokens: is for models that write; one for embeddings has no output\n' +
        'c.yaml:12: models[0].input: must be [text] for embeddings\n' +
        'c.yaml:14: models[0].routes[0].upstream: must be of kind openai-chat: the model is for embeddings',
    ],
    [
      'inputs without text',
      edited(['ownedBy: us', 'ownedBy: us\n    input: [image]']),
      'c.yaml:9: models[0].input: must be a list of text and image without repeats, with text in it',
    ],
    [
      'an unknown upstream',
      edited(['upstream: local', 'upstream: lcoal']),
      'c.yaml:12: models[0].routes[0].upstream: "lcoal" is not the id of an upstream',
    ],
    [
      'no route',
      edited(['[{ upstream: local, model: Org/Small }]', '[]']),
      'c.yaml:12: models[0].routes: must be a list of 1 to 100 entries',
    ],
    [
      'a health check without a path',
      edited(['kind: openai-chat', 'kind: openai-chat\n    healthCheck: { intervalMs: 5 }']),
      'c.yaml:5: upstreams[0].healthCheck.path: is missing (must be a path that begins with / such as /health)\n' +
        'c.yaml:5: upstreams[0].healthCheck.intervalMs: must be a whole number from 100 to 86400000',
    ],
    [
      'a health check at another host',
      edited(['kind: openai-chat', 'kind: openai-chat\n    healthCheck: { path: "http://other/" }']),
      'c.yaml:5: upstreams[0].healthCheck.path: must be a path that begins with / such as /health',
    ],
    ...[
      'http://user:secret@proxy.example.com',
      'proxy.example.com:3128',
      'http://proxy.example.com/path',
      'socks5://proxy.example.com',
      'on',
    ].map((proxy): [string, string, string] => [
      `the proxy ${proxy}`,
      edited(['kind: openai-chat', `kind: openai-chat\n    proxy: "${proxy}"`]),
      'c.yaml:5: upstreams[0].proxy: must be off, or a forward proxy without credentials such as http://proxy.example.com:3128',
    ]),
    [
      'a cap of nothing',
      edited(['Org/Small }', 'Org/Small, concurrencyMax: 0 }']),
      'c.yaml:12: models[0].routes[0].concurrencyMax: must be a whole number from 1 to 65535',
    ],
    [
      'a route twice',
      edited(['Org/Small }', 'Org/Small }, { upstream: local, model: Org/Small, weight: 2 }']),
      'c.yaml:12: models[0].routes[1]: repeats routes[0]; give that one more weight instead',
    ],
    [
      'a weight of nothing',
      edited(['Org/Small }', 'Org/Small, weight: 0 }']),
      'c.yaml:12: models[0].routes[0].weight: must be a whole number from 1 to 1000000',
    ],
    [
      'an id twice',
      `${SMALLEST}  - id: small\n    ownedBy: us\n    contextTokens: 1\n    maxOutputTokens: 1\n    price: { inputUsdPerMTok: "1", cachedInputUsdPerMTok: "1", outputUsdPerMTok: "1" }\n    routes: [{ upstream: local, model: x }]\n`,
      'c.yaml:13: models[1].id: "small" is already the id of models[0]',
    ],
    [
      'an id that would not survive a URL',
      edited(['id: small', 'id: small model']),
      'c.yaml:7: models[0].id: must be an id of 1 to 256 letters, digits and ._:/@- that begins with a letter or digit',
    ],
    ['an unknown kind', edited(['openai-chat', 'openai']), `c.yaml:4: upstreams[0].kind: must be ${UPSTREAM_KINDS.join(' or ')}`],
    [
      'a secret in place of its name, not repeated',
      edited(['kind:', 'apiKeyEnv: sk-secret\n    kind:']),
      'c.yaml:4: upstreams[0].apiKeyEnv: must be the name of an environment variable such as UPSTREAM_KEY_LOCAL, never the secret itself',
    ],
    ...['NATS_PASSWORD', 'KEY_PEPPER', 'OTEL_EXPORTER_OTLP_HEADERS', 'HOME', 'UPSTREAM_SECRETS_DIR', 'UPSTREAM_KEY_A_HOSTS'].map(
      (name): [string, string, string] => [
        `the variable ${name} as a key [sec-upstream-secret]`,
        edited(['kind:', `apiKeyEnv: ${name}\n    kind:`]),
        'c.yaml:4: upstreams[0].apiKeyEnv: must begin with UPSTREAM_KEY_ and not end with _HOSTS: rename the variable, here and for the inference-proxy',
      ],
    ),
    ...[
      '../../etc/passwd',
      '/etc/passwd',
      '.env',
      '-----BEGIN PRIVATE KEY-----',
      'a//b',
      'kubernetes.io/serviceaccount/token',
      'secrets/kubernetes.io/token',
      'key.hosts',
    ].map((name): [string, string, string] => [
      `the file ${name}, not repeated`,
      edited(['kind:', `apiKeyFile: ${JSON.stringify(name)}\n    kind:`]),
      "c.yaml:4: upstreams[0].apiKeyFile: must be the name of a file in the inference-proxy's UPSTREAM_SECRETS_DIR such as openai-key, never the secret itself",
    ]),
    [
      'two keys',
      edited(['kind:', 'apiKeyEnv: UPSTREAM_KEY_A\n    apiKeyFile: key\n    kind:']),
      'c.yaml:5: upstreams[0].apiKeyFile: cannot stand beside apiKeyEnv; an upstream has one key',
    ],
    [
      'a certificate without its key',
      edited(['kind:', 'tls: { certFile: client.pem }\n    kind:'], ['http://127', 'https://127']),
      'c.yaml:4: upstreams[0].tls: must have certFile and keyFile together',
    ],
    [
      'certificates without TLS',
      edited(['kind:', 'tls: { caFile: ca.pem }\n    kind:']),
      'c.yaml:4: upstreams[0].tls: is for a baseUrl that begins with https://',
    ],
    ...['ftp://h/v1', 'http://user:secret@h/v1', 'http://h/v1?key=secret', 'http://h/v1#x', '127.0.0.1:9100', 'http://h /v1'].map(
      (url): [string, string, string] => [
        `the base URL ${url}, not repeated`,
        edited(['http://127.0.0.1:9100/v1', JSON.stringify(url)]),
        'c.yaml:5: upstreams[0].baseUrl: must be an http:// or https:// URL without credentials, query or fragment',
      ],
    ),
    ...['chat/completions', 'completions', 'responses', 'messages'].map((endpoint): [string, string, string] => [
      `the URL of the endpoint /${endpoint}, not repeated`,
      edited(['http://127.0.0.1:9100/v1', `http://127.0.0.1:9100/v1/${endpoint}/`]),
      `c.yaml:5: upstreams[0].baseUrl: must end before /${endpoint}, as in https://api.example.com/v1: the rest is added to it`,
    ]),
    [
      'an unknown capability',
      edited(['kind:', 'capabilities: { stops: true }\n    kind:']),
      'c.yaml:4: upstreams[0].capabilities.stops: is not a field of the catalog',
    ],
    [
      'a capability of a route that is none',
      edited(['model: Org/Small', 'model: Org/Small, capabilities: { stops: true, seed: "no" }']),
      'c.yaml:12: models[0].routes[0].capabilities.stops: is not a field of the catalog\n' +
        'c.yaml:12: models[0].routes[0].capabilities.seed: must be true or false',
    ],
    [
      'a secret in a header',
      edited(['kind:', 'headers: { x-api-key: sk-secret }\n    kind:']),
      'c.yaml:4: upstreams[0].headers: must have { env: UPSTREAM_KEY_… } or { file: … } for x-api-key: the catalog holds no secrets',
    ],
    [
      'a secret in auth',
      edited(['kind:', 'auth: { kind: header, name: api-key, secret: sk-secret }\n    kind:']),
      'c.yaml:4: upstreams[0].auth: must have { env: UPSTREAM_KEY_… } or { file: … } (never the secret itself) in secret',
    ],
    [
      'a key beside auth',
      edited(['kind:', 'apiKeyEnv: UPSTREAM_KEY_A\n    auth: { kind: google-metadata }\n    kind:']),
      'c.yaml:5: upstreams[0].auth: cannot stand beside apiKeyEnv or apiKeyFile; an upstream has one key',
    ],
    [
      'a header that auth sets',
      edited(['kind:', 'headers: { Api-Key: { file: a } }\n    auth: { kind: header, name: api-key, secret: { file: a } }\n    kind:']),
      'c.yaml:4: upstreams[0].headers: must not have api-key: auth sets it',
    ],
    [
      'a field of the body that Tollgate sets',
      edited(['kind:', 'body: { max_tokens: 9 }\n    kind:']),
      'c.yaml:4: upstreams[0].body: must not have max_tokens: Tollgate sets it',
    ],
    [
      'a reference to a variable in a header',
      edited(['kind:', 'headers: { x-route: "${UPSTREAM_ROUTE}" }\n    kind:']),
      'c.yaml:4: upstreams[0].headers.x-route: cannot refer to the environment; only baseUrl can',
    ],
    [
      'a query that is no group',
      edited(['kind:', 'query: api-version=1\n    kind:']),
      'c.yaml:4: upstreams[0].query: must be a group of 1 to 20 query parameters, such as api-version: "2024-10-21"',
    ],
    [
      'a path that leads out of the URL',
      edited(['kind:', 'path: ../admin\n    kind:']),
      'c.yaml:4: upstreams[0].path: must not have . or .. between slashes',
    ],
    [
      'a model whose name leads out of the path',
      edited(['kind:', 'path: "models/{model}"\n    kind:'], ['Org/Small', '"../admin"']),
      'c.yaml:13: models[0].routes[0].model: would lead out of the path of "local"',
    ],
    [
      'a tool choice that is none of them',
      edited(['kind:', 'capabilities: { toolChoice: required }\n    kind:']),
      'c.yaml:4: upstreams[0].capabilities.toolChoice: must be forced or none or auto',
    ],
    [
      'a lifetime of caches that no upstream has',
      edited(['kind:', 'capabilities: { promptCache: 2h }\n    kind:']),
      'c.yaml:4: upstreams[0].capabilities.promptCache: must be off or 5m or 1h',
    ],
    [
      'a cache key of another dialect',
      edited(['kind:', 'capabilities: { cacheKey: text }\n    kind:']),
      'c.yaml:4: upstreams[0].capabilities.cacheKey: must be prompt_cache_key, cache_salt or none for openai-chat',
    ],
    [
      'markers for another dialect',
      edited(['kind:', 'capabilities: { promptCache: off }\n    kind:']),
      'c.yaml:4: upstreams[0].capabilities.promptCache: is for dialects with markers; openai-chat caches by itself',
    ],
    [
      'a cache key of another dialect on a route',
      edited(['[{ upstream: local, model: Org/Small }]', '[{ upstream: local, model: Org/Small, capabilities: { cacheKey: text } }]']),
      'c.yaml:12: models[0].routes[0].capabilities.cacheKey: must be prompt_cache_key, cache_salt or none for openai-chat',
    ],
    [
      'a list where fields belong',
      edited(['kind:', 'timeouts: []\n    kind:']),
      'c.yaml:4: upstreams[0].timeouts: must be a group of fields',
    ],
    [
      'text where an entry belongs',
      edited(['[{ upstream: local, model: Org/Small }]', '[local]']),
      'c.yaml:12: models[0].routes[0]: must be a group of fields',
    ],
    [
      'fields where a list belongs',
      edited(['[{ upstream: local, model: Org/Small }]', '{ upstream: local }']),
      'c.yaml:12: models[0].routes: must be a list of 1 to 100 entries',
    ],
    ['only models', 'models: []\n', 'c.yaml:1: upstreams: is missing (must be a list of 0 to 200 entries)'],
    ['nothing at all', '# later\n', 'c.yaml:1: must have the fields upstreams and models'],
    ['a list', '- 1\n', 'c.yaml:1: must have the fields upstreams and models'],
    ['a key twice', edited(['ownedBy: us', 'ownedBy: us\n    ownedBy: them']), 'c.yaml:9: not valid YAML: Map keys must be unique'],
    [
      'broken YAML',
      'upstreams: [\n',
      'c.yaml:2: not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    ['two documents', `${SMALLEST}---\na: 1\n`, 'c.yaml:13: must be one document, without a second --- part'],
    ['an unknown tag', edited(['id: small', 'id: !secret small']), 'c.yaml:7: not valid YAML: Unresolved tag: !secret'],
    [
      'a reference to the environment elsewhere',
      edited(['Org/Small', '"${UPSTREAM_MODEL}"']),
      'c.yaml:12: models[0].routes[0].model: cannot refer to the environment; only baseUrl can',
    ],
    [
      'a reference to any other variable',
      edited(['http://127.0.0.1:9100/v1', 'http://${DATABASE_URL}/v1']),
      'c.yaml:5: upstreams[0].baseUrl: may only use variables whose names begin with UPSTREAM_, and not with UPSTREAM_KEY_, as in ${UPSTREAM_LOCAL_URL:-http://127.0.0.1:9100/v1}',
    ],
    [
      'a variable that is not set',
      edited(['http://127.0.0.1:9100/v1', '${UPSTREAM_GPU_URL}']),
      'c.yaml:5: upstreams[0].baseUrl: needs the environment variable UPSTREAM_GPU_URL, which is not set and has no default here',
    ],
    [
      'several faults, all at once and in order',
      edited(['openai-chat', 'x'], ['131072', '0'], ['upstream: local', 'upstream: gone'], ['"0.15"', '-1']),
      `c.yaml:4: upstreams[0].kind: must be ${UPSTREAM_KINDS.join(' or ')}\n` +
        'c.yaml:9: models[0].contextTokens: must be a whole number from 1 to 2147483647\n' +
        'c.yaml:10: models[0].maxOutputTokens: must not be above contextTokens (0)\n' +
        'c.yaml:11: models[0].price.inputUsdPerMTok: must be USD per million tokens in quotes with at most six decimals, such as "0.15"\n' +
        'c.yaml:12: models[0].routes[0].upstream: "gone" is not the id of an upstream',
    ],
  ])('%s', (_, text, message) => {
    expect(listFaults(text)).toBe(message);
  });

  test.each([
    ['an alias inside its own anchor', 'upstreams: &a [*a]\nmodels: []\n', 'c.yaml:1: the alias *a is inside its own anchor'],
    ['an alias without an anchor', 'upstreams: []\nmodels: *later\n', 'c.yaml:2: the alias *later has no anchor before it'],
    ['an alias before its anchor', 'upstreams: *later\nmodels: &later []\n', 'c.yaml:1: the alias *later has no anchor before it'],
    ['a field whose name is a list', 'upstreams: []\n? [models]\n: []\n', 'c.yaml:2: has a field whose name is no plain text'],
    ['more lists in lists than a catalog has', `upstreams: ${'['.repeat(40)}${']'.repeat(40)}\n`, 'c.yaml:1: is nested too deeply'],
    ['more lists in lists than can be parsed', '['.repeat(100_000), 'c.yaml:1: not valid YAML: nested too deeply'],
  ])('%s', (_, text, message) => {
    expect(listFaults(text)).toBe(message);
  });

  test('of many faults the first hundred are listed', () => {
    const lines = listFaults(`upstreams: []\nmodels:\n${'  - 1\n'.repeat(500)}`).split('\n');
    expect(lines).toHaveLength(101);
    expect([lines[0], lines[99], lines[100]]).toEqual([
      'c.yaml:3: models[0]: must be a group of fields',
      'c.yaml:102: models[99]: must be a group of fields',
      'and 400 more',
    ]);
  });

  test('a syntax error does not repeat the text at fault', () => {
    expect(listFaults('upstreams: []\n]sk-secret\n')).not.toContain('sk-secret');
    expect(listFaults('upstreams: >sk-secret\n')).toBe('c.yaml:1: not valid YAML: Block scalar header includes extra characters');
  });

  test('an alias may be used as often as a catalog has models', () => {
    const [head = '', model = ''] = SMALLEST.replace('price: {', 'price: &price {').split(/(?=^ {2}- id: small)/m);
    const others = Array.from({ length: 500 }, (_, number) => model.replace('small', `m${number}`).replace(/price: .*/, 'price: *price'));
    expect(parseCatalogFile(head + model + others.join(''), 'c.yaml', noVariables).models).toHaveLength(501);
  });

  test('a fault behind an alias has the line of its anchor', () => {
    const second = `  - id: second
    ownedBy: us
    contextTokens: 1
    maxOutputTokens: 1
    price: { inputUsdPerMTok: "1", cachedInputUsdPerMTok: "1", outputUsdPerMTok: "1" }
    routes: *routes
`;
    const text = edited(['[{ upstream: local, model: Org/Small }]', '&routes [{ upstream: local, model: Org/Small, wait: 1 }]']) + second;
    expect(listFaults(text)).toBe(
      'c.yaml:12: models[0].routes[0].wait: is not a field of the catalog\n' +
        'c.yaml:12: models[1].routes[0].wait: is not a field of the catalog',
    );
  });
});

describe('substitution in baseUrl', () => {
  const baseUrl = (text: string, variables: Record<string, string>) =>
    parseCatalogFile(SMALLEST.replace('http://127.0.0.1:9100/v1', text), 'c.yaml', (name) => variables[name]).upstreams[0]?.baseUrl;

  test.each([
    ['${UPSTREAM_LOCAL_URL:-http://127.0.0.1:9100/v1}', {}, 'http://127.0.0.1:9100/v1'],
    ['${UPSTREAM_LOCAL_URL:-http://127.0.0.1:9100/v1}', { UPSTREAM_LOCAL_URL: 'http://sim:9100/v1' }, 'http://sim:9100/v1'],
    ['${UPSTREAM_LOCAL_URL:-http://127.0.0.1:9100/v1}', { UPSTREAM_LOCAL_URL: '' }, 'http://127.0.0.1:9100/v1'],
    ['http://${UPSTREAM_HOST}:${UPSTREAM_PORT:-80}/v1', { UPSTREAM_HOST: 'gpu' }, 'http://gpu:80/v1'],
  ])('%s with %j is %s', (text, variables, expected) => {
    expect(baseUrl(text, variables)).toBe(expected);
  });

  test('a substituted value must satisfy the rule of the field', () => {
    expect(() => baseUrl('${UPSTREAM_LOCAL_URL}', { UPSTREAM_LOCAL_URL: 'http://user:secret@h/v1' })).toThrow(
      'c.yaml:5: upstreams[0].baseUrl: must be an http:// or https:// URL without credentials, query or fragment',
    );
  });
});

test('the entries of upstreams in docs/upstreams.md are valid', () => {
  const page = readFileSync(new URL('../../../../docs/upstreams.md', import.meta.url), 'utf8');
  const entries = [...page.matchAll(/```yaml\n( {2}- id: [\s\S]*?)```/g)].map(([, entry]) => entry);
  const { upstreams } = parseCatalogFile(`upstreams:\n${entries.join('')}models: []\n`, 'upstreams.md', noVariables);
  expect(upstreams.map(({ id, kind }) => [id, kind])).toEqual([
    ['azure', 'openai-chat'],
    ['google', 'gemini'],
    ['bedrock', 'bedrock-converse'],
  ]);
});

test('the model for embeddings in docs/upstreams.md is valid', () => {
  const page = readFileSync(new URL('../../../../docs/upstreams.md', import.meta.url), 'utf8');
  const entries = page.match(/(?<=```yaml\n)models:\n[^`]*embeddingDimensions[^`]*/)?.[0] ?? '';
  const upstream = '{ id: openai, kind: openai-chat, baseUrl: "https://api.openai.com/v1" }';
  expect(parseCatalogFile(`upstreams: [${upstream}]\n${entries}`, 'upstreams.md', noVariables).models).toMatchObject([
    { id: 'text-embedding-3-small', embeddingDimensions: 1_536 },
  ]);
});

test('the catalog of the repository is valid and offers the simulated models', () => {
  const text = readFileSync(new URL('../../../../config/catalog.yaml', import.meta.url), 'utf8');
  const { upstreams, models } = parseCatalogFile(text, 'config/catalog.yaml', noVariables);
  expect(upstreams.map(({ id, baseUrl, allowPrivateNetwork }) => ({ id, baseUrl, allowPrivateNetwork }))).toEqual([
    { id: 'local', baseUrl: 'http://127.0.0.1:9100/v1', allowPrivateNetwork: true },
    { id: 'standby', baseUrl: 'http://127.0.0.1:9100/v1', allowPrivateNetwork: true },
  ]);
  expect(
    models
      .filter(({ unit }) => unit === null)
      .map(({ id, contextTokens, maxOutputTokens, input, reasoning }) => ({ id, contextTokens, maxOutputTokens, input, reasoning })),
  ).toEqual([
    { id: 'sim-fast', contextTokens: 131_072, maxOutputTokens: 8_192, input: ['text'], reasoning: false },
    { id: 'sim-reason', contextTokens: 131_072, maxOutputTokens: 32_768, input: ['text'], reasoning: true },
    { id: 'sim-vision', contextTokens: 131_072, maxOutputTokens: 8_192, input: ['text', 'image'], reasoning: false },
    { id: 'sim-tiny', contextTokens: 2_048, maxOutputTokens: 256, input: ['text'], reasoning: false },
    { id: 'sim-embed', contextTokens: 8_192, maxOutputTokens: 1, input: ['text'], reasoning: false },
  ]);
  expect(models[0]?.price).toEqual({ inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n });
});

describe('price plans', () => {
  const parse = (plans: string) => parseCatalogFile(`${SMALLEST}pricePlans:\n${plans}`, 'c.yaml', noVariables).pricePlans;
  const price = '{ inputUsdPerMTok: "0.1", cachedInputUsdPerMTok: "0", outputUsdPerMTok: "0.5" }';

  test('have a discount, with or without quotes, and prices of single models', () => {
    expect(
      parse(`  - { id: partner, discountPercent: "12.50" }
  - { id: reseller/eu, discountPercent: 7.05, models: [{ id: small, price: ${price} }] }
  - { id: same }
`),
    ).toEqual([
      { id: 'partner', enabled: true, discountPercent: '12.5', models: [] },
      {
        id: 'reseller/eu',
        enabled: true,
        discountPercent: '7.05',
        models: [{ id: 'small', price: { inputPicoUsd: '100000', cachedInputPicoUsd: '0', outputPicoUsd: '500000' } }],
      },
      { id: 'same', enabled: true, discountPercent: '0', models: [] },
    ]);
  });

  test.each([
    ['{ id: p, discountPercent: 12.345 }', 'pricePlans[0].discountPercent: must be a percentage from 0 to 100'],
    ['{ id: p, discountPercent: 100.01 }', 'pricePlans[0].discountPercent: must be a percentage from 0 to 100'],
    ['{ id: p, discountPercent: -1 }', 'pricePlans[0].discountPercent: must be a percentage from 0 to 100'],
    ['{ id: p, discount: 10 }', 'pricePlans[0].discount: is not a field of the catalog'],
    ['{ id: p, models: [{ id: smal, price: PRICE }] }', 'pricePlans[0].models[0].id: "smal" is not the id of a model'],
    [
      '{ id: p, models: [{ id: small, price: PRICE }, { id: small, price: PRICE }] }',
      'pricePlans[0].models[1].id: "small" is already the id of models[0]',
    ],
    ['{ id: p, models: [{ id: small, price: {} }] }', 'pricePlans[0].models[0].price.inputUsdPerMTok: is missing'],
    ['{ id: p }\n  - { id: p }', 'pricePlans[1].id: "p" is already the id of pricePlans[0]'],
  ])('%s is refused', (plan, message) => {
    expect(() => parse(`  - ${plan.replaceAll('PRICE', price)}\n`)).toThrow(message);
  });
});

test('the items of services are stored as models with a unit, and their services with ceilings', () => {
  const service = `services:
  - id: crawler
    holdMaxUsd: "1"
    openHoldsMax: 5
    items: [{ id: page, unitUsd: "0.002" }, { id: image, unit: picture, displayName: Pictures, enabled: false, unitUsd: "0" }]
`;
  const { models, services } = parseCatalogFile(`upstreams: []\nmodels: []\n${service}`, 'c.yaml', noVariables);
  expect(services).toEqual([{ id: 'crawler', enabled: true, holdMaxPicoUsd: '1000000000000', dayMaxPicoUsd: null, openHoldsMax: 5 }]);
  expect(
    models.map(({ id, ownedBy, displayName, unit, enabled, price, routes }) => ({
      id,
      ownedBy,
      displayName,
      unit,
      enabled,
      price,
      routes,
    })),
  ).toEqual([
    {
      ...{ id: 'crawler/page', ownedBy: 'crawler', displayName: null, unit: 'page', enabled: true, routes: [] },
      price: { inputPicoUsd: 0n, cachedInputPicoUsd: 0n, outputPicoUsd: 0n, requestPicoUsd: 2_000_000_000n },
    },
    {
      ...{ id: 'crawler/image', ownedBy: 'crawler', displayName: 'Pictures', unit: 'picture', enabled: false, routes: [] },
      price: { inputPicoUsd: 0n, cachedInputPicoUsd: 0n, outputPicoUsd: 0n },
    },
  ]);
});

test.each([
  ['id: gateway', 'services[0].id: is the name of a part of Tollgate'],
  ['id: Crawler', 'services[0].id: must be 1 to 32 lower-case letters, digits and hyphens that begin with a letter'],
  ['id: a.b', 'services[0].id: must be 1 to 32 lower-case letters, digits and hyphens that begin with a letter'],
])('a service with the %s is refused', (id, fault) => {
  const text = `upstreams: []\nmodels: []\nservices:\n  - ${id}\n    items: [{ id: page, unitUsd: "1" }]\n`;
  expect(() => parseCatalogFile(text, 'c.yaml', noVariables)).toThrow(fault);
});

import type { RpcException } from '@nestjs/microservices';
import { type EstimateRequest, requestEstimate } from '#contracts/gateway.js';
import { ServiceError } from '#contracts/service-error.js';
import type { CallContext } from '#messaging/messaging.js';
import { createLogger } from '#observability/logger.js';
import { FakeServices, TEST_MODEL } from '#testing/fake-services.js';
import { startTestGateway } from '../test/test-gateway.js';
import { CatalogClient } from './clients/catalog.js';
import { EstimateController } from './estimate.controller.js';
import { BodyParser } from './http/bodies/body-parser.js';

const CONTEXT = { subject: requestEstimate.subject, signal: new AbortController().signal } as CallContext;

const NOT_ASKED = undefined as never;

async function estimate(fakes: FakeServices, request: EstimateRequest, billing = NOT_ASKED, keys = NOT_ASKED) {
  const catalog = new CatalogClient(fakes.messaging, createLogger('test', 'silent'), 60_000);
  await catalog.refresh();
  const noThread = undefined as never; // small bodies need none
  return new EstimateController(catalog, new BodyParser(noThread), billing, keys).estimate(request, CONTEXT);
}

const TURNS = [{ role: 'user', content: 'Twelve bytes' }];

test.each<[EstimateRequest['protocol'], path: string, body: object]>([
  ['chat', '/v1/chat/completions', { messages: TURNS }],
  ['responses', '/v1/responses', { input: TURNS, max_output_tokens: 20 }],
  ['messages', '/v1/messages', { messages: TURNS, max_tokens: 20, stream: true }],
])('the estimate of a body of %s is what its request then holds', async (protocol, path, fields) => {
  const gateway = await startTestGateway();
  const body = { model: 'test-model', ...fields };
  await (await gateway.post(path, { body })).text();
  await gateway.close();
  const { fakes } = gateway;
  const { ticket } = fakes.opened[0] ?? {};
  expect(await estimate(fakes, { protocol, body: JSON.stringify(body) })).toEqual({
    model: 'test-model',
    price: fakes.reserves[0]?.price,
    promptTokensMax: 12,
    promptTokensEstimate: ticket?.promptTokensEstimate,
    outputTokensMax: ticket?.outputTokensMax,
    heldPicoUsd: fakes.reserves[0]?.amountPicoUsd,
  });
});

test('the estimate of a body for embeddings', async () => {
  const fakes = new FakeServices();
  fakes.models.push({ ...TEST_MODEL, id: 'embedder', embeddingDimensions: 2 });
  const body = JSON.stringify({ model: 'embedder', input: ['Twelve bytes', [1, 2, 3]] });
  expect(await estimate(fakes, { protocol: 'embeddings', body })).toMatchObject({
    ...{ promptTokensMax: 19, promptTokensEstimate: 6, outputTokensMax: 0, heldPicoUsd: String(19 * 150_000) },
  });
});

test.each<[string, body: string, code: string, param: string | undefined]>([
  ['that is no JSON', '{', 'invalid_json', undefined],
  ['with a field that is wrong', '{"model":"test-model","messages":[],"temperature":9}', 'invalid_request', 'temperature'],
  ['for an unknown model', JSON.stringify({ model: 'none', messages: TURNS }), 'model_not_found', 'model'],
])('a body %s gets the error of its request', async (_, body, code, param) => {
  // Nest's own error has the one that the caller gets.
  const refused = await estimate(new FakeServices(), { protocol: 'chat', body }).catch((error: RpcException) => error.getError());
  expect(refused).toBeInstanceOf(ServiceError);
  expect(refused).toMatchObject({ code, param });
});

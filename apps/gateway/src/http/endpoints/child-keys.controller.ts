import type { ServerResponse } from 'node:http';
import { Controller, Param, Post, Req, Res, UseGuards } from '@nestjs/common';
import { mintChild, WiderChildError } from '#contracts/child-keys/narrow-child.js';
import { CHILD_PATH, isBelowChild } from '#contracts/rules/child-path.js';
import { GatewayError } from '#inference/errors.js';
import { OwnKeys } from '../../clients/own-keys.js';
import { invalidField } from '../../protocols/body-fields/body-fields.js';
import { parseJson } from '../bodies/parse-json.js';
import { BodyReader } from '../bodies/read-body.js';
import { type GatewayRequest, requireCaller } from '../http-exchange.js';
import { ApiKeyGuard } from '../limits/api-key.guard.js';
import { writeJson } from '../replies/write-reply.js';
import { ROUTES } from '../routes.js';
import { parseChildKeyBody } from './child-key-body.js';
import { renderMinted, renderRevoked } from './render-child-key.js';

const BODY_BYTES_MAX = 64 * 1024;
/** Fields of the body by those of a child key. */
const PARAMS = { limitPicoUsd: 'budget_usd', seconds: 'expires_in', models: 'models', networks: 'networks', tags: 'tags' } as const;

/**
 * Make child keys with a key or a child key as the bearer, and end them. Free of charge. Making one asks no other service: it is a signed text,
 * and nothing of it is stored.
 */
@Controller()
@UseGuards(ApiKeyGuard)
export class ChildKeysController {
  constructor(
    private readonly keys: OwnKeys,
    private readonly bodies: BodyReader,
  ) {}

  @Post(ROUTES.childKeys.path)
  async mint(@Req() request: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    try {
      const { keyId, parent } = requireCaller(request.exchange);
      const bytes = await this.bodies.read(request, response);
      if (bytes.length > BODY_BYTES_MAX)
        throw new GatewayError('request_too_large', `The request body has ${bytes.length} bytes, more than ${BODY_BYTES_MAX}.`);
      const wanted = parseChildKeyBody(parseJson(bytes));
      if (!parent) throw mayNotDelegate();
      const { key, levels } = narrowed(() => mintChild(parent, wanted));
      writeJson(request.exchange, response, JSON.stringify(renderMinted(keyId, key, levels)));
    } finally {
      this.bodies.release(request);
    }
  }

  @Post(ROUTES.childKeyRevoke.path)
  async revoke(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse, @Param('id') id: string): Promise<void> {
    const { keyId, child } = requireCaller(exchange);
    // A child key may end itself and those below it. Others of its key it does not know.
    if (!CHILD_PATH.test(id) || (child && !isBelowChild(id, child.path))) throw noSuchChild();
    await this.keys.revokeChild({ keyId, childId: id });
    writeJson(exchange, response, JSON.stringify(renderRevoked(id)));
  }
}

function narrowed<Minted>(mint: () => Minted): Minted {
  try {
    return mint();
  } catch (error) {
    if (!(error instanceof WiderChildError)) throw error;
    if (error.field === 'depth') throw new GatewayError('invalid_request', `The ${error.message}.`, { cause: error });
    throw invalidField(PARAMS[error.field], error.fault);
  }
}

function mayNotDelegate(): GatewayError {
  const message = 'This key may have no child keys. Ask the operator for a budget of child keys of the key, its project or account.';
  return new GatewayError('invalid_request', message, { status: 403, type: 'permission_error' });
}

function noSuchChild(): GatewayError {
  return new GatewayError('invalid_request', 'This key has no such child key.', { status: 404, type: 'not_found_error' });
}

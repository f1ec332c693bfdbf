import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import { IdPipe } from '../http/id.pipe.js';
import { requestAuthor } from '../http/request-author.js';
import { Handles } from '../http/route.decorator.js';
import { Tokens } from '../identity/tokens.js';
import { ScopedPageQuery } from '../requests/page.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { type CreatedToken, type Token, TokenCreateRequest, type TokenListReply } from '../shapes/identity.js';
import { permittedAccounts } from './members.controller.js';

/** Credentials of programs. */
@Controller()
export class TokensController {
  constructor(private readonly tokens: Tokens) {}

  @Handles('listTokens')
  list(@Req() request: PanelRequest, @Query() query: ScopedPageQuery): Promise<TokenListReply> {
    return this.tokens.list(permittedAccounts(requireCaller(request).access, 'tokens', query.accountId), query);
  }

  @Handles('createToken')
  create(@Req() request: PanelRequest, @Body() body: TokenCreateRequest): Promise<CreatedToken> {
    const caller = requireCaller(request);
    caller.access.require('tokens', body.accountId ?? null);
    return this.tokens.create(body, caller, requestAuthor(request));
  }

  @Handles('revokeToken')
  revoke(@Req() request: PanelRequest, @Param('tokenId', IdPipe) tokenId: string): Promise<Token> {
    const { access } = requireCaller(request);
    return this.tokens.revoke(tokenId, (accountId) => access.require('tokens', accountId), requestAuthor(request));
  }
}

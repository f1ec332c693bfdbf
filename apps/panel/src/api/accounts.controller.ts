import { Controller, Req } from '@nestjs/common';
import {
  AccountCreateRequest,
  AccountUpdateRequest,
  accountCreate,
  accountList,
  accountUpdate,
  ListRequest,
} from '#contracts/billing/accounts.js';
import { Handles, Input } from '../http/route.decorator.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { Services } from '../services/services.js';
import type { AccountListReply, ShownAccount } from '../shapes/billing.js';
import { visibleAccount } from './visible-money.js';

@Controller()
export class AccountsController {
  constructor(private readonly services: Services) {}

  /** Platform roles see all accounts in pages, others the few that they belong to. */
  @Handles('listAccounts')
  async list(@Req() request: PanelRequest, @Input(ListRequest) query: ListRequest): Promise<AccountListReply> {
    const { access } = requireCaller(request);
    const ids = access.accountsWith('usage.read');
    const replies = await Promise.all(
      ids === 'all' ? [this.services.ask(accountList, query)] : ids.map((accountId) => this.services.ask(accountList, { accountId })),
    );
    const accounts = replies.flatMap((reply) => reply.accounts.map((account) => visibleAccount(access, account)));
    return { accounts, nextCursor: (ids === 'all' && replies[0]?.nextCursor) || null };
  }

  @Handles('createAccount')
  async create(@Req() request: PanelRequest, @Input(AccountCreateRequest) message: AccountCreateRequest): Promise<ShownAccount> {
    return visibleAccount(requireCaller(request).access, await this.services.change(request, accountCreate, message));
  }

  @Handles('updateAccount')
  async update(@Req() request: PanelRequest, @Input(AccountUpdateRequest) message: AccountUpdateRequest): Promise<ShownAccount> {
    return visibleAccount(requireCaller(request).access, await this.services.change(request, accountUpdate, message));
  }
}

import { Controller, Req } from '@nestjs/common';
import {
  AccountCreateRequest,
  AccountUpdateRequest,
  accountCreate,
  accountList,
  accountUpdate,
  ListRequest,
} from '#contracts/billing/accounts.js';
import { Handles } from '../http/handles.decorator.js';
import { callerOf, type PanelRequest } from '../http/panel-request.js';
import { Services } from '../services/services.js';
import { Input } from './input.decorator.js';
import type { Account, AccountListReply } from './shapes/accounts.js';

@Controller()
export class AccountsController {
  constructor(private readonly services: Services) {}

  /** Platform roles see all accounts in pages, others the few that they belong to. */
  @Handles('listAccounts')
  async list(@Req() request: PanelRequest, @Input(ListRequest) query: ListRequest): Promise<AccountListReply> {
    const ids = callerOf(request).access.accountsWith('usage.read');
    if (ids === 'all') return this.services.ask(accountList, query);
    const replies = await Promise.all(ids.map((accountId) => this.services.ask(accountList, { accountId })));
    return { accounts: replies.flatMap(({ accounts }) => accounts), nextCursor: null };
  }

  @Handles('createAccount')
  create(@Req() request: PanelRequest, @Input(AccountCreateRequest) message: AccountCreateRequest): Promise<Account> {
    return this.services.change(request, accountCreate, message);
  }

  @Handles('updateAccount')
  update(@Req() request: PanelRequest, @Input(AccountUpdateRequest) message: AccountUpdateRequest): Promise<Account> {
    return this.services.change(request, accountUpdate, message);
  }
}

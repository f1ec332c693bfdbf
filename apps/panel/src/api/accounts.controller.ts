import { Controller, Req } from '@nestjs/common';
import {
  AccountCreateRequest,
  AccountUpdateRequest,
  accountCreate,
  accountList,
  accountUpdate,
  ListRequest,
} from '#contracts/billing/accounts.js';
import { Id, Usd } from '#contracts/billing/fields.js';
import { Handles, Input } from '../http/route.decorator.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { Services } from '../services/services.js';
import type { AccountListReply, ProjectPlace, ShownAccount } from '../shapes/billing.js';
import { readProjects } from './owned.js';
import { visibleAccount } from './visible-money.js';

/** Only the threshold: people of an account change nothing else of it. */
class LowBalanceRequest {
  @Id() accountId!: string;
  /** Dollars as a decimal string. `"0"` removes the threshold. */
  @Usd() lowBalanceUsd!: string;
}

@Controller()
export class AccountsController {
  constructor(private readonly services: Services) {}

  /** Platform roles see all accounts in pages, others the few that they belong to. Roles of a project show the project alone. */
  @Handles('listAccounts')
  async list(@Req() request: PanelRequest, @Input(ListRequest) query: ListRequest): Promise<AccountListReply> {
    const { access } = requireCaller(request);
    const ids = access.accountsWith('usage.read');
    const replies = await Promise.all(
      ids === 'all' ? [this.services.ask(accountList, query)] : ids.map((accountId) => this.services.ask(accountList, { accountId })),
    );
    const accounts = replies.flatMap((reply) => reply.accounts.map((account) => visibleAccount(access, account)));
    const projects = await this.listPlaces(access.projectsWith('usage.read'));
    return { accounts, projects, nextCursor: (ids === 'all' && replies[0]?.nextCursor) || null };
  }

  private async listPlaces(own: readonly { accountId: string; projectId: string }[]): Promise<ProjectPlace[]> {
    const ids = [...new Set(own.map(({ accountId }) => accountId))];
    const [projects, ...replies] = await Promise.all([
      readProjects(this.services, own),
      ...ids.map((accountId) => this.services.ask(accountList, { accountId })),
    ]);
    const names = new Map(replies.flatMap(({ accounts }) => accounts.map(({ accountId, name }) => [accountId, name])));
    return projects.map(({ projectId, name, accountId }) => ({ projectId, name, accountId, accountName: names.get(accountId) ?? '' }));
  }

  @Handles('createAccount')
  async create(@Req() request: PanelRequest, @Input(AccountCreateRequest) message: AccountCreateRequest): Promise<ShownAccount> {
    return visibleAccount(requireCaller(request).access, await this.services.change(request, accountCreate, message));
  }

  @Handles('updateAccount')
  async update(@Req() request: PanelRequest, @Input(AccountUpdateRequest) message: AccountUpdateRequest): Promise<ShownAccount> {
    return visibleAccount(requireCaller(request).access, await this.services.change(request, accountUpdate, message));
  }

  @Handles('setLowBalance')
  async setLowBalance(@Req() request: PanelRequest, @Input(LowBalanceRequest) message: LowBalanceRequest): Promise<ShownAccount> {
    return visibleAccount(requireCaller(request).access, await this.services.change(request, accountUpdate, message));
  }
}

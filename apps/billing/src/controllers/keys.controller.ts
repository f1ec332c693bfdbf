import { Controller, Inject } from '@nestjs/common';
import {
  type ChildKeyListReply,
  ChildKeyListRequest,
  ChildKeyMintRequest,
  ChildKeyResolveRequest,
  ChildKeyRevokeRequest,
  childKeyList,
  childKeyMint,
  childKeyResolve,
  childKeyRevoke,
  type MintedChildKey,
  type RevokedChildKeys,
} from '#contracts/billing/child-keys.js';
import { keyChanged, keyRevoked } from '#contracts/billing/events.js';
import {
  type ApiKey,
  type CreatedKey,
  KeyCreateRequest,
  KeyFindRequest,
  KeyListRequest,
  KeyResolveRequest,
  KeyRevokeRequest,
  KeyRotateRequest,
  KeyUpdateRequest,
  keyCreate,
  keyFind,
  keyList,
  keyResolve,
  keyRevoke,
  keyRotate,
  keyUpdate,
  type RotatedKey,
} from '#contracts/billing/keys.js';
import {
  OwnKeyRequestRequest,
  OwnKeyShowRequest,
  OwnKeyUsageRequest,
  ownKeyRequest,
  ownKeyShow,
  ownKeyUsage,
} from '#contracts/billing/own-key.js';
import { type QuoteKeyReply, type QuoteKeyRequest, quoteKey } from '#contracts/billing/quotes.js';
import { JournalReads } from '#database/journal-reads.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext, Messaging } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { BillingConfig } from '../billing.config.js';
import { mintChildKey, revokeChildKey } from '../keys/child-keys.js';
import { findKey, KeyLookups } from '../keys/key-lookups.js';
import { createKey, listKeys, revokeKey, rotateKey, updateKey } from '../keys/keys.js';
import { listChildKeys } from '../keys/list-child-keys.js';
import { queryOwnUsage, readKeyAccount, showOwnKey, showOwnRequest } from '../keys/own-key.js';
import { findQuoteKey } from '../keys/quote-key.js';
import { LOGGER, MESSAGING, PRISMA } from './injected.js';

@Controller()
export class KeysController {
  constructor(
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    @Inject(MESSAGING) private readonly messaging: Pick<Messaging, 'publish'>,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly config: BillingConfig,
    private readonly lookups: KeyLookups,
    private readonly reads: JournalReads,
  ) {}

  @Serves(keyResolve)
  async resolve({ keyDigest }: KeyResolveRequest) {
    return this.lookups.resolve(keyDigest);
  }

  @Serves(keyFind)
  async find({ keyId }: KeyFindRequest) {
    return findKey(this.prisma, keyId);
  }

  @Serves(childKeyResolve)
  async resolveChild(request: ChildKeyResolveRequest) {
    return this.lookups.resolveChild(request);
  }

  @Serves(childKeyMint)
  async mintChild(request: ChildKeyMintRequest, { caller }: CallContext): Promise<MintedChildKey> {
    return mintChildKey(this.prisma, request, this.config.keyPepper, { caller, logger: this.logger });
  }

  @Serves(childKeyList)
  async listChildren(request: ChildKeyListRequest): Promise<ChildKeyListReply> {
    const accountId = await readKeyAccount(this.prisma, request.keyId);
    return this.reads.read(accountId, [childKeyList.subject, request], (prisma) => listChildKeys(prisma, request));
  }

  @Serves(childKeyRevoke)
  async revokeChild(request: ChildKeyRevokeRequest, { caller }: CallContext): Promise<RevokedChildKeys> {
    const { projectId, ...revoked } = await revokeChildKey(this.prisma, request, { caller, logger: this.logger });
    this.messaging.publish(keyChanged, { keyId: revoked.keyId, projectId });
    return revoked;
  }

  @Serves(keyCreate)
  async create(request: KeyCreateRequest, { caller }: CallContext): Promise<CreatedKey> {
    return createKey(this.prisma, request, this.config.keyPepper, { caller, logger: this.logger });
  }

  @Serves(keyUpdate)
  async update(request: KeyUpdateRequest, { caller }: CallContext): Promise<ApiKey> {
    const key = await updateKey(this.prisma, request, { caller, logger: this.logger });
    this.messaging.publish(keyChanged, { keyId: key.keyId, projectId: key.projectId });
    return key;
  }

  @Serves(keyRotate)
  async rotate(request: KeyRotateRequest, { caller }: CallContext): Promise<RotatedKey> {
    const made = await rotateKey(this.prisma, request, this.config.keyPepper, { caller, logger: this.logger });
    this.messaging.publish(keyChanged, { keyId: made.replaced.keyId, projectId: made.projectId });
    return made;
  }

  @Serves(keyRevoke)
  async revoke({ keyId }: KeyRevokeRequest, { caller }: CallContext) {
    const key = await revokeKey(this.prisma, keyId, { caller, logger: this.logger });
    const { projectId, revokedAt } = key;
    this.messaging.publish(keyChanged, { keyId: key.keyId, projectId });
    if (revokedAt) this.messaging.publish(keyRevoked, { keyId: key.keyId, projectId, revokedAt });
    return key;
  }

  @Serves(keyList)
  async list(request: KeyListRequest) {
    return listKeys(this.prisma, request);
  }

  @Serves(quoteKey)
  async quoteKey({ number }: QuoteKeyRequest): Promise<QuoteKeyReply> {
    return { key: findQuoteKey(this.config.keyPepper, number) };
  }

  @Serves(ownKeyShow)
  async show(request: OwnKeyShowRequest) {
    return showOwnKey(this.prisma, request);
  }

  @Serves(ownKeyUsage)
  async usage(request: OwnKeyUsageRequest) {
    const accountId = await readKeyAccount(this.prisma, request.keyId);
    return this.reads.read(accountId, [ownKeyUsage.subject, request], (prisma) => queryOwnUsage(prisma, request));
  }

  @Serves(ownKeyRequest)
  async request(request: OwnKeyRequestRequest) {
    const accountId = await readKeyAccount(this.prisma, request.keyId);
    return this.reads.read(accountId, [ownKeyRequest.subject, request], (prisma) => showOwnRequest(prisma, request));
  }
}
